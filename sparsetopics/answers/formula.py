"""Formulas such as ``~ section * s(year)``: which columns a regression has, and where it is shown.

formulaic reads the formula and makes the columns. It evaluates what a formula calls as Python, so
that only fields and the functions in ``FUNCTIONS`` may stand there.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import CorpusError
from sparsetopics.base.wording import listed
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import check_field, read_column
from sparsetopics.options.option import refuse, shown

if TYPE_CHECKING:
    import pandas as pd
    from formulaic import Formula, ModelMatrix, ModelSpec
    from formulaic.materializers.types import FactorValues
    from formulaic.parser.types import Term

INTERCEPT = "Intercept"
MOST_COLUMNS = 300
MOST_POINTS = 2_000
ROWS = 100_000  # of values, for which columns are made at once
MOST_VALUES, MOST_FURTHER = 25, 3  # of the first number of a term, and of further ones
USUAL = (0.01, 0.99)  # quantiles between which numbers with more values are shown
LEAST, GREATEST = "(least)", "(greatest)"  # columns beside those of fields
QUOTED = "`([^`]*)`"  # a field whose name is no word
DAYS = 365.25  # of a year
FUNCTIONS = ("s", "C", "bs", "cr", "poly", "center", "scale", "log", "log2", "log10", "exp")
ALLOWED = (
    *(ast.Expression, ast.Call, ast.Name, ast.Load, ast.keyword, ast.Constant, ast.List),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UnaryOp, ast.unaryop),
)
LARGEST_POWER, LARGEST = 10, 1e100
UNREADABLE = SyntaxError, RecursionError, MemoryError  # any of them, if it is too deep
Value = str | float | date
Point = Mapping[str, Value]  # the value of each field; other fields keep theirs


class Design(NamedTuple):
    """The columns of a regression, and the points at which it is shown."""

    fields: Sequence[str]
    columns: Sequence[str]
    rows: FloatArray  # (n_docs, n_columns)  NaN: a document without a value
    points: Sequence[Point]
    contrasts: FloatArray  # (n_points, n_columns)  means over documents of the columns there


def design_of(text: str, corpus: Corpus) -> Design:
    """Return the design that a formula makes of the kept fields of ``corpus`` and the label.

    Each field is shown at its values: texts at all of them, numbers at 25 at most, from the first
    to the last percentile. So are the fields that a term multiplies, together; a second number is
    then shown at three values. Dates become years with a fraction. Raises OptionError for what
    cannot be read, for a field that the corpus lacks, for too many columns or points, and if
    formulaic is not installed.
    """
    formula = _parsed(text)
    terms = [_fields(term) for term in formula]
    fields = list(dict.fromkeys(field for term in terms for field in term))
    if not fields:
        refuse("formula", f"{shown(text)} names no field", "Write '~ field + field'.")
    for field in fields:
        check_field("formula", field, corpus.fields)
    frame = _frame(fields, corpus)
    known = frame.dropna()
    if known.empty:
        raise CorpusError("the corpus", f"no document has values of {listed(fields)}")
    calls = [code for term in formula for code in _calls(term)]
    factors = {name for code in calls if re.search(r"\bC\(", code) for name in _names(code)}
    for name in fields:  # before columns are made, which might need too much memory
        n_values = known[name].nunique()
        if n_values > MOST_COLUMNS and (name in factors or known[name].dtype.kind != "f"):
            refuse("formula", f"{shown(name)} has {n_values:,} values, at most {MOST_COLUMNS}")
    spec, matrix = _columns(formula, known)
    rows = np.full((len(frame), matrix.shape[1]), np.nan)
    rows[frame.index.isin(known.index)] = matrix
    grids = _grids(terms, known, factors)
    points = [point for grid in grids for point in grid]
    if len(points) > MOST_POINTS:
        refuse("formula", f"has {len(points):,} combinations of values, at most {MOST_POINTS:,}")
    mean = matrix.mean(axis=0)
    contrasts = np.concatenate([_mean_columns(spec, known, grid, mean) for grid in grids])
    columns = [str(name) for name in spec.column_names]
    if columns[0] == INTERCEPT:  # columns far from zero would be alike but for rounding
        mean[0] = 0.0
        rows, contrasts = rows - mean, contrasts - mean
    dates = [name for name in fields if corpus.fields.get(name) == "date"]
    dated = [{name: _day(own) if name in dates else own for name, own in point.items()}
             for point in points]  # fmt: skip
    return Design(fields, columns, rows, dated, contrasts)


def written(value: Value) -> str:
    """A value of a field as people write it."""
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return str(value)


def _parsed(text: str) -> Formula:
    try:
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    except ImportError:
        refuse("formula", "needs formulaic", "Install it: pip install 'sparsetopics[formulas]'.")
    try:
        formula = Formula(text)
    except (FormulaicError, *UNREADABLE):
        refuse("formula", f"{shown(text)} cannot be read", "Write '~ field + field'.")
    if not isinstance(formula, Sequence):
        problem = f"{shown(text)} has a left side or several parts"
        refuse("formula", problem, "Topics are on the left: write '~ field'.")
    return formula


def _fields(term: Term) -> list[str]:
    """The fields in a term; OptionError for Python that formulas do not need."""
    found = [each.expr for each in term.factors if each.eval_method.value == "lookup"]
    found += [name for code in _calls(term) for name in _names(code)]
    return list(dict.fromkeys(found))


def _calls(term: Term) -> list[str]:
    """The expressions in a term, such as ``s(year, df=3)``."""
    return [each.expr for each in term.factors if each.eval_method.value == "python"]


def _names(code: str) -> Iterator[str]:
    """The fields in an expression."""
    try:
        tree = ast.parse(re.sub(QUOTED, "0", code), mode="eval")
    except UNREADABLE:
        refuse("formula", f"{shown(code)} cannot be read")
    functions = set[int]()
    yield from re.findall(QUOTED, code)
    for node in ast.walk(tree):
        if _is_huge(node):
            refuse("formula", f"{shown(code)} has a number that is too large, or computed")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id not in FUNCTIONS:
                refuse("formula", f"{node.func.id} is not one of {listed(FUNCTIONS)}")
            functions.add(id(node.func))
        elif not isinstance(node, ALLOWED) or isinstance(node, ast.Call):
            refuse("formula", f"{shown(code)} is more than fields, numbers and {listed(FUNCTIONS)}")
        elif isinstance(node, ast.Name) and id(node) not in functions:
            yield node.id


def _is_huge(node: ast.AST) -> bool:
    """Whether Python might work for ever with this, or fill the memory."""
    if isinstance(node, ast.Call):  # how many columns s, bs, cr or poly make
        named = (own.value for own in node.keywords if own.arg in ("df", "degree"))
        sizes = [each for each in (*node.args[1:2], *named) if not isinstance(each, ast.List)]
        return not all(_is_number_to(MOST_COLUMNS, size) for size in sizes)
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, ast.Pow):  # a power of a power has no bound
        is_tower = any(isinstance(each, ast.Pow) for each in ast.walk(node.left))
        return is_tower or not _is_number_to(LARGEST_POWER, node.right)
    pair = [each for each in (node.left, node.right) if isinstance(each, ast.List | ast.Constant)]
    return not all(_is_number_to(np.inf, each) for each in pair)  # others would be repeated


def _is_number_to(most: float, node: ast.AST) -> bool:
    number = node.value if isinstance(node, ast.Constant) else None
    return isinstance(number, int | float) and abs(number) <= most


def _frame(fields: Sequence[str], corpus: Corpus) -> pd.DataFrame:
    """The values of fields, a row for each document."""
    columns = {
        field: pa.concat_arrays([_values(read_column(rows, field)) for rows in corpus.row_groups])
        for field in fields
    }
    frame: pd.DataFrame = pa.table(columns).to_pandas()
    return frame


def _values(values: pa.Array) -> pa.Array:
    """Numbers and texts as they are; dates as years with a fraction."""
    if not pa.types.is_temporal(values.type):
        return values
    days = values.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64(), safe=False)
    return pc.add(1970.0, pc.divide(days, 86_400e6 * DAYS))


def _day(year: Value) -> date:
    """The day of a year with a fraction."""
    return date(1970, 1, 1) + timedelta(days=round((float(str(year)) - 1970.0) * DAYS, 3))


def _columns(formula: Formula, known: pd.DataFrame) -> tuple[ModelSpec, FloatArray]:
    from formulaic.errors import FormulaicError, FormulaicWarning

    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", FormulaicWarning)
            found = _matrix(formula, known)
    except (FormulaicError, FormulaicWarning, ValueError, TypeError, LookupError) as error:
        refuse("formula", f"cannot be computed ({' '.join(str(error).split())})")
    matrix = found.to_numpy(np.float64)
    if matrix.shape[1] > MOST_COLUMNS:
        refuse("formula", f"has {matrix.shape[1]:,} columns, at most {MOST_COLUMNS}")
    if not (np.abs(matrix) < LARGEST).all():
        hint = "Is a logarithm taken, or divided by, zero?"
        refuse("formula", "has values that are not finite, or too large", hint)
    return found.model_spec, matrix


def _matrix(columns: Formula | ModelSpec, frame: pd.DataFrame) -> ModelMatrix:
    from formulaic.utils.stateful_transforms import stateful_transform

    context = {"s": stateful_transform(natural_spline)}
    return columns.get_model_matrix(frame, context=context, na_action="ignore")


def _grids(
    terms: Sequence[Sequence[str]], known: pd.DataFrame, factors: set[str]
) -> list[list[Point]]:
    """The values of each field, then of the fields of each term that no larger term has."""
    sets = dict.fromkeys(frozenset(term) for term in terms if len(term) > 1)
    largest = [own for own in sets if not any(own < other for other in sets)]
    chosen = [[name] for name in known.columns]
    chosen += [[name for name in known.columns if name in own] for own in largest]
    return [_grid(each, known, factors) for each in chosen]


def _grid(chosen: Sequence[str], known: pd.DataFrame, factors: set[str]) -> list[Point]:
    """Combinations of values; numbers within the range of documents with the same other values."""
    import pandas as pd

    axes, numbers, most = [], list[str](), MOST_VALUES
    for name in chosen:
        own = known[name].to_numpy()
        values = np.unique(own)
        if values.dtype.kind == "f" and name not in factors:
            if len(values) > most:
                first, last = np.quantile(own, USUAL)
                values = np.linspace(first, last, most)
                values = np.unique(values.round()) if (own == own.round()).all() else values
            numbers.append(name)
            most = MOST_FURTHER
        axes.append(values.tolist())
    grid = pd.DataFrame(product(*axes), columns=chosen)
    levels = [name for name in chosen if name not in numbers]
    for name in numbers if levels else ():
        ranges = known.groupby(levels)[name].agg(**{LEAST: "min", GREATEST: "max"})
        grid = grid.merge(ranges.reset_index(), on=levels)
        is_within = grid[name].between(grid[LEAST], grid[GREATEST])
        grid = grid[is_within].drop(columns=[LEAST, GREATEST])
    points: list[Point] = grid.to_dict("records")
    return points


def _mean_columns(
    spec: ModelSpec, known: pd.DataFrame, points: Sequence[Point], mean: FloatArray
) -> FloatArray:
    """The mean columns if all documents had the values of each of ``points``, of some fields.

    Columns of terms without these fields keep their ``mean``.
    """
    moved = {term: _fields(term) for term in spec.terms}
    moved = {term: own for term, own in moved.items() if {*own} & {*points[0]}}
    of_terms = {name for own in moved.values() for name in own}
    if others := [name for name in known.columns if name in of_terms - {*points[0]}]:
        counts = known.groupby(others, sort=True).size()
        kept, weights = counts.index.to_frame(index=False), counts.to_numpy(np.float64)
    else:
        kept, weights = known.iloc[:1], np.ones(1)
    kept = kept.copy()
    for name in known.columns:
        if name not in others:
            kept[name] = known[name].iloc[0]
    means, at_once = [], max(1, ROWS // len(kept))
    for first in range(0, len(points), at_once):
        some = points[first : first + at_once]
        frame = kept.iloc[np.tile(np.arange(len(kept)), len(some))].copy()
        for name in points[0]:
            frame[name] = np.repeat([point[name] for point in some], len(kept))
        columns = _matrix(spec, frame).to_numpy(np.float64).reshape(len(some), len(kept), -1)
        means.append((weights[:, None] * columns).sum(axis=1) / weights.sum())
    found, slices = np.concatenate(means), [spec.term_slices[term] for term in moved]
    places = np.r_[tuple(slices)] if slices else []
    at_points = np.tile(mean, (len(points), 1))
    at_points[:, places] = found[:, places]
    return at_points


def natural_spline(
    values: Sequence[float], df: int = 5, _state: dict[str, FloatArray] | None = None
) -> FactorValues[dict[str, FloatArray]]:
    """A natural cubic spline of a number, in ``df`` columns or fewer if it has few values.

    With knots ξ at quantiles, the columns are x and d_k − d_{K−1}, with
    d_k = ((x − ξ_k)³₊ − (x − ξ_K)³₊)/(ξ_K − ξ_k) (Hastie, Tibshirani & Friedman 2009, eq. 5.4-5.5).
    """
    from formulaic.materializers.types import FactorValues

    if not (isinstance(df, int) and 1 <= df <= MOST_COLUMNS):
        raise ValueError(f"df must be a whole number from 1 to {MOST_COLUMNS}")
    x, state = np.asarray(values, np.float64), {} if _state is None else _state
    if "knots" not in state:
        state["knots"] = np.unique(np.quantile(x, np.linspace(0.0, 1.0, df + 1)))
    knots = state["knots"]
    extent = knots[-1] - knots[0] or 1.0
    x, knots = (x - knots[0]) / extent, (knots - knots[0]) / extent
    above = np.maximum(x[:, None] - knots, 0.0)
    cubes = above * above * above
    bends = (cubes[:, :-1] - cubes[:, -1:]) / (knots[-1] - knots[:-1])
    columns = np.column_stack([x, bends[:, :-1] - bends[:, -1:]])
    named = {str(number): column for number, column in enumerate(columns.T, start=1)}
    return FactorValues(named, spans_intercept=False, kind="numerical", format="{name}[{field}]")

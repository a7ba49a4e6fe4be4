"""Formulas: the columns they make, where they are shown, and what they may not contain."""

import builtins
import warnings

import numpy as np
import pytest

from sparsetopics import Corpus
from sparsetopics.answers import formula as formulas
from sparsetopics.answers.formula import design_of, natural_spline
from sparsetopics.base.errors import CorpusError, OptionError

pd = pytest.importorskip("pandas")
pytest.importorskip("formulaic")

N = 120


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "text": ["cats and dogs and owls"] * N,
        "section": rng.choice(["a", "b", "c"], N),
        "year": rng.integers(1990, 2010, N).astype(float),
        "year2": rng.integers(0, 60, N).astype(float),
        "score": rng.normal(size=N),
        "flag": rng.integers(0, 2, N).astype(float),
        "same": np.full(N, 7.0),
        "date": pd.date_range("2020-01-01 12:00", periods=N),
        "odd name": rng.choice(["x", "y"], N),
        "odd number": rng.integers(0, 40, N).astype(float),
        "self": rng.normal(size=N),
    })  # fmt: skip
    frame.loc[3, "section"] = None
    frame.loc[5, "score"] = np.nan
    frame.loc[6, "date"] = pd.NaT
    return frame


@pytest.fixture(scope="module")
def corpus(frame):
    return Corpus.from_table(frame, keep=[name for name in frame if name != "text"], max_df=1.0)


def values(points, name):
    return [point[name] for point in points if list(point) == [name]]


def test_a_field_without_values_is_refused(corpus):
    with pytest.raises(CorpusError, match="no document has values of label"):
        design_of("~ label", corpus)


def means(columns):
    """What is taken from columns beside an intercept."""
    return np.array([0.0, *columns[:, 1:].mean(axis=0)])


def test_texts_are_compared_with_the_first_and_shown_at_all_values(corpus, frame):
    design = design_of("~ section", corpus)

    assert design.columns == ["Intercept", "section[T.b]", "section[T.c]"]
    assert np.isnan(design.rows).any(axis=1).nonzero()[0].tolist() == [3]
    own = frame["section"].to_numpy()
    expected = np.column_stack([np.ones(N), own == "b", own == "c"])
    known = np.arange(N) != 3
    mean = means(expected[known])
    np.testing.assert_allclose(design.rows[known], expected[known] - mean, atol=1e-12)
    assert design.points == [{"section": name} for name in "abc"]
    at_values = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1]])
    np.testing.assert_allclose(design.contrasts, at_values - mean, atol=1e-12)


def test_other_fields_keep_their_values_where_one_is_shown(corpus, frame):
    design = design_of("~ section + year", corpus)

    known = frame[frame["section"].notna()]
    shares = [(known["section"] == name).mean() for name in "bc"]
    year = known["year"].mean()
    at_b = design.points.index({"section": "b"})
    np.testing.assert_allclose(design.contrasts[at_b], [1, 1 - shares[0], -shares[1], 0], atol=1e-9)
    at_1995 = design.points.index({"year": 1995.0})
    np.testing.assert_allclose(design.contrasts[at_1995], [1, 0, 0, 1995 - year], atol=1e-9)


def test_products_are_shown_at_all_pairs_of_values(corpus):
    design = design_of("~ section * year", corpus)

    assert design.columns[-1] == "section[T.c]:year"
    pairs = [point for point in design.points if len(point) == 2]
    n_years = len(values(design.points, "year"))
    assert len(pairs) == 3 * n_years
    at_c, at_a = (
        design.contrasts[design.points.index({"section": name, "year": 2000.0})] for name in "ca"
    )
    np.testing.assert_allclose(at_c - at_a, [0, 0, 1, 0, 0, 2000], atol=1e-9)


def test_only_the_largest_product_is_shown_and_a_second_number_at_three_values(corpus):
    design = design_of("~ section * year * score", corpus)

    assert {tuple(point) for point in design.points if len(point) > 1} == {
        ("section", "year", "score")
    }
    scores = {point["score"] for point in design.points if len(point) == 3}
    assert len(scores) == 3


def test_numbers_are_shown_at_their_values_or_between_percentiles(corpus, frame):
    design = design_of("~ year + year2 + score", corpus)

    known = frame[frame["score"].notna()]
    assert values(design.points, "year") == sorted(known["year"].unique())
    first, last = known["year2"].quantile([0.01, 0.99])
    whole = values(design.points, "year2")
    assert whole == np.unique(np.linspace(first, last, 25).round()).tolist()
    scores = values(design.points, "score")
    assert len(scores) == 25
    assert [scores[0], scores[-1]] == known["score"].quantile([0.01, 0.99]).tolist()


@pytest.mark.parametrize("text", ["C(year2)", "C( year2 )", "C(`year2`)", "C(year2, levels=None)"])
def test_numbers_as_names_are_shown_at_all_values(corpus, frame, text):
    design = design_of(f"~ {text} + s(year)", corpus)

    assert values(design.points, "year2") == sorted(frame["year2"].unique())
    assert len(values(design.points, "year")) == 20
    assert len(design.columns) == frame["year2"].nunique() + 5


def test_numbers_with_odd_names_can_be_names_too(corpus, frame):
    design = design_of("~ C(`odd number`) + `odd name`", corpus)

    assert values(design.points, "odd number") == sorted(frame["odd number"].unique())
    assert design.fields == ["odd number", "odd name"]
    assert design.columns[-1] == "odd name[T.y]"
    assert np.isfinite(design.contrasts).all()


def test_a_field_whose_name_begins_another_stays_a_number(corpus):
    design = design_of("~ C(year) + year2 + odd", renamed(corpus, {"odd number": "odd"}))

    assert len(values(design.points, "year2")) == 25
    assert design.fields == ["year", "year2", "odd"]


def renamed(corpus, names):
    """The corpus with other names of fields."""
    frame = pd.DataFrame({
        name: corpus.row_groups[0].read_fields([name])[name].to_pandas() for name in corpus.fields
    }).rename(columns=names)  # fmt: skip
    frame["text"] = "cats and dogs"
    return Corpus.from_table(frame, keep=[name for name in frame if name != "text"], max_df=1.0)


def test_a_field_may_have_the_name_of_what_python_uses(corpus):
    design = design_of("~ self + section", corpus)

    assert values(design.points, "self")


def test_dates_become_years(corpus, frame):
    design = design_of("~ date", corpus)

    known = frame["date"].dropna()
    years = 1970 + (known - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=365.25)
    np.testing.assert_allclose(design.rows[known.index, 1], years - years.mean(), atol=1e-9)
    assert np.isnan(design.rows[6]).all()
    assert values(design.points, "date")[0] >= known.min().date()
    assert values(design.points, "date")[-1] <= known.max().date()


@pytest.mark.parametrize(
    "term", ["bs(year, df=4)", "cr(year, df=4)", "poly(year, 2)", "scale(year)", "center(year)",
             "log(year)", "exp(score)", "{year ** 2}", "{year / 10 - 3}", "log10(year + 1)"],
)  # fmt: skip
def test_functions_have_the_same_columns_where_they_are_shown(corpus, term):
    design = design_of(f"~ {term}", corpus)

    name = design.fields[0]
    if name == "year":  # of which each value is shown
        places = {values(design.points, name)[n]: row for n, row in enumerate(design.contrasts)}
        years = corpus.row_groups[0].read_fields(["year"])["year"].to_pylist()
        expected = np.array([places[year] for year in years])
        np.testing.assert_allclose(design.rows, expected, rtol=1e-9, atol=1e-12)
    assert np.isfinite(design.contrasts).all()


# --- splines --------------------------------------------------------------------------------------
def test_a_spline_is_linear_outside_and_smooth_inside():
    x, state = np.sort(np.random.default_rng(1).uniform(0, 10, 300)), {}
    columns_of(x, state)

    def at(places):
        return columns_of(np.asarray(places), state)

    np.testing.assert_allclose(np.diff(at([-9.0, -5, -1]), 2, axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.diff(at([11.0, 15, 19]), 2, axis=0), 0.0, atol=1e-9)
    for knot in state["knots"]:  # the third derivative jumps, the second does not
        second = [np.diff(at(knot + side + np.array([-2e-3, 0, 2e-3])), 2, axis=0) / 4e-6
                  for side in (-4e-3, 4e-3)]  # fmt: skip
        np.testing.assert_allclose(*second, atol=0.1)


def test_splines_span_those_of_a_peer():
    """Natural cubic splines with the same knots: those of formulaic's cr()."""
    x, state = np.random.default_rng(2).uniform(0, 10, 200), {}
    own = columns_of(x, state, 4)
    inner = state["knots"][1:-1].tolist()
    frame = pd.DataFrame({"x": x})
    from formulaic import model_matrix

    peer = model_matrix(f"cr(x, knots={inner})", frame).to_numpy(float)
    fitted = np.column_stack([np.ones(200), own])
    left = peer - fitted @ np.linalg.lstsq(fitted, peer)[0]
    np.testing.assert_allclose(left, 0.0, atol=1e-9)
    assert np.linalg.matrix_rank(peer) == np.linalg.matrix_rank(fitted) == 5


def columns_of(values, state, df=5):
    return np.column_stack([np.asarray(own) for own in natural_spline(values, df, state).values()])


def test_a_spline_of_two_values_is_a_line_and_of_few_values_has_fewer_columns(corpus):
    assert design_of("~ s(flag)", corpus).columns == ["Intercept", "s(flag)[1]"]
    assert columns_of(np.array([1.0, 2, 3] * 5), {}).shape == (15, 2)
    assert columns_of(np.array([0.0, 1] * 5), {}, 3).T.tolist() == [[0.0, 1] * 5]


def test_a_spline_of_one_value_is_zero(corpus):
    design = design_of("~ s(same)", corpus)

    assert design.rows[:, 1].tolist() == [0.0] * N
    assert design.points == [{"same": 7.0}]


# --- what is refused ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' names no field. Write '~ field + field'."),
        ("~", "names no field"),
        ("~ 1", "names no field"),
        ("~ {2}", "names no field"),
        ("~ (", "'~ (' cannot be read. Write '~ field + field'."),
        ("~ section +", "cannot be read"),
        ("~ a ~ b", "cannot be read"),
        ("section ~ year", "has a left side or several parts. Topics are on the left: write '~"),
        ("~ section | year", "has a left side or several parts"),
        ("~ nope", "the corpus has no field 'nope'. It has 'label', 'section', 'year'"),
        ("~ `no such`", "the corpus has no field 'no such'"),
        ("~ s(nope)", "the corpus has no field 'nope'"),
        ("~ section.upper", "the corpus has no field 'section.upper'"),
        ("~ text", "the corpus has no field 'text'"),
        ("~ log(flag)", "has values that are not finite, or too large. Is a logarithm"),
        ("~ log(score)", "has values that are not finite"),
        ("~ {1 / flag}", "has values that are not finite"),
        ("~ exp(year)", "has values that are not finite"),
        ("~ s(section)", "cannot be computed (Unable to evaluate factor `s(section)`"),
        ("~ bs(section)", "cannot be computed"),
        ("~ s(year, df=0)", "df must be a whole number from 1 to 300"),
        ("~ s(year, df=2.5)", "df must be a whole number from 1 to 300"),
        ("~ s(year, df='a')", "has a number that is too large, or computed"),
        ("~ s(year, df=10 ** 12)", "has a number that is too large, or computed"),
        ("~ year + {9 ** 9 ** 9}", "has a number that is too large, or computed"),
        ("~ s(year, df=((9 ** 10) ** 10) ** 10)", "has a number that is too large, or computed"),
        ("~ {year + ((9 ** 10) ** 10)}", "has a number that is too large, or computed"),
        ("~ bs(year, df=999999999)", "has a number that is too large, or computed"),
        ("~ poly(year, 999999999)", "has a number that is too large, or computed"),
        ("~ bs(year, knots=[1] * 999999999)", "has a number that is too large, or computed"),
        ("~ C(section, levels=['a' * 999999999])", "has a number that is too large, or computed"),
        ("~ year + {1 << 9}", "is more than fields, numbers and"),
        ("~ s(year, knots=3)", "cannot be computed"),
        ("~ C(section, levels=['a'])", "cannot be computed (Data has categories outside"),
        ("~ C(section, [1, 2, 3])", "cannot be computed"),
        ("~ C(score) * section", "columns, at most 300"),
        ("~ lag(year)", "lag is not one of s, C, bs, cr, poly,"),
        ("~ open('a')", "open is not one of s"),
        ("~ eval(year)", "eval is not one of s"),
        ("~ __import__('os').system('ls')", "cannot be read"),
        ("~ __import__(year)", "__import__ is not one of"),
        ("~ {__import__('os')}", "__import__ is not one of"),
        ("~ {year.values}", "'year.values' is more than fields, numbers and s, C"),
        ("~ np.log(year)", "'np.log(year)' is more than"),
        ("~ {year.__class__}", "is more than"),
        ("~ year[0]", "is more than"),
        ("~ {s(year)(1)}", "is more than"),
        ("~ {lambda: 0}", "is more than"),
        ("~ {(lambda: 0)()}", "is more than"),
        ("~ {[x for x in year]}", "is more than"),
        ("~ {sum(x for x in year)}", "is not one of"),
        ("~ {(x := year)}", "is more than"),
        ("~ {year if year else 0}", "is more than"),
        ("~ {year > 0}", "is more than"),
        ("~ {f'{year}'}", "cannot be read"),
        ("~ {f'a' * year}", "is more than"),
        ("~ {s(*year)}", "is more than"),
        ("~ {s(**year)}", ""),
        ("~ {{1: year}}", ""),
        ("~ {" + 300 * "(" + "year" + 300 * ")" + "}", "cannot be read"),
        ("~ {" + 9_000 * "-" + "year}", "cannot be read"),
    ],
)  # fmt: skip
def test_what_a_formula_may_not_be_is_one_line(corpus, text, said):
    with pytest.raises(OptionError, match=r"^formula: ") as refused:
        design_of(text, corpus)

    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_too_many_combinations_of_values_are_refused(corpus, monkeypatch):
    monkeypatch.setattr(formulas, "MOST_POINTS", 10)

    with pytest.raises(OptionError, match="combinations of values, at most 10"):
        design_of("~ section * year", corpus)


def test_formulas_need_formulaic(corpus, monkeypatch):
    import_module = builtins.__import__

    def without(name, *others):
        if name.partition(".")[0] == "formulaic":
            raise ImportError(name)
        return import_module(name, *others)

    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(OptionError) as refused:
        design_of("~ year", corpus)

    assert str(refused.value) == (
        "formula: needs formulaic. Install it: pip install 'sparsetopics[formulas]'."
    )


def test_no_library_warns(corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        design_of("~ section * s(year) + C(flag) + date + `odd name` + log(year)", corpus)

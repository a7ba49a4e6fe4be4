"""How the shares of topics depend on fields of documents, by a formula."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sparsetopics.answers.formula import INTERCEPT, Design, written
from sparsetopics.answers.prevalence import Labels, by_topic, share_columns, topic_columns
from sparsetopics.answers.topics_in_use import TopicsInUse, topics_in_use
from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.base.errors import CorpusError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.store.shards import RowGroup
from sparsetopics.execution.executors import OrderedMap, broadcast_map_here, open_executor
from sparsetopics.inference.course import Model
from sparsetopics.measures.effects import (
    Fit,
    Products,
    Spread,
    added,
    estimates_of,
    fit,
    product,
    sum_products,
    sum_spread,
)
from sparsetopics.measures.estimates import Estimates
from sparsetopics.options.option import refuse

CURVES = re.compile(r"\b(s|bs|cr|poly)\(")  # whose columns mean nothing one by one
Part = tuple[RowGroup[DocumentBatch], FloatArray]  # documents, and their rows of the design


class Effects(NamedTuple):
    """Least squares of the shares of topics on the columns of a formula."""

    design: Design
    topics: IntArray  # (n_topics,)  numbers in the model of the topics that have any token
    estimates: Estimates  # (n_points, n_topics)  shares
    coefficients: Estimates  # (n_columns, n_topics)
    n_left_out: int  # documents without a value or without a word

    @property
    def heads(self) -> list[str]:
        """The points as people write them."""
        return [" ".join(map(written, point.values())) for point in self.design.points]

    def table(self, labels: Labels) -> pa.Table:
        """Return a row for each topic and point.

        Columns: topic, id, name; at_FIELD for each field of the formula, null where documents keep
        their own values; mean, standard_error, low and high (of the 95 % interval).
        """
        columns = topic_columns(self.topics, len(self.design.points), labels)
        for field in self.design.fields:
            values = [point.get(field) for point in self.design.points]
            columns[f"at_{field}"] = pa.array(values * len(self.topics))
        return pa.table(columns | share_columns(self.estimates))

    def differences(self, labels: Labels) -> pa.Table:
        """Return a row for each topic and column of the formula but the intercept and curves.

        Columns: topic, id, name, term; difference, the coefficient: from the first value of a
        field, or for each unit of a number; standard_error, low, high, t, p_value,
        adjusted_p_value (Holm, over all rows). Raises OptionError if there are only curves.
        """
        names = enumerate(self.design.columns)
        chosen = [n for n, name in names if name != INTERCEPT and not CURVES.search(name)]
        if not chosen:
            hint = "Read the shares, without --differences."
            refuse("differences", "has only columns of curves, which mean nothing alone", hint)
        columns = topic_columns(self.topics, len(chosen), labels)
        terms = [self.design.columns[number] for number in chosen]
        columns["term"] = pa.array(terms * len(self.topics), pa.string())
        # For a unit of a number, a share may change by more than one.
        found = Estimates(*(own[chosen] for own in self.coefficients)).tested(np.inf)
        return pa.table(columns | {name: by_topic(own) for name, own in found._asdict().items()})


def formula_effects(
    model: Model,
    corpus: Corpus,
    design: Design,
    others: Sequence[TopicsInUse] = (),
    *,
    workers: int = 1,
    broadcast: OrderedMap = broadcast_map_here,
) -> Effects:
    """Estimate by least squares how the shares of topics depend on the columns of a design.

    Errors also count how far the estimates of ``others`` are from these. Documents are read twice.
    The result has the same bits for any number of workers. Raises OptionError for a mixture, and
    if the columns determine each other.
    """
    own = topics_in_use(model)
    ends = np.cumsum([len(each.numbers) for each in (own, *others)])
    projection = np.hstack([each.projection for each in (own, *others)])
    sizes = [group.n_docs for group in corpus.row_groups]
    parts = list(zip(corpus.row_groups, np.split(design.rows, np.cumsum(sizes)[:-1]), strict=True))
    task = partial(_sum_part, projection=projection, workers=workers)
    products = added(broadcast(task, parts))
    if not products.n_documents:
        raise CorpusError("the corpus", "no document with values for the formula has a known word")
    try:
        found = fit(products)
    except np.linalg.LinAlgError as error:
        problem = f"{design.columns[error.args[0]]} follows from the columns before it"
        hint = "Leave a field out, write + instead of *, or take a smaller df in s()."
        refuse("formula", problem, hint)
    fits = [Fit(each, found.inverse) for each in np.split(found.coefficients, ends[:-1], axis=1)]
    contrasts = np.vstack([np.eye(len(design.columns)), design.contrasts])
    errors = partial(
        _spread_part,
        projection=own.projection, found=fits[0], contrasts=contrasts, workers=workers,
    )  # fmt: skip
    spread = added(broadcast(errors, parts))
    pairs = zip(others, fits[1:], strict=True)
    of_runs = [run.placed(product(contrasts.T, each.coefficients)) for run, each in pairs]
    known = estimates_of(contrasts, fits[0], products.n_documents, spread)
    known = known.over_runs(np.array(of_runs))
    coefficients, shares = (
        Estimates(*(each[some] for each in known))
        for some in (slice(len(design.columns)), slice(len(design.columns), None))
    )
    # Nothing else keeps least squares from shares that cannot be.
    shares = shares._replace(value=np.clip(shares.value, 0.0, 1.0))
    n_left_out = corpus.n_docs - products.n_documents
    return Effects(design, own.numbers, shares, coefficients, n_left_out)


def _sum_part(part: Part, projection: FloatArray, workers: int) -> Products:
    with open_executor(workers) as executor:
        return sum_products(part[0].read(), part[1], projection, executor)


def _spread_part(
    part: Part, projection: FloatArray, found: Fit, contrasts: FloatArray, workers: int
) -> Spread:
    with open_executor(workers) as executor:
        return sum_spread(part[0].read(), part[1], projection, found, contrasts, executor)

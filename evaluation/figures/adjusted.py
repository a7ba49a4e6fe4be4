"""Shares by a formula, as figures of groups and time show them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparsetopics.answers.compared import Effects, compared_shares
from sparsetopics.answers.formula import written
from sparsetopics.base.wording import listed, quantity
from sparsetopics.corpora.corpus import AnyCorpus, Corpus
from sparsetopics.corpora.grouping import Grouping, Over
from sparsetopics.evaluation.report.division import Division
from sparsetopics.options.option import refuse
from sparsetopics.runs.run import AnyRun


def adjusted(
    themes: AnyRun,
    corpus: AnyCorpus,
    formula: str,
    grouping: Grouping,
    others: Sequence[AnyRun],
    *,
    workers: int,
) -> Division:
    """Return the shares at the values of one or two fields of a formula.

    Raises what ``compared_shares`` raises, and OptionError if the formula lacks a field, or does
    not multiply the two.
    """
    if grouping.over is not None and grouping.over != Over(grouping.over.column):
        refuse("over", "must be a field of the formula, without a unit")
    assert isinstance(corpus, Corpus), "components of vectors were refused"
    found = compared_shares(themes, corpus, formula=formula, others=others, workers=workers)
    assert isinstance(found, Effects), "there is a formula"
    fields = list(grouping.columns.values())
    chosen = [n for n, point in enumerate(found.design.points) if set(point) == set(fields)]
    if not chosen:
        use = "name" if len(fields) == 1 else "multiply"
        refuse("formula", f"does not {use} {listed(fields)}")
    points = [found.design.points[number] for number in chosen]
    levels = [list(dict.fromkeys(point[field] for point in points)) for field in fields]
    by = levels[0] if grouping.by is not None else []
    over = sorted(each for each in levels[-1] if not isinstance(each, str))
    if grouping.over is not None and not over:
        refuse("over", f"{fields[-1]} has texts, which have no order")
    over = over if grouping.over is not None else []
    shape = 1 + len(by), 1 + len(over), len(found.topics)
    shares = np.full((3, *shape), np.nan)
    ends = found.estimates.interval(0.0, 1.0)
    values = np.stack([found.estimates.value, *ends])
    rows, columns = ({value: n for n, value in enumerate(own, 1)} for own in (by, over))
    for number, point in zip(chosen, points, strict=True):
        place = rows.get(point[fields[0]], 0), columns.get(point[fields[-1]], 0)
        shares[:, *place] = values[:, number]
    left_out = f"{quantity(found.n_left_out, 'document')} left out." if found.n_left_out else ""
    return Division(
        by=grouping.by,
        over=None if grouping.over is None else grouping.over.column,
        groups=[written(value) for value in by],
        periods=[written(value) for value in over],
        middles=over,
        n_documents=np.zeros(shape[:2], np.int64),
        mean=shares[0],
        low=shares[1],
        high=shares[2],
        left_out=left_out,
    )

"""The shares of topics that documents are compared by: in groups, by a formula, and in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from sparsetopics.answers.effects import Effects, formula_effects
from sparsetopics.answers.formula import design_of
from sparsetopics.answers.prevalence import (
    Labels,
    Prevalence,
    by_topic,
    grouped_documents,
    topic_columns,
)
from sparsetopics.answers.topics_in_use import refuse_mixture, topics_in_use, topics_like
from sparsetopics.base.batches import DocumentBatch, FloatArray
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import Grouping
from sparsetopics.corpora.store.shards import RowGroup
from sparsetopics.execution.executors import OrderedMap, broadcast_map_here, open_executor
from sparsetopics.measures.effects import added
from sparsetopics.measures.topic_correlations import PairSums, correlations, sum_pairs
from sparsetopics.options.option import refuse
from sparsetopics.runs.run import AnyRun
from sparsetopics.runs.topic_identity import THEME


def compared_shares(
    run: AnyRun,
    corpus: Corpus,
    by: str | None = None,
    over: str | None = None,
    formula: str | None = None,
    *,
    n_words: int = 5,
    differences: bool = False,
    others: Sequence[AnyRun] = (),
    workers: int = 1,
    broadcast: OrderedMap = broadcast_map_here,
) -> Prevalence | Effects:
    """Estimate the shares of topics in groups of documents, or by a formula.

    Errors also count how far those of ``others`` are, if there are any. ``differences`` says
    whether groups are to be compared. Raises OptionError for a mixture, for a field that the corpus
    lacks or that cannot be used so, for a formula beside groups, and for other runs that are not
    of the same words; CorpusError if no document has a value.
    """
    refuse_mixture(run.model)
    grouping = Grouping.parse(by, over)
    if others and run.topics[0].id.startswith(THEME):
        refuse("runs", "is for topics, not for themes", "Other runs do not have the same themes.")
    beside = topics_like(run, others) if others else []
    if formula is not None:
        if grouping.columns:
            option = next(iter(grouping.columns))
            refuse("formula", f"cannot stand beside --{option}", "Name the field in the formula.")
        design = design_of(formula, corpus)
        return formula_effects(
            run.model, corpus, design, beside, workers=workers, broadcast=broadcast
        )
    if differences:
        grouping.check_comparable()
    words = run.words.shown
    groups = grouped_documents(
        run.model, corpus, words, grouping, workers=workers, broadcast=broadcast
    )
    return groups.prevalence(n_words, beside)


def topic_correlations(
    run: AnyRun,
    corpus: Corpus,
    labels: Labels,
    *,
    workers: int = 1,
    broadcast: OrderedMap = broadcast_map_here,
) -> pa.Table:
    """Return a row for each pair of topics: how their shares correlate over documents.

    Columns: topic, id, name; other_topic, other_id, other_name; correlation, standard_error, low,
    high, which are null for topics whose shares do not vary. Raises OptionError for a mixture.
    """
    refuse_mixture(run.model)
    used = topics_in_use(run.model)
    task = partial(_pairs_part, projection=used.projection, workers=workers)
    sums = added(broadcast(task, corpus.row_groups))
    found = correlations(sums, used.projection)
    one, other = np.triu_indices(len(used.numbers), 1)
    columns = topic_columns(used.numbers[one], 1, labels)
    second = topic_columns(used.numbers[other], 1, labels)
    columns |= {f"other_{name}": own for name, own in second.items()}
    ends = found.interval(-1.0, 1.0)
    named = zip(("correlation", "standard_error", "low", "high"), (*found[:2], *ends), strict=True)
    return pa.table(columns | {name: by_topic(own[None, one, other]) for name, own in named})


def _pairs_part(rows: RowGroup[DocumentBatch], projection: FloatArray, workers: int) -> PairSums:
    with open_executor(workers) as executor:
        return sum_pairs(rows.read(), projection, executor, np.random.default_rng(0))

"""The shares of topics that documents are compared by: in groups, by a formula, and in pairs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from sparsetopics.answers import prevalence
from sparsetopics.answers.formula import INTERCEPT, Design, design_of, written
from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.base.errors import CorpusError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import Grouping
from sparsetopics.corpora.store.shards import RowGroup
from sparsetopics.execution.executors import ALONE, Crew
from sparsetopics.inference.course import Model
from sparsetopics.measures import effects
from sparsetopics.measures.estimates import Estimates
from sparsetopics.measures.matched_topics import NONE, matched_topics
from sparsetopics.measures.topic_correlations import PairSums, correlations, sum_pairs
from sparsetopics.model.statistics import in_use
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.option import refuse
from sparsetopics.runs.run import AnyRun
from sparsetopics.runs.topic_identity import THEME

CURVES = re.compile(r"\b(s|bs|cr|poly)\(")  # whose columns mean nothing one by one
# Documents, and what there is for each of them, such as its row of a design.
Part = tuple[RowGroup[DocumentBatch], *tuple[FloatArray, ...]]
T = TypeVar("T")


def compared_shares(
    run: AnyRun,
    corpus: Corpus,
    by: str | None = None,
    over: str | None = None,
    formula: str | None = None,
    *,
    topics: Sequence[int | str] = (),
    n_words: int = 5,
    differences: bool = False,
    others: Sequence[AnyRun] = (),
    crew: Crew = ALONE,
) -> prevalence.Prevalence | Effects:
    """Estimate the shares of topics in groups of documents, or by a formula.

    They are those of ``topics``, given by their numbers or ids, or of all. Errors also count how
    far those of ``others`` are, if there are any. ``differences`` says whether groups are to be
    compared. Raises OptionError for a mixture, for a topic or a field that is not there or cannot
    be used so, for a formula beside groups, and for other runs that are not of the same words;
    CorpusError if no document has a value.
    """
    prevalence.refuse_mixture(run.model)
    places = prevalence.places_of(run, topics)
    grouping = Grouping.parse(by, over)
    if others and run.topics[0].id.startswith(THEME):
        refuse("runs", "is for topics, not for themes", "Other runs do not have the same themes.")
    beside = topics_like(run, others) if others else []
    if formula is not None:
        if grouping.columns:
            option = next(iter(grouping.columns))
            refuse("formula", f"cannot stand beside --{option}", "Name the field in the formula.")
        design = design_of(formula, corpus)
        return formula_effects(run.model, corpus, design, beside, places, crew)
    if differences and not grouping.columns:
        refuse("differences", "needs --by or --over")
    groups = prevalence.grouped_documents(run.model, corpus, run.words.shown, grouping, crew)
    return groups.prevalence(n_words, beside, places)


def topics_like(run: AnyRun, others: Sequence[AnyRun]) -> list[prevalence.TopicsInUse]:
    """Return the topics of other runs, matched to those of ``run`` that are in use.

    They are matched as for a consensus. Raises OptionError for fewer than two runs, mixtures and
    runs with other words.
    """
    if len(others) < 2:
        refuse("runs", f"needs at least 2 runs, but there are {len(others)}")
    own, *models = (_topics_of(each) for each in (run, *others))
    numbers, found = np.flatnonzero(in_use(own.sizes)), []
    for other, model in zip(others, models, strict=True):
        if other.words.words != run.words.words:
            refuse("runs", f"{other.path} has other words than {run.path}")
        matched = matched_topics([own.exact_counts[numbers], model.exact_counts], 0)[1]
        rank = np.cumsum(in_use(model.sizes)) - 1
        is_there = (matched != NONE) & in_use(model.sizes)[matched]
        found.append(prevalence.topics_in_use(model, np.where(is_there, rank[matched], NONE)))
    return found


def _topics_of(run: AnyRun) -> TopicPosterior:
    prevalence.refuse_mixture(run.model)
    assert isinstance(run.model, TopicPosterior), "mixtures are refused"
    return run.model


# --- by a formula ---------------------------------------------------------------------------------
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

    def table(self, labels: prevalence.Labels) -> pa.Table:
        """Return a row for each topic and point.

        Columns: topic, id, name; at_FIELD for each field of the formula, null where documents keep
        their own values; mean, standard_error, low and high (of the 95 % interval).
        """
        columns = prevalence.topic_columns(self.topics, len(self.design.points), labels)
        for field in self.design.fields:
            values = [point.get(field) for point in self.design.points]
            columns[f"at_{field}"] = pa.array(values * len(self.topics))
        return pa.table(columns | prevalence.interval_columns(self.estimates))

    def differences(self, labels: prevalence.Labels) -> pa.Table:
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
        columns = prevalence.topic_columns(self.topics, len(chosen), labels)
        terms = [self.design.columns[number] for number in chosen]
        columns["term"] = pa.array(terms * len(self.topics), pa.string())
        # For a unit of a number, a share may change by more than one.
        found = self.coefficients.at(chosen).tested(np.inf)
        return pa.table(columns | prevalence.difference_columns(found))


def formula_effects(
    model: Model,
    corpus: Corpus,
    design: Design,
    others: Sequence[prevalence.TopicsInUse] = (),
    places: IntArray | slice = prevalence.ALL,
    crew: Crew = ALONE,
) -> Effects:
    """Estimate by least squares how the shares of topics depend on the columns of a design.

    ``places`` are those of some topics among those in use; by default, they are all. Errors also
    count how far the estimates of ``others`` are from these. Documents are read twice.
    Raises OptionError for a mixture, and if the columns determine each other.
    """
    own = prevalence.topics_in_use(model)
    ends = np.cumsum([len(each.numbers) for each in (own, *others)])
    projection = np.hstack([each.projection for each in (own, *others)])
    sizes = [group.n_docs for group in corpus.row_groups]
    parts = list(zip(corpus.row_groups, np.split(design.rows, np.cumsum(sizes)[:-1]), strict=True))
    sums = partial(effects.sum_products, projection=projection, workers=crew.threads)
    products = effects.added(crew.map(partial(_of_part, sums), parts))
    if not products.n_documents:
        raise CorpusError("the corpus", "no document with values for the formula has a known word")
    try:
        fitted, inverted = effects.fit(products)
    except np.linalg.LinAlgError as error:
        problem = f"{design.columns[error.args[0]]} follows from the columns before it"
        hint = "Leave a field out, write + instead of *, or take a smaller df in s()."
        refuse("formula", problem, hint)
    of_own, *of_others = np.split(fitted, ends[:-1], axis=1)
    contrasts = np.vstack([np.eye(len(design.columns)), design.contrasts])
    errors = partial(
        effects.sum_spread, projection=own.projection, coefficients=of_own, inverted=inverted,
        contrasts=contrasts, workers=crew.threads,
    )  # fmt: skip
    spread = effects.added(crew.map(partial(_of_part, errors), parts))
    pairs = zip(others, of_others, strict=True)
    of_runs = [run.placed(effects.product(contrasts.T, each)) for run, each in pairs]
    known = effects.estimates_of(contrasts, of_own, products.n_documents, spread)
    known = known.over_runs(np.array(of_runs)).at(prevalence.ALL, places)
    n_columns = len(design.columns)
    coefficients, shares = known.at(slice(n_columns)), known.at(slice(n_columns, None))
    # Nothing else keeps least squares from shares that cannot be.
    shares = shares._replace(value=np.clip(shares.value, 0.0, 1.0))
    n_left_out = corpus.n_docs - products.n_documents
    return Effects(design, own.numbers[places], shares, coefficients, n_left_out)


def _of_part(sums: Callable[..., T], part: Part) -> T:
    """Sums over the documents of a row group, which are read."""
    return sums(part[0].read(), *part[1:])


# --- in pairs -------------------------------------------------------------------------------------
def topic_correlations(
    run: AnyRun, corpus: Corpus, labels: prevalence.Labels, crew: Crew = ALONE
) -> pa.Table:
    """Return a row for each pair of topics: how their shares correlate over documents.

    Columns: topic, id, name; other_topic, other_id, other_name; correlation, standard_error, low,
    high, which are null for topics whose shares do not vary. Raises OptionError for a mixture.
    """
    prevalence.refuse_mixture(run.model)
    used = prevalence.topics_in_use(run.model)
    of_pairs = partial(_sum_pairs, projection=used.projection, workers=crew.threads)
    parts = [(group,) for group in corpus.row_groups]
    sums = effects.added(crew.map(partial(_of_part, of_pairs), parts))
    one, other = np.triu_indices(len(used.numbers), 1)
    columns = prevalence.topic_columns(used.numbers[one], 1, labels)
    columns |= prevalence.topic_columns(used.numbers[other], 1, labels, "other_")
    pairs = correlations(sums, used.projection).at(None, one, other)
    return pa.table(columns | prevalence.interval_columns(pairs, "correlation", -1.0))


def _sum_pairs(batch: DocumentBatch, projection: FloatArray, workers: int) -> PairSums:
    # The same numbers for every row group, so that the result does not depend on who sums it.
    return sum_pairs(batch, projection, np.random.default_rng(0), workers)

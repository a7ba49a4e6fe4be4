"""Topics of LDA that are merged between laps: its gradual start, and the steps of a topic path.

Training that begins with as many topics as it should end with keeps the faults of its start: two
topics that should be one stay two, and one that should be two stays one. Therefore the first laps
have up to three times as many topics. Before a lap with fewer topics, the best disjoint pairs are
merged. A merge of topics a and b is judged by what it changes in the evidence of the words,

    log M(S_a + S_b) − log M(S_a) − log M(S_b),

where M is the marginal likelihood of a topic's counts (``likelihoods.words.evidence_by_topic``).
The evidence of the documents stays out: it rewards every document that uses both topics, and so
would merge topics that occur together without being alike.

On a topic path, training goes on to fewer and fewer topics in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.base.wording import quantity
from sparsetopics.inference import guided_start
from sparsetopics.inference.course import Course
from sparsetopics.inference.guided_start import Guidance
from sparsetopics.inference.learners.memoized import MemoizedState
from sparsetopics.inference.merging import Merging, merged_counts
from sparsetopics.inference.moves.merge import disjoint_pairs
from sparsetopics.inference.topics import TopicParameters
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.assignments import TopicChange
from sparsetopics.model.statistics import DocumentTerms, Statistics
from sparsetopics.model.word_counts import PairCounts, WordCounts
from sparsetopics.options.table import OWN_LAPS, OWN_SHARES, OwnCounts
from sparsetopics.options.training import LocalOptions, TrainingOptions

FACTORS = (3.0, 3.0, 3.0, 1.7)  # topics in the first laps, relative to the number wanted
FORMING_MASS = 1.0  # tokens: the default minimum mass in these laps
DOCUMENTS_PER_TOPIC = 3  # at least, of the topics that training begins with
MOST_BYTES = 64 * 2**20  # of the first table of word counts; several are held at once
ROUND_SHARE = 0.5  # of the surplus topics, that one round merges
LAST_ROUND = 3  # surplus topics that are merged in one round

WordState = MemoizedState[DocumentBatch, WordCounts, DocumentTerms]
WordStatistics = Statistics[WordCounts, DocumentTerms]


class GradualStart(Course[WordState, DocumentBatch, WordCounts, PairCounts, DocumentTerms]):
    """The course of LDA, which makes all its laps.

    Other learners than the memoized one, and laps under mean-field, begin with the number wanted.
    """

    def first_number(self) -> int:
        """The number of topics to begin with: fewer than usual if there are few documents.

        There are also fewer if the word counts would take too much memory; then training says so.
        """
        options, source = self.options, self.setting.source
        if not options.starts_gradually:
            return options.n_topics
        n_topics, full = options.n_topics, wanted_number(options, 1)
        by_memory = MOST_BYTES // (source.n_columns * np.dtype(np.float64).itemsize)
        usual = max(n_topics, min(full, source.n_docs // DOCUMENTS_PER_TOPIC))
        first = max(n_topics, min(usual, by_memory))
        if first < usual:
            begins = f"Training begins with {quantity(first, 'topic')}"
            self.setting.hooks.say(f"{begins} instead of {usual:,} to save memory.")
        return first

    def begin(self, first: WordStatistics, parameters: TopicParameters) -> None:
        setting, table = self.setting, first.components.table
        if setting.guidance:
            guided_start.begin_in_place(setting.guidance, table, setting.source, setting.rng)
        super().begin(first, parameters)

    def before_lap(self, lap: int) -> None:
        """Merge topics if there are more than wanted in this lap."""
        wanted, guidance = wanted_number(self.options, lap), self.setting.guidance
        if self.parameters.allocation.n_topics > wanted:
            self.merge(lambda counts, prior: merged_topics(counts, wanted, prior, guidance))
        local = local_options(self.options, self.parameters.allocation.n_topics, lap)
        self.laps = replace(self.laps, local=local)

    def merge(self, new_topics_of: Callable[[FloatArray, float], IntArray]) -> None:
        """Merge topics; the function gets their counts and η, and returns their new numbers."""
        prior = self.parameters.likelihood.word_concentration
        assert prior is not None, "topics have words"
        new_topics = new_topics_of(self.state.total.components.table, prior)
        self.state, self.parameters = narrowed(self.state, self.parameters, new_topics)
        self.memory = self.memory._replace(lineage=new_topics[self.memory.lineage])

    def own_share(self, lap: int) -> float:
        return OWN_SHARES[own_counts_in(self.options, lap)]

    def is_over(self, infos: list[LapInfo]) -> bool:
        """Whether all laps are made; if it is resumed with fewer laps, topics may be too many."""
        n_laps = self.options.n_laps
        return len(infos) >= n_laps and infos[-1].n_topics <= wanted_number(self.options, n_laps)


def wanted_number(options: TrainingOptions, lap: int) -> int:
    """The number of topics in a lap, numbered from 1, if there were enough in the lap before."""
    if options.lower_rungs and lap > options.first_laps:  # after the last, its number stays
        later = options.path_laps
        return later[min(lap - options.first_laps, len(later)) - 1]
    if not options.starts_gradually or lap > len(FACTORS):
        return options.n_topics
    return round(FACTORS[lap - 1] * options.n_topics)


def own_counts_in(options: TrainingOptions, lap: int) -> OwnCounts | None:
    """What a lap does with own counts; None: they are kept."""
    return options.own_counts if lap > options.n_laps - OWN_LAPS else None


def local_options(options: TrainingOptions, n_topics: int, lap: int) -> LocalOptions:
    """How the topics of documents are found in a lap with ``n_topics``."""
    local = replace(options.local_step, own_counts=own_counts_in(options, lap))
    is_given = options.local.minimum_mass is not None
    if not options.starts_gradually or n_topics <= options.n_topics or is_given:
        return local
    return replace(local, minimum_mass=FORMING_MASS)


def narrowed(
    state: WordState, parameters: TopicParameters, new_topics: IntArray
) -> tuple[WordState, TopicParameters]:
    """The state with topics of the same new number merged, before a lap that visits all batches.

    Each number from 0 to the largest must occur. The terms of the ELBO are zero until the batches
    are visited.
    """
    allocation = parameters.allocation
    assert isinstance(allocation, LDAAllocation | HDPAllocation), "no mixture is merged like this"
    merged = merged_counts(state.total.components.table, new_topics)
    n_topics = merged.shape[1]
    allocation = allocation.joined(new_topics, n_topics)
    nothing = dict.fromkeys(state.per_batch, allocation.zero_terms())
    state = state.with_terms(nothing, WordCounts(merged))
    state = state._replace(changes=(*state.changes, TopicChange(new_topics, {}, n_topics)))
    return state, parameters._replace(allocation=allocation)


def merged_topics(
    counts: FloatArray, n_topics: int, word_concentration: float, guidance: Guidance = ()
) -> IntArray:
    """The new number of each topic of ``counts`` (n_words, n_old) after merges to ``n_topics``.

    Topics of two lists of the ``guidance`` stay apart unless there are more lists than topics.
    """
    merging = Merging.of(counts, word_concentration)
    lists = guided_start.lists_of(guidance, counts) if guidance else None
    if lists is not None and len({*lists.tolist()} - {guided_start.NO_LIST}) > n_topics:
        lists = None
    while (surplus := merging.n_groups - n_topics) > 0:
        n_pairs = surplus if surplus <= LAST_ROUND else math.ceil(ROUND_SHARE * surplus)
        gains = merging.gains
        if lists is not None:
            gains[guided_start.are_apart(lists, merging.groups)] = -math.inf
        merging = merging.joined(disjoint_pairs(gains, most=n_pairs))
    return merging.groups

"""What a topic path writes: a run for each rung while it trains, then the scores and the tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.errors import CorpusError
from sparsetopics.base.staging import sync_tree
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.inference.course import Model
from sparsetopics.inference.topic_path import VISITS, is_rung
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.measures import completion
from sparsetopics.measures.knee import Knee, find_knee, reading_number, settled_knee
from sparsetopics.measures.paired import Estimate, HeldoutScores, mean_score, paired_difference
from sparsetopics.measures.relevance import topic_names
from sparsetopics.measures.telling_words import telling_words
from sparsetopics.measures.top_words import top_words
from sparsetopics.measures.topic_quality import COHERENT_WORDS, BestWords, measure_topics
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.checkpoint_format import Rung
from sparsetopics.runs.checkpoints import HELDOUT_SCORE, RunKeeper
from sparsetopics.runs.measured_scores import path_scores, rung_to_read, shares_of_gain
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.run import NO_THEMES, load_run, option_record, run_in_memory, save_run
from sparsetopics.runs.run_files import STATE_DAMAGE, Nested, Provenance
from sparsetopics.runs.topic_path_files import (
    RungScore,
    Scores,
    TopicTree,
    TreeRung,
    TreeTopic,
    write_topic_path,
)
from sparsetopics.runs.training_folder import TrainingFolder

ENOUGH_TOKENS = 20_000  # to score, in all cuts of the validation documents
NO_RUNG = Rung(0, 0, np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
WORSE = 0.0025  # nats per token that rounds of moves may lose together
UNSURE = 0.05  # nats; if the standard error is larger, the higher score is all there is to go by
# Cuts of each validation document at most, or more if they have no more pairs than are cheap.
USUAL_SPLITS, MOST_SPLITS, CHEAP_PAIRS = 5, 20, 4_000
LISTED_WORDS = 10  # of each topic of the tree, of either kind
CANDIDATES = 200  # most probable words of a topic, among which telling words are looked for

# Gets what makes the model of a rung, and its ELBO, nats per token.
KeepRung = Callable[[Callable[[], Model], float], None]


def keep_no_model(snapshot: Callable[[], Model], elbo_per_token: float) -> None:
    """A ``KeepRung``."""


@dataclass(frozen=True, slots=True)
class RungScorer:
    """Scores rungs on documents that are not among those their topics have seen.

    Raises CorpusError if no document can be scored.
    """

    documents: Corpus
    n_splits: int  # ways in which each document is cut in two
    described: str  # the documents, in words
    workers: int

    @classmethod
    def of_validation(cls, documents: Corpus | None, workers: int) -> RungScorer | None:
        """What scores on documents that were kept out of training, if any were.

        Few documents are cut in several ways, so that their scores depend less on chance.
        """
        if documents is None:
            return None
        needed = math.ceil(ENOUGH_TOKENS / (completion.SCORED_SHARE * documents.n_tokens))
        cheap = max(USUAL_SPLITS, min(MOST_SPLITS, CHEAP_PAIRS // documents.n_pairs))
        n_splits = min(needed, cheap)
        number = quantity(documents.n_docs, "training document")
        return cls(documents, n_splits, f"{number} that were kept out of training", workers)

    def __post_init__(self) -> None:
        batches = self.documents.batches()
        if not any((np.diff(batch.indptr) >= 2).any() for batch in batches):
            problem = "none of them has two different words to score"
            raise CorpusError(self.described, problem, "Use other documents, or more of them.")

    def scores(self, snapshot: Callable[[], Model]) -> HeldoutScores:
        """The scores of all documents under a model, added up over the splits."""
        model = snapshot()
        assert isinstance(model, TopicPosterior), "a path has topics"
        alpha, topic_word = model.mixing_weights, model.topic_word_mean
        del model  # each is as large as all topics
        return self._scores(np.asfortranarray(topic_word), alpha)  # in the order of scoring

    def score_without_topics(self) -> float:
        """The score of the words' frequencies in the whole collection, nats per token."""
        frequencies = completion.unigram_probabilities(self.documents.vocabulary.term_frequency)
        return mean_score(self._scores(frequencies[None], np.ones(1))).mean

    def _scores(self, topic_word: FloatArray, alpha: FloatArray) -> HeldoutScores:
        unigram = completion.unigram_probabilities(self.documents.vocabulary.term_frequency)
        _, sums = completion.document_completion(
            *(self.documents, topic_word, alpha, unigram),
            n_cuts=self.n_splits, workers=self.workers,
        )  # fmt: skip
        return sums


@dataclass(slots=True)
class RungRecorder:
    """Scores the rungs of a path while it trains, and remembers them."""

    options: TrainingOptions
    scorer: RungScorer | None
    rungs: list[Rung]
    keep: KeepRung = keep_no_model
    _last: Rung = NO_RUNG  # the last lap, as the rung that it may become
    _best: HeldoutScores | None = None  # of the models accepted since a rung was chosen
    _accepted: Rung | None = None  # the last of these models

    def score(self, info: LapInfo, snapshot: Callable[[], Model]) -> float | None:
        """The score of a lap, nats per token, if it is the last one of a rung."""
        self._last = NO_RUNG._replace(n_topics=info.n_topics, laps=info.lap)
        if self.scorer is None or not is_rung(self.options, info.lap):
            return None
        found = self.scorer.scores(snapshot)
        self._last = Rung(info.n_topics, info.lap, *found, NO_RUNG.parents)
        return mean_score(found).mean

    def reached(
        self, snapshot: Callable[[], Model], parents: IntArray, elbo_per_token: float
    ) -> None:
        """Remember a rung (``course.Judge``)."""
        self.keep(snapshot, elbo_per_token)
        self.rungs.append(self._last._replace(parents=parents))

    def choose(self) -> int:
        """The place of the rung that an HDP continues with."""
        return self._ranked()[1].recommended

    def accepts(self, model: Model) -> bool:
        """Whether an HDP predicts as well as the best one since ``choose``, which it may become.

        The first model is accepted: more laps change the scores of a chosen rung, for the worse if
        its number is wrong, and it has to be mended then. Comparing with the best keeps small
        losses from adding up.
        """
        found = self._scored(model)
        mean = paired_difference(found.scores, self._best or found.scores).mean
        if is_accepted := mean >= -WORSE:
            self._accepted = found
        if self._best is None or mean > 0.0:
            self._best = found.scores
        return is_accepted

    def prefers(self, rival: Model) -> float:
        """By how many standard errors, or steps of half of ``WORSE``, a rival scores higher.

        It is compared with the last model accepted. On real data a few more topics often predict a
        little better. A larger rival must therefore win by a standard error, unless the documents
        are too few for that.
        """
        before, found = self._accepted, self._scored(rival)
        assert before is not None, "the first is always accepted"
        mean, error = paired_difference(found.scores, before.scores)
        is_strict = found.n_topics > before.n_topics and error <= UNSURE
        if mean <= (error if is_strict else 0.0):
            return 0.0
        self._accepted = found
        return mean / max(WORSE / 2.0, error)

    def settled(self, n_topics: int) -> None:
        """Remember the model that training continues with, beside the rungs."""
        assert self._accepted is not None, "the first is always accepted"
        last_lap = self.rungs[-1].laps  # not that of ``_last``, which runs that resume do not know
        self.rungs.append(self._accepted._replace(n_topics=n_topics, laps=last_lap))

    def _scored(self, model: Model) -> Rung:
        assert self.scorer is not None, "a judge has documents"
        return Rung(model.n_topics, 0, *self.scorer.scores(lambda: model), NO_RUNG.parents)

    def _ranked(self) -> tuple[list[Rung], Knee]:
        """The rungs, the largest first, and where their scores stop rising.

        Of an HDP, the model that it has settled on stands for the rung of its number.
        """
        rungs = self.rungs
        if len(rungs) == len(self.options.rungs):
            numbers = [rung.n_topics for rung in rungs]
            return rungs, find_knee(numbers, [rung.scores for rung in rungs])
        own, tried = rungs[-1], rungs[:-1]
        larger = [rung for rung in tried if rung.n_topics > own.n_topics]
        rungs = [*larger, own, *(rung for rung in tried if rung.n_topics < own.n_topics)]
        return rungs, settled_knee(len(larger), [rung.scores for rung in rungs])

    def number_to_read(self) -> int:
        """The fewest topics that are enough to read, on a path those of a rung."""
        found = self.scores.to_read
        assert found is not None, "rungs were scored"
        return found

    @property
    def scores(self) -> Scores:
        """The scores of all rungs, and the number of topics that they recommend."""
        if self.scorer is None:
            return Scores(tuple(RungScore(rung.n_topics, rung.laps) for rung in self.rungs))
        rungs, knee = self._ranked()
        best, numbers = knee.recommended, [rung.n_topics for rung in rungs]
        nothing = self.scorer.score_without_topics()
        gains = shares_of_gain([mean_score(rung.scores).mean - nothing for rung in rungs], best)
        fewer, shares = numbers[best:], gains[best:]
        to_read = reading_number(fewer[::-1], shares[::-1])
        if self.options.is_topic_path:
            to_read = rung_to_read(fewer, shares)
        return Scores(
            rungs=tuple(map(_rung_score, rungs, knee.differences, gains)),
            scored_on=self.scorer.described,
            n_documents=len(rungs[0].sizes),
            n_tokens=float(rungs[0].sizes.sum()),
            recommended=numbers[best],
            as_good_from=numbers[knee.smallest_as_good],
            as_good_to=numbers[knee.largest_as_good],
            to_read=to_read,
        )


@dataclass(frozen=True, slots=True)
class RungWriter:
    """Writes the run of each rung while a path trains, and the files of the path at its end."""

    plan: RunPlan
    documents: Corpus  # all that the rungs are trained on
    provenance: Provenance
    folder: TrainingFolder
    keeper: RunKeeper

    def keep(self, snapshot: Callable[[], Model], elbo_per_token: float) -> None:
        """Write the run of a rung, whose lap is the last one in the trace."""
        model = snapshot()
        trace, share = list(self.keeper.trace), self.plan.validation_share or 0.0
        if share:
            # The visits in which the rung took in the validation documents
            lap = {"lap": (trace[-1]["lap"] or 0) + VISITS, "elbo_per_token": elbo_per_token}
            trace.append(trace[-1] | lap | {HELDOUT_SCORE: None})
        options = rung_record(self.plan.options, model.n_topics, share)
        options |= {"batches": self.plan.n_batches, "resident_pairs": self.plan.resident_pairs}
        run = self.folder.new_rung(model.n_topics)
        facts: Provenance = {**self.provenance, "options": options, "themes": NO_THEMES}
        if self.plan.options.guide:
            facts["guide"] = self.plan.options.guide
        save_run(run, run_in_memory("", model, self.documents.vocabulary, facts, trace))
        sync_tree(run)

    def write(self, result: Path, scores: Scores) -> None:
        """Write the files of the path beside the runs of its rungs in ``result``.

        Raises RunError if one of them is of another training.
        """
        laps = {rung.n_topics: rung.laps for rung in self.keeper.rungs}

        def model_of(n_topics: int) -> TopicPosterior:
            run = load_run(result / str(n_topics), TopicPosterior)
            # The times of laps differ between any two trainings, even of the same data.
            if list(run.trace)[: laps[n_topics]] != self.keeper.trace[: laps[n_topics]]:
                raise STATE_DAMAGE.of(run.path, "the run is of another training")
            return run.model

        described = described_path(scores, self.keeper.rungs, model_of, self.documents)
        write_topic_path(result, *described)


def rung_record(options: TrainingOptions, n_topics: int, share: float) -> Nested:
    """The options of a path as model.json of one rung keeps them."""
    local, laps = replace(options.local, own_counts="keep"), options.first_laps
    rungs = ",".join(map(str, options.rungs))
    if local.sparsity is not None:
        local = replace(local, sparsity=min(local.sparsity, n_topics))
    own = replace(options, n_topics=n_topics, lower_rungs=(), local=local, laps=laps)
    return {**option_record(own), "topic_path": rungs, "validation_share": share}


def _rung_score(rung: Rung, difference: Estimate, gain: float) -> RungScore:
    estimates = [*mean_score(rung.scores), *difference, gain]
    score, error, gap, gap_error, share = (None if math.isnan(n) else n for n in estimates)
    return RungScore(rung.n_topics, rung.laps, score, error, gap, gap_error, share)


# --- the tree -------------------------------------------------------------------------------------
def described_path(
    scores: Scores,
    rungs: Sequence[Rung],
    model_of: Callable[[int], TopicPosterior],
    documents: Corpus,
) -> tuple[Scores, TopicTree]:
    """The scores with measures of topics, and the tree; models of rungs are read one by one."""
    parents = [*(rung.parents for rung in rungs[1:]), None]
    made: list[TreeRung] = []

    def counted() -> Iterator[BestWords]:
        for rung, merged in zip(rungs, parents, strict=True):
            model = model_of(rung.n_topics)
            topic_word = model.topic_word_mean
            best = top_words(topic_word, CANDIDATES)
            made.append(_tree_rung(model, topic_word, best, merged, documents.vocabulary))
            counts = model.topic_word_counts
            own = np.take_along_axis(counts, best[:, :COHERENT_WORDS], axis=1)
            yield BestWords(counts.sum(axis=1), best, own, counts.sum(axis=0))

    measures = measure_topics(counted(), documents.batches())
    return path_scores(scores, measures), TopicTree(tuple(made))


def _tree_rung(
    model: TopicPosterior,
    topic_word: FloatArray,
    best: IntArray,
    parents: IntArray | None,
    vocabulary: Vocabulary,
) -> TreeRung:
    n_topics, shown = model.n_topics, vocabulary.shown
    # All topics of the last rung are siblings.
    families = np.zeros(n_topics, np.int64) if parents is None else parents
    telling = telling_words(model.topic_word_posterior, families, best, LISTED_WORDS)
    unigram = completion.unigram_probabilities(vocabulary.term_frequency)
    names, weights = topic_names(topic_word, unigram, shown), np.clip(model.weights, 0.0, 1.0)
    words, apart = (
        [tuple(shown[word] for word in own) for own in each]
        for each in (best[:, :LISTED_WORDS], telling)
    )
    places = [None] * n_topics if parents is None else parents.tolist()
    topics = map(TreeTopic, weights.tolist(), names, words, apart, places)
    return TreeRung(n_topics, tuple(topics))

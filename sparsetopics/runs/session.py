"""A session of training, the same on disk and in memory: its laps are told, its rungs recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from sparsetopics.base.batches import DocumentBatch, StoredBatch
from sparsetopics.base.errors import OptionError
from sparsetopics.base.wording import reason_of
from sparsetopics.corpora.batching import TrainingData
from sparsetopics.execution.executors import Executor, open_executor
from sparsetopics.inference.course import Hooks, Model, Setting, course_of
from sparsetopics.inference.local_step import LocalSteps
from sparsetopics.inference.training import Start, follow
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.model.memo import Memo
from sparsetopics.model.statistics import AnyComponents, BatchSums, Terms
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.model.word_counts import WordCounts
from sparsetopics.options.training import MoveOptions, TopicPrior, TrainingOptions
from sparsetopics.runs.callbacks import LapEntry, RunHooks
from sparsetopics.runs.checkpoint_format import Rung
from sparsetopics.runs.checkpoints import HELDOUT_SCORE, RunKeeper
from sparsetopics.runs.data import Score
from sparsetopics.runs.guidance import GuideList, guidance_of, warn_of_lost, with_topics
from sparsetopics.runs.measured_scores import themed_scores
from sparsetopics.runs.run import tree_of
from sparsetopics.runs.run_files import KeptEntries
from sparsetopics.runs.seen_documents import AnyLearned, Learned, seen_in
from sparsetopics.runs.topic_path import KeepRung, RungRecorder, RungScorer, keep_no_model
from sparsetopics.runs.topics_in_documents import few_documents, likeness_of_halves

Steps = LocalSteps[AnyComponents, BatchSums, Terms, StoredBatch]


class Trained(NamedTuple):
    """What a session ends with."""

    model: Model
    trace: list[LapEntry]  # one entry per lap
    rungs: Sequence[Rung]
    kept: KeptEntries  # what the run keeps beside the model
    learned: AnyLearned
    models: dict[int, TopicPosterior]  # of rungs, by number of topics, where they are in memory


def warm_options(model: TopicPosterior, options: TrainingOptions, laps: int) -> TrainingOptions:
    """The options for ``laps`` that start from the topics of a model, which keep their number.

    There are no moves and no validation. Concentrations are those that the model ended with.
    """
    local, total, gamma = options.local, model.doc_concentration.sum(), None
    if (sticks := model.sticks) is not None:
        total, gamma = sticks.doc_concentration, sticks.top_concentration
        local = replace(local, own_counts=None)
    if local.sparsity is not None:
        local = replace(local, sparsity=local.n_slots(model.n_topics))
    # Twelve digits, because a sum of equal parts may differ from the α that was given.
    prior = TopicPrior(float(f"{total:.12g}"), model.word_concentration, gamma)
    return replace(
        options, n_topics=model.n_topics, laps=laps, local=local, prior=prior,
        moves=MoveOptions(()), n_runs=1,
    )  # fmt: skip


@contextmanager
def workshop(workers: int) -> Iterator[tuple[Executor, Path]]:
    """Yield threads to work with, and a temporary folder for summaries that outgrow memory."""
    with open_executor(workers) as executor, TemporaryDirectory(prefix="sparsetopics-") as folder:
        yield executor, Path(folder)


def run_session(
    data: TrainingData,
    options: TrainingOptions,
    rng: np.random.Generator,
    executor: Executor,
    scratch: Path,
    hooks: RunHooks,
    *,
    scorer: RungScorer | None,
    keep_rung: KeepRung = keep_no_model,
    score: Score | None = None,
    start: Start = None,
    lists: Sequence[GuideList] = (),
    keeper: RunKeeper | None = None,
    steps: Steps | None = None,
) -> Trained:
    """Train from where the ``keeper`` stands, or from the beginning without one, to the end.

    The ``scorer`` judges rungs, ``keep_rung`` takes their models. ``score`` has the held-out score
    of a lap. Raises OptionError if there is too little memory.
    """
    trace: list[LapEntry] = [] if keeper is None else keeper.trace
    rungs: list[Rung] = [] if keeper is None else keeper.rungs
    recorder = RungRecorder(options, scorer, rungs, keep_rung) if options.rungs else None

    def on_lap(info: LapInfo, snapshot: Callable[[], Model]) -> None:
        found = None if recorder is None else recorder.score(info, snapshot)
        if not options.is_topic_path:
            found = None if score is None else score(snapshot())
        is_scored = options.is_topic_path or keeper is not None
        trace.append(info.entry() | ({HELDOUT_SCORE: found} if is_scored else {}))
        hooks.on_lap(trace[-1])

    memo = Memo(scratch, versioned=keeper is not None)
    told = Hooks(on_lap, hooks.on_documents, hooks.on_writing, hooks.say)
    guidance = guidance_of(lists if start is None else ())
    how = executor, memo, rng, told, steps, recorder, guidance
    course = course_of(options)(Setting(data.source, data.whole, options, *how))
    try:
        model = follow(course, start, keeper)
    except MemoryError as error:
        problem = f"{options.n_topics:,} need more memory than there is ({reason_of(error)})"
        raise OptionError("topics", problem, "Use fewer, or more batches.") from error
    lists = with_topics(lists, model)
    n_steps = len(trace) * data.whole.n_batches
    learned: AnyLearned = Learned(course.learned, course.parameters, n_steps)
    kept, components = seen_in(learned), learned.statistics.components
    has_topics = "seen" in kept and not options.is_topic_path
    if has_topics and (few := few_documents(data, components.sizes, course.kept_of)):
        kept["few_documents"] = few
    if has_topics and isinstance(components, WordCounts):
        table, n_batches = components.table, data.whole.n_batches
        if alike := likeness_of_halves(table, n_batches, course.kept_of):
            kept["likeness_of_halves"] = alike
        warn_of_lost(lists, hooks.warn)
    if options.guide:
        kept["guide"] = options.guide
    if recorder is not None:
        kept["number_of_topics"] = scores = recorder.scores
        if options.is_validated:
            assert isinstance(model, TopicPosterior), "it has a number of topics"
            kept["themes"] = tree_of(model, lists)
            read = map(data.whole.read, range(data.whole.n_batches))
            documents = (batch for batch in read if isinstance(batch, DocumentBatch))
            kept["number_of_topics"] = themed_scores(scores, model, kept["themes"], documents)
    return Trained(model, trace, rungs, kept, learned, {})

"""Training that is taken up from edited checkpoints and memo files, of every learner and model.

What an edit leaves sound by type may still be refused; what is not refused must train on. Half of
the edited checkpoints are sealed: the sums and the bound that checks compare are made true again,
as by someone who knows them.
"""

import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fuzz.checkpoint_changes import change_checkpoint, change_memo, with_stamps
from fuzz.subject import Subject, files_of
from sparsetopics.base.batches import DocumentItemSource, Source, VectorBatch
from sparsetopics.corpora.batching import Batches
from sparsetopics.execution.executors import Executor
from sparsetopics.inference import training
from sparsetopics.inference.course import Hooks, Setting, course_of
from sparsetopics.inference.learners.memoized import MemoizedState
from sparsetopics.inference.local_step import Parameters
from sparsetopics.inference.training_state import LapInfo, TrainingState
from sparsetopics.model.memo import Memo
from sparsetopics.model.standard_source import StandardSource
from sparsetopics.options.training import (
    GradientOptions,
    LocalOptions,
    MoveOptions,
    TopicPrior,
    TrainingOptions,
)
from sparsetopics.runs.callbacks import LapEntry
from sparsetopics.runs.checkpoint_format import Kept
from sparsetopics.runs.checkpoints import (
    HELDOUT_SCORE,
    RunKeeper,
    read_checkpoint,
    with_documents,
    write_checkpoint,
)
from sparsetopics.runs.training_folder import TrainingFolder
from worlds.clumped_mixtures import LIKELIHOODS, draw_clumps
from worlds.simulated_documents import as_source, simulate

TIE = "a"  # of all checkpoints to their plans
N_WORDS, N_BATCHES, MORE_LAPS, MOST_LAPS = 10, 3, 2, 30
MEAN_FIELD = LocalOptions("mean-field", restarts=1)
DENSE = LocalOptions("mean-field")


def _topics(learner: str, model: str = "lda", laps: int = 2, **others: Any) -> TrainingOptions:
    return TrainingOptions(laps=laps, learner=learner, model=model, **{"n_topics": 3} | others)


def _mixture(learner: str, likelihood: str, laps: int = 2, **others: Any) -> TrainingOptions:
    given = {"model": "dp-mixture", "n_topics": 3} | others
    return TrainingOptions(
        laps=laps, learner=learner, local=DENSE, likelihood=likelihood, **given
    )  # fmt: skip


def _points(learner: str, **others: Any) -> TrainingOptions:
    return _mixture(learner, "isotropic-gaussian", prior=TopicPrior(), **others)


NORMALS = ("gaussian", "diagonal-gaussian", "zero-mean-gaussian", "isotropic-gaussian")
VECTORS_AND_WORDS = (*NORMALS, "multinomial")
MEMOIZED: Mapping[str, TrainingOptions] = {  # laps that leave rivals, changes and patches behind
    "lda": _topics("memoized"),
    "lda-mean-field": _topics("memoized", local=MEAN_FIELD, learn_hyperparameters=True),
    "hdp": _topics("memoized", "hdp", 4, n_topics=2),
    "hdp-learned": _topics("memoized", "hdp", 7, n_topics=2, learn_hyperparameters=True),
    "hdp-bound": _topics(
        "memoized", "hdp", 5, n_topics=6, local=MEAN_FIELD, moves=MoveOptions(criterion="bound")
    ),
    "gaussian": _mixture("memoized", "gaussian", 7, n_topics=1),
    "diagonal-gaussian": _mixture("memoized", "diagonal-gaussian", 5, n_topics=1),
    "zero-mean-gaussian": _mixture("memoized", "zero-mean-gaussian", 4, n_topics=5),
    "isotropic-gaussian": _mixture("memoized", "isotropic-gaussian", 7, n_topics=1),
    "multinomial": _mixture("memoized", "multinomial", 4, n_topics=9),
    **{f"finite-{name}": _mixture("memoized", name, model="mixture") for name in VECTORS_AND_WORDS},
}
LEARNERS: Mapping[str, Mapping[str, TrainingOptions]] = {
    "memoized": MEMOIZED,
    "full": {
        "lda": _topics("full", local=MEAN_FIELD),
        "hdp": _topics("full", "hdp", local=MEAN_FIELD, learn_hyperparameters=True),
        **{name: _mixture("full", name) for name in VECTORS_AND_WORDS},
        "finite": _mixture("full", "gaussian", model="mixture"),
    },
    "stochastic": {
        "lda": _topics("stochastic"),
        "hdp": _topics("stochastic", "hdp"),
        **{name: _mixture("stochastic", name) for name in VECTORS_AND_WORDS},
        "finite": _mixture("stochastic", "multinomial", model="mixture"),
    },
    "gradient": {
        "fisher": _points("gradient"),
        "momentum": _points("gradient", gradient=GradientOptions("momentum")),
    },
    "alternating": {"points": _points("alternating")},
    "accelerated": {
        **{name: _mixture("accelerated", name, n_topics=1) for name in NORMALS},
        "items": _mixture("accelerated", "gaussian", n_topics=1, tree_tolerance=0.0),
    },
}


@dataclass(frozen=True)
class Streamed:
    """A source whose batches would be on disk."""

    source: Any
    is_resident: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)


def _source(options: TrainingOptions, *, is_streamed: bool) -> Source:
    if options.counts_words:
        batch = simulate(np.random.default_rng(1), 18, N_WORDS, 3, 15)
        source: Any = as_source(batch, N_WORDS, N_BATCHES)
        source = DocumentItemSource(source) if options.model_kind.of_items else source
    else:
        n_items = 60 if options.learner_kind.grows else 30
        values = draw_clumps(0, n_items, 2, 4).values
        batches = tuple(VectorBatch(part) for part in np.array_split(values, N_BATCHES))
        in_columns = Batches(
            *(len(values), float(len(values)), values.shape[1], N_BATCHES),
            is_resident=not is_streamed,
            read=batches.__getitem__,
        )
        kind = LIKELIHOODS[options.likelihood_name]
        return StandardSource(
            in_columns, kind.coordinates_for(values.astype(float)), np.random.default_rng(0)
        )
    return Streamed(source) if is_streamed else source


class Stopped(Exception):
    """Training is over for now."""


class StoppingKeeper(RunKeeper):
    """Keeps a lap, and no earlier one, and stops."""

    def __init__(self, folder: TrainingFolder, n_laps: int) -> None:
        super().__init__(folder, n_laps, TIE)
        self._n_laps = n_laps

    def keep(self, progress: TrainingState, memo: Memo) -> None:
        super().keep(progress, memo)
        if len(progress.laps) >= self._n_laps:
            raise Stopped


@dataclass(frozen=True)
class Training:
    """One that has stopped, and can be taken up in any folder that has its files."""

    options: TrainingOptions
    source: Source

    def run(self, folder: Path, n_laps: int) -> None:
        """Until so many laps are done, of more: with few laps left moves would not begin."""
        keeper = StoppingKeeper(TrainingFolder(folder), n_laps)
        with suppress(Stopped):
            training.train(
                self.source,
                replace(self.options, laps=MOST_LAPS),
                folder / "state" / "memo",
                Executor(),
                np.random.default_rng(3),
                hooks=Hooks(lambda info, model: keeper.trace.append(_entry(info))),
                keeper=keeper,
            )

    def begin(self, folder: Path, budget: int | None) -> None:
        (folder / "state" / "memo").mkdir(parents=True)
        with _memo_of(budget):
            self.run(folder, self.options.n_laps)

    def take_up(self, folder: Path, *, is_sealed: bool, has_new_stamps: bool) -> None:
        """In a copy, which training changes."""
        with TemporaryDirectory() as scratch:
            run = shutil.copytree(folder, Path(scratch) / "run")
            memo, checkpoint = run / "state" / "memo", run / "state" / "checkpoint.npz"
            memo.mkdir(exist_ok=True)
            if has_new_stamps:
                checkpoint.write_bytes(with_stamps(checkpoint.read_bytes(), memo))
            if is_sealed:
                self.seal(run)
            self.run(run, self.options.n_laps + MORE_LAPS)

    def seal(self, folder: Path) -> None:
        """Have the checkpoint hold the sums and the bound that what is in it has, if it has any."""
        path = folder / "state" / "checkpoint.npz"
        memo = Memo(folder / "state" / "memo")
        try:
            with np.errstate(all="ignore"):
                kept = read_checkpoint(path, memo, TIE, Kept)
                progress = self._with_sums(kept.progress, memo)
                scores = (None,) * len(progress.laps)
                write_checkpoint(path, Kept(progress, scores, kept.rungs), TIE)
        except Exception:  # there is nothing to add up, or it cannot be written
            return

    def _with_sums(self, progress: TrainingState, memo: Memo) -> TrainingState:
        read = self.source.read if self.source.is_resident else lambda batch_id: None
        given = with_documents(progress, read)
        prior, n_laps = given.parameters, len(given.laps)
        rng, executor = np.random.default_rng(3), Executor()
        setting = Setting(self.source, self.source, self.options, executor, memo, rng, Hooks())
        learner = setting.learner(prior)
        state = self._added_up(given.learner, prior, learner)
        bound = course_of(self.options)(setting).checked_elbo(state, prior, n_laps)
        last = given.laps[-1]._replace(elbo_per_token=bound / self.source.n_tokens)
        given = given._replace(learner=state, laps=(*given.laps[:-1], last))
        rival = getattr(given.mover, "rival", None)
        if rival is not None:
            rival = rival._replace(state=self._added_up(rival.state, rival.parameters, learner))
            given = given._replace(mover=given.mover._replace(rival=rival))
        return with_documents(given, lambda batch_id: None)

    def _added_up(self, state: Any, prior: Parameters, learner: Any) -> Any:
        if not isinstance(state, MemoizedState):
            return state
        learner.check_parts(state, prior.nothing, self.source)
        return state._replace(total=learner.added_up(state, state.total.zeros_like()))


def _entry(info: LapInfo) -> LapEntry:
    return info.entry() | {HELDOUT_SCORE: None}


@contextmanager
def _memo_of(budget: int | None) -> Iterator[None]:
    """Training keeps at most so many bytes of batches in memory."""
    defaults = Memo.__init__.__defaults__
    if budget is not None:
        Memo.__init__.__defaults__ = (budget,)
    try:
        yield
    finally:
        Memo.__init__.__defaults__ = defaults


def _resuming(
    variants: Mapping[str, TrainingOptions], scratch: Path, *, in_files: bool = False
) -> Subject:
    """The folders of all ``variants``, of which that is taken up whose files are edited."""
    trainings = {
        name: Training(options, _source(options, is_streamed=in_files))
        for name, options in variants.items()
    }
    for name, each in trainings.items():
        each.begin(scratch / name, 0 if in_files else None)
    sound = files_of(scratch)

    def read(folder: Path) -> None:
        found = {file: (folder / file).read_bytes() for file in sound}
        edited = [file for file, data in found.items() if data != sound[file]]
        for name in {file.partition("/")[0] for file in edited} or trainings:
            trainings[name].take_up(
                folder / name,
                is_sealed=any(zlib.crc32(found[file]) % 2 for file in edited),
                has_new_stamps=in_files and bool(edited),
            )

    targets = tuple(file for file in sound if in_files == ("/memo/" in file))
    return Subject(
        sound,
        read,
        targets,
        dict.fromkeys(targets, change_memo if in_files else change_checkpoint),
    )


SPILLED = ("lda", "lda-mean-field", "hdp", "gaussian", "multinomial", "finite-multinomial",
           "finite-diagonal-gaussian")  # fmt: skip
SUBJECTS: Mapping[str, Callable[[Path], Subject]] = {
    **{f"resume-{name}": partial(_resuming, variants) for name, variants in LEARNERS.items()},
    "resume-memo-files": partial(
        _resuming, {name: MEMOIZED[name] for name in SPILLED}, in_files=True
    ),
}

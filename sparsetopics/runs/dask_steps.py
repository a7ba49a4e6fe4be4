"""Local steps by the workers of a Dask cluster, on the same batches and with the same bits.

The parameters of a round go into a folder of the run, whose name no other version ever has; a
worker maps its arrays into memory. It reads the corpus itself, divides it as the driver does, and
keeps that for the run. What it makes of a batch goes back to the driver, who puts batches in and
takes them out in their order, keeps what is memoized, and commits laps, as without Dask.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from sparsetopics.base.batches import IntArray, Source
from sparsetopics.base.errors import RunError
from sparsetopics.base.sealed_files import VERSION_KEY, file_sha256, read_sealed, write_sealed
from sparsetopics.corpora.store.manifest import FILE_NAME as MANIFEST
from sparsetopics.execution.dask_cluster import Cluster, open_cluster
from sparsetopics.execution.executors import SerialExecutor
from sparsetopics.inference import batch_steps
from sparsetopics.inference.local_step import Fitted, Globals, LocalResult
from sparsetopics.model.document_topics import DocumentTopics
from sparsetopics.model.memo import Memo
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.runs.checkpoints import FORMAT_VERSION, Arrays, decode, encode
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.run_files import STATE_DAMAGE
from sparsetopics.runs.sources import divided

TREE = "tree.json"
MAPPED_BYTES = 1 << 20  # arrays at least so large are mapped, not read


Task = tuple[int, DocumentTopics | None]  # a batch, and what its documents begin with


class Job(NamedTuple):
    """What a worker has to know of a run."""

    name: str  # of this process' part of it, which no other has
    plan: RunPlan
    fingerprint: str  # of the corpus
    with_responsibilities: bool  # whether anybody asks for them
    with_doc_topics: bool

    @classmethod
    def of(cls, plan: RunPlan) -> Job:
        plan = replace(plan, base=plan.base.absolute())
        fingerprint = file_sha256(plan.at(plan.corpus) / MANIFEST)
        options = plan.options
        has_moves, has_warm_laps = bool(options.active_moves.names), options.laps_per_cold > 1
        return cls(uuid4().hex, plan, fingerprint, has_moves, has_warm_laps)


@contextmanager
def open_dask_steps(plan: RunPlan, folder: Path) -> Iterator[Callable[[Source], DaskSteps]]:
    """Makes steps of a source on the cluster of ``plan``.

    ``folder``, which workers must see, is gone afterwards.
    """
    shutil.rmtree(folder, ignore_errors=True)
    with open_cluster(plan.workplace) as cluster:
        folder.mkdir()
        try:
            yield partial(DaskSteps, cluster, Job.of(plan), folder.absolute())
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            cluster.run_everywhere(forget)


@dataclass(slots=True)
class DaskSteps:
    """``LocalSteps`` whose tasks are batches."""

    cluster: Cluster
    job: Job
    folder: Path
    source: Source
    n_rounds: int = 0

    def fit_all(
        self, batch_ids: IntArray, current: Globals, former: Iterable[DocumentTopics | None]
    ) -> Iterator[Fitted]:
        self.n_rounds += 1
        version = self.folder / f"{self.job.name}-{self.n_rounds:08d}"
        write_globals(version, current)
        fit = partial(fit_batch, job=self.job, version=version)
        ids = batch_ids.tolist()
        tasks = list(zip(ids, former, strict=True))
        for batch_id, found in zip(ids, self.cluster.map(fit, tasks), strict=True):
            yield Fitted(self.source.read(batch_id), found)
        shutil.rmtree(version, ignore_errors=True)


def fit_batch(task: Task, job: Job, version: Path) -> LocalResult:
    """In a worker: the local step of a batch."""
    batch_id, former = task
    if former is not None:
        former = former.writable()
    with _lock:  # threads of a worker share what it keeps
        source, current = _kept_source(job), _kept_globals(version)
    local = job.plan.options.local_step
    batch = source.read(batch_id)
    found = batch_steps.fit_batch(batch, current, local, SerialExecutor(), former)
    if not job.with_responsibilities:
        found = found._replace(responsibilities=Responsibilities.joined([]))
    return found if job.with_doc_topics else found._replace(doc_topics=None)


def forget() -> None:
    """In a worker: keep nothing any longer."""
    with _lock:
        _kept_source.cache_clear()
        _kept_globals.cache_clear()


_lock = Lock()


@lru_cache(maxsize=1)
def _kept_source(job: Job) -> Source:
    manifest = job.plan.at(job.plan.corpus) / MANIFEST
    found = file_sha256(manifest) if manifest.exists() else None
    if found != job.fingerprint:
        lagging = FileNotFoundError(manifest) if found is None else None  # or there is none
        raise RunError(
            str(manifest.parent),
            found="no corpus" if found is None else "another corpus",
            wanted="in every worker that of training, under the same path",
            hint="Keep corpus and run on a disk that all machines share.",
        ) from lagging
    return divided(job.plan, np.random.default_rng(job.plan.seed))


@lru_cache(maxsize=1)
def _kept_globals(version: Path) -> Globals:
    return read_globals(version)


def write_globals(folder: Path, current: Globals) -> None:
    """Make ``folder``, as a whole; what a crash of the machine loses of it is made again."""
    scratch = folder.with_suffix(".part")
    scratch.mkdir()
    arrays: Arrays = {}
    tree = encode(current, arrays)
    for name, array in arrays.items():
        np.save(scratch / f"{name}.npy", array, allow_pickle=False)
    write_sealed(scratch / TREE, {VERSION_KEY: FORMAT_VERSION, "value": tree})
    os.replace(scratch, folder)


def read_globals(folder: Path) -> Globals:
    """What was written, bit by bit; RunError if this machine does not see it."""
    if not folder.parent.exists():
        raise RunError(
            str(folder.parent),
            found="no such folder in a worker",
            wanted="a run on a disk that all machines share",
        ) from FileNotFoundError(folder.parent)
    tree = read_sealed(folder / TREE, FORMAT_VERSION, STATE_DAMAGE)["value"]
    arrays = {path.stem: _loaded(path) for path in folder.glob("*.npy")}
    current: Globals = decode(tree, arrays, Memo(folder))
    return current


def _loaded(path: Path) -> Any:
    """Writable like any array, so that kernels are not compiled anew; the file stays as it is."""
    is_mapped = path.stat().st_size >= MAPPED_BYTES
    return np.asarray(np.load(path, mmap_mode="c" if is_mapped else None, allow_pickle=False))

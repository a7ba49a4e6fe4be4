"""Local steps by the workers of a Dask cluster, on the same batches and with the same bits.

The driver writes the parameters of a round to a folder in the run folder, whose name is never used
again. A worker maps the arrays in it into memory. It reads the corpus itself, divides it into the
same batches as the driver, and keeps them for the run. Its results go back to the driver, which
adds and removes batches in their order, memoizes them and commits laps, as it does without Dask.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from sparsetopics.base.batches import IntArray, Source, StoredBatch
from sparsetopics.base.errors import RunError
from sparsetopics.base.sealed_files import VERSION_KEY, file_sha256, read_sealed, write_sealed
from sparsetopics.corpora.store.manifest import FILE_NAME as MANIFEST
from sparsetopics.execution.dask_cluster import open_cluster
from sparsetopics.execution.executors import Executor
from sparsetopics.inference import laps
from sparsetopics.inference.local_step import Former, Globals, LocalResult, LocalSteps
from sparsetopics.model.memo import Memo
from sparsetopics.model.responsibilities import DocumentTopics, Responsibilities
from sparsetopics.model.statistics import AnyComponents, BatchSums, Terms
from sparsetopics.options.training import LocalOptions
from sparsetopics.runs.checkpoint_format import FORMAT_VERSION, Decoder, Encoder
from sparsetopics.runs.data import corpus_of, data_of
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.run_files import STATE_DAMAGE

TREE = "tree.json"
MAPPED_BYTES = 1 << 20  # larger arrays are mapped instead of read

AnyGlobals = Globals[AnyComponents, BatchSums, Terms]


class WorkerRun(NamedTuple):
    """What a worker has to know about a run."""

    name: str  # of this process' part of the run; no other process has it
    plan: RunPlan
    fingerprint: str  # of the corpus


@contextmanager
def open_dask_steps(
    plan: RunPlan, folder: Path, source: Source[StoredBatch]
) -> Iterator[LocalSteps[AnyComponents, BatchSums, Terms, StoredBatch]]:
    """Yield what makes steps of a source on the cluster of ``plan``, whose tasks are batches.

    Workers must see ``folder``, which is removed afterwards.
    """
    shutil.rmtree(folder, ignore_errors=True)
    fingerprint = file_sha256(plan.at(plan.corpus) / MANIFEST)
    run = WorkerRun(uuid4().hex, replace(plan, base=plan.base.absolute()), fingerprint)
    rounds = count(1)

    def steps(
        batch_ids: IntArray, current: AnyGlobals, options: LocalOptions, former: Iterable[Former]
    ) -> Iterator[tuple[StoredBatch, LocalResult[BatchSums, Terms]]]:
        version = folder.absolute() / f"{run.name}-{next(rounds):08d}"
        write_globals(version, current)
        fit = partial(fit_batch, options=options, run=run, version=version)
        ids = batch_ids.tolist()
        tasks = list(zip(ids, former, strict=True))
        for batch_id, found in zip(ids, cluster.map(fit, tasks, map(str, ids)), strict=True):
            yield source.read(batch_id), found
        shutil.rmtree(version, ignore_errors=True)

    with open_cluster(plan.workplace) as cluster:
        folder.mkdir()
        try:
            yield steps
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            cluster.run_everywhere(forget)


def fit_batch(
    task: tuple[int, Former], options: LocalOptions, run: WorkerRun, version: Path
) -> LocalResult[BatchSums, Terms]:
    """In a worker: the local step of a batch; ``task`` has its number, and what its last visit
    left."""
    batch_id, (topics, own) = task
    # For read-only arrays, as Dask sends, numba would compile kernels anew.
    if topics is not None:
        topics = DocumentTopics._make(np.require(array, requirements="W") for array in topics)
    if own is not None:
        own = Responsibilities._make(np.require(array, requirements="W") for array in own)
    with _lock:  # threads of a worker share both caches
        source, current = _kept_source(run), read_globals(version)
    found = laps.fit_batch(source.read(batch_id), current, options, Executor(), (topics, own))
    # The driver gets only what its learner keeps.
    if not run.plan.options.keeps_assignments:
        found = found._replace(responsibilities=Responsibilities.joined([]))
    return found if run.plan.options.laps_per_cold > 1 else found._replace(doc_topics=None)


def forget() -> None:
    """In a worker: drop what is kept between tasks."""
    with _lock:
        _kept_source.cache_clear()
        read_globals.cache_clear()


_lock = Lock()


@lru_cache(maxsize=1)
def _kept_source(run: WorkerRun) -> Source[StoredBatch]:
    manifest = run.plan.at(run.plan.corpus) / MANIFEST
    digest = file_sha256(manifest) if manifest.exists() else None
    if digest != run.fingerprint:
        # A file that is missing may still appear: the cluster tries such tasks again.
        lagging = FileNotFoundError(manifest) if digest is None else None
        found = "none" if digest is None else "another"
        problem = f"expected the training corpus in every worker, but found {found}"
        hint = "Keep corpus and run on a disk that all machines share, under the same path."
        raise RunError(str(manifest.parent), problem, hint) from lagging
    return data_of(run.plan, corpus_of(run.plan), np.random.default_rng(run.plan.seed)).whole


def write_globals(folder: Path, current: AnyGlobals) -> None:
    """Make ``folder`` in one step, unsynced: a crash of the machine ends the round anyway."""
    scratch = folder.with_suffix(".part")
    scratch.mkdir()
    encoder = Encoder()
    tree = encoder.tree(current)
    for name, array in encoder.arrays.items():
        np.save(scratch / f"{name}.npy", array, allow_pickle=False)
    write_sealed(scratch / TREE, {VERSION_KEY: FORMAT_VERSION, "value": tree})
    os.replace(scratch, folder)


@lru_cache(maxsize=1)
def read_globals(folder: Path) -> AnyGlobals:
    """What was written, bit by bit; RunError if this machine does not see it."""
    if not folder.parent.exists():
        hint = "Keep the run on a disk that all machines share."
        missing = FileNotFoundError(folder.parent)
        raise RunError(str(folder.parent), "a worker does not see this folder", hint) from missing
    tree = read_sealed(folder / TREE, FORMAT_VERSION, STATE_DAMAGE)["value"]
    arrays = {path.stem: _loaded(path) for path in folder.glob("*.npy")}
    return Decoder(arrays, Memo(folder)).value(tree, Globals)


def _loaded(path: Path) -> NDArray[np.generic]:
    """Writable like any other array, or kernels would compile again; the file does not change."""
    is_mapped = path.stat().st_size >= MAPPED_BYTES
    return np.asarray(np.load(path, mmap_mode="c" if is_mapped else None, allow_pickle=False))

"""Settings and small worlds that several tests share."""

import gc
import json
import os
from functools import partial
from pathlib import Path
from string import ascii_lowercase

# Before numpy is imported: threads of BLAS wait for each other by spinning, and where two processes
# test, that takes ten times as long as what they compute.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from dask_processes import forked_workers
from processes import (
    AT_COLLECTION,
    KernelCompiler,
    kernels_in_use,
    let_children_import_the_same,
    n_workers,
    wait_for_kernels,
)
from sparsetopics.base.batches import DocumentBatch
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.execution import dask_cluster
from sparsetopics.execution.executors import open_executor
from sparsetopics.inference.course import Hooks
from sparsetopics.inference.training import train
from sparsetopics.model.allocations.mixture_weights import FiniteMixture
from sparsetopics.model.likelihoods.multinomial import DirichletPosterior, Multinomial
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.topic_posterior import Sticks, TopicPosterior
from sparsetopics.runs.run import run_in_memory, save_run
from worlds import sparse_worlds
from worlds.example_world import make_world

# Kernels compile on their first example, and a test must fail on every machine or on none.
settings.register_profile(
    "sparsetopics",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("sparsetopics")

let_children_import_the_same()
os.fsync = os.fstat  # no test loses power, and waiting for a disk takes long

N_WORDS = 30
COMPILER = pytest.StashKey[KernelCompiler]()


def pytest_xdist_auto_num_workers(config):
    return n_workers(config.args)


def pytest_configure(config):
    """Before there are workers."""
    if config.getoption("numprocesses", None) and not config.option.collectonly:
        config.stash[COMPILER] = KernelCompiler()
    else:
        gc.disable()  # until tests are collected: to look for cycles takes a third of that time


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["kernels"] = str(node.config.stash[COMPILER].lock)


def pytest_collection_finish(session):
    session.config.stash[AT_COLLECTION] = kernels_in_use()
    gc.enable()  # without freeze: Hypothesis asks which objects refer to its random generators


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """In a worker, after it has collected the tests."""
    if hasattr(session.config, "workerinput"):
        wait_for_kernels(Path(session.config.workerinput["kernels"]))


def pytest_unconfigure(config):
    if COMPILER in config.stash:
        config.stash[COMPILER].stop()


@pytest.fixture(autouse=True)
def worlds_stay():
    with sparse_worlds.staying_as_they_are():
        yield


@pytest.fixture(scope="session")
def example_world(tmp_path_factory):
    """A folder with what examples of help texts and pages take for granted."""
    folder = tmp_path_factory.mktemp("examples")
    make_world(folder)
    return folder


@pytest.fixture(scope="module")
def cluster():
    """Two Dask workers, processes of this machine; those that follow killed ones are forked too."""
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    local_cluster = partial(
        distributed.LocalCluster,
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs="CRITICAL",
    )
    with (
        dask.config.set(dask_cluster.LOCAL_SETTINGS),
        forked_workers(),
        dask_cluster.started(local_cluster) as workers,
    ):
        yield workers


@pytest.fixture
def fit(tmp_path):
    """Train and return the model and the course of training."""

    def run(source, options, *, workers=1, start=None, seed=0, say=print):
        course = []
        hooks = Hooks(on_lap=lambda info, model: course.append(info), say=say)
        rng = np.random.default_rng(seed)
        with open_executor(workers) as executor:
            model = train(source, options, tmp_path, executor, rng, hooks=hooks, start=start)
        return model, course

    return run


@pytest.fixture
def training_batch() -> DocumentBatch:
    """Sixty documents from three topics over thirty words."""
    rng = np.random.default_rng(3)
    topic_word = rng.dirichlet(np.full(N_WORDS, 0.2), size=3)
    counts = np.array(
        [rng.multinomial(40, rng.dirichlet([0.3] * 3) @ topic_word) for _ in range(60)]
    )
    documents, word_ids = np.nonzero(counts)
    indptr = np.searchsorted(documents, np.arange(61)).astype(np.int64)
    return DocumentBatch(
        indptr, word_ids.astype(np.int32), counts[documents, word_ids].astype(np.uint32)
    )


@pytest.fixture
def vocabulary(training_batch) -> Vocabulary:
    return Vocabulary(
        tuple(f"word{ascii_lowercase[n // 26]}{ascii_lowercase[n % 26]}" for n in range(N_WORDS)),
        np.bincount(training_batch.word_ids, minlength=N_WORDS),
        np.bincount(
            training_batch.word_ids, weights=training_batch.word_counts, minlength=N_WORDS
        ).astype(np.int64),
    )


@pytest.fixture
def model(training_batch) -> TopicPosterior:
    """Four topics near the training words, in falling order of weight."""
    rng = np.random.default_rng(4)
    counts = rng.gamma(0.3, 1.0, size=(4, N_WORDS)) * np.array([[400], [300], [200], [100]])
    counts = counts[np.argsort(-counts.sum(axis=1))]
    concentration = np.array([0.2, 0.15, 0.1, 0.05])
    return TopicPosterior("lda", counts + 0.1, concentration, 0.1, smoothing=0.03)


@pytest.fixture
def hdp(model) -> TopicPosterior:
    """The same topics, their weights broken off a stick."""
    sticks = Sticks(np.array([0.4, 0.4, 0.5, 0.6]), np.array([90.0, 70.0, 50.0, 30.0]), 5.0, 0.5)
    concentration = sticks.doc_concentration * sticks.global_topic_weights
    return TopicPosterior("hdp", model.topic_word_posterior, concentration, 0.1, sticks)


@pytest.fixture
def run_folder(tmp_path, model, vocabulary):
    """A run folder as training leaves it."""
    folder = tmp_path / "run"
    folder.mkdir()
    settings = {"corpus": {"n_documents": 60, "fingerprint": "abc"}, "options": {}, "seed": 7}
    trace = [{"lap": lap, "elbo_per_token": -4 + 0.1 * lap} for lap in (1, 2, 3)]
    save_run(folder, run_in_memory("run", model, vocabulary, settings, trace))
    return folder


@pytest.fixture
def hdp_folder(tmp_path, hdp, vocabulary):
    """A run folder of an HDP that moved from three topics to four by the collapsed criterion."""
    folder = tmp_path / "hdp-run"
    folder.mkdir()
    moves = {"names": ["merge", "birth"], "criterion": "collapsed", "verify": False}
    options = {"model": "hdp", "laps": 100, "moves": moves}
    settings = {"corpus": {"n_documents": 60, "fingerprint": "abc"}, "options": options, "seed": 7}
    trace = [
        {
            "lap": lap,
            "elbo_per_token": -4 + 0.1 * lap,
            "criterion_per_token": -3.5 + 0.1 * lap,
            "n_topics": n_topics,
        }
        for lap, n_topics in enumerate((3, 5, 4), start=1)
    ]
    save_run(folder, run_in_memory("run", hdp, vocabulary, settings, trace))
    return folder


@pytest.fixture
def document_mixture_folder(tmp_path, model, vocabulary):
    """A run folder of a mixture of documents with the same distributions of words."""
    folder = tmp_path / "mixture-run"
    folder.mkdir()
    mixture = MixturePosterior(
        "mixture",
        "multinomial",
        Multinomial(model.n_words, model.word_concentration),
        FiniteMixture(np.array([24.0, 18, 12, 6]), 1.0),
        DirichletPosterior(model.topic_word_weights),
    )
    settings = {"corpus": {"n_documents": 60}, "options": {}, "seed": 7}
    save_run(folder, run_in_memory("run", mixture, vocabulary, settings, []))
    return folder


@pytest.fixture
def edit_settings(run_folder):
    """Change entries of the run's model.json."""

    def edit(**changes):
        path = run_folder / "model.json"
        write_sealed(path, json.loads(path.read_text()) | changes)

    return edit

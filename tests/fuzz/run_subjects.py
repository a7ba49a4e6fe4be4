"""Run folders, of trained models and of training under way, and files of topics."""

import atexit
import io
import shutil
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import click
import numpy as np
import pyarrow as pa

from fuzz.document_subjects import TEXTS, WORDS
from fuzz.mutation import Change
from fuzz.structure import (
    NPY_TOKENS,
    change_json,
    change_json_lines,
    change_members,
    change_npy,
    change_safetensors,
)
from fuzz.subject import Subject, files_of
from fuzz.tables import change_parquet, write_parquet
from resealing import reseal
from sparsetopics.answers.themes import opened
from sparsetopics.base.errors import RunError, SparsetopicsWarning
from sparsetopics.cli.config_file import read_config
from sparsetopics.cli.train import command as train_command
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.estimators.loading import load
from sparsetopics.evaluation.report.report import write_run_report
from sparsetopics.evaluation.scoring.fixed_topics import read_topic_matrix
from sparsetopics.evaluation.scoring.weight_files import READERS
from sparsetopics.model.memo import Memo
from sparsetopics.model.statistics import TERMS_BY_TOPIC
from sparsetopics.model.topic_posterior import Sticks, TopicPosterior
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.checkpoint_format import Kept
from sparsetopics.runs.checkpoints import read_checkpoint
from sparsetopics.runs.plan import RunPlan, read_plan
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from sparsetopics.runs.run_files import SeenDocuments
from sparsetopics.runs.topic_identity import TopicIdentity, first_identities
from sparsetopics.runs.topic_path_files import RungScore, Scores
from sparsetopics.runs.train import train_run
from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture

RUN_CHANGES: Mapping[str, Change] = {
    "model.json": change_json,
    "model.safetensors": change_safetensors,
    "trace.jsonl": change_json_lines,
    "vocabulary.parquet": change_parquet,
}
PLAN, CHECKPOINT = "state/plan.json", "state/checkpoint.npz"
OTHER_ID = "bbbbbbbb"  # of no topic
TOPICS = np.array([[5.0, 1, 1, 1, 2], [1, 4, 3, 2, 0.5]])
TRACE = [{"lap": lap, "elbo_per_token": -4.0 + lap, "n_topics": 2} for lap in (1, 2)]
VOCABULARY = Vocabulary(WORDS, np.ones(5, np.int64), np.arange(9, 4, -1))


def read_run(folder: Path) -> None:
    load(folder)


def report_run(folder: Path) -> None:
    """What can be loaded can be shown."""
    with TemporaryDirectory() as out:
        write_run_report(Path(out) / "page.html", [folder])


def _run(folder: Path) -> Subject:
    files = files_of(folder)
    targets = tuple(name for name in RUN_CHANGES if name in files)
    return Subject(files, read_run, targets, RUN_CHANGES, seal=reseal, read_rarely=report_run)


def _topics(name: str, scratch: Path) -> Subject:
    sticks = Sticks(np.array([0.4, 0.6]), np.array([9.0, 7.0]), 5.0, 0.5)
    of_lda = TopicPosterior("lda", TOPICS, np.array([0.2, 0.3]), 0.1, smoothing=0.05)
    shares = sticks.doc_concentration * sticks.global_topic_weights
    model = of_lda if name == "lda" else TopicPosterior("hdp", TOPICS, shares, 0.1, sticks)
    settings = {"corpus": {"n_documents": 4, "n_tokens": 30}, "options": {"laps": 2}, "seed": 7}
    sums = dict.fromkeys(TERMS_BY_TOPIC, (0.5, 3.0)) | {"totals": (1.0, 2.0, 3.0)}
    settings["seen"] = SeenDocuments(4.0, 30.0, 2, sums)
    if name == "hdp":
        settings["seen"].lengths = (7.0, 8.0), (2.0, 2.0)
        rungs = RungScore(3, 1, -4.1, 0.2, -0.1, 0.1), RungScore(2, 2, -4.0, 0.2, 0.0, 0.0)
        settings["number_of_topics"] = Scores(rungs, "4 documents", 4, 9.0, 2, 2, 3)
    first, second = first_identities(model)
    named = TopicIdentity(first.id, "Owls & cats", WORDS[:3], "namers:name", (OTHER_ID,))
    settings["topics"] = (named, second)
    (scratch / "run").mkdir()
    save_run(scratch / "run", run_in_memory("run", model, VOCABULARY, settings, TRACE))
    return _run(scratch / "run")


def _names(scratch: Path) -> Subject:
    """A file of names for a run that is there: by ids, by words and by number."""
    model = TopicPosterior("lda", TOPICS, np.array([0.2, 0.3]), 0.1)
    (scratch / "run").mkdir()
    save_run(
        scratch / "run",
        run_in_memory("run", model, VOCABULARY, {"corpus": {"n_documents": 4}}, TRACE),
    )
    first, second = load_run(scratch / "run").topics
    words = ", ".join(f'"{word}"' for word in WORDS)
    text = f"""{first.id} = "Owls"\n{second.id} = {{name = "Cats", words = [{words}]}}
{OTHER_ID} = {{name = "Dogs", words = [{words}]}}\n1 = "Mice"\n"""

    def read(folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SparsetopicsWarning)  # about names that are left out
            opened(folder / "run", folder / "names.toml")

    files = {**files_of(scratch), "names.toml": text.encode()}
    tokens = (b"name", b"words", b"{", b"[", b"= ", b'"""', first.id.encode(), b"\\u202e", b"1")
    return Subject(files, read, ("names.toml",), tokens=tokens)


def _mixture(likelihood: str, scratch: Path) -> Subject:
    model = mixture_of(draw_clumps(0, 40, 2, 2), likelihood)
    return _run(write_mixture(scratch / "run", model))


def _training(target: str, change: Change, read: Callable[[Path], None], scratch: Path) -> Subject:
    """A training that was stopped in its second lap; its corpus stays while this process does.

    Without a checkpoint all of the plan decides what is done.
    """
    corpus = Path(mkdtemp(prefix="corpus-")) / "corpus"
    atexit.register(shutil.rmtree, corpus.parent, ignore_errors=True)
    (scratch / "a.lines").write_text("\n".join(TEXTS * 4))
    ingest([scratch / "a.lines"], corpus)
    options = TrainingOptions(2, laps=2)
    plan = RunPlan(corpus, scratch / "run", options, n_batches=2, checkpoint_every=1)
    with suppress(KeyboardInterrupt):
        train_run(plan, RunHooks(_stop))
    if read is _begin:
        (scratch / "run" / CHECKPOINT).unlink()
    return Subject(files_of(scratch / "run"), read, (target,), {target: change}, seal=reseal)


def _stop(lap: Mapping[str, Any]) -> None:
    if lap["lap"] == 2:
        raise KeyboardInterrupt


def _resume(folder: Path) -> None:
    """To the end or the fourth lap, in a copy."""
    hooks = RunHooks(_end)
    with TemporaryDirectory() as scratch, warnings.catch_warnings():
        # A plan may name a run, to take ids from, that is not there.
        warnings.filterwarnings("ignore", "Topics get new ids", SparsetopicsWarning)
        run = Path(shutil.copytree(folder, Path(scratch) / "run"))
        resume_run(run, watch=lambda options: nullcontext(hooks))


def _end(lap: Mapping[str, Any]) -> None:
    """What asks for laps without end is not wrong."""
    if lap["lap"] == 4:
        raise RunError("laps", "more than four take too long for a case")


def _begin(folder: Path) -> None:
    """The same without a checkpoint."""
    _resume(folder)


def _decode(folder: Path) -> None:
    """The checkpoint of the plan."""
    plan = read_plan(folder / PLAN).plan
    read_checkpoint(folder / CHECKPOINT, Memo(folder / "state" / "memo"), plan.tie, Kept)


def _config(scratch: Path) -> Subject:
    text = b'topics = 3\nmodel = "lda"\nlaps = 20\nalpha = 0.5\nlearn-hyperparameters = true\n'
    context = click.Context(train_command, info_name="train")

    def read(folder: Path) -> None:
        read_config(folder / "a.toml", context)

    return Subject({"a.toml": text}, read, tokens=(b"topics", b"[a]", b"= ", b'"""', b"1e9"))


def _matrix(suffix: str, change: Change | None, scratch: Path) -> Subject:
    name = f"a{suffix}"

    def read(folder: Path) -> None:
        read_topic_matrix(folder / name, WORDS, READERS[suffix])

    changes = {} if change is None else {name: change}
    files = {name: MATRICES[suffix](), f"{name}.vocab": "\n".join(WORDS).encode()}
    return Subject(files, read, changes=changes, tokens=(*NPY_TOKENS, b"\t", b",", b"topic"))


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def _dense() -> bytes:
    numbers = "\n".join(map(str, TOPICS.T.ravel()))
    return f"%%MatrixMarket matrix array real general\n2 5\n{numbers}\n".encode()


def _long() -> pa.Table:
    topics, words = np.divmod(np.arange(10), 5)
    return pa.table(
        {"topic": topics, "word": [WORDS[w] for w in words], "probability": TOPICS.ravel()}
    )


def _mallet() -> bytes:
    rows = zip(*(column.to_pylist() for column in _long().columns), strict=True)
    return "".join("\t".join(map(str, row)) + "\n" for row in rows).encode()


MATRICES: Mapping[str, Callable[[], bytes]] = {
    ".npy": lambda: _saved(lambda file: np.save(file, TOPICS)),
    ".npz": lambda: _saved(lambda file: np.savez(file, topic_word=TOPICS)),
    ".mtx": _dense,
    ".csv": lambda: b"owl,cat,dog\n1,2,3\n0.5,1e-3,2\n",
    ".parquet": lambda: write_parquet(_long()),
    ".tsv": _mallet,
}
MATRIX_CHANGES: Mapping[str, Change | None] = {
    ".npy": change_npy,
    ".npz": change_members(change_npy),
    ".mtx": None,
    ".csv": None,
    ".parquet": change_parquet,
    ".tsv": None,
}

SUBJECTS: Mapping[str, Callable[[Path], Subject]] = {
    "run-lda": partial(_topics, "lda"),
    "run-hdp": partial(_topics, "hdp"),
    "run-gaussian": partial(_mixture, "gaussian"),
    "run-diagonal": partial(_mixture, "diagonal-gaussian"),
    "run-isotropic": partial(_mixture, "isotropic-gaussian"),
    "run-zero-mean": partial(_mixture, "zero-mean-gaussian"),
    "plan": partial(_training, PLAN, change_json, _resume),
    "plan-alone": partial(_training, PLAN, change_json, _begin),
    "checkpoint": partial(_training, CHECKPOINT, change_members(change_json), _decode),
    "config": _config,
    "names": _names,
    **{
        f"topics{suffix}": partial(_matrix, suffix, change)
        for suffix, change in MATRIX_CHANGES.items()
    },
}

"""The examples of every --help are run, on small data under the names that they use."""

import gzip
import shlex
import shutil
import zipfile
from dataclasses import replace

import click
import numpy as np
import pytest
from click.testing import CliRunner

from clumped_mixtures import draw_clumps
from collections_on_disk import make_texts, write_jsonl
from sparsetopics import quickstart
from sparsetopics.cli import warmup
from sparsetopics.cli.main import COMMANDS, main
from vectors_on_disk import make_vectors

QUICK = {"laps": 2, "quiet": True, "overwrite": True}  # unless an example says otherwise
USUAL = {
    "train": QUICK,
    "resume": {"quiet": True},
    "compare": QUICK,
    "ingest": {"quiet": True},
}


def examples_of(command):
    """Lines of a help text as words, lines that go on put together."""
    _, _, text = command.help.partition("Example:")
    lines = text.replace("\\\n", " ").strip().splitlines()
    assert all(line.strip().startswith("sparsetopics ") for line in lines)
    return [shlex.split(line)[1:] for line in lines]


def commands():
    """All that have help, sub-commands too, by the name that a user types."""
    context = click.Context(main)
    found = {"": main}
    for name in COMMANDS:
        found[name] = main.get_command(context, name)
        for sub, command in getattr(found[name], "commands", {}).items():
            found[f"{name} {sub}"] = command
    return found


def run(*arguments):
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(main, words, default_map=USUAL)
    assert result.exit_code == 0, f"sparsetopics {shlex.join(words)}\n{result.output}"


def write_sources(folder):
    """What people have before they begin."""
    texts = make_texts(240, 0)
    for name in ("stories", "news-as-text", "photos"):
        (folder / name).mkdir()
    lines = write_jsonl(folder / "news.jsonl", texts).read_bytes()
    (folder / "stories" / "all.jsonl.gz").write_bytes(gzip.compress(lines))
    with zipfile.ZipFile(folder / "news.zip", "w") as archive:
        archive.writestr("all.jsonl", lines)
    for n, text in enumerate(texts[:40]):
        (folder / "news-as-text" / f"{n}.txt").write_text(text, encoding="utf-8")
    write_jsonl(folder / "new.jsonl", make_texts(60, 1))
    write_jsonl(folder / "newer.jsonl", make_texts(60, 2))
    np.savez(folder / "digits.npz", values=make_vectors(120, 64))
    np.save(folder / "vectors.npy", draw_clumps(0, 200, 3).values)
    images = pytest.importorskip("PIL.Image", reason="needs Pillow")
    rng = np.random.default_rng(0)
    for path in (folder / "photos" / "one.png", folder / "noisy.png"):
        images.fromarray(rng.integers(0, 256, (40, 48), dtype=np.uint8)).save(path)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Sources, corpora and runs."""
    folder = tmp_path_factory.mktemp("world")
    write_sources(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("ingest", "news.jsonl", "--out", "corpus")
        run("ingest", "new.jsonl", "--vocabulary", "corpus", "--out", "heldout")
        run("ingest", "vectors.npy", "--out", "vectors")
        run("ingest", "digits.npz", "--out", "digits")
        run("train", "corpus", "--topics", 3, "--keep-state", "--out", "run")
        for n_topics in (50, 100):
            run("train", "corpus", "--topics", n_topics, "--laps", 1, "--out", f"run-{n_topics}")
        run("export", "run", "--to", "mallet", "--out", "mallet.txt")
    return folder


def same(*names):
    """Things that examples call what the world calls them."""
    return {name: name for name in names}


SOURCES = {
    "": {"news": "news-as-text"},
    "ingest": same("stories", "new.jsonl", "newer.jsonl", "news.zip", "photos", "digits.npz"),
    "corpus": {"news": "corpus"},
    "corpus info": {"news": "corpus"},
    "corpus validate": {"news": "corpus"},
    "corpus split": {"news": "corpus"},
    "corpus export": {"news": "corpus"},
    "train": same("corpus", "heldout", "vectors"),
    "resume": same("run"),
    "evaluate": same("run", "run-50", "run-100", "mallet.txt", "heldout"),
    "topics": same("run"),
    "infer": same("run", "corpus"),
    "denoise": same("photos", "noisy.png"),
    "export": {"run": "run", "train": "corpus"},
    "report": {"run": "run", "run-50": "run-50", "run-100": "run-100", "train": "corpus"},
    "compare": {"news": "corpus", "digits": "digits"},
}


@pytest.mark.parametrize("name", commands())
def test_the_examples_of_help_work(world, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(quickstart, "TRAINING", replace(quickstart.TRAINING, laps=1))
    monkeypatch.setattr(warmup, "STEPS", {"tokens": warmup.STEPS["tokens"]})
    for here, there in SOURCES.get(name, {}).items():
        copy = shutil.copytree if (world / there).is_dir() else shutil.copy
        copy(world / there, tmp_path / here)

    examples = examples_of(commands()[name])
    assert examples
    for words in examples:
        run(*words)

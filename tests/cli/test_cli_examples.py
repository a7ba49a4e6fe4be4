"""The examples of every --help are run, on small data under the names that they use."""

import shlex
from dataclasses import replace

import click
import pytest

from sparsetopics.cli import warmup
from sparsetopics.cli.main import COMMANDS, main
from sparsetopics.evaluation import quickstart
from worlds.example_world import run, take


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


def same(*names):
    """Things that examples call what the world calls them."""
    return {name: name for name in names}


SOURCES = {
    "": {"news": "news-as-text"},
    "ingest": same(
        *("stories", "articles.csv", "new.jsonl", "newer.jsonl", "news.zip"),
        *("photos", "digits.npz"),
    ),
    "corpus": {"news": "corpus"},
    "corpus info": {"news": "corpus"},
    "corpus validate": {"news": "corpus"},
    "corpus split": {"news": "corpus"},
    "corpus export": {"news": "corpus"},
    "train": same("corpus", "heldout", "vectors"),
    "path": same("corpus", "heldout"),
    "resume": same("run"),
    "evaluate": same("run", "run-50", "run-100", "mallet.txt", "heldout"),
    "topics": same("run", "run-100", "names.toml"),
    "infer": same("run", "corpus") | {"june": "corpus", "train": "corpus"},
    "update": {"today.jsonl": "today.jsonl", "news": "corpus", "monday": "run"},
    "diff": {"monday": "run", "tuesday": "run", "news": "corpus"},
    "prevalence": same("run", "corpus"),
    "documents": {"run": "run-50", "corpus": "corpus"},
    "denoise": same("photos", "noisy.png") | {"noisy": "photos"},
    "edit": {"run": "known-run", "tuesday": "known-run", "train": "corpus", "test": "heldout"},
    "export": {"run": "run", "path": "path", "train": "corpus"},
    "report": same("run", "run-50", "run-100", "path", "names.toml") | {"train": "corpus"},
    "plot": same("run", "path") | {"train": "corpus"},
    "repair": same("corpus"),
}


@pytest.mark.parametrize("name", commands())
def test_the_examples_of_help_work(example_world, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(quickstart, "TRAINING", replace(quickstart.TRAINING, laps=1))
    monkeypatch.setattr(warmup, "STEPS", {"tokens": warmup.STEPS["tokens"]})
    take(example_world, SOURCES.get(name, {}), tmp_path)

    examples = examples_of(commands()[name])
    assert examples
    for words in examples:
        run(*words)

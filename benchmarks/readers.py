"""Blind reading: do people name the topics of the number to read, and find no subject twice?

    python benchmarks/readers.py sheets PATH... --out sheets --seed 0
    python benchmarks/readers.py tally sheets answers/*.json

``sheets`` takes four rungs of each topic path: the number to read, the number to predict, one near
half of the number to read, and one between the two recommendations. It draws at most 30 topics of
each and writes a sheet with their ten most probable words. Letters tell the sheets apart. Readers
get ``for-readers/`` alone; ``key.json`` says which rung a letter stands for.

A reader answers each sheet by JSON; a file may also hold a list of several:

    {"reader": "1", "sheet": "A", "names": {"1": "space flight", "2": null}, "doublets": [[1, 2]]}

``tally`` prints the shares of topics that were named, and of those in a doublet.
"""

from __future__ import annotations

import json
import math
import string
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count, islice, product
from pathlib import Path
from statistics import mean
from typing import Any

import click
import numpy as np

from sparsetopics.measures.top_words import top_words
from sparsetopics.model.statistics import in_use
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run
from sparsetopics.runs.topic_path_files import Scores, load_topic_path

MOST_TOPICS, N_WORDS = 30, 10  # of a sheet, of a topic
LONGEST_NAME = 4  # words
WANTED_NAMED, WANTED_DOUBLETS = 0.90, 0.05  # shares of the topics at the number to read
READ, PREDICT = "to read", "to predict"
TASK = f"""Each sheet lists topics by their {N_WORDS} most probable words. For each of its topics:
 - give a name of at most {LONGEST_NAME} words that says what the topic is about, or null if no name
   fits because the words are about several things or about nothing.
Then list the pairs of topics that are doublets: the same subject twice.
Read each sheet by itself, in the order below. Answer each by one JSON object:
{{"reader": "1", "sheet": "A", "names": {{"1": "space flight", "2": null}}, "doublets": [[1, 2]]}}
"""

Answer = dict[str, Any]


@click.group()
def main() -> None:
    """Let people read topics without knowing how many there are."""


# --- sheets ---------------------------------------------------------------------------------------
@main.command("sheets")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A new folder.")
@click.option("--seed", default=0)
@click.option("--readers", default=3, help="Readers, each with an order of sheets of their own.")
def sheets(paths: tuple[Path, ...], out: Path, seed: int, readers: int) -> None:
    """Write a sheet for four rungs of each topic path."""
    rng = np.random.default_rng(seed)
    chosen = [(path, *each) for path in paths for each in rungs_to_read(path).items()]
    codes = list(islice(letters(), len(chosen)))
    public, key = out / "for-readers", {}
    public.mkdir(parents=True)
    for code, number in zip(codes, rng.permutation(len(chosen)), strict=True):
        path, role, n_topics = chosen[number]
        topics, lines = drawn_topics(load_topic_path(path).run(n_topics), rng)
        (public / f"{code}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        key[code] = {"path": str(path), "rung": n_topics, "role": role, "topics": topics}
    for reader in range(1, readers + 1):
        order = " ".join(codes[place] for place in rng.permutation(len(codes)))
        text = f"{TASK}You are reader {reader}. Read the sheets in this order: {order}\n"
        (public / f"reader-{reader}.txt").write_text(text, encoding="utf-8")
    (out / "key.json").write_text(json.dumps(key, indent=1) + "\n", encoding="utf-8")
    click.echo(f"{len(codes)} sheets in {public}; the key is {out / 'key.json'}")


def letters() -> Iterator[str]:
    """A, B, …, Z, AA, AB, …"""
    for size in count(1):
        yield from map("".join, product(string.ascii_uppercase, repeat=size))


def rungs_to_read(path: Path) -> dict[str, int]:
    """Four rungs of a path, fewer if it has fewer, by what they stand for."""
    scores: Scores = load_topic_path(path).scores
    read, predict = scores.to_read, scores.recommended
    if read is None or predict is None:
        raise click.ClickException(f"{path}: it has no number to read. Train the path again.")
    second = PREDICT if predict != read else "next"
    wishes = {READ: read, second: predict, "half": read / 2, "between": math.sqrt(read * predict)}
    left, chosen = [rung.n_topics for rung in scores.rungs], dict[str, int]()
    for role, wish in wishes.items():
        if left:
            chosen[role] = min(left, key=lambda rung: abs(math.log(rung / wish)))
            left.remove(chosen[role])
    return chosen


def drawn_topics(folder: Path, rng: np.random.Generator) -> tuple[list[int], list[str]]:
    """Some topics of a run, in random order, and a line with the words of each.

    Empty topics are not drawn, because they have no words of their own.
    """
    run = load_run(folder, TopicPosterior)
    used = np.flatnonzero(in_use(run.model.sizes))
    topics = rng.permutation(used)[:MOST_TOPICS].tolist()
    best, words = top_words(run.model.topic_word_mean[topics], N_WORDS), run.words.shown
    lines = [f"{n}. {' '.join(words[word] for word in own)}" for n, own in enumerate(best, start=1)]
    return topics, lines


# --- tally ----------------------------------------------------------------------------------------
@main.command("tally")
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.argument("answers", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def tally(folder: Path, answers: tuple[Path, ...]) -> None:
    """Print what readers said of each rung, and whether that is what is wanted."""
    key = json.loads((folder / "key.json").read_text())
    shares: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)  # of sheets, by reader
    for file in answers:
        found = json.loads(file.read_text())
        for answer in found if isinstance(found, list) else [found]:
            n_topics = len(key[answer["sheet"]]["topics"])
            shares[answer["sheet"]][str(answer["reader"])] = shares_of(answer, n_topics, file)
    by_path = defaultdict(list)
    for code, own in key.items():
        by_path[own["path"]].append((own["rung"], own["role"], len(own["topics"]), shares[code]))
    for path, rungs in by_path.items():
        click.echo(path)
        means = {role: print_rung(*rung) for rung in sorted(rungs) if (role := rung[1])}
        print_verdicts({role: each for role, each in means.items() if each is not None})


def shares_of(answer: Answer, n_topics: int, file: Path) -> tuple[float, float]:
    """The shares of the topics of a sheet that are named, and that are in a doublet."""
    numbers = set(map(str, range(1, n_topics + 1)))
    pairs = {str(number) for pair in answer["doublets"] for number in pair}
    if set(answer["names"]) != numbers or not pairs <= numbers:
        where = f"{file}, sheet {answer['sheet']}"
        raise click.ClickException(f"{where}: expected topics 1 to {n_topics}, but found others.")
    names = [name for name in answer["names"].values() if name is not None]
    named = sum(1 <= len(name.split()) <= LONGEST_NAME for name in names)
    return named / n_topics, len(pairs) / n_topics


def print_rung(
    rung: int, role: str, n_topics: int, by_reader: dict[str, tuple[float, float]]
) -> tuple[float, float] | None:
    """Print a line about a rung; return the means over readers."""
    if not by_reader:
        click.echo(f"  {rung:>4} topics, {role:10}: nobody has read it")
        return None
    named, doublets = (mean(each) for each in zip(*by_reader.values(), strict=True))
    each = ", ".join(f"{reader}: {a:.0%}/{b:.0%}" for reader, (a, b) in sorted(by_reader.items()))
    click.echo(
        f"  {rung:>4} topics, {role:10}: {named:.1%} named, {doublets:.1%} in doublets, "
        f"of {n_topics} ({each})"
    )
    return named, doublets


def print_verdicts(means: dict[str, tuple[float, float]]) -> None:
    if READ not in means:
        return
    named, doublets = means.pop(READ)
    rivals: Sequence[str] = [role for role, (other, _) in means.items() if other >= named]
    for wish, holds in (
        (f"named at least {WANTED_NAMED:.0%}", named >= WANTED_NAMED),
        (f"in doublets at most {WANTED_DOUBLETS:.0%}", doublets <= WANTED_DOUBLETS),
        (f"more named than each other rung{f' ({rivals} not fewer)' * bool(rivals)}", not rivals),
    ):
        click.echo(f"  {'yes' if holds else 'NO '} {wish}")


if __name__ == "__main__":
    main()

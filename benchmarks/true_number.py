"""How often an HDP finds the number of topics that made data were drawn from.

    python benchmarks/true_number.py run --cases 0:60 --out rows.jsonl
    python benchmarks/true_number.py run --cases 60:120 --out more.jsonl --against ../before
    python benchmarks/true_number.py table rows.jsonl more.jsonl --keep    # in results/number.json

A case is a collection with K topics, K = 1 … 50: clean (a topic a document), mixed (two topics a
document, and 30 % of the words are shared by all) or drawn (topics and shares from Dirichlet
distributions). Weights are equal or Zipf's, 2 % at least. Each case has other data and another seed
for training.

``run`` trains an HDP, and LDA with K topics from two seeds, of which the better one counts. Both
are scored on 300 more documents. ``--path`` also trains a topic path, and ``--against`` trains with
another checkout by turns. One process and one thread make the rows of a checkout; seconds are CPU
seconds of ``fit`` alone. Rows of several sessions add up; later rows of a case replace earlier
ones, but for what they lack.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from results import Cell, report

from sparsetopics import HDP, LDA, TopicPath
from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.corpora.corpus import Corpus

NUMBERS = (1, 2, 3, 4, 6, 8, 12, 20, 30, 50)
KINDS = ("clean", "mixed", "drawn")
MOST_ZIPF = 20  # topics whose weights are Zipf's: with more, 2 % each would be nearly equal
LEAST_WEIGHT = 0.02
LEAST_DOCUMENTS = 20  # expected in the smallest topic
DOCUMENTS, WORDS = (300, 3_000), (12, 200)  # from, to
N_HELDOUT = 300
N_SHARED, SHARED = 6, 0.3  # words of all topics, and how often they occur
CLOSE, LOST = 0.003, 0.01  # nats per token, below LDA with the true number

Row = dict[str, Any]


class Case(NamedTuple):
    """How the documents of a case are drawn."""

    number: int
    kind: str
    weights: FloatArray  # (n_topics,)
    n_docs: int
    n_tokens: int  # of each document

    @classmethod
    def of(cls, number: int) -> Case:
        """The case of this number: topics and kinds take turns, sizes are drawn."""
        n_topics, kind = NUMBERS[number % 10], KINDS[number // 10 % 3]
        is_zipf = number // 30 % 2 == 1 and n_topics <= MOST_ZIPF
        weights = 1.0 / np.arange(1.0, n_topics + 1) if is_zipf else np.ones(n_topics)
        weights = np.maximum(weights / weights.sum(), LEAST_WEIGHT if is_zipf else 0.0)
        weights /= weights.sum()
        rng = np.random.default_rng([number, 1])
        least = max(DOCUMENTS[0], LEAST_DOCUMENTS / float(weights.min()))
        n_docs = int(np.exp(rng.uniform(np.log(least), np.log(DOCUMENTS[1]))))
        n_tokens = int(np.exp(rng.uniform(*np.log(WORDS))))
        return cls(number, kind, weights, n_docs, n_tokens)

    @property
    def told(self) -> Row:
        """What a row says about it."""
        is_zipf = bool(self.weights.min() < self.weights.max())
        sizes = {"n_docs": self.n_docs, "n_tokens": self.n_tokens}
        return {"case": self.number, "true": len(self.weights), "kind": self.kind} | {
            **sizes, "zipf": is_zipf,
        }  # fmt: skip

    def corpora(self) -> tuple[Corpus, Corpus]:
        """The documents to train on, and those to score."""
        rng = np.random.default_rng([self.number, 2])
        topics = self._drawn_topics(rng) if self.kind == "drawn" else self._own_words(rng)
        names = [f"w{word}" for word in range(topics.shape[1])]
        made = (self._counts(topics, n_docs, rng) for n_docs in (self.n_docs, N_HELDOUT))
        train, heldout = (Corpus.from_csr(counts, names) for counts in made)
        return train, heldout

    def _drawn_topics(self, rng: np.random.Generator) -> FloatArray:
        n_topics = len(self.weights)
        topics: FloatArray = rng.dirichlet(np.full(25 * n_topics + 50, 0.05), n_topics)
        return topics

    def _own_words(self, rng: np.random.Generator) -> FloatArray:
        """Each topic has words of its own; the last words are shared, if documents are mixed."""
        n_topics, n_own = len(self.weights), int(rng.integers(6, 13))
        shared = SHARED if self.kind == "mixed" else 0.0
        own = np.repeat(np.eye(n_topics), n_own, axis=1) * (1.0 - shared) / n_own
        return np.hstack([own, np.full((n_topics, N_SHARED), shared / N_SHARED)])

    def _counts(self, topics: FloatArray, n_docs: int, rng: np.random.Generator) -> IntArray:
        shares = np.array([self._shares(rng) for _ in range(n_docs)])
        drawn = (rng.multinomial(self.n_tokens, share @ topics) for share in shares)
        return np.array(list(drawn))

    def _shares(self, rng: np.random.Generator) -> FloatArray:
        n_topics = len(self.weights)
        if self.kind == "drawn":
            shares: FloatArray = rng.dirichlet(0.9 * self.weights)
            return shares
        n_own = 2 if self.kind == "mixed" and n_topics > 1 else 1
        found = np.zeros(n_topics)
        own = rng.choice(n_topics, n_own, replace=False, p=self.weights)
        found[own] = 1.0 if n_own == 1 else np.array([share := rng.beta(0.5, 0.5), 1.0 - share])
        return found


def hdp_row(case: Case, *, is_compared: bool, has_path: bool) -> Row:
    """Train on a case; with ``is_compared`` also LDA, and with ``has_path`` a topic path."""
    train, heldout = case.corpora()
    began = time.process_time()
    found = HDP(random_state=case.number).fit(train)
    row: Row = {"cpu": time.process_time() - began, "found": found.n_components_}
    row |= {"score": found.score(heldout), "interval": found.as_good_}
    if is_compared:
        true = [LDA(len(case.weights), random_state=s).fit(train).score(heldout) for s in (0, 1)]
        row["lda"] = max(true)
    if has_path:
        path = TopicPath(random_state=case.number).fit(train)
        row["path"] = path.recommended_
        row["rungs"] = path.rungs_
        row["said"] = path.scores_.limits
    return row


@click.group()
def main() -> None:
    """Measure how often the true number of topics is found."""


@main.command("work", hidden=True)
def work() -> None:
    """Answer each line of stdin, a case and what is wanted, by a line with its row."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        number, is_compared, has_path = json.loads(line)
        row = hdp_row(Case.of(number), is_compared=is_compared, has_path=has_path)
        click.echo(json.dumps(row))


class Worker:
    """A process that runs the command ``work`` of a script with the code of a checkout."""

    def __init__(self, script: Path, checkout: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(checkout.resolve()), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, str(script.resolve()), "work"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
        )  # fmt: skip

    def row(self, *wanted: object) -> Row:
        """What it answers."""
        given, answers = self.process.stdin, self.process.stdout
        assert given is not None, "a pipe"
        assert answers is not None, "a pipe"
        print(json.dumps(wanted), file=given, flush=True)
        row: Row = json.loads(answers.readline())
        return row


@main.command("run")
@click.option("--cases", default="0:200", show_default=True, help="First case, and one past last.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Adds a line a case.")
@click.option("--against", type=click.Path(path_type=Path, exists=True), help="Another checkout.")
@click.option("--lda/--no-lda", default=True, show_default=True)
@click.option("--path", is_flag=True, help="Train topic paths, too.")
def run(cases: str, out: Path, against: Path | None, lda: bool, path: bool) -> None:
    """Make the rows of some cases."""
    script = Path(__file__)
    ours = Worker(script, script.parent.parent)
    others = None if against is None else Worker(script, against)
    for worker in (ours, others):
        if worker is not None:
            worker.row(0, False, False)  # compiles the kernels
    for number in range(*map(int, cases.split(":"))):
        row = Case.of(number).told | ours.row(number, lda, path)
        if others is not None:
            before = others.row(number, False, False)
            row["before"] = before
        with out.open("a") as file:
            print(json.dumps(row), file=file)
        click.echo(described(row))


def described(row: Row) -> str:
    """A row in a line."""
    weights = " zipf" if row["zipf"] else ""
    text = (
        f"{row['case']:>4} {row['kind']}{weights} {row['n_docs']} × {row['n_tokens']}: "
        f"{row['true']} true, found {row['found']}, interval {tuple(row['interval'] or ())}, "
        f"{row['cpu']:.1f} s"
    )
    text += f", lost {row['lda'] - row['score']:+.4f}" if "lda" in row else ""
    text += f", path {row['path']}" if "path" in row else ""
    if "before" in row:
        before = row["before"]
        text += f"; before {before['found']}, {before['cpu']:.1f} s"
        text += f", lost {row['lda'] - before['score']:+.4f}" if "lda" in row else ""
    return text


@main.command("table")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--wrong/--no-wrong", default=False, help="List the cases that miss a wish.")
@click.option("--keep", "is_kept", is_flag=True, help="Write results/number.json.")
def table(paths: tuple[Path, ...], wrong: bool, is_kept: bool) -> None:
    """Print shares of cases: wanted are 98 % exact, 95 % held by the interval, 97 % close to LDA.

    None should be lost, and the median ratio of CPU seconds be at most 1.25.
    """
    by_case: dict[int, Row] = {}
    for row in (json.loads(line) for path in paths for line in path.read_text().splitlines()):
        by_case[row["case"]] = by_case.get(row["case"], {}) | row
    rows = list(by_case.values())
    kept = {"now": _summary(rows)}
    if old := [_before(row) for row in rows if "before" in row]:
        kept["before"] = _summary(old)
        ratios = [row["cpu"] / row["before"]["cpu"] for row in rows if "before" in row]
        kept["now"] |= {"cpu_ratio": float(np.median(ratios))}
    report("number", kept, is_kept)
    for row in rows if wrong else ():
        if not (is_exact(row) and is_held(row) and row.get("lda", -9.0) - row["score"] <= CLOSE):
            click.echo(described(row))


def _summary(rows: list[Row]) -> dict[str, Cell]:
    """Shares of cases, and losses against LDA in nats per token."""
    row: dict[str, Cell] = {"cases": len(rows)}
    row |= {"exact": _share(rows, is_exact), "held": _share(rows, is_held)}
    if lost := [each["lda"] - each["score"] for each in rows if "lda" in each]:
        close = sum(loss <= CLOSE for loss in lost) / len(lost)
        row |= {"close": close, "lost": sum(loss > LOST for loss in lost), "loss": max(lost)}
    if with_path := [own for own in rows if "path" in own]:
        ends = [own for own in with_path if own["path"] in (own["rungs"][0], own["rungs"][-1])]
        row |= {"paths": len(with_path), "next": _share(with_path, is_next)}
        row |= {"at_an_edge": len(ends), "silent_there": sum(not own["said"] for own in ends)}
    return row


def _before(row: Row) -> Row:
    """The row of a case with the other checkout, which trains no path."""
    return {key: row[key] for key in ("true", "lda") if key in row} | row["before"]


def _share(rows: list[Row], holds: Callable[[Row], bool]) -> float:
    return sum(map(holds, rows)) / len(rows)


def is_exact(row: Row) -> bool:
    """Whether the true number was found."""
    return bool(row["found"] == row["true"])


def is_held(row: Row) -> bool:
    """Whether the interval holds the true number."""
    low, high = row["interval"] or (row["found"], row["found"])
    return bool(low <= row["true"] <= high)


def is_next(row: Row) -> bool:
    """Whether a path recommends the true number or one of the rungs around it."""
    rungs = sorted({*row["rungs"], row["true"]})
    return abs(rungs.index(row["path"]) - rungs.index(row["true"])) <= 1


if __name__ == "__main__":
    main()

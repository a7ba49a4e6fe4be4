"""Topic paths: their rungs beside runs of their own, their time, and the number they recommend.

    python benchmarks/topic_path.py paths --out paths.jsonl
    python benchmarks/topic_path.py runs --out runs.jsonl
    python benchmarks/topic_path.py table paths.jsonl runs.jsonl --keep    # in results/paths.json
    python benchmarks/topic_path.py drawn --keep                           # in paths-drawn.json

``paths`` and ``runs`` run the commands with one thread, and score all held-out documents, which no
training has seen. Seconds are CPU seconds of whole processes, with the scores that a path makes
itself. ``drawn`` draws collections of a known number of topics.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
from lda import compile_kernels
from prepared import prepare
from results import over_runs, report
from scipy.optimize import linear_sum_assignment

from sparsetopics.corpora.corpus import Corpus
from sparsetopics.measures.paired import mean_score
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.run import load_run
from sparsetopics.runs.topic_path_files import TopicPathFolder, load_topic_path

SETS = "20news,nips,kos,reuters"
COMPARED = (400, 200, 100, 50, 25)
ENDS = (400, 5)
PARTNER_DISTANCE = 0.15  # total variation between a true topic and the one that stands for it

LEAST_APART = 0.3  # total variation between drawn topics

Record = dict[str, Any]
kept = click.option("--keep", "is_kept", is_flag=True, help="Write a file of results.")
Scored = Callable[[TopicPosterior], float]


@contextmanager
def on_disk(corpus: Corpus) -> Iterator[Path]:
    """A folder with the corpus, and room for runs beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus"
        path.mkdir()
        corpus.write_part(path, np.ones(corpus.n_docs, bool), path)
        yield path


def timed(*arguments: object) -> float:
    """Run a command of sparsetopics; return the CPU seconds of its whole process."""
    command = [sys.executable, "-m", "sparsetopics.cli", *map(str, arguments), "--quiet"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def topic_path(corpus: Path, seed: int, *options: str) -> tuple[TopicPathFolder, float]:
    """Train a path; return it with its CPU seconds."""
    out = corpus.parent / "path"
    ends = () if "--rungs" in options else ("--from", ENDS[0], "--to", ENDS[1])
    own = (*ends, *options, "--seed", seed, "--out", out, "--overwrite")
    seconds = timed("path", corpus, *own)
    return load_topic_path(out), seconds


def write(out: Path, record: Record) -> None:
    with out.open("a") as file:
        file.write(json.dumps(record) + "\n")


def read(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@click.group()
def main() -> None:
    """Measure topic paths."""


def data_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--shared", type=click.Path(path_type=Path), default=Path("../shared")),
        click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data")),
        click.option("--out", type=click.Path(path_type=Path), required=True, help="Appended to."),
    ):
        command = option(command)
    return command


def each_set(sets: str, shared: Path, folder: Path) -> Iterator[tuple[str, Path, Scored]]:
    """Every collection on disk, and how to score a model on its held-out documents."""
    compile_kernels(TrainingOptions(10))
    for name in sets.split(","):
        data = prepare(name, shared.resolve(), folder)

        def score(model: TopicPosterior, data: Any = data) -> float:
            return mean_score(data.heldout.scores(model.topic_word_mean)).mean

        with on_disk(Corpus.from_csr(data.train, data.words)) as corpus:
            yield name, corpus, score


@main.command("paths")
@click.option("--sets", default=SETS)
@click.option("--seeds", default=5, help="Seeds 0 to N-1.")
@click.option("--options", default="", help="Of path, such as '--laps 10 --rungs 200,100'.")
@data_options
def paths(sets: str, seeds: int, options: str, shared: Path, folder: Path, out: Path) -> None:
    """Train paths, and score every rung."""
    for name, corpus, score in each_set(sets, shared, folder):
        for seed in range(seeds):
            found, seconds = topic_path(corpus, seed, *options.split())
            scores = {
                rung.n_topics: score(load_run(found.run(rung.n_topics), TopicPosterior).model)
                for rung in found.scores.rungs
            }
            chosen, best = found.scores.recommended, max(scores, key=lambda k: scores[k])
            record = {
                **{"set": name, "seed": seed, "cpu": seconds, "recommended": chosen},
                **{"from": found.scores.as_good_from, "to": found.scores.as_good_to},
                **{"best": best, "scores": scores},
                "validation": {k.n_topics: k.log_likelihood_per_token for k in found.scores.rungs},
            }
            write(out, record)
            lost = scores[best] - scores[chosen] if chosen else 0.0
            click.echo(
                f"{name} seed {seed}: {seconds:.1f} s, recommends {chosen}, "
                f"best held-out {best}, lost {lost:.4f}",
                err=True,
            )


@main.command("runs")
@click.option("--sets", default="20news,nips")
@click.option("--seeds", default=3, help="Seeds 0 to N-1.")
@data_options
def runs(sets: str, seeds: int, shared: Path, folder: Path, out: Path) -> None:
    """Train default runs of LDA at the compared numbers of topics."""
    for name, corpus, score in each_set(sets, shared, folder):
        for seed in range(seeds):
            for n_topics in COMPARED:
                place = corpus.parent / "run"
                own = ("--model", "lda", "--topics", n_topics, "--seed", seed)
                seconds = timed("train", corpus, *own, "--out", place, "--overwrite")
                alone = score(load_run(place, TopicPosterior).model)
                record = {"set": name, "seed": seed, "topics": n_topics}
                write(out, record | {"cpu": seconds, "score": alone})
                text = f"{name} seed {seed} K {n_topics}: {seconds:.1f} s {alone:.4f}"
                click.echo(text, err=True)


@main.command("table")
@click.argument("paths", type=click.Path(exists=True, path_type=Path))
@click.argument("runs", type=click.Path(exists=True, path_type=Path))
@kept
def table(paths: Path, runs: Path, is_kept: bool) -> None:
    """Print medians over seeds, of paths and of rungs beside runs of their own."""
    own, theirs = read(paths), read(runs)
    rows: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(record["set"] for record in own):
        mine, others = ([r for r in each if r["set"] == name] for each in (own, theirs))
        rows[name] = _chosen(mine)
        numbers = [k for k in COMPARED if any(r["topics"] == k for r in others)]
        for n_topics in numbers:
            alone = [record for record in others if record["topics"] == n_topics]
            row = {key: statistics.median(r[key] for r in alone) for key in ("cpu", "score")}
            if rungs := [r["scores"][str(n_topics)] for r in mine if str(n_topics) in r["scores"]]:
                rung = statistics.median(rungs)
                row |= {"rung": rung, "difference": rung - row["score"]}
            rows[name] |= {f"{key}_{n_topics}": cell for key, cell in row.items()}
        if numbers:
            alone_cpu = sum(rows[name][f"cpu_{k}"] for k in numbers)
            rows[name] |= {"cpu_alone": alone_cpu, "cpu_ratio": rows[name]["cpu"] / alone_cpu}
    report("paths", rows, is_kept)


def _chosen(records: list[Record]) -> dict[str, Any]:
    """What paths recommend, and what that loses against their best rung."""
    chosen = [record["recommended"] for record in records]
    lost = [max(r["scores"].values()) - r["scores"][str(r["recommended"])] for r in records]
    return {
        "cpu": statistics.median(record["cpu"] for record in records),
        "recommended": statistics.median(chosen),
        "recommended_least": min(chosen),
        "recommended_most": max(chosen),
        "recommended_ratio": max(chosen) / min(chosen),
        "lost": statistics.median(lost),
        "lost_most": max(lost),
    }


# --- drawn collections ----------------------------------------------------------------------------
def drawn(n_topics: int, rng: np.random.Generator) -> tuple[Corpus, np.ndarray[Any, Any]]:
    """3,000 documents of 100 words; weights of topics are skewed 1 : 10.

    All topics are at least 0.3 apart in total variation. There are 300 words, so that 98 % of 100
    topics could be estimated to within ``PARTNER_DISTANCE`` if the topic of each token were known;
    with 1,000 words, 78 %.
    """
    n_docs, n_tokens, n_words = 3_000, 100, 300
    topics = rng.dirichlet(np.full(n_words, 0.05), n_topics)
    while (near := _nearest(topics)) is not None:
        topics[near] = rng.dirichlet(np.full(n_words, 0.05))
    weights = np.geomspace(10.0, 1.0, n_topics)
    shares = rng.dirichlet(0.5 * weights / weights.sum(), n_docs)
    counts = np.array([rng.multinomial(n_tokens, share @ topics) for share in shares])
    return Corpus.from_csr(counts, [f"w{n}" for n in range(n_words)]), topics


def _nearest(topics: np.ndarray[Any, Any]) -> int | None:
    """A topic that is too close to another one, if there is any."""
    apart = np.abs(topics[:, None] - topics[None]).sum(axis=2) / 2 + np.eye(len(topics))
    return int(apart.min(axis=1).argmin()) if apart.min() < LEAST_APART else None


def share_found(true: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> float:
    """The share of true topics with a partner, one to one, within ``PARTNER_DISTANCE``."""
    distance = np.abs(true[:, None] - found[None]).sum(axis=2) / 2
    rows, columns = linear_sum_assignment(distance)
    return float((distance[rows, columns] <= PARTNER_DISTANCE).sum() / len(true))


@main.command("drawn")
@click.option("--topics", default="20,50,100")
@click.option("--seeds", default=5, help="Seeds 0 to N-1.")
@click.option("--most", default=400)
@kept
def drawn_command(topics: str, seeds: int, most: int, is_kept: bool) -> None:
    """Train paths on drawn collections, and print the recommended numbers."""
    compile_kernels(TrainingOptions(10))
    rows = {}
    for n_topics in map(int, topics.split(",")):
        runs = []
        for seed in range(seeds):
            corpus, true = drawn(n_topics, np.random.default_rng(seed))
            with on_disk(corpus) as place:
                found, _ = topic_path(place, seed, "--from", str(most))
                chosen = found.scores.recommended or 0
                model = load_run(found.run(chosen), TopicPosterior).model
                share = share_found(true, model.topic_word_mean)
                runs.append({"recommended": chosen, "exact": chosen == n_topics, "found": share})
                click.echo(f"{n_topics} seed {seed}: {runs[-1]}", err=True)
        rows[str(n_topics)] = over_runs(runs)
    report("paths-drawn", rows, is_kept)


if __name__ == "__main__":
    main()

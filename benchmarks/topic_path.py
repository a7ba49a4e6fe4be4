"""Topic paths: their rungs beside runs of their own, their time, and the number they recommend.

    python benchmarks/topic_path.py paths --out paths.jsonl
    python benchmarks/topic_path.py runs --out runs.jsonl
    python benchmarks/topic_path.py table paths.jsonl runs.jsonl
    python benchmarks/topic_path.py drawn

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
def table(paths: Path, runs: Path) -> None:
    """Print medians over seeds."""
    own, theirs = read(paths), read(runs)
    for name in dict.fromkeys(record["set"] for record in own):
        mine = [record for record in own if record["set"] == name]
        chosen = [record["recommended"] for record in mine]
        lost = [max(r["scores"].values()) - r["scores"][str(r["recommended"])] for r in mine]
        seconds = statistics.median(record["cpu"] for record in mine)
        click.echo(
            f"{name}: {seconds:.1f} s; recommended {sorted(chosen)}, factor "
            f"{max(chosen) / min(chosen):.2f}; lost at most {max(lost):.4f}"
        )
        others = [record for record in theirs if record["set"] == name]
        total = 0.0
        for n_topics in COMPARED if others else ():
            alone = [record for record in others if record["topics"] == n_topics]
            total += statistics.median(record["cpu"] for record in alone)
            score = statistics.median(record["score"] for record in alone)
            rungs = [r["scores"][str(n_topics)] for r in mine if str(n_topics) in r["scores"]]
            if rungs:
                rung = statistics.median(rungs)
                click.echo(f"  {n_topics}: {rung:.4f}, alone {score:.4f}: {rung - score:+.4f}")
        if others:
            click.echo(f"  CPU s {seconds:.1f} of {total:.1f}: {seconds / total:.2f}")


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
def drawn_command(topics: str, seeds: int, most: int) -> None:
    """Train paths on drawn collections, and print the recommended numbers."""
    compile_kernels(TrainingOptions(10))
    for n_topics in map(int, topics.split(",")):
        chosen, shares = [], []
        for seed in range(seeds):
            corpus, true = drawn(n_topics, np.random.default_rng(seed))
            with on_disk(corpus) as place:
                found, _ = topic_path(place, seed, "--from", str(most))
                chosen.append(found.scores.recommended or 0)
                model = load_run(found.run(chosen[-1]), TopicPosterior).model
                shares.append(share_found(true, model.topic_word_mean))
        click.echo(
            f"{n_topics} true topics: recommended {chosen}, median {statistics.median(chosen):g}; "
            f"found {[round(share, 2) for share in shares]}"
        )


if __name__ == "__main__":
    main()

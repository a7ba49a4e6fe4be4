"""LDA with a given number of topics, as it is by default, beside other toolkits.

    python benchmarks/fixed_k.py peers --out peers.jsonl
    python benchmarks/fixed_k.py ours --out ours.jsonl
    python benchmarks/fixed_k.py table ours.jsonl --before before.jsonl --peers peers.jsonl

``before.jsonl`` is what ``ours`` writes in another version of the project. Seconds are CPU seconds
of one thread without scoring. All held-out documents are scored, and the table has half B.

Other toolkits are trained with their own priors and with ours (``peer_counts.py``). Everybody's
counts of words are smoothed by one rule, with the best σ for half A, and with a σ of their own.
"""

from __future__ import annotations

import ast
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from heldout import HeldOut, halves
from lda import compile_kernels
from peer_counts import SETTINGS
from prepared import Prepared, prepare
from scored_runs import train_scored

from sparsetopics.corpora.batching import plan_batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.inference.training_state import LapInfo
from sparsetopics.measures.coherence import count_cooccurrence, npmi
from sparsetopics.measures.paired import HeldoutScores, mean_score
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import TrainingOptions

SETS = (
    "kos:50,kos:100,20news:50,20news:100,20news:200,reuters:100,nips:100,acl:100,m10:50,synth:100"
)
PEERS = "topica-cvb0:70,tomotopy:45"  # each with its CPU seconds
SMOOTHINGS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
COHERENT_WORDS, DIVERSE_WORDS = 10, 25  # of each topic

Place = tuple[str, int]  # a collection and a number of topics
Record = dict[str, Any]
Array = np.ndarray[Any, Any]


class Paths(NamedTuple):
    """Where collections come from, and where they are kept once they are prepared."""

    shared: Path
    folder: Path

    def opened(self, collection: str) -> Prepared:
        return prepare(collection, self.shared.resolve(), self.folder)


def places_of(text: str) -> list[Place]:
    """``kos:50,nips:100``"""
    pairs = (each.split(":") for each in text.split(","))
    return [(name, int(n_topics)) for name, n_topics in pairs]


def scores_of(scores: HeldoutScores) -> dict[str, float]:
    """The scores of both halves, nats per token."""
    return {name: mean_score(half).mean for name, half in zip("AB", halves(scores), strict=True)}


def smoothed_scores(heldout: HeldOut, counts: Array, own: float) -> Record:
    """The scores of topics whose counts of words, (n_topics, n_words), are smoothed.

    With the smoothing of their ``own``, and with each of ``SMOOTHINGS``.
    """

    def scores(smoothing: float) -> dict[str, float]:
        return scores_of(heldout.scores(counts + smoothing))

    by_smoothing = [{"smoothing": each, **scores(each)} for each in SMOOTHINGS]
    return {"smoothing": own, "by_smoothing": by_smoothing, **scores(own)}


def chosen(record: Record) -> float:
    """Half B with the smoothing that is the best one for half A."""
    return float(max(record["by_smoothing"], key=lambda each: each["A"])["B"])


def train_once(data: Prepared, place: Place, seed: int, laps: int | None) -> Record:
    """Train with the default options, and score all held-out documents after every lap."""
    points: list[tuple[float, int, float]] = []  # CPU seconds, topics, half B

    def on_lap(info: LapInfo, cpu: float, snapshot: Callable[[], TopicPosterior]) -> None:
        scores = data.heldout.scores(snapshot().topic_word_mean)
        points.append((cpu, info.n_topics, scores_of(scores)["B"]))

    rng = np.random.default_rng(seed)
    corpus = Corpus.from_csr(data.train, data.words)
    source = plan_batches(corpus, None, rng)
    options = TrainingOptions(place[1], laps)
    trained = train_scored(source, options, rng, data.heldout, (), ("", ""), on_lap)
    return {
        "place": place,
        "seed": seed,
        "cpu": trained.cpu,
        "elbo": trained.last.elbo_per_token,
        "points": points,
        **smoothed_scores(data.heldout, trained.model.topic_word_counts, trained.model.smoothing),
        **quality(trained.model.topic_word_mean, corpus),
    }


def quality(topic_word: Array, corpus: Corpus) -> dict[str, float]:
    """NPMI of the top words, and the share of different words among more of them."""
    ranked = np.argsort(-topic_word, axis=1, kind="stable")
    counts = count_cooccurrence(corpus.batches(), ranked[:, :COHERENT_WORDS])
    diverse = ranked[:, :DIVERSE_WORDS]
    diversity = len(np.unique(diverse)) / diverse.size
    return {"npmi": float(np.nanmean(npmi(*counts))), "diversity": diversity}


def largest_fall(points: Iterable[tuple[float, int, float]], n_topics: int) -> float:
    """The most that the score fell once the number of topics was reached."""
    best, fall = -np.inf, 0.0
    for _, topics, score in points:
        if topics == n_topics:
            best = max(best, score)
            fall = max(fall, best - score)
    return fall


def write(out: Path, record: Record) -> None:
    with out.open("a") as file:
        file.write(json.dumps(record) + "\n")


def read(path: Path | None) -> dict[Place, list[Record]]:
    """The records of each place."""
    found: dict[Place, list[Record]] = {}
    for line in [] if path is None else path.read_text().splitlines():
        record = json.loads(line)
        name, n_topics = record["place"]
        found.setdefault((name, n_topics), []).append(record)
    return found


def median(records: Iterable[Record], key: str) -> float:
    return statistics.median(record[key] for record in records)


def spread(records: Iterable[Record]) -> float:
    values = [record["B"] for record in records]
    return max(values) - min(values)


def seconds_to(record: Record, n_topics: int, level: float) -> float:
    """CPU seconds until the model with all merges made reaches ``level``; infinite if never."""
    reached = (cpu for cpu, topics, b in record["points"] if topics == n_topics and b >= level)
    return next(reached, float("inf"))


def best_peer(records: list[Record]) -> list[Record]:
    """The records of the peer and priors with the best median, all smoothed by the same rule."""
    by_peer: dict[str, list[Record]] = {}
    for record in records:
        by_peer.setdefault(record["peer"], []).append(record)
    return max(by_peer.values(), key=median_chosen, default=[])


def median_chosen(records: Iterable[Record]) -> float:
    return statistics.median(map(chosen, records))


def lost_by_smoothing(runs: Iterable[Record]) -> float:
    """How much half B would rise with the best of ``SMOOTHINGS`` for it, the median of runs."""
    best = (max(each["B"] for each in run["by_smoothing"]) - run["B"] for run in runs)
    return statistics.median(best)


@click.group()
@click.option("--shared", type=click.Path(path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
@click.pass_context
def main(context: click.Context, shared: Path, folder: Path) -> None:
    """Compare LDA with other toolkits at given numbers of topics."""
    context.obj = Paths(shared, folder)


@main.command("ours")
@click.option("--sets", default=SETS)
@click.option("--seeds", default=5, help="Seeds 0 to N-1.")
@click.option("--laps", type=int, help="Default: as for train.")
@click.option("--constants", default="", help="Of gradual_start, as FACTORS=(1,);FORMING_MASS=3.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Appended to.")
@click.pass_obj
def ours(paths: Paths, sets: str, seeds: int, laps: int | None, constants: str, out: Path) -> None:
    """Train with the default options, but for laps and constants."""
    compile_kernels(TrainingOptions(10))
    for name, value in (each.split("=") for each in constants.split(";") if each):
        # Imported here, so that this file also runs in an older version of the project.
        module = import_module("sparsetopics.inference.gradual_start")
        setattr(module, name, ast.literal_eval(value))
    for place in places_of(sets):
        data = paths.opened(place[0])
        for seed in range(seeds):
            record = train_once(data, place, seed, laps)
            write(out, record)
            click.echo(f"{place} seed {seed} B {record['B']:.4f} {record['cpu']:.1f} s", err=True)


@main.command("peers")
@click.option("--sets", default=SETS)
@click.option("--peers", default=PEERS, help="Names with CPU seconds, separated by commas.")
@click.option("--seeds", default="1,2,3")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Appended to.")
@click.pass_obj
def peers(paths: Paths, sets: str, peers: str, seeds: str, out: Path) -> None:
    """Train other toolkits."""
    for seed in seeds.split(","):
        for place in places_of(sets):
            data = paths.opened(place[0])
            for peer, cpu in (each.split(":") for each in peers.split(",")):
                for setting in SETTINGS:
                    record = train_peer(data, place, (peer, setting, cpu, seed))
                    write(out, record)
                    click.echo(f"{place} {peer} {setting} {seed} B {record['B']:.4f}", err=True)


def train_peer(data: Prepared, place: Place, given: tuple[str, str, str, str]) -> Record:
    """Train another toolkit once, in a process of its own, and score it."""
    peer, setting, cpu, seed = given
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts.npz"
        command = [
            sys.executable, str(Path(__file__).with_name("peer_counts.py")), peer, setting,
            str(data.path), str(out), "--topics", str(place[1]), "--cpu", cpu, "--seed", seed,
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=sys.stderr)
        with np.load(out) as arrays:
            counts, own = arrays["counts"], float(arrays["smoothing"])
            spent, n_sweeps = float(arrays["cpu"]), int(arrays["n_sweeps"])
    return {
        "place": place, "peer": f"{peer}, {setting} priors", "seed": int(seed), "cpu": spent,
        "sweeps": n_sweeps, **smoothed_scores(data.heldout, counts, own),
        **quality(counts + own, Corpus.from_csr(data.train, data.words)),
    }  # fmt: skip


@main.command("table")
@click.argument("now", type=click.Path(exists=True, path_type=Path))
@click.option("--before", type=click.Path(exists=True, path_type=Path))
@click.option("--peers", "others", type=click.Path(exists=True, path_type=Path))
def table(now: Path, before: Path | None, others: Path | None) -> None:
    """Print medians, spreads and the best peer's.

    The second column has the smoothing that is best for half A; "loses" is what half B would gain
    by the best one for itself.
    """
    earlier, theirs = read(before), read(others)
    click.echo(
        "set            half B  by A     loses  spread    fall   CPU s    NPMI  divers.  what"
    )
    for place, runs in read(now).items():
        _print_row(f"{place[0]} {place[1]}", runs, place, f"now, {len(runs)} runs")
        if place in earlier:
            _print_row("", earlier[place], place, f"before, {len(earlier[place])} runs")
        if best := best_peer(theirs.get(place, [])):
            level = median_chosen(best)
            reached = statistics.median(seconds_to(run, place[1], level) for run in runs)
            what = f"{best[0]['peer']}, {len(best)} runs; reached in {reached:.1f} s"
            _print_row("", best, place, what)


def _print_row(name: str, runs: list[Record], place: Place, what: str) -> None:
    has_grid = all("by_smoothing" in run for run in runs)
    by_a = f"{median_chosen(runs):>9.4f}{lost_by_smoothing(runs):>8.4f}" if has_grid else " " * 17
    has_laps = all("points" in run for run in runs)
    fall = max(largest_fall(run["points"], place[1]) for run in runs) if has_laps else float("nan")
    click.echo(
        f"{name:<13}{median(runs, 'B'):>8.4f}{by_a}{spread(runs):>8.3f}{fall:>8.4f}"
        f"{median(runs, 'cpu'):>8.2f}{median(runs, 'npmi'):>8.3f}{median(runs, 'diversity'):>8.3f}"
        f"  {what}"
    )


if __name__ == "__main__":
    main()

"""Measure the consensus of several runs, beside these runs, longer ones and topica's ensemble.

    python benchmarks/consensus.py --further 20 --longer --keep    # in results/consensus.json
    python benchmarks/consensus.py --data kos --topics 100 --peers PYTHON-WITH-TOPICA

Three consensus models are made of five runs each, with seeds of their own. Agreement is the mean
Jensen–Shannon similarity of matched topics, over pairs of models that share no run; "again" is the
share of topics that are matched above 0.9. For this, probabilities are smoothed by η, since the
smoothing that models learn differs (for topica they are its own). The score is document completion
in nats per token, of all held-out documents. NPMI (10 words) is counted in the training documents,
diversity is that of 25 words. "longer" are single runs with as many laps as a consensus has in all.
CPU and wall are those of a consensus, divided by those of a run; wall is with two threads for the
consensus, and one for the run.

With --further, as many other runs are trained. Spearman's correlations are of "number", the number
of a consensus' own runs that found a topic, with the share of the further runs that did; of the
same for five of these and the others, which no number of five can beat; and of "similarity", the
mean to the own runs, with that to the further ones.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from prepared import Prepared, prepare
from results import keep
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr

from sparsetopics import LDA, Corpus
from sparsetopics.measures.coherence import count_cooccurrence, npmi
from sparsetopics.measures.paired import mean_score
from sparsetopics.measures.top_words import top_words, topic_diversity
from sparsetopics.runs.consensus import seeds_of

N_MODELS, N_RUNS, LEAST_FOUND = 3, 5, 0.8
MOST_COMPARED = 8  # single runs with one another


class Fitted(NamedTuple):
    """A model and what it cost, in seconds."""

    topics: np.ndarray
    tokens: np.ndarray  # and η
    cpu: float
    wall: float
    sure: tuple[np.ndarray, np.ndarray] | None = None  # of each topic: runs, similarity


def fitted(make: Callable[[], LDA], corpus: Corpus) -> Fitted:
    cpu, wall = time.process_time(), time.perf_counter()
    model = make().fit(corpus)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    sure, table = None, model.topics()
    if "found_in_runs" in table.column_names:
        sure = table["found_in_runs"].to_numpy(), table["similarity"].to_numpy()
    found = model.model_
    return Fitted(found.topic_word_mean, found.topic_word_posterior, cpu, wall, sure)


def similarity(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The Jensen–Shannon similarity of all pairs of topics, in bits."""
    found, entropy = np.zeros((len(old), len(new))), (new * np.log2(new)).sum(axis=1)
    for row, p in zip(found, old, strict=True):
        both = p + new
        row[:] = 0.5 * ((both * np.log2(both)).sum(axis=1) - (p @ np.log2(p)) - entropy)
    return found


def agreement(models: Sequence[np.ndarray]) -> tuple[float, float]:
    """The mean similarity of matched topics, and the share of them above 0.9."""
    found = []
    for old, new in combinations(models, 2):
        alike = similarity(old, new)
        found.append(alike[linear_sum_assignment(alike, maximize=True)])
    return float(np.mean(found)), float((np.array(found) > 0.9).mean())


def described(models: Sequence[Fitted], data: Prepared, corpus: Corpus) -> dict[str, float]:
    scores = [mean_score(data.heldout.scores(each.topics)).mean for each in models]
    best = [top_words(each.topics, 25) for each in models]
    batches = list(corpus.batches())
    coherence = [npmi(*count_cooccurrence(batches, own[:, :10])).mean() for own in best]
    alike, again = agreement(
        [each.tokens / each.tokens.sum(axis=1, keepdims=True) for each in models]
    )
    return {
        "agreement": round(alike, 4),
        "again": round(again, 3),
        "score": round(float(np.mean(scores)), 4),
        "sd": round(float(np.std(scores)), 4),
        "npmi": round(float(np.mean(coherence)), 4),
        "diversity": round(float(np.mean([topic_diversity(own) for own in best])), 4),
        "cpu": round(float(np.median([each.cpu for each in models])), 2),
    }


def peers(data: Prepared, python: str, n_topics: int, sweeps: int | None) -> list[Fitted]:
    script, found = Path(__file__).with_name("consensus_peers.py"), []
    for seed in range(N_MODELS):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, "out.npz")
            numbers = map(str, (n_topics, seed * N_RUNS, N_RUNS, sweeps or ""))
            subprocess.run([python, script, data.path, target, *numbers], check=True)
            with np.load(target) as made:
                found.append(Fitted(made["topics"], made["topics"], float(made["cpu"]), 0.0))
    return found


def sureness(models: Sequence[Fitted], further: Sequence[Fitted]) -> dict[str, float]:
    """How well the own runs of a consensus tell what further runs find."""
    own, nearest = [], []
    for each in models:
        assert each.sure is not None, "a consensus"
        own.append(np.array(each.sure))
        nearest.append([similarity(each.topics, other.topics).max(axis=1) for other in further])
    numbers, similarities = np.hstack(own)
    best = np.hstack(nearest)  # (n_further, n_topics of all models)
    is_found = best >= LEAST_FOUND
    pairs = {
        "number": (numbers, is_found.mean(axis=0)),
        "number_of_further": (is_found[:N_RUNS].sum(axis=0), is_found[N_RUNS:].mean(axis=0)),
        "similarity": (similarities, best.mean(axis=0)),
    }
    record = {key: round(float(spearmanr(*pair)[0]), 3) for key, pair in pairs.items()}
    for n in range(N_RUNS + 1):
        if (numbers == n).any():
            record[f"found_if_in_{n}"] = round(float(is_found[:, numbers == n].mean()), 3)
    return record


@click.command()
@click.option("--data", default="kos,20news,nips,acl")
@click.option("--topics", default="20,50,100")
@click.option("--further", default=0, help="Further runs, which tell how sure topics are.")
@click.option("--longer", is_flag=True, help="Also runs with as many laps as a consensus.")
@click.option("--peers", "python", help="A Python with topica.")
@click.option("--sweeps", type=int, help="Of topica; default: as many as it makes by itself.")
@click.option("--shared", type=Path, default=Path("../shared"))
@click.option("--folder", type=Path, default=Path("bench-data"))
@click.option("--keep", "is_kept", is_flag=True, help="Write results/consensus.json.")
def main(
    data: str, topics: str, further: int, longer: bool, python: str | None, sweeps: int | None,
    shared: Path, folder: Path, is_kept: bool,
) -> None:  # fmt: skip
    """Print a JSON row for each kind of model."""
    rows: dict[str, dict[str, float]] = defaultdict(dict)
    for name in data.split(","):
        own = prepare(name, shared, folder)
        corpus = Corpus.from_csr(own.train, own.words)
        for n_topics in map(int, topics.split(",")):
            for kind, row in measured(own, corpus, n_topics, further, longer, python, sweeps):
                rows[f"{name}/{n_topics}"] |= {f"{kind}_{key}": cell for key, cell in row.items()}
                click.echo(json.dumps({"data": name, "topics": n_topics, "kind": kind, **row}))
    if is_kept:
        keep("consensus", rows)


def measured(
    data: Prepared, corpus: Corpus, n_topics: int, further: int, longer: bool,
    python: str | None, sweeps: int | None,
) -> Iterator[tuple[str, dict[str, float]]]:  # fmt: skip
    """The kinds of models, and what is measured of each."""
    LDA(n_topics, max_iter=7, n_runs=2).fit(corpus)  # compiles
    seeds = [seeds_of(seed, N_RUNS)[0] for seed in range(N_MODELS)]
    single = [fitted(lambda s=s: LDA(n_topics, random_state=s), corpus) for s in seeds]
    made = [
        fitted(lambda s=s: LDA(n_topics, random_state=s, n_runs=N_RUNS), corpus)
        for s in range(N_MODELS)
    ]
    on_two = fitted(lambda: LDA(n_topics, random_state=0, n_runs=N_RUNS, n_jobs=2), corpus)
    others = [fitted(lambda s=s: LDA(n_topics, random_state=s), corpus) for s in range(further)]
    singles = [*single, *others]
    yield "runs", described(singles[:MOST_COMPARED], data, corpus)
    cost = {
        "times_cpu": round(
            float(np.median([each.cpu for each in made]))
            / float(np.median([each.cpu for each in singles])), 2
        ),
        "times_wall": round(on_two.wall / float(np.median([own.wall for own in singles])), 2),
    }  # fmt: skip
    yield "consensus", described(made, data, corpus) | cost
    if others:
        yield "sure", sureness(made, others)
    if longer:
        laps = N_RUNS * 10 + 1
        long = [
            fitted(lambda s=s: LDA(n_topics, random_state=s, max_iter=laps), corpus) for s in seeds
        ]
        yield "longer", described(long, data, corpus)
    if python is not None:
        yield "topica", described(peers(data, python, n_topics, sweeps), data, corpus)


if __name__ == "__main__":
    main()

"""sparsetopics beside other toolkits: held-out score, coherence, diversity, CPU time and memory.

    python benchmarks/field.py --keep        # and write results/field.json
    python benchmarks/field.py --sets nips:100 --peers sparsetopics,tomotopy --seeds 1

Each toolkit is trained with its own priors and with ours, in a process of its own, with one thread
(``peers.py``). All get the same words and documents. Counts of words are smoothed by one rule, with
the σ that is best for half A of the held-out documents; scores are those of half B, in nats per
token. Differences are from sparsetopics on the same documents: their mean over seeds, and the
standard error over documents. Other columns are means over seeds. An interrupted command goes on
where it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from heldout import halves, mean_scores
from peers import PEERS, SETTINGS
from prepared import Prepared, prepare
from results import Cell, keep, shown

from sparsetopics.corpora.corpus import Corpus
from sparsetopics.measures.coherence import count_cooccurrence, npmi
from sparsetopics.measures.paired import HeldoutScores, mean_score, paired_difference

SETS = "20news:100,nips:100,reuters:100,acl:100"
OURS = "sparsetopics"
SMOOTHINGS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
COHERENT_WORDS, DIVERSE_WORDS = 10, 25  # of each topic
PACKAGES = ("topica", "tomotopy", "gensim", "scikit-learn", "bertopic")
COLUMNS = {"score": "4", "difference": "4", "error": "4", "npmi": "3", "diversity": "3",
           "cpu": "1", "peak_gb": "2", "topics": "0"}  # fmt: skip

AVERAGED = ("npmi", "diversity", "cpu", "peak_gb")

Array = np.ndarray[Any, Any]


class Job(NamedTuple):
    """One training."""

    collection: str
    n_topics: int
    peer: str
    setting: str
    seed: int


class Trained(NamedTuple):
    """What a training has given."""

    scores: HeldoutScores  # of half B
    measures: dict[str, float]


def trained_once(job: Job, data: Prepared, cpu: float) -> Trained:
    """Train, unless this was done before: each training is kept beside the prepared documents."""
    path = data.path.with_name(f"field-{'-'.join(map(str, job))}-{cpu:g}.json")
    if not path.exists():
        found = train(job, data, cpu)
        scores = {key: value.tolist() for key, value in found.scores._asdict().items()}
        part = path.with_suffix(".part")
        part.write_text(json.dumps({"scores": scores, "measures": found.measures}))
        part.replace(path)
    kept = json.loads(path.read_text())
    scores = {key: np.array(value) for key, value in kept["scores"].items()}
    return Trained(HeldoutScores(**scores), kept["measures"])


def train(job: Job, data: Prepared, cpu: float) -> Trained:
    """Train in a process of its own, and score the topics."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts.npy"
        command = [
            sys.executable, str(Path(__file__).with_name("peers.py")), job.peer, job.setting,
            str(data.path), str(out), "--topics", str(job.n_topics), "--cpu", str(cpu),
            "--seed", str(job.seed),
        ]  # fmt: skip
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")}
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | threads
        )
        counts = np.load(out)
    by_smoothing = [halves(data.heldout.scores(counts + each)) for each in SMOOTHINGS]
    best = int(np.argmax([mean_score(half_a).mean for half_a, _ in by_smoothing]))
    measures = json.loads(done.stdout.splitlines()[-1]) | {"topics": len(counts)}
    return Trained(by_smoothing[best][1], measures | quality(counts + SMOOTHINGS[best], data))


def quality(topic_word: Array, data: Prepared) -> dict[str, float]:
    """NPMI of the top words in the training documents, and the share of different words."""
    ranked = np.argsort(-topic_word, axis=1, kind="stable")
    batches = Corpus.from_csr(data.train, data.words).batches()
    counted = count_cooccurrence(batches, ranked[:, :COHERENT_WORDS])
    diverse = ranked[:, :DIVERSE_WORDS]
    return {
        "npmi": float(np.nanmean(npmi(*counted))),
        "diversity": len(np.unique(diverse)) / diverse.size,
    }


def row_of(runs: list[Trained], ours: list[Trained]) -> dict[str, Cell]:
    """The row of a toolkit and a setting: all its seeds, beside the same seeds of ours."""
    row: dict[str, Cell] = {
        key: float(np.mean([run.measures[key] for run in runs])) for key in runs[0].measures
    }
    mean, error = paired_difference(
        *(mean_scores([run.scores for run in each]) for each in (runs, ours))
    )
    is_ours = runs is ours
    return row | {
        "score": float(np.mean([mean_score(run.scores).mean for run in runs])),
        "difference": None if is_ours else mean,
        "error": None if is_ours else error,
    }


def by_toolkit(rows: dict[tuple[str, str, str], dict[str, Cell]]) -> dict[str, dict[str, Cell]]:
    """A row for each toolkit and setting: a column for each collection, and means over them."""
    wide: dict[str, dict[str, Cell]] = defaultdict(dict)
    for (name, *key), row in rows.items():
        wide["/".join(key)] |= {f"{column}_{name}": cell for column, cell in row.items()}
    for key, row in wide.items():
        own = [rows[each] for each in rows if "/".join(each[1:]) == key]
        row |= {each: float(np.mean([r[each] for r in own])) for each in AVERAGED}
    return wide


@click.command()
@click.option("--sets", default=SETS)
@click.option("--peers", default=",".join(PEERS))
@click.option("--seeds", default=3, help="Seeds 1 to N.")
@click.option("--cpu", default=60.0, help="Seconds that a toolkit trains if it can be told.")
@click.option("--processes", default=1)
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
@click.option("--keep", "is_kept", is_flag=True, help="Write results/field.json.")
def main(
    sets: str, peers: str, seeds: int, cpu: float, processes: int, shared: Path, folder: Path,
    is_kept: bool,
) -> None:  # fmt: skip
    """Measure toolkits on the same documents."""
    jobs = [
        Job(name, int(n_topics), peer, setting, seed)
        for name, n_topics in (each.split(":") for each in sets.split(","))
        for seed in range(1, seeds + 1)
        for peer in peers.split(",")
        for setting in (SETTINGS if peer != OURS else SETTINGS[:1])
    ]
    names = dict.fromkeys(job.collection for job in jobs)
    data = {name: prepare(name, shared.resolve(), folder) for name in names}
    found: dict[tuple[str, str, str], list[Trained]] = {}
    with ThreadPoolExecutor(processes) as pool:
        trained = pool.map(lambda job: trained_once(job, data[job.collection], cpu), jobs)
        for job, each in zip(jobs, trained, strict=True):
            found.setdefault((job.collection, job.peer, job.setting), []).append(each)
            click.echo(f"{job} {mean_score(each.scores).mean:.4f} {each.measures}", err=True)
    rows = {key: row_of(runs, found[key[0], OURS, SETTINGS[0]]) for key, runs in found.items()}
    for key, row in rows.items():
        cells = (f"{shown(row[column], form):>12}" for column, form in COLUMNS.items())
        click.echo(f"{'/'.join(key):<32}" + "".join(cells))
    if is_kept:
        keep("field", by_toolkit(rows), PACKAGES)


if __name__ == "__main__":
    main()

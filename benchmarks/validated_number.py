"""The number of topics that an HDP chooses, what it predicts, and what that costs.

    python benchmarks/validated_number.py runs --out runs.jsonl
    python benchmarks/validated_number.py lda --out runs.jsonl
    python benchmarks/validated_number.py table runs.jsonl --keep    # in results/hdp.json
    python benchmarks/validated_number.py drawn
    python benchmarks/validated_number.py polishing
    python benchmarks/validated_number.py against ../before --documents 400,800,0

``runs`` runs ``train`` with its defaults, and with the moves and the criterion that were the
default before, by turns. ``lda`` runs LDA with 50, 100, 200 and 400 topics, and with the numbers
that the HDPs in ``--out`` have chosen. ``polishing`` trains HDPs with and without the moves that
follow the choice of a rung. Scores are those of half B of the held-out documents (``heldout.py``),
and seconds are CPU seconds of whole processes.

``against`` trains HDPs by turns with this and another checkout, on samples or (0) on whole
collections. Scores are those of all held-out documents, and seconds are CPU seconds of ``fit``.
All have one thread.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from unittest import mock

import click
import numpy as np
from heldout import halves
from lda import compile_kernels
from prepared import prepare
from results import Cell, report
from topic_path import Record, data_options, drawn, kept, on_disk, read, share_found, timed, write
from true_number import Case, Worker

from sparsetopics import HDP
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.inference import validated_number
from sparsetopics.measures.paired import HeldoutScores, mean_score, paired_difference
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.run import load_run

SETS = "kos,nips,20news,reuters"
MOVES = ("--moves", "merge,delete,birth")  # judged by the collapsed criterion alone
USUAL = (50, 100, 200, 400)


def trained(corpus: Path, *options: object) -> tuple[Record, TopicPosterior]:
    """Train a model; return what is recorded of it, and itself."""
    out = corpus.parent / "run"
    seconds = timed("train", corpus, *options, "--out", out, "--overwrite")
    run = load_run(out, TopicPosterior)
    record: Record = {"cpu": seconds, "topics": run.model.n_topics, "laps": run.n_laps}
    scores = run.settings.get("number_of_topics")
    if scores is not None:
        record["interval"] = scores.as_good_around(run.model.n_topics)
    return record, run.model


@click.group()
def main() -> None:
    """Measure how an HDP chooses its number of topics."""


@main.command("runs")
@click.option("--sets", default=SETS)
@click.option("--seeds", default="0,1,2")
@click.option("--kinds", default="validated,moves")
@data_options
def runs(sets: str, seeds: str, kinds: str, shared: Path, folder: Path, out: Path) -> None:
    """Train HDPs, validated and by moves alone."""
    compile_kernels(TrainingOptions(10))
    options = {"validated": (), "moves": MOVES}
    for name in sets.split(","):
        _runs_of(
            name, seeds, {kind: options[kind] for kind in kinds.split(",")}, shared, folder, out
        )


def _runs_of(
    name: str, seeds: str, kinds: dict[str, tuple[str, ...]], shared: Path, folder: Path, out: Path
) -> None:
    data = prepare(name, shared.resolve(), folder)
    with on_disk(Corpus.from_csr(data.train, data.words)) as corpus:
        for seed in map(int, seeds.split(",")):
            for kind, options in kinds.items():
                record, model = trained(corpus, "--model", "hdp", *options, "--seed", seed)
                half = mean_score(halves(data.heldout.scores(model.topic_word_mean))[1])
                record |= {"set": name, "kind": kind, "seed": seed, "score": half.mean}
                write(out, record)
                click.echo(record)


@main.command("lda")
@click.option("--sets", default=SETS)
@click.option("--seeds", default="0,1,2")
@data_options
def lda(sets: str, seeds: str, shared: Path, folder: Path, out: Path) -> None:
    """Train LDA with the usual numbers of topics and those that HDPs have chosen."""
    compile_kernels(TrainingOptions(10))
    for name in sets.split(","):
        own = [each for each in read(out) if each["set"] == name and each["kind"] == "validated"]
        numbers = sorted({*USUAL, *(each["topics"] for each in own)})
        data = prepare(name, shared.resolve(), folder)
        with on_disk(Corpus.from_csr(data.train, data.words)) as corpus:
            for seed in map(int, seeds.split(",")):
                for number in numbers:
                    options = ("--model", "lda", "--topics", number, "--seed", seed)
                    record, model = trained(corpus, *options)
                    half = mean_score(halves(data.heldout.scores(model.topic_word_mean))[1])
                    record |= {"set": name, "kind": "lda", "seed": seed, "score": half.mean}
                    write(out, record)
                    click.echo(record)


@main.command("table")
@click.argument("path", type=click.Path(path_type=Path))
@kept
def table(path: Path, is_kept: bool) -> None:
    """Print medians over seeds, and how far the HDP is from LDA with the same number of topics."""
    records = read(path)
    rows: dict[str, dict[str, Cell]] = defaultdict(dict)
    for name in dict.fromkeys(each["set"] for each in records):
        ldas: dict[int, list[float]] = defaultdict(list)
        for each in records:
            if each["set"] == name and each["kind"] == "lda":
                ldas[each["topics"]].append(each["score"])
        medians = {k: statistics.median(scores) for k, scores in ldas.items()}
        rows[name] |= {f"lda_{k}": medians[k] for k in USUAL if k in medians}
        for kind in ("validated", "moves"):
            own = [each for each in records if each["set"] == name and each["kind"] == kind]
            rows[name] |= {f"{kind}_{key}": cell for key, cell in _medians(own, medians).items()}
    report("hdp", rows, is_kept)


def _medians(runs: list[Record], ldas: dict[int, float]) -> dict[str, Cell]:
    """Of HDPs, and of their differences from LDA with the same number of topics."""
    if not runs:
        return {}
    row: dict[str, Cell] = {
        key: statistics.median(run[key] for run in runs) for key in ("topics", "score", "cpu")
    }
    row |= {"least": min(r["topics"] for r in runs), "most": max(r["topics"] for r in runs)}
    same = [run["score"] - ldas[run["topics"]] for run in runs if run["topics"] in ldas]
    return row | {"over_lda": statistics.median(same) if same else None}


@main.command("drawn")
@click.option("--topics", default="20,50,100")
@click.option("--seeds", default=5, help="Seeds 0 to N-1.")
def drawn_command(topics: str, seeds: int) -> None:
    """Train on drawn collections, and print the numbers of topics that are found."""
    compile_kernels(TrainingOptions(10))
    for n_topics in map(int, topics.split(",")):
        numbers, shares = [], []
        for seed in range(seeds):
            corpus, true = drawn(n_topics, np.random.default_rng(seed))
            with on_disk(corpus) as place:
                record, model = trained(place, "--seed", seed)
            numbers.append(record["topics"])
            shares.append(round(share_found(true, model.topic_word_mean), 2))
        click.echo(f"{n_topics} true topics: {numbers}, found {shares}")


@main.command("polishing")
@click.option("--sets", default=SETS)
@click.option("--seeds", default="0,1,2")
@click.option("--shared", type=click.Path(path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
def polishing(sets: str, seeds: str, shared: Path, folder: Path) -> None:
    """Print what the moves after the choice of a rung gain on documents that were never used."""
    none = {"ROUNDS": 0, "ROUNDS_OF_MANY": 0, "SMALLEST": 0.0}
    usual = {name: getattr(validated_number, name) for name in none}
    for name in sets.split(","):
        data = prepare(name, shared.resolve(), folder)
        corpus = Corpus.from_csr(data.train, data.words)
        for seed in map(int, seeds.split(",")):
            numbers, scores = [], []
            for settings in (none, usual):
                with mock.patch.multiple(validated_number, **settings):
                    model = HDP(random_state=seed).fit(corpus).model_
                numbers.append(model.n_topics)
                scores.append(halves(data.heldout.scores(model.topic_word_mean))[1])
            gain = paired_difference(scores[1], scores[0])
            click.echo(
                f"{name} {seed}: from {numbers[0]} to {numbers[1]} topics, "
                f"{gain.mean:+.4f} ± {gain.standard_error:.4f}"
            )


@main.command("against")
@click.argument("checkout", type=click.Path(path_type=Path, exists=True))
@click.option("--sets", default="kos,nips,20news,reuters,acl")
@click.option("--documents", default="400,800,0", help="Of each sample; 0 is the collection.")
@click.option("--seeds", default="0,1,2,3,4")
@click.option("--shared", type=click.Path(path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
def against(
    checkout: Path, sets: str, documents: str, seeds: str, shared: Path, folder: Path
) -> None:
    """Compare HDPs of this and another checkout."""
    script, places = Path(__file__), (str(shared.resolve()), str(folder.resolve()))
    workers = [Worker(script, each) for each in (script.parent.parent, checkout)]
    for name in sets.split(","):
        for n_docs in map(int, documents.split(",")):
            rows = [
                tuple(worker.row(name, n_docs, seed, *places) for worker in workers)
                for seed in map(int, seeds.split(","))
            ]
            _print_compared(name, n_docs, rows)


@main.command("work", hidden=True)
def work() -> None:
    """Answer each line of stdin, a collection, a size and a seed, by a line with its row."""
    warnings.simplefilter("ignore")
    made, _ = Case.of(0).corpora()
    HDP(random_state=0).fit(made)  # compiles the kernels
    for line in sys.stdin:
        name, n_docs, seed, shared, folder = json.loads(line)
        data = prepare(name, Path(shared), Path(folder))
        rows = np.arange(data.train.shape[0])
        if n_docs:  # seeds 0 to 4 have one sample, 5 to 9 another, and so on
            rng = np.random.default_rng([n_docs, 7 + seed // 5])
            rows = np.sort(rng.choice(rows, n_docs, replace=False))
        corpus = Corpus.from_csr(data.train[rows], data.words)
        began = time.process_time()
        found = HDP(random_state=seed).fit(corpus)
        seconds = time.process_time() - began
        scores = data.heldout.scores(found.model_.topic_word_mean)
        lists = (scores.log_likelihoods.tolist(), scores.sizes.tolist())
        own = {"topics": found.n_components_, "interval": found.as_good_, "cpu": seconds}
        click.echo(json.dumps(own | {"scores": lists}))


def _print_compared(name: str, n_docs: int, rows: list[tuple[Record, ...]]) -> None:
    """Print the difference of the mean scores of all seeds, and what both checkouts found."""
    means = [np.mean([row["scores"] for row in own], axis=0) for own in zip(*rows, strict=True)]
    gain = paired_difference(*(HeldoutScores(*each) for each in means))
    ratios = [now["cpu"] / before["cpu"] for now, before in rows]
    click.echo(
        f"{name} {n_docs or 'whole'}: {gain.mean:+.4f} ± {gain.standard_error:.4f}, CPU ratios "
        f"{[round(ratio, 2) for ratio in ratios]}, median {statistics.median(ratios):.2f}"
    )
    for kind, own in zip(("now", "before"), zip(*rows, strict=True), strict=True):
        numbers = [row["topics"] for row in own]
        held = [
            np.mean([low <= k <= high for j, k in enumerate(numbers) if j != i])
            for i, (low, high) in enumerate(row["interval"] for row in own)
        ]
        click.echo(f"  {kind}: K {numbers}, its interval holds those of {min(held):.0%} or more")


if __name__ == "__main__":
    main()

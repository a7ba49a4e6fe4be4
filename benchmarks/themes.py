"""Themes and the number of topics to read: held-out losses, spread over seeds, authors, cost.

    python benchmarks/themes.py models --out models.jsonl --keep      # in results/themes.json
    python benchmarks/themes.py numbers --out numbers.jsonl --keep    # in themes-numbers.json
    python benchmarks/themes.py authors --keep                        # in themes-authors.json
    python benchmarks/themes.py cpu --against ../before

``models`` cuts the tree of default HDPs at N themes, without laps and with two, and trains LDA with
N topics. All held-out documents are scored (``heldout.py``). ``numbers`` trains HDPs and paths.
Both add lines to ``--out`` and skip what it has, and print a table of all of it at the end.

``authors`` trains an HDP on 20 Newsgroups, and counts the themes at its number to read that are
mostly of one author (the line ``From:``) or of one thread (``Subject:`` without ``Re:``). ``cpu``
runs ``train`` and ``path`` in turns with another checkout. Seconds are CPU seconds of whole
processes.
"""

from __future__ import annotations

import os
import re
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import chdir
from itertools import product
from pathlib import Path
from unittest import mock

import click
import numpy as np
from prepared import SOURCES, Prepared, prepare
from results import Cell, over_runs, report
from topic_path import Record, data_options, kept, on_disk, read, timed, write
from turns import order

from sparsetopics.answers.editing import relearned, with_joined_themes
from sparsetopics.answers.proportions import shares_of
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.measures.paired import mean_score
from sparsetopics.measures.top_words import top_words
from sparsetopics.model.statistics import tokens_of_documents
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.run import TopicRun, load_run
from sparsetopics.runs.topic_path_files import load_topic_path

LAPS = 2
KINDS = ("cut", f"{LAPS}_laps")  # of themes
WANTED_CPU = 1.05  # ratio of seconds
MOST_OF_ONE = 0.5  # of a theme's tokens, that may be of one author or one thread
ROOT = Path(__file__).resolve().parent.parent


@click.group()
def main() -> None:
    """Measure themes."""


def trained(corpus: Path, *options: object) -> TopicRun:
    out = corpus.parent / "run"
    timed("train", corpus, *options, "--out", out, "--overwrite")
    return load_run(out, TopicPosterior)


def themed(run: TopicRun, n_themes: int) -> TopicRun:
    """The run with the themes of its tree as topics, or with all its topics if they are fewer."""
    found = with_joined_themes(run, min(n_themes, run.model.n_topics))
    counts = run.model.exact_counts
    assert (found.model.exact_counts.sum(axis=0) == counts.sum(axis=0)).all(), "counts are exact"
    return found


def known(out: Path) -> list[Record]:
    return read(out) if out.exists() else []


# --- models ---------------------------------------------------------------------------------------
@main.command("models")
@click.option("--sets", default="kos,nips,acl,reuters")
@click.option("--seeds", default="0,1,2")
@click.option("--numbers", default="10,20,50")
@data_options
@kept
def models(
    sets: str, seeds: str, numbers: str, shared: Path, folder: Path, out: Path, is_kept: bool
) -> None:
    """Compare themes of HDPs with LDA.

    Wanted are losses of at most 0.045 without laps, and of 0.025 after two.
    """
    for name in sets.split(","):
        data = prepare(name, shared.resolve(), folder)
        with on_disk(Corpus.from_csr(data.train, data.words)) as corpus:
            for seed in map(int, seeds.split(",")):
                own = {"set": name, "seed": seed}
                done = {(r["n"], r["kind"]) for r in known(out) if own.items() <= r.items()}
                wanted = {*product(map(int, numbers.split(",")), ("lda", *KINDS))} - done
                for record in scored(corpus, data, seed, wanted):
                    write(out, own | record)
    report("themes", losses_of(known(out)), is_kept)


def scored(
    corpus: Path, data: Prepared, seed: int, wanted: set[tuple[int, str]]
) -> Iterator[Record]:
    """A record with the score of each wanted number and kind of model."""
    run = None
    for n, kind in sorted(wanted):
        if kind == "lda":
            found = trained(corpus, "--model", "lda", "--topics", n, "--seed", seed)
        else:
            run = run or trained(corpus, "--seed", seed)
            found = themed(run, n)
            if kind != KINDS[0]:
                found = relearned(found, found, Corpus.open(corpus), LAPS, 1, RunHooks())
        score = mean_score(data.heldout.scores(found.model.topic_word_mean)).mean
        yield {"n": n, "kind": kind, "topics": found.model.n_topics, "score": score}


def losses_of(records: list[Record]) -> dict[str, dict[str, Cell]]:
    """By how much themes predict less than LDA with the same number and seed, nats per token."""
    of = {(r["set"], r["n"], r["kind"], r["seed"]): r["score"] for r in records}
    rows: dict[str, dict[str, Cell]] = defaultdict(dict)
    for name, n, kind in dict.fromkeys(key[:3] for key in of if key[2] != "lda"):
        own = {key: (name, n, "lda", key[3]) for key in of if key[:3] == (name, n, kind)}
        if losses := [of[lda] - of[key] for key, lda in own.items() if lda in of]:
            row = {"loss": statistics.mean(losses), "worst": max(losses), "seeds": len(losses)}
            rows[f"{name}/{n}"] |= {f"{key}_{kind}": cell for key, cell in row.items()}
    return rows


# --- numbers --------------------------------------------------------------------------------------
@main.command("numbers")
@click.option("--sets", default="kos,nips,20news,reuters,acl,dblp")
@click.option("--seeds", default="0,1,2,3,4")
@data_options
@kept
def numbers(sets: str, seeds: str, shared: Path, folder: Path, out: Path, is_kept: bool) -> None:
    """Print the numbers to read and to predict of HDPs and paths, and the largest/smallest one.

    Wanted is a ratio of at most 1.4 between seeds, for the number to read.
    """
    for name in sets.split(","):
        data = prepare(name, shared.resolve(), folder)
        with on_disk(Corpus.from_csr(data.train, data.words)) as corpus:
            for seed, kind in product(map(int, seeds.split(",")), ("hdp", "path")):
                own = {"set": name, "kind": kind, "seed": seed}
                if any(own.items() <= record.items() for record in known(out)):
                    continue
                if kind == "hdp":
                    run = trained(corpus, "--seed", seed)
                    found, predicts = run.settings["number_of_topics"], run.model.n_topics
                else:
                    place = corpus.parent / "path"
                    timed("path", corpus, "--seed", seed, "--out", place, "--overwrite")
                    found = load_topic_path(place).scores
                    predicts = found.recommended
                write(out, own | {"read": found.to_read, "predict": predicts})
    by_kind = defaultdict(list)
    for record in known(out):
        pair = {key: record[key] for key in ("read", "predict")}
        by_kind[record["set"], record["kind"]].append(pair)
    rows = {}
    for (name, kind), runs in by_kind.items():
        row = rows[f"{name}/{kind}"] = over_runs(runs) | {"seeds": len(runs)}
        for key in ("read", "predict"):
            row[f"{key}_ratio"] = row[f"{key}_most"] / row[f"{key}_least"]
    report("themes-numbers", rows, is_kept)


# --- authors --------------------------------------------------------------------------------------
@main.command("authors")
@click.option("--shared", type=click.Path(path_type=Path), default=Path("../shared"))
@click.option("--seed", default=0)
@click.option("--ingest", default="", help="Options of ingest, such as '--stop-words english'.")
@kept
def authors(shared: Path, seed: int, ingest: str, is_kept: bool) -> None:
    """Count the themes of 20 Newsgroups that are mostly of one author or one thread.

    Wanted is one at most.
    """
    sources = [shared.resolve() / "data" / part for part in SOURCES["20news"][1].split(",")]
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "corpus"
        timed("ingest", *sources, "--keep", "text", *ingest.split(), "--out", path)
        run, corpus = trained(path, "--seed", seed), Corpus.open(path)
        texts = [t for part in corpus.read_fields(["text"]) for t in part["text"].to_pylist()]
        themes = themed(run, run.settings["number_of_topics"].to_read)
        tokens = tokens_of_themes(themes, corpus)
    words, best = themes.words.shown, top_words(themes.model.topic_word_mean, 8)
    by_theme = [largest_shares(tokens, texts, header) for header in ("From", "Subject")]
    n_of_one = 0
    for theme, (author, thread) in enumerate(zip(*by_theme, strict=True)):
        is_of_one = max(author[0], thread[0]) > MOST_OF_ONE
        n_of_one += is_of_one
        click.echo(
            f"{'*' if is_of_one else ' '} {author[0]:.2f} {author[1][:30]:30} {thread[0]:.2f} "
            f"{thread[1][:30]:30} {' '.join(words[word] for word in best[theme])}"
        )
    numbers = {"topics": run.model.n_topics, "themes": themes.model.n_topics, "of_one": n_of_one}
    report("themes-authors", {"20news": numbers}, is_kept)


def tokens_of_themes(run: TopicRun, corpus: Corpus) -> np.ndarray:
    """The tokens of each document that are of each theme, (n_docs, n_themes)."""
    shares, prior = shares_of(run.model), run.model.doc_concentration
    masses = (shares(b) * (tokens_of_documents(b)[:, None] + prior.sum()) for b in corpus.batches())
    return np.maximum(np.concatenate([mass - prior for mass in masses]), 0.0)


def largest_shares(tokens: np.ndarray, texts: list[str], header: str) -> list[tuple[float, str]]:
    """The largest share of each theme's tokens in the posts with one value of a ``header``."""
    line = re.compile(rf"^{header}:\s*(?:re:\s*)*(.*?)\s*$", re.IGNORECASE | re.MULTILINE)
    values = [match[1].lower() if (match := line.search(text)) else "" for text in texts]
    names, numbers = np.unique(values, return_inverse=True)
    sums = np.zeros((len(names), tokens.shape[1]))
    np.add.at(sums, numbers, tokens)
    sums[names == ""] = 0.0  # posts without the header have nothing in common
    best = sums.argmax(axis=0)
    shares = sums.max(axis=0) / tokens.sum(axis=0)
    return [(float(share), str(names[of])) for share, of in zip(shares, best, strict=True)]


# --- cost -----------------------------------------------------------------------------------------
@main.command("cpu")
@click.option("--against", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--sets", default="kos,nips,reuters")
@click.option("--turns", default=5)
@click.option("--shared", type=click.Path(path_type=Path), default=Path("../shared"))
@click.option("--folder", type=click.Path(path_type=Path), default=Path("bench-data"))
def cpu(against: Path, sets: str, turns: int, shared: Path, folder: Path) -> None:
    """Print the median ratio of CPU seconds to those of another checkout."""
    places = {"here": ROOT, "there": against.resolve()}
    for name in sets.split(","):
        data = prepare(name, shared.resolve(), folder)
        with on_disk(Corpus.from_csr(data.train, data.words)) as corpus:
            for command in ("train", "path"):
                used = defaultdict(list)
                for turn, sides in enumerate([tuple(places), *order(turns)]):
                    for side in sides:
                        place, out = places[side], corpus.parent / command
                        variables = {"PYTHONPATH": str(place)}
                        with chdir(place), mock.patch.dict(os.environ, variables):
                            seconds = timed(command, corpus, "--out", out, "--overwrite")
                        if turn > 0:  # the first one compiles kernels
                            used[side].append(seconds)
                ratios = [a / b for a, b in zip(used["here"], used["there"], strict=True)]
                click.echo(
                    f"{name} {command}: median ratio {statistics.median(ratios):.3f} (wanted: at "
                    f"most {WANTED_CPU}), all {[round(ratio, 3) for ratio in ratios]}, "
                    f"{statistics.median(used['there']):.1f} s there"
                )


if __name__ == "__main__":
    main()

"""Count how many topics keep their ids and names while a model learns on, night after night.

    python benchmarks/nights.py [--shared ../shared] [--folder DATA] [--nights 20] [--topics 50]

Half of a collection is fitted first, all topics get names, and each night brings as many of the
other documents. They are learned by `partial_fit` of a model that was saved and loaded, by
`train --start` on all documents so far, or by the latter with edits in between: each night two
topics are merged, two are split and one is dropped. A topic is still there if one after the next
training or edit has a Jensen–Shannon similarity of at least 0.9; that one must have its id and its
name.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
from prepared import prepare
from scipy import sparse

from sparsetopics import HDP, LDA, Corpus, load
from sparsetopics.measures.similar_topics import jensen_shannon_similarity

STILL_THERE = 0.9
ROOT = Path(__file__).resolve().parent.parent


def drawn(n_topics: int, n_words: int = 800, n_docs: int = 2000) -> tuple[sparse.csr_array, list]:
    """Counts of documents drawn from sparse topics, and their words."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(n_words, 0.05), n_topics)
    shares = rng.dirichlet(np.full(n_topics, 0.1), n_docs)
    counts = np.stack([rng.multinomial(100, share @ topics) for share in shares])
    return sparse.csr_array(counts), [f"word{number}" for number in range(n_words)]


def train(corpus: Path, out: Path, *more: str) -> None:
    words = ["train", str(corpus), "--out", str(out), "--quiet", *more]
    subprocess.run([sys.executable, "-m", "sparsetopics.cli", *words], check=True, cwd=ROOT,
                   stdout=subprocess.DEVNULL)  # fmt: skip


def models(way: str, kind: str, n_topics: int, counts: sparse.csr_array, words: list, nights: int,
           folder: Path) -> Iterator[tuple[LDA | HDP, set[str]]]:  # fmt: skip
    """Yield the model after each training or edit, named at first, and the ids that it removed."""
    order = np.random.default_rng(0).permutation(counts.shape[0])
    ends = np.linspace(len(order) // 2, len(order), nights + 1).astype(int)
    parts = [Corpus.from_csr(counts[order[: ends[0]]], words)]
    known = {"vocabulary": parts[0].vocabulary}
    for start, end in pairwise(ends):
        documents = order[start:end] if way == "partial_fit" else order[:end]
        parts.append(Corpus.from_csr(counts[documents], words, **known))
    first = LDA(n_topics, random_state=0) if kind == "lda" else HDP(random_state=0)
    model = first.fit(parts[0])
    model = model.rename({topic: f"name of {topic}" for topic in model.topic_ids_})
    yield model, set()
    for night, corpus in enumerate(parts[1:]):
        run, stored, after = folder / f"run-{night}", folder / f"corpus-{night}", folder / "after"
        model.save(run)
        if way == "partial_fit":
            model = load(run).partial_fit(corpus)
        else:
            corpus.save(stored)
            train(stored, after, "--overwrite", "--model", kind, "--laps", "2", "--start", str(run))
            model = load(after)
        yield model, set()
        if way == "edits":
            heavier, lighter = model.topic_ids_[-2:]
            yield (model := model.merge([heavier, lighter])), {lighter}
            for place in (0, 1):
                yield (model := model.split(model.topic_ids_[place], corpus)), set()
            dropped = model.topic_ids_[model.n_components_ // 2]
            yield (model := model.drop(dropped, corpus)), {dropped}


@click.command()
@click.option("--shared", type=click.Path(path_type=Path), default=ROOT.parent / "shared")
@click.option("--folder", type=click.Path(path_type=Path), default=Path("prepared"))
@click.option("--nights", default=20)
@click.option("--topics", default=50)
@click.option("--data", default="drawn,kos,20news")
def main(shared: Path, folder: Path, nights: int, topics: int, data: str) -> None:
    for name in data.split(","):
        if name == "drawn":
            counts, words = drawn(topics)
        else:
            found = prepare(name, shared, folder)
            counts, words = found.train, found.words
        for kind in ("lda", "hdp"):
            for way in ("partial_fit", "start", "edits"):
                tally = np.zeros(3, int)
                with tempfile.TemporaryDirectory() as scratch:
                    own = models(way, kind, topics, counts, words, nights, Path(scratch))
                    before, _ = next(own)
                    for after, removed in own:
                        tally += kept(before, after, removed)
                        before = after
                there, ids, names = tally.tolist()
                record = {"data": name, "model": kind, "way": way, "topics": before.n_components_}
                print(json.dumps(record | {"still_there": there, "ids": ids, "names": names}))


def kept(before: LDA | HDP, after: LDA | HDP, removed: set[str]) -> tuple[int, int, int]:
    """Topics that are still there, those of them with the same id, and with the same name.

    Those that edits ``removed`` are left out, although documents may bring them back. Each topic
    after it stands for at most one before, the most similar first.
    """
    old, new = (model.model_.topic_word_mean for model in (before, after))
    pairs = np.argwhere(np.sqrt(old) @ np.sqrt(new).T >= STILL_THERE)
    likeness = np.array([jensen_shannon_similarity(old[k], new[j]) for k, j in pairs])
    ids = [model.topic_ids_ for model in (before, after)]
    names = [model.topics(3)["name"].to_pylist() for model in (before, after)]
    found, taken = np.zeros(3, int), (set[int](), set[int]())
    for place in np.argsort(-likeness, kind="stable"):
        k, j = pairs[place].tolist()
        if likeness[place] < STILL_THERE or k in taken[0] or j in taken[1]:
            continue
        taken[0].add(k)
        taken[1].add(j)
        if ids[0][k] in removed:
            continue
        was_named = names[0][k].startswith("name of")
        found += [1, ids[0][k] == ids[1][j], not was_named or names[0][k] == names[1][j]]
    return tuple(found.tolist())


if __name__ == "__main__":
    main()

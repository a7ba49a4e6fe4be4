"""Flip single bits in corpora and runs; each flip must be refused in one line or have no effect.

python tests/flipped_bits.py --places 1000
"""

import argparse
import os
import pickle
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from sparsetopics.base.errors import SparsetopicsError
from sparsetopics.corpora.corpus import Corpus, load_any_manifest, open_corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.ingest_vectors import VectorOptions, ingest_vectors
from sparsetopics.corpora.text.pruning import read_candidates
from sparsetopics.options.resolve import resolve
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.run import load_run
from sparsetopics.runs.train import train_run
from worlds.clumped_mixtures import draw_clumps
from worlds.collections_on_disk import make_texts, write_jsonl

EDITABLE = ("config.toml",)  # by users


def make_worlds(folder):
    """A corpus of either kind and a run of each kind of model, by name."""
    source = write_jsonl(folder / "a.jsonl", make_texts(60))
    ingest([source], folder / "documents", IngestOptions(format="jsonl"))
    np.save(folder / "values.npy", draw_clumps(0, 200, 4).values)
    options = VectorOptions(pca=3)
    ingest_vectors([folder / "values.npy"], folder / "vectors", options)
    mixture = resolve("dp-mixture", {}).local
    runs = {
        "lda": ("documents", TrainingOptions(3, laps=2)),
        "hdp": ("documents", TrainingOptions(3, laps=2, model="hdp")),
        "mixture": ("vectors", TrainingOptions(2, laps=2, model="dp-mixture", local=mixture)),
    }
    for name, (corpus, training) in runs.items():
        train_run(RunPlan(folder / corpus, folder / name, training, n_batches=2))
    return {name: folder / name for name in ("documents", "vectors", *runs)}


def contents(folder):
    """All that reading a folder gives, as bytes."""
    if not os.path.lexists(folder / "manifest.json"):
        run = load_run(folder)
        words = None if run.vocabulary is None else _words(run.vocabulary)
        settings = {key: value for key, value in run.settings.items() if key != "sha256"}
        return pickle.dumps((run.model, words, settings, run.trace))
    corpus = open_corpus(folder)
    manifest = load_any_manifest(folder)
    totals, candidates = manifest.totals, getattr(manifest, "candidates", None)
    names = list(corpus.labels())
    if isinstance(corpus, Corpus):
        parts = [_words(corpus.vocabulary), list(corpus.doc_ids())]
        if candidates is not None:
            known, pruning = read_candidates(folder, candidates)
            parts += [known.table.to_pydict(), known.n_docs, pruning]
    else:
        projection = corpus.projection
        parts = [corpus.columns, corpus.made, list(corpus.item_ids()), projection]
    return pickle.dumps((totals, names, parts, list(corpus.batches())))


def _words(vocabulary):
    frequencies = (vocabulary.document_frequency, vocabulary.term_frequency)
    return vocabulary.words, *(each.tolist() for each in frequencies), vocabulary.tokenizer


def flip_bits(folder, n_places, rng):
    """How often a flipped bit was refused, and how often it changed nothing.

    Files are hit as often as each other, so that small ones are not left out. AssertionError if
    a bit changes what is read.
    """
    files = sorted(path for path in folder.iterdir() if path.name not in EDITABLE)
    sound, outcomes = contents(folder), Counter()
    for number in range(n_places):
        path = files[number % len(files)]
        data = path.read_bytes()
        place, bit = int(rng.integers(len(data))), int(rng.integers(8))
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        found = read_or_refused(folder)
        path.write_bytes(data)
        where = f"bit {bit} of byte {place} in {path}: {found!r:.200}"
        assert found == sound or (isinstance(found, str) and found.isprintable()), where
        outcomes["without effect" if found == sound else "refused"] += 1
    return outcomes


def read_or_refused(folder):
    try:
        return contents(folder)
    except SparsetopicsError as error:
        return str(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--places", type=int, default=1000, help="number of bits to flip in each folder"
    )
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name, folder in make_worlds(Path(scratch)).items():
            outcomes = flip_bits(folder, given.places, np.random.default_rng(given.seed))
            print(name, *(f"{count:,} {what}" for what, count in outcomes.items()), sep=", ")
    return 0


if __name__ == "__main__":
    sys.exit(main())

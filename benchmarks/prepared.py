"""The prepared collections that are compared with other toolkits.

Two scripts of the folder ``--shared`` are used, so that every toolkit gets the same words and the
same held-out documents, cut at the same places:

* ``peers/make_corpus.py KIND SOURCE… NAME.npz`` counts the words of ``data/SOURCE``, keeps the
  documents of at least five word types, and draws a tenth of them as held-out documents. NAME.npz
  has the arrays ``data``, ``indices``, ``indptr`` and ``shape`` of a CSR matrix of counts
  (n_docs, n_words), ``vocab`` (n_words,), and the rows ``train`` and ``held``. It is not needed if
  NAME.npz is in the folder of prepared data already.
* ``peers/completion.py`` has a class whose ``Completion(counts, max_docs=None).docs`` is a list of
  documents: words and counts to infer topics from, words and counts to predict. A random fifth of
  the word types of each document is predicted.

Texts are JSON lines with the key ``text``, one document a line. The files of kind ``uci`` are the
bag-of-words files of the UCI Machine Learning Repository. docs/papers.md lists the public sources.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
from heldout import HeldOut
from scipy import sparse

SOURCES = {
    "20news": ["jsonl", "20news/20news-bydate-train.jsonl.gz,20news/20news-bydate-test.jsonl.gz"],
    "nips": [
        "uci",
        "nips/docword.nips.train.txt.gz,nips/docword.nips.test.txt.gz",
        "nips/vocab.nips.txt",
    ],
    "reuters": ["jsonl", "reuters21578/reuters21578.jsonl.gz"],
    "kos": ["uci", "kos/docword.kos.txt.gz", "kos/vocab.kos.txt"],
    "acl": ["jsonl", "acl_abstracts/acl_abstracts.jsonl.gz"],
    "dblp": ["jsonl", "dblp/dblp.jsonl.gz"],
    "m10": ["jsonl", "m10/m10.jsonl.gz"],
    "reddit": ["jsonl", "reddit1m/reddit1m-00.jsonl.gz"],
    "synth": ["synth"],
}


class Prepared(NamedTuple):
    """A collection split in two."""

    train: sparse.csr_array
    words: list[str]
    heldout: HeldOut  # all documents of at least five word types
    path: Path


def prepare(name: str, shared: Path, folder: Path) -> Prepared:
    """Make ``folder``/``name``.npz if it is not there, and open it."""
    path = folder / f"{name}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        kind, *sources = SOURCES[name]
        script = found(shared / "peers" / "make_corpus.py")
        located = [
            ",".join(found(shared / "data" / part) for part in source.split(","))
            for source in sources
        ]
        # Standard output belongs to the rows of the benchmark.
        command = [sys.executable, script, kind, *located, str(path)]
        subprocess.run(command, check=True, stdout=2)
    with np.load(path, allow_pickle=False) as arrays:
        counts = sparse.csr_array(
            (arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"])
        )
        train, held = counts[arrays["train"]], counts[arrays["held"]]
        words = [str(word) for word in arrays["vocab"]]
    completion = _module(Path(found(shared / "peers" / "completion.py")))
    documents = completion.Completion(held, max_docs=None).docs
    return Prepared(train, words, HeldOut.of(documents), path)


def found(path: Path) -> str:
    """The path as text; FileNotFoundError if there is no such file."""
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return str(path)


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

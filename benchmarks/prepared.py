"""The prepared collections that are compared with other toolkits.

``make_corpus.py`` and ``completion.py`` are used from the shared folder, so that every toolkit gets
the same words and the same held-out documents, cut at the same places.
"""

from __future__ import annotations

import importlib.util
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
        located = [
            ",".join(str(shared / "data" / part) for part in source.split(","))
            for source in sources
        ]
        script = str(shared / "peers" / "make_corpus.py")
        subprocess.run([sys.executable, script, kind, *located, str(path)], check=True)
    with np.load(path, allow_pickle=False) as arrays:
        counts = sparse.csr_array(
            (arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"])
        )
        train, held = counts[arrays["train"]], counts[arrays["held"]]
        words = [str(word) for word in arrays["vocab"]]
    completion = _module(shared / "peers" / "completion.py")
    documents = completion.Completion(held, max_docs=None).docs
    return Prepared(train, words, HeldOut.of(documents), path)


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

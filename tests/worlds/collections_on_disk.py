"""Small collections written to files, and what a corpus made of them must hold, counted plainly."""

import collections
import gzip
import json
import re

import numpy as np
import pyarrow as pa

from sparsetopics.corpora.readers.blocks import TextBlock
from sparsetopics.corpora.text.tokenizer import count_texts

PATTERN = re.compile(r"[^\W\d_]{3,}")
SYLLABLES = ["ba", "co", "du", "fel", "gim", "hor", "jul", "ké", "læ", "мир", "ß"]


def make_texts(n_docs, seed=0, length=40):
    """Documents of made-up words with numbers, punctuation and several scripts."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(SYLLABLES, rng.integers(1, 4))) for _ in range(60)]
    marks = [" ", ", ", ". ", "\n", " 42 ", "_", "-"]
    cases = [str.lower, str.upper, str.title]
    texts = []
    for _ in range(n_docs):
        ranks = (rng.random(rng.integers(1, length)) ** 3 * len(words)).astype(int)
        looks = rng.integers(0, len(cases) * len(marks), len(ranks))
        texts.append(
            "".join(
                cases[look % len(cases)](words[rank]) + marks[look // len(cases)]
                for rank, look in zip(ranks, looks, strict=True)
            )
        )
    return texts


def write_jsonl(path, texts, name="doc"):
    lines = [
        json.dumps({"id": f"{name}-{n}", "text": text, "label": n % 3})
        for n, text in enumerate(texts)
    ]
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def plain_counts(texts, pattern=PATTERN):
    return [collections.Counter(pattern.findall(text.lower())) for text in texts]


def plain_vocabulary(counts, least, most):
    """Words by falling frequency, ties by word."""
    document, term = collections.Counter(), collections.Counter()
    for histogram in counts:
        document.update(histogram.keys())
        term.update(histogram)
    kept = [word for word in term if least <= document[word] <= most]
    return sorted(kept, key=lambda word: (-term[word], word))


def documents_of(corpus):
    """``{doc_id: {word: count}}`` read back."""
    found = {}
    for batch, doc_ids in zip(corpus.batches(), corpus.doc_ids(), strict=True):
        for row, doc_id in enumerate(doc_ids):
            pairs = slice(batch.indptr[row], batch.indptr[row + 1])
            words = [corpus.vocabulary.words[word] for word in batch.word_ids[pairs]]
            found[doc_id] = dict(zip(words, batch.word_counts[pairs].tolist(), strict=True))
    return found


def histograms(documents, options):
    """Word counts of each document, after ``count_texts``."""
    strings = pa.array(documents, pa.string())
    nothing = pa.nulls(len(documents), pa.string())
    block = count_texts(TextBlock(nothing, nothing, strings), options)
    words = block.words.to_pylist()
    assert len(set(words)) == len(words)
    rows = []
    for start, stop in zip(block.indptr[:-1], block.indptr[1:], strict=True):
        ids, counts = block.word_ids[start:stop], block.word_counts[start:stop]
        assert len(set(ids.tolist())) == len(ids)
        rows.append({words[n]: int(count) for n, count in zip(ids, counts, strict=True)})
    return rows

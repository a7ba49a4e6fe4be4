"""Measure the size of a large page, how soon a browser shows it, and whether it complains.

    python benchmarks/page.py --out page.html [--topics 200] [--words 50000] [--documents 10000]
    python benchmarks/page.py --out page.html --topics 300 --documents 100000

The page is that of a drawn model: topics with examples, 50 sections and 24 months. The first
paint is what headless Chromium reports ("first-contentful-paint"), the median of ``--repeats``
openings of the file with a fresh profile each. The exit status is 1 if the page is above 5 MB, is
shown after more than a second, requests anything, or if a script fails or is refused.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from chromium import browser_tab

from sparsetopics.corpora.corpus import Corpus
from sparsetopics.evaluation.report.report import write_run_report
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import run_in_memory, save_run
from sparsetopics.runs.run_files import Provenance

N_SECTIONS, N_MONTHS = 50, 24
DOCUMENT_TOKENS = 100
LETTERS = np.array(list("etaoinshrdlucmwfgypbvk"))
MOST_MEGABYTES, MOST_PAINT = 5.0, 1000.0


def draw_words(n_words: int, rng: np.random.Generator) -> list[str]:
    """Return different words of 4 to 11 letters, in the order of the alphabet."""
    words: set[str] = set()
    while len(words) < n_words:
        words.add("".join(rng.choice(LETTERS, rng.integers(4, 12))))
    return sorted(words)


def draw_corpus(
    topics: np.ndarray, words: list[str], n_documents: int, rng: np.random.Generator
) -> Corpus:
    """Return documents of three topics each, with sections and months as fields."""
    own = rng.integers(len(topics), size=(n_documents, 3))
    chosen = np.take_along_axis(own, rng.integers(3, size=(n_documents, DOCUMENT_TOKENS)), axis=1)
    places = np.empty(chosen.size, np.int64)
    in_order = np.argsort(chosen, axis=None, kind="stable")
    starts = np.searchsorted(chosen.ravel()[in_order], np.arange(len(topics) + 1))
    for topic, ends in enumerate(topics.cumsum(axis=1)):
        tokens = in_order[starts[topic] : starts[topic + 1]]
        places[tokens] = np.searchsorted(ends[:-1], ends[-1] * rng.random(len(tokens)), "right")
    drawn = np.array(words, object)[places.reshape(chosen.shape)]
    months = [f"{2023 + n // 12}-{n % 12 + 1:02}-01" for n in range(N_MONTHS)]
    table = pa.table(
        {
            "id": [f"document {n}" for n in range(n_documents)],
            "text": [" ".join(row) for row in drawn],
            "section": [f"section {n % N_SECTIONS}" for n in range(n_documents)],
            "month": [months[n % N_MONTHS] for n in rng.permutation(n_documents)],
        }
    )
    return Corpus.from_table(table, keep=["text", "section", "month:date"], min_df=1, max_df=1.0)


def write_page(path: Path, n_topics: int, n_words: int, n_documents: int) -> None:
    """Write the page of a drawn model, and say how long that took."""
    rng = np.random.default_rng(0)
    topics = rng.gamma(0.02, 1.0, (n_topics, n_words)) + 1e-6
    topics /= topics.sum(axis=1, keepdims=True)
    words = draw_words(n_words, rng)
    corpus = draw_corpus(topics, words, n_documents, rng)
    vocabulary = corpus.vocabulary  # without the words that were not drawn
    shares = topics[:, np.searchsorted(words, vocabulary.words)]
    model = TopicPosterior(
        "lda", shares * corpus.n_tokens / n_topics, np.full(n_topics, 0.01), 0.01
    )
    with tempfile.TemporaryDirectory() as folder:
        run, stored = Path(folder) / "run", Path(folder) / "corpus"
        run.mkdir()
        corpus.save(stored)
        settings: Provenance = {"corpus": {"n_documents": n_documents}, "options": {}, "seed": 0}
        save_run(run, run_in_memory("run", model, vocabulary, settings, []))
        started = time.perf_counter()
        write_run_report(path, [run], stored, by="section", over="month:month", overwrite=True)
        seconds = time.perf_counter() - started
    size = f"{n_documents:,} documents, {n_topics} topics, {len(vocabulary):,} words"
    print(f"{size}: {path.stat().st_size / 1e6:.2f} MB, made in {seconds:.1f} s")


async def open_page(path: Path, browser: str) -> tuple[float, list[str]]:
    """Return milliseconds until a browser shows something of the page, and its complaints."""
    address = path.resolve().as_uri()
    async with browser_tab(browser) as tab:
        paint = await tab.open(address)
        return paint, tab.complaints(address)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--documents", type=int, default=10_000)
    options = parser.parse_args()
    write_page(options.out, options.topics, options.words, options.documents)
    opened = [asyncio.run(open_page(options.out, options.browser)) for _ in range(options.repeats)]
    paints = [paint for paint, _ in opened]
    print(f"first paint after {statistics.median(paints):.0f} ms, at most {max(paints):.0f} ms")
    complaints = sorted({words for _, said in opened for words in said})
    print(*complaints or ["no request, no script error"], sep="\n")
    is_large = options.out.stat().st_size / 1e6 > MOST_MEGABYTES
    sys.exit(bool(complaints) or is_large or statistics.median(paints) > MOST_PAINT)


if __name__ == "__main__":
    main()

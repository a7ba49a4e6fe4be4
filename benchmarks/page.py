"""Measure the size of a large page, and how soon a browser shows it.

    python benchmarks/page.py --out page.html [--topics 200] [--words 50000]

The page is that of a drawn model: topics with examples, 50 sections and 24 months. The first
paint is what headless Chromium reports ("first-contentful-paint"), the median of ``--repeats``
openings of the file with a fresh profile each.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from sparsetopics.corpora.corpus import Corpus
from sparsetopics.evaluation.report.report import write_run_report
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import save_run

N_SECTIONS, N_MONTHS = 50, 24
N_DOCUMENTS = 10_000
DOCUMENT_TOKENS = 100
LETTERS = np.array(list("etaoinshrdlucmwfgypbvk"))
TELL = """<script>
new PerformanceObserver((list) => {
  for (const entry of list.getEntries())
    if (entry.name === "first-contentful-paint") document.title = `painted ${entry.startTime}`;
}).observe({ type: "paint", buffered: true });
</script>"""


def draw_words(n_words: int, rng: np.random.Generator) -> list[str]:
    """Return different words of 4 to 11 letters, in the order of the alphabet."""
    words: set[str] = set()
    while len(words) < n_words:
        words.add("".join(rng.choice(LETTERS, rng.integers(4, 12))))
    return sorted(words)


def draw_corpus(topics: np.ndarray, words: list[str], rng: np.random.Generator) -> Corpus:
    """Return documents of three topics each, with sections and months as fields."""
    ends = topics.cumsum(axis=1)
    texts = []
    for _ in range(N_DOCUMENTS):
        chosen = rng.choice(rng.choice(len(topics), 3), DOCUMENT_TOKENS)
        places = [
            np.searchsorted(ends[topic], ends[topic, -1] * rng.random(), side="right")
            for topic in chosen
        ]
        texts.append(" ".join(words[min(place, len(words) - 1)] for place in places))
    months = [f"{2023 + n // 12}-{n % 12 + 1:02}-01" for n in range(N_MONTHS)]
    table = pa.table(
        {
            "id": [f"document {n}" for n in range(N_DOCUMENTS)],
            "text": texts,
            "section": [f"section {n % N_SECTIONS}" for n in range(N_DOCUMENTS)],
            "month": [months[n % N_MONTHS] for n in rng.permutation(N_DOCUMENTS)],
        }
    )
    return Corpus.from_table(table, keep=["text", "section", "month:date"], min_df=1, max_df=1.0)


def write_page(path: Path, n_topics: int, n_words: int) -> None:
    """Write the page of a drawn model, and say how long that took."""
    rng = np.random.default_rng(0)
    topics = rng.gamma(0.02, 1.0, (n_topics, n_words)) + 1e-6
    topics /= topics.sum(axis=1, keepdims=True)
    words = draw_words(n_words, rng)
    corpus = draw_corpus(topics, words, rng)
    vocabulary = corpus.vocabulary  # without the words that were not drawn
    shares = topics[:, np.searchsorted(words, vocabulary.words)]
    model = TopicPosterior(
        "lda", shares * corpus.n_tokens / n_topics, np.full(n_topics, 0.01), 0.01
    )
    with tempfile.TemporaryDirectory() as folder:
        run, stored = Path(folder) / "run", Path(folder) / "corpus"
        run.mkdir()
        corpus.save(stored)
        settings = {"corpus": {"n_documents": N_DOCUMENTS}, "options": {}, "seed": 0}
        save_run(run, model, vocabulary, settings, [])
        started = time.perf_counter()
        write_run_report(path, [run], stored, by="section", over="month:month", overwrite=True)
        seconds = time.perf_counter() - started
    size = path.stat().st_size / 1e6
    print(f"{n_topics} topics, {len(vocabulary):,} words: {size:.2f} MB, made in {seconds:.1f} s")


def first_paint(path: Path, browser: str) -> float:
    """Return milliseconds until a browser shows something of the page."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        page = path.read_text(encoding="utf-8")
        file.write_text(page.replace("</head>", f"{TELL}</head>"), encoding="utf-8")
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder}/profile",
        ]
        call = [browser, *options, "--timeout=5000", "--dump-dom", file.as_uri()]
        shown = subprocess.run(call, capture_output=True, check=True).stdout.decode()
    found = re.search(r"<title>painted ([\d.]+)</title>", shown)
    if found is None:
        raise SystemExit("the browser reported no paint")
    return float(found.group(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    write_page(options.out, options.topics, options.words)
    paints = [first_paint(options.out, options.browser) for _ in range(options.repeats)]
    print(f"first paint after {statistics.median(paints):.0f} ms, at most {max(paints):.0f} ms")


if __name__ == "__main__":
    main()

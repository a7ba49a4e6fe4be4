"""How often intervals of formulas, and errors over runs, hold the truth.

python benchmarks/effects.py formulas --documents 600,2000 --keep    # in results/effects.json
python benchmarks/effects.py correlated --keep                       # in correlations.json
python benchmarks/effects.py runs --keep                             # in effects-over-runs.json
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pyarrow as pa
from prevalence import draw_documents
from results import report
from scipy.sparse import csr_array

from sparsetopics import LDA
from sparsetopics.answers.compared import formula_effects, topics_like
from sparsetopics.answers.formula import design_of, natural_spline
from sparsetopics.answers.prevalence import grouped_documents
from sparsetopics.base.batches import DocumentBatch, FloatArray
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import Grouping
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.store.shards import RowGroup
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.measures.estimates import Estimates
from sparsetopics.measures.matched_topics import matched_topics
from sparsetopics.measures.prevalence import document_estimates, unbiased_projection, word_shares
from sparsetopics.measures.topic_correlations import correlations, sum_pairs
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import Run

N_YEARS = 20
FORMULAS = {
    "linear": "~ score",
    "factor": "~ section",
    "smooth": "~ s(year)",
    "interaction": "~ section * s(year, df=3)",
}
SECTIONS = ("a", "b", "c")
COMMON = 0.01  # mean share of a topic

kept = click.option("--keep", "is_kept", is_flag=True, help="Write a file of results.")


@dataclass(frozen=True, slots=True, eq=False)
class Rows(RowGroup[DocumentBatch]):
    """Drawn documents with fields."""

    batch: DocumentBatch
    fields: dict[str, pa.Array]

    def read(self) -> DocumentBatch:
        return self.batch

    def read_ids(self) -> list[str]:
        return [str(number) for number in range(self.n_docs)]

    def read_labels(self) -> list[str | None]:
        return [None] * self.n_docs

    def read_fields(self, names: list[str]) -> pa.Table:
        return pa.table({name: self.fields[name] for name in names})


def corpus_of(batch: DocumentBatch, fields: dict[str, pa.Array], n_words: int) -> Corpus:
    known = np.ones(n_words, np.int64)
    words = Vocabulary(tuple(f"w{number:05}" for number in range(n_words)), known, known)
    sizes = Sizes(batch.n_docs, batch.n_pairs, batch.n_tokens)
    kinds = {name: "string" if pa.types.is_string(own.type) else "number"
             for name, own in fields.items()}  # fmt: skip
    return replace(Corpus(words, (Rows(sizes, batch, fields),)), fields=kinds)


def topics(rng: np.random.Generator, n_topics: int, n_words: int, eta: float) -> FloatArray:
    drawn = rng.dirichlet(np.full(n_words, eta), n_topics) + 1e-9
    found: FloatArray = drawn / drawn.sum(axis=1, keepdims=True)
    return found


def model_of(topic_word: FloatArray) -> TopicPosterior:
    return TopicPosterior("lda", 1e7 * topic_word + 0.1, np.full(len(topic_word), 0.1), 0.1)


@click.group()
def main() -> None:
    """Measure effects on drawn documents."""


# --- topics as given ------------------------------------------------------------------------------
@main.command()
@click.option("--draws", default=500)
@click.option("--documents", default="600")
@click.option("--topics", "n_topics", default=10)
@click.option("--words", default=500)
@click.option("--eta", default=0.1)
@kept
def formulas(
    draws: int, documents: str, n_topics: int, words: int, eta: float, is_kept: bool
) -> None:
    """Print the share of 95 % intervals that hold the truth, of coefficients and of shares."""
    rows = {}
    for n in map(int, documents.split(",")):
        for number, kind in enumerate(FORMULAS):
            rng = np.random.default_rng([number, n])
            topic_word = topics(rng, n_topics, words, eta)
            rows[f"{kind}/{n}"] = _held_by_formula(rng, kind, topic_word, draws, n)
    report("effects", rows, is_kept)


def _held_by_formula(
    rng: np.random.Generator, kind: str, topic_word: FloatArray, draws: int, documents: int
) -> dict[str, float]:
    """Of all topics, of common ones, and the lowest of a common topic and number."""
    held: dict[str, list[dict[object, FloatArray]]] = defaultdict(list)
    base = rng.dirichlet(np.full(len(topic_word), 2.0))
    ends = rng.dirichlet(10 * base + 0.3, (len(SECTIONS), 2))
    for _ in range(draws):
        true, fields = _drawn_means(rng, kind, ends, documents)
        proportions = rng.standard_gamma(3.0 * true)
        proportions /= proportions.sum(axis=1, keepdims=True)
        sizes = rng.integers(50, 200, documents)
        batch = draw_documents(rng, proportions, np.cumsum(topic_word, axis=1), sizes)
        corpus = corpus_of(batch, fields, topic_word.shape[1])
        design = design_of(FORMULAS[kind], corpus)
        found = formula_effects(model_of(topic_word), corpus, design)
        beta = np.linalg.lstsq(design.rows, true)[0]
        held["coefficients"].append(dict(enumerate(_holds(found.coefficients, beta))))
        places = (  # years differ between draws, and the values of a score in all
            number if kind == "linear" else tuple(point.items())
            for number, point in enumerate(design.points)
        )
        holds = _holds(found.estimates, design.contrasts @ beta)
        held["shares"].append(dict(zip(places, holds, strict=True)))
    common = true.mean(axis=0) >= COMMON
    row: dict[str, float] = {}
    for name, drawn in held.items():
        own = _means(drawn)
        row |= {name: float(own.mean()), f"{name}_common": float(own[:, common].mean())}
        row["lowest"] = min(row.get("lowest", 1.0), float(own[:, common].min()))
    return row


def _drawn_means(
    rng: np.random.Generator, kind: str, ends: FloatArray, n: int
) -> tuple[FloatArray, dict[str, pa.Array]]:
    """The mean proportions of each document, which are linear in the columns of the formula."""
    score, year = rng.uniform(size=n), rng.integers(0, N_YEARS, n).astype(np.float64)
    section = rng.choice(len(SECTIONS), n, p=[0.5, 0.3, 0.2])
    along = {"linear": score, "factor": np.zeros(n)}.get(
        kind, _bend(year, 3 if kind == "interaction" else 5)
    )
    own = section if kind in ("factor", "interaction") else np.zeros(n, np.int64)
    mean = (1 - along[:, None]) * ends[own, 0] + along[:, None] * ends[own, 1]
    names = pa.array([SECTIONS[each] for each in section])
    return mean, {"score": pa.array(score), "year": pa.array(year), "section": names}


def _bend(year: FloatArray, df: int) -> FloatArray:
    """A curve from 0 to 1 that the columns of s(year, df) can follow."""
    columns = natural_spline(year, df)
    curve = sum((-1) ** n * np.asarray(own) / np.ptp(own) for n, own in enumerate(columns.values()))
    bent: FloatArray = (curve - curve.min()) / np.ptp(curve)
    return bent


def _means(draws: list[dict[object, FloatArray]]) -> FloatArray:
    """The shares of draws in which each number of each topic holds the truth."""
    places = dict.fromkeys(place for draw in draws for place in draw)
    return np.array(
        [np.mean([draw[place] for draw in draws if place in draw], axis=0) for place in places]
    )


def _holds(found: Estimates, truth: FloatArray) -> FloatArray:
    low, high = found.interval(-np.inf, np.inf)
    return ((low <= truth) & (truth <= high)).astype(np.float64)


# --- correlations ---------------------------------------------------------------------------------
@main.command()
@click.option("--draws", default=500)
@click.option("--topics", "n_topics", default=8)
@click.option("--words", default=500)
@kept
def correlated(draws: int, n_topics: int, words: int, is_kept: bool) -> None:
    """Print the share of 95 % intervals that hold the correlation of two topics."""
    rows = {}
    pairs = np.triu_indices(n_topics, 1)
    for documents, most in ((800, 100), (800, 400), (5000, 100)):
        rng = np.random.default_rng([documents, most])
        topic_word = topics(rng, n_topics, words, 0.2)
        causes, base = rng.normal(size=(n_topics, 2)), 0.5 * rng.normal(size=n_topics)
        truth = np.corrcoef(_correlated(rng, causes, base, 400_000).T)[pairs]
        weights = _correlated(rng, causes, base, 10_000).mean(axis=0)
        projection = unbiased_projection(topic_word, weights)
        held, errors, naive = [], [], []
        for _ in range(draws):
            sizes = rng.integers(most // 5, most, documents)
            proportions = _correlated(rng, causes, base, documents)
            batch = draw_documents(rng, proportions, np.cumsum(topic_word, axis=1), sizes)
            found = correlations(sum_pairs(batch, projection, np.random.default_rng(0)), projection)
            low, high = (end[pairs] for end in found.interval(-1.0, 1.0))
            held.append((low <= truth) & (truth <= high))
            errors.append(found.value[pairs] - truth)
            own = document_estimates(word_shares(batch, words)[0], projection)
            naive.append(np.corrcoef(own.T)[pairs] - truth)
        shares = np.mean(held, axis=0)
        rows[f"{documents}/{most // 5}-{most}"] = {
            "intervals": float(shares.mean()),
            "lowest": float(shares.min()),
            "bias": float(np.abs(np.mean(errors, axis=0)).mean()),
            "bias_of_estimates": float(np.abs(np.mean(naive, axis=0)).mean()),
        }
    report("correlations", rows, is_kept)


def _correlated(
    rng: np.random.Generator, causes: FloatArray, base: FloatArray, size: int
) -> FloatArray:
    scores = base + rng.normal(size=(size, causes.shape[1])) @ causes.T
    raised = np.exp(scores + 0.7 * rng.normal(size=scores.shape))
    shares: FloatArray = raised / raised.sum(axis=1, keepdims=True)
    return shares


# --- topics as learned ----------------------------------------------------------------------------
class Setting(NamedTuple):
    """Documents of two groups with correlated proportions."""

    n_topics: int
    n_words: int
    word_concentration: float  # 0.1: distinct words, 0.5: most words in many topics
    n_documents: int
    spread: float  # of the common causes of proportions


SETTINGS = [
    Setting(10, 1000, 0.1, 500, 0.8),
    Setting(20, 1000, 0.1, 1000, 0.8),
    Setting(20, 1000, 0.5, 1000, 0.8),
    Setting(30, 2000, 0.2, 2000, 1.2),
]
N_CAUSES = 3
OVER_RUNS = ("known", "one", "consensus", "over", "width", "width_over")


@main.command()
@click.option("--draws", default=20)
@click.option("--runs", "n_runs", default=5)
@kept
def runs(draws: int, n_runs: int, is_kept: bool) -> None:
    """Print the share of 95 % intervals that hold the truth if topics are learned by LDA."""
    kept_rows = {}
    for number, setting in enumerate(SETTINGS):
        held: dict[str, list[list[float]]] = defaultdict(list)
        for draw in range(draws):
            _one_draw(np.random.default_rng([number, draw]), setting, n_runs, held)
        for name, rows in held.items():
            means = np.mean(rows, axis=0).tolist()
            place = f"{setting.n_topics}/{setting.word_concentration}/{name}"
            kept_rows[place] = dict(zip(OVER_RUNS, means, strict=True))
    report("effects-over-runs", kept_rows, is_kept)


def _one_draw(
    rng: np.random.Generator, setting: Setting, n_runs: int, held: dict[str, list[list[float]]]
) -> None:
    """Add the shares of one draw: known topics, one run, the consensus, and that over runs."""
    n_topics, n = setting.n_topics, setting.n_documents
    topic_word = topics(rng, n_topics, setting.n_words, setting.word_concentration)
    causes = setting.spread * rng.normal(size=(n_topics, N_CAUSES))
    base, effect = 0.7 * rng.normal(size=n_topics), 0.5 * rng.normal(size=n_topics)

    def proportions(group: int, size: int) -> FloatArray:
        scores = base + effect * group + rng.normal(size=(size, N_CAUSES)) @ causes.T
        scores += 0.7 * rng.normal(size=scores.shape)
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: FloatArray = raised / raised.sum(axis=1, keepdims=True)
        return shares

    truth = np.stack([proportions(group, 200_000).mean(axis=0) for group in (0, 1)])
    halves = np.vstack([proportions(0, n - n // 2), proportions(1, n // 2)])
    sizes = rng.integers(50, 150, n)
    batch = draw_documents(rng, halves, np.cumsum(topic_word, axis=1), sizes)
    section = pa.array(["a"] * (n - n // 2) + ["b"] * (n // 2))
    corpus = corpus_of(batch, {"section": section}, setting.n_words)
    pairs = batch.word_counts.astype(np.int64), batch.word_ids, batch.indptr
    counts = csr_array(pairs, shape=(n, setting.n_words))
    fitted = [LDA(n_topics, random_state=seed).fit(counts) for seed in range(n_runs)]
    consensus = LDA(n_topics, random_state=0, n_runs=n_runs).fit(counts)
    known = model_of(topic_word)
    models = [known, fitted[0].model_, consensus.model_, consensus.model_]
    asked = [(model, Run(Path("run"), model, corpus.vocabulary, {}, ())) for model in models]
    others = [Run(Path("run"), each.model_, corpus.vocabulary, {}, ()) for each in fitted]
    design = design_of("~ section", corpus)
    found: dict[str, list[float]] = defaultdict(list)
    widths: dict[str, list[float]] = defaultdict(list)
    for place, (model, run) in enumerate(asked):
        beside = topics_like(run, others) if place == 3 else []
        order = matched_topics([known.exact_counts, model.exact_counts], 0)[1]
        groups = grouped_documents(
            model, corpus, corpus.vocabulary.words, Grouping.parse("section", None)
        )
        shares = groups.prevalence(0, beside).estimates
        effects = formula_effects(model, corpus, design, beside).coefficients
        difference = truth[1] - truth[0]
        for name, own, true in (
            ("shares", shares, truth),
            ("section", Estimates(*(each[1:] for each in effects)), difference[None]),
        ):
            low, high = own.interval(-1.0, 1.0)
            low, high = low[:, order], high[:, order]
            found[name].append(float(((low <= true) & (true <= high)).mean()))
            if place >= 2:
                widths[name].append(float((high - low).mean()))
    for name, own_shares in found.items():
        held[name].append([*own_shares, *widths[name]])


if __name__ == "__main__":
    main()

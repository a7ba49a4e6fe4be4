"""Effects of formulas and correlations of topics over a corpus in parts."""

import pickle
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import reference_prevalence as reference
from sparsetopics.answers.compared import (
    compared_shares,
    formula_effects,
    topic_correlations,
    topics_like,
)
from sparsetopics.answers.formula import design_of
from sparsetopics.answers.prevalence import grouped_documents, topics_in_use
from sparsetopics.base.batches import DocumentBatch
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import Grouping
from sparsetopics.corpora.store.manifest import Sizes
from sparsetopics.corpora.store.shards import RowGroup
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.execution.executors import Crew
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import Run
from worlds.topic_draws import N_TOPICS, N_WORDS, batch_of, draw_topics

pytest.importorskip("formulaic")

N = 110
CUTS = (40, 41, 100)  # a part of one document, and parts whose ends are no ends of blocks
KNOWN = np.ones(N_WORDS, np.int64)
WORDS = Vocabulary(tuple(f"w{number:02}" for number in range(N_WORDS)), KNOWN, KNOWN)
LABELS = [(f"id{number}", f"topic {number}") for number in range(20)]


@dataclass(frozen=True, slots=True, eq=False)
class Rows(RowGroup[DocumentBatch]):
    batch: DocumentBatch
    fields: pa.Table

    def read(self):
        return self.batch

    def read_ids(self):
        return [""] * self.n_docs

    def read_labels(self):
        return [None] * self.n_docs

    def read_fields(self, names):
        return self.fields.select(names)


def in_parts(batch, fields, cuts=CUTS):
    """A corpus with a row group for each part."""
    table, groups = pa.table(fields), []
    ends = [0, *cuts, batch.n_docs]
    for first, last in pairwise(ends):
        own = batch.take(np.arange(first, last))
        sizes = Sizes(own.n_docs, own.n_pairs, own.n_tokens)
        groups.append(Rows(sizes, own, table.slice(first, last - first)))
    kinds = {"section": "string", "year": "number"}
    return replace(Corpus(WORDS, tuple(groups)), fields=kinds)


def model_of(topic_word, n_unused=0):
    """Topics as known, after ``n_unused`` without a token."""
    unused = np.full((n_unused, N_WORDS), 0.1)
    counts = np.vstack([unused, 1e7 * topic_word + 0.1])
    return TopicPosterior("lda", counts, np.full(len(counts), 0.1), 0.1)


def run_of(model, words=WORDS, name="run"):
    return Run(Path(name), model, words, {}, ())


@pytest.fixture(scope="module")
def world():
    """Documents of three sections and of years, of which two have no value and one no word."""
    rng = np.random.default_rng(0)
    topic_word = draw_topics()
    section, year = rng.integers(0, 3, N), rng.integers(2000, 2010, N).astype(float)
    means = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]])
    counts = np.stack([
        rng.multinomial(40, rng.dirichlet(3.0 * means[own]) @ topic_word) for own in section
    ])  # fmt: skip
    counts[50] = 0
    names = [["a", "b", "c"][own] for own in section]
    names[60] = None
    fields = {"section": names, "year": pa.array(year, mask=np.arange(N) == 61)}
    return batch_of(counts), fields, topic_word


def effects_of(world, text, cuts=CUTS, **how):
    batch, fields, topic_word = world
    corpus = in_parts(batch, fields, cuts)
    return formula_effects(model_of(topic_word), corpus, design_of(text, corpus), **how)


def test_shares_and_coefficients_are_those_of_the_plain_twin(world):
    batch, _, topic_word = world
    found = effects_of(world, "~ section * s(year, df=3)")

    rows = found.design.rows
    known = ~np.isnan(rows).any(axis=1) & (np.diff(batch.indptr) > 0)
    projection = topics_in_use(model_of(topic_word)).projection
    dense = np.nan_to_num(reference.dense_shares(batch.take(np.flatnonzero(known)), N_WORDS))
    for contrasts, own, ends in (
        (np.eye(rows.shape[1]), found.coefficients, (-np.inf, np.inf)),
        (found.design.contrasts, found.estimates, (0.0, 1.0)),
    ):
        value, error, skewness = reference.least_squares(rows[known], dense @ projection, contrasts)
        np.testing.assert_allclose(own.value, np.clip(value, *ends), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(own.standard_error, error, rtol=1e-5)
        np.testing.assert_allclose(own.skewness, skewness, rtol=1e-4, atol=1e-6)
    assert found.n_left_out == 3
    assert known.sum() == N - 3


def test_sections_have_the_linear_means_of_groups(world):
    batch, fields, topic_word = world
    found = effects_of(world, "~ section")

    groups = grouped_documents(
        model_of(topic_word), in_parts(batch, fields), WORDS.words, Grouping.parse("section", None)
    )
    means = np.array([own.powers[0] / own.n_documents for own in groups.totals.values()])
    assert [key.name for key in groups.totals] == ["a", "b", "c"]
    np.testing.assert_allclose(found.coefficients.value[1:], means[1:] - means[0], atol=1e-12)
    np.testing.assert_allclose(found.estimates.value, np.clip(means, 0, 1), atol=1e-12)


@pytest.mark.parametrize("text", ["~ section", "~ section * s(year, df=3)"])
def test_workers_and_pickled_tasks_give_the_same_bits(world, text):
    def pickled(task, items):
        for item in items:
            there, own = pickle.loads(pickle.dumps((task, item)))
            yield pickle.loads(pickle.dumps(there(own)))

    one, three, cluster = (
        effects_of(world, text, **how)
        for how in ({}, {"crew": Crew(3)}, {"crew": Crew(map=pickled)})
    )

    for other in (three, cluster):
        for own, same in zip(one.estimates, other.estimates, strict=True):
            np.testing.assert_array_equal(own, same)
        assert one.differences(LABELS).equals(other.differences(LABELS))
    whole = effects_of(world, text, cuts=())
    np.testing.assert_allclose(whole.estimates.value, one.estimates.value, atol=1e-10)


def test_correlations_of_parts_have_the_same_bits_anywhere(world):
    def pickled(task, items):
        for item in items:
            there, own = pickle.loads(pickle.dumps((task, item)))
            yield pickle.loads(pickle.dumps(there(own)))

    batch, fields, topic_word = world
    run, corpus = run_of(model_of(topic_word)), in_parts(batch, fields)

    table = topic_correlations(run, corpus, LABELS)

    assert table.num_rows == N_TOPICS * (N_TOPICS - 1) // 2
    assert table.equals(topic_correlations(run, corpus, LABELS, Crew(3)))
    assert table.equals(topic_correlations(run, corpus, LABELS, Crew(map=pickled)))
    assert [row["other_topic"] for row in table.to_pylist()] == [1, 2, 3, 2, 3, 3]


def test_a_level_of_one_document_has_no_error(world):
    batch, fields, topic_word = world
    names = list(fields["section"])
    names[17] = "alone"
    changed = (batch, {**fields, "section": names}, topic_word)

    found = effects_of(changed, "~ section")

    at = [point["section"] for point in found.design.points]
    unknown = np.isnan(found.estimates.standard_error).all(axis=1)
    assert dict(zip(at, unknown, strict=True)) == {
        "a": False,
        "alone": True,
        "b": False,
        "c": False,
    }
    rows = found.differences(LABELS).to_pylist()
    assert {row["term"] for row in rows if row["p_value"] is None} == {"section[T.alone]"}
    assert all((row["low"] is None) == (row["term"] == "section[T.alone]") for row in rows)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("~ year + {year * 2}", "year * 2"),
        ("~ section + C(section)", "C(section)[T.b]"),
        ("~ {0 * year}", "0 * year"),
        ("~ {0 * year + 3}", "0 * year + 3"),
    ],
)
def test_columns_that_follow_from_others_are_refused(world, text, column):
    with pytest.raises(OptionError) as refused:
        effects_of(world, text)

    assert "follows from the columns before it. Leave a field out" in str(refused.value)
    assert column.split("[")[0].split("(")[0] in str(refused.value)


def test_coefficients_of_small_units_are_not_cut(world):
    table = effects_of(world, "~ {year / 1e6}").differences(LABELS).to_pandas()

    assert (table["high"] > 1.0).all()
    assert (table["low"] <= table["difference"]).all()
    assert (table["difference"] <= table["high"]).all()


def test_tables_have_a_column_for_each_field(world):
    found = effects_of(world, "~ section + year")

    table = found.table(LABELS)
    names = ["topic", "id", "name", "at_section", "at_year"]
    assert table.column_names == [*names, "mean", "standard_error", "low", "high"]
    first = table.slice(0, len(found.design.points)).to_pylist()
    assert [row["at_section"] for row in first[:4]] == ["a", "b", "c", None]
    assert [row["at_year"] for row in first[:5]] == [None, None, None, 2000.0, 2001.0]
    assert found.heads[:4] == ["a", "b", "c", "2000"]
    assert all(0.0 <= row["low"] <= row["mean"] <= row["high"] <= 1.0 for row in first)
    differences = found.differences(LABELS)
    assert differences.column_names[:5] == ["topic", "id", "name", "term", "difference"]
    assert differences["term"].to_pylist()[:3] == ["section[T.b]", "section[T.c]", "year"]
    assert differences["id"].to_pylist()[-1] == "id3"


def test_without_an_intercept_sections_have_their_shares(world):
    found = effects_of(world, "~ section - 1")

    np.testing.assert_allclose(found.coefficients.value, effects_of(world, "~ 0 + section")[3][0])
    np.testing.assert_allclose(np.clip(found.coefficients.value, 0, 1), found.estimates.value)


# --- over runs ------------------------------------------------------------------------------------
def others_of(topic_word, *lists):
    """Runs with these topics, in this order, and with more noise in each."""
    rng = np.random.default_rng(5)
    for own in lists:
        moved = topic_word[own] * rng.uniform(0.8, 1.25, (len(own), N_WORDS))
        yield run_of(model_of(moved / moved.sum(axis=1, keepdims=True)))


def test_topics_of_runs_are_found_wherever_they_stand(world):
    topic_word = world[2]
    run = run_of(model_of(topic_word, n_unused=2))

    found = topics_like(run, list(others_of(topic_word, [3, 1, 0, 2], [2, 0], [0, 1, 2, 3])))

    assert [other.places.tolist() for other in found] == [
        [2, 1, 3, 0],
        [1, -1, 0, -1],
        [0, 1, 2, 3],
    ]
    placed = found[1].placed(np.array([[10.0, 11.0]]))
    np.testing.assert_array_equal(placed, [[11.0, np.nan, 10.0, np.nan]])


def test_topics_without_a_token_of_other_runs_are_like_none(world):
    topic_word = world[2]
    others = [run_of(model_of(topic_word[:3], n_unused=n)) for n in (1, 4)]

    found = topics_like(run_of(model_of(topic_word)), others)

    assert [other.places.tolist() for other in found] == [[0, 1, 2, -1]] * 2


@pytest.mark.parametrize("text", [None, "~ section"])
def test_errors_over_runs_count_the_distances_of_runs(world, text):
    batch, fields, topic_word = world
    corpus, run = in_parts(batch, fields), run_of(model_of(topic_word))
    others = list(others_of(topic_word, [0, 1, 2], [1, 0, 2, 3], [2, 1, 0]))
    by = "section" if text is None else None

    alone = compared_shares(run, corpus, by, formula=text).estimates
    found = compared_shares(run, corpus, by, formula=text, others=others).estimates

    np.testing.assert_array_equal(found.value, alone.value)
    of_runs = []
    for other in others:
        own = compared_shares(other, corpus, by, formula=text)
        of_runs.append(own.estimates.value)
    for group in range(3):
        first = [of_runs[0][group, 1], of_runs[1][group, 0], of_runs[2][group, 1]]
        error, freedom = reference.over_runs(
            alone.value[group, 1], alone.standard_error[group, 1], alone.freedom[group, 1],
            [of_runs[0][group, 1], of_runs[1][group, 0], of_runs[2][group, 1]],
        )  # fmt: skip
        if all(0.0 < value < 1.0 for value in first):  # those of a formula are cut at the end
            assert found.standard_error[group, 1] == pytest.approx(error, rel=1e-4)
            assert found.freedom[group, 1] == pytest.approx(freedom, rel=1e-3)
    assert np.isnan(found.standard_error[:, 3]).all()  # one run has it
    assert (found.standard_error[:, :3] >= alone.standard_error[:, :3]).all()


def test_differences_over_runs_are_those_of_the_same_run(world):
    batch, fields, topic_word = world
    corpus, run = in_parts(batch, fields), run_of(model_of(topic_word))
    others = list(others_of(topic_word, [0, 1, 2, 3], [0, 1, 2, 3]))

    alone = compared_shares(run, corpus, "section").differences(LABELS).to_pandas()
    found = compared_shares(run, corpus, "section", others=others).differences(LABELS).to_pandas()

    own = [compared_shares(other, corpus, "section").means.value for other in others]
    first = [mean[0, 0] - mean[1, 0] for mean in own]
    row = alone.iloc[0]
    between = sum((each - row["difference"]) ** 2 for each in first)
    error = np.sqrt(row["standard_error"] ** 2 + 1.5 * between)
    assert found.iloc[0]["standard_error"] == pytest.approx(error, rel=1e-3)
    assert (found["difference"] == alone["difference"]).all()
    assert (found["p_value"] >= alone["p_value"]).mean() > 0.8


@pytest.mark.parametrize(("number", "said"), [(0, "there are 0"), (1, "there are 1")])
def test_fewer_than_two_runs_are_refused(world, number, said):
    run = run_of(model_of(world[2]))

    with pytest.raises(OptionError, match=f"^runs: needs at least 2 runs, but {said}"):
        topics_like(run, [run] * number)


def test_runs_with_other_words_are_refused(world):
    other = Vocabulary(WORDS.words[::-1], KNOWN, KNOWN)
    run = run_of(model_of(world[2]))

    with pytest.raises(OptionError, match=r"^runs: b has other words than run"):
        topics_like(run, [run, run_of(run.model, other, "b")])


def test_a_formula_beside_groups_is_refused(world):
    batch, fields, topic_word = world
    run, corpus = run_of(model_of(topic_word)), in_parts(batch, fields)

    for grouping, option in ((("section", None), "by"), ((None, "year"), "over")):
        with pytest.raises(OptionError, match=f"^formula: cannot stand beside --{option}"):
            compared_shares(run, corpus, *grouping, formula="~ year")

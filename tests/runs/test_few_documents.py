"""Topics of which few documents hold half: found as by hand, kept, shown and forgotten."""

import json

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sparsetopics import HDP, LDA, Corpus, load
from sparsetopics.answers.editing import with_divided_topic
from sparsetopics.base.errors import CorpusFormatError, RunError, SparsetopicsWarning
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.cli.main import main
from sparsetopics.corpora.batching import TrainingData, divide, plan_batches
from sparsetopics.corpora.store.shards import MemoryRowGroup
from sparsetopics.measures.top_words import TopicRow
from sparsetopics.model.assignments import Assignments
from sparsetopics.runs import topics_in_documents as few
from sparsetopics.runs.run import load_run
from sparsetopics.runs.topics_in_documents import FewDocuments, few_documents
from worlds.dense_responsibilities import sparse_of

N_TOPICS = 4
WORDS = ["fleece", "meadow", "shepherd", "lamb", "harbour", "anchor", "sailor", "vessel"]
NAMES = ["dean", "erin", "finn", None]


def table_of(rng, n_docs):
    """Document d begins with d + 1 times the word "number", so that batches tell which it is."""
    texts = [
        " ".join(["number"] * (d + 1) + rng.choice(WORDS, rng.integers(1, 9)).tolist())
        for d in range(n_docs)
    ]
    return pa.table(
        {
            "id": [f"d{d}" for d in range(n_docs)],
            "text": texts,
            "author": pa.array(rng.choice(NAMES, n_docs).tolist(), pa.string()),
            "site": pa.array(rng.choice(NAMES[:2], n_docs).tolist(), pa.string()),
        }
    )


def corpus_of(table, docs_per_group=1000):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sparsetopics.corpora.memory_corpus.DOCS_PER_ROW_GROUP", docs_per_group)
        return Corpus.from_table(table, label_field="site", keep=["author"], min_df=1, max_df=1.0)


class Learnt:
    """What a learner might keep: the same shares for each document, in any batch."""

    def __init__(self, corpus, rng):
        size = corpus.n_docs, corpus.n_words, N_TOPICS
        drawn = np.round(rng.dirichlet(np.full(N_TOPICS, 0.1), size[:2]) * 2**10)
        self.shares = drawn / 2**10
        self.number = corpus.vocabulary.words.index("number")
        self.counts = corpus.to_csr().toarray()
        self.masses = np.einsum("dv,dvk->dk", self.counts, self.shares)
        self.sizes = self.masses.sum(axis=0)

    def keep(self, source):
        def kept(batch_id):
            batch = source.read(batch_id)
            rows = np.repeat(np.arange(batch.n_docs), np.diff(batch.indptr))
            counts = batch.word_counts[batch.word_ids == self.number].astype(int)
            shares = self.shares[counts[rows] - 1, batch.word_ids]
            return Assignments(batch, sparse_of(shares))

        return kept


def by_hand(learnt, data):
    """The documents with half of each topic, from a whole table; of equals the first ones."""
    ids = [int(name[1:]) for corpus in data.corpora for part in corpus.doc_ids() for name in part]
    found = []
    for topic in np.argsort(-learnt.sizes, kind="stable"):
        order = sorted(ids, key=lambda d: -learnt.masses[d, topic])
        n_needed, mass = 0, 0.0
        while mass < learnt.sizes[topic] / 2:
            mass += learnt.masses[order[n_needed], topic]
            n_needed += 1
        found.append((order[:n_needed], mass, topic))
    return found


def check(told, learnt, data, table):
    columns = {"label": table["site"].to_pylist(), "author": table["author"].to_pylist()}
    for own, (documents, mass, topic) in zip(told, by_hand(learnt, data), strict=True):
        if not 0 < len(documents) <= few.MOST:
            assert own is None
            continue
        assert own.n_documents == len(documents)
        if own.field is not None:
            having = [d for d in documents if columns[own.field][d] == own.value]
            assert own.share == pytest.approx(learnt.masses[having, topic].sum() / mass)
            assert len(having) > 1
            assert own.share > 0.5
            continue
        for values in columns.values():
            for value in {*values} - {None}:
                having = [d for d in documents if values[d] == value]
                assert len(having) < 2 or learnt.masses[having, topic].sum() <= mass / 2


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 4, 50]), st.sampled_from([3, 1000]))
def test_topics_are_described_as_by_hand_for_any_division(seed, most, docs_per_group):
    rng = np.random.default_rng(seed)
    table = table_of(rng, int(rng.integers(6, 16)))
    corpus = corpus_of(table, docs_per_group)
    learnt = Learnt(corpus, rng)
    resident, streamed = (
        plan_batches(corpus, 3, np.random.default_rng(seed), resident_pairs=pairs)
        for pairs in (10_000, 0)
    )
    datas = [TrainingData(source, source, None, (corpus,)) for source in (resident, streamed)]
    datas.append(divide(corpus, 2, 0.4, np.random.default_rng(seed)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few, "MOST", most)
        told = [few_documents(data, learnt.sizes, learnt.keep(data.whole)) for data in datas]
        assert told[0] == told[1]
        for data, each in zip(datas, told, strict=True):
            check(each, learnt, data, table)


def test_columns_of_the_most_values_say_most():
    columns = {"author": ["dean", "dean", "erin"], "label": ["a", "a", "a"]}

    def told(places, masses):
        return few._described(np.array(places), np.array(masses), columns)

    assert told([0, 1, 2], [2.0, 1.0, 1.0]) == FewDocuments(3, "author", "dean", 0.75)
    assert told([0, 2], [2.0, 1.0]) == FewDocuments(2, "label", "a", 1.0)
    assert told([0], [2.0]) == FewDocuments(1)  # nothing that several share


# --- runs -----------------------------------------------------------------------------------------
def threads(n_docs=120):
    """Documents of two themes by many authors, and a thread of three that dean wrote."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS[4 * (d % 2) :][:4], 30)) for d in range(n_docs)]
    authors = [f"author {d}" for d in range(n_docs)]
    for d in (5, 50, 70):
        texts[d] = " ".join(rng.choice(["sig", "nature", "quote", "motto"], 60))
        authors[d] = "dean"
    return pa.table({"id": [f"d{d}" for d in range(n_docs)], "text": texts, "author": authors})


def corpus_of_threads(table):
    return Corpus.from_table(table, keep=["author"], min_df=1, max_df=1.0)


@pytest.fixture(scope="module")
def corpus():
    return corpus_of_threads(threads())


@pytest.fixture(scope="module", params=[LDA, HDP])
def fitted(request, corpus):
    return request.param(3, max_iter=8, random_state=1).fit(corpus)


def place_of_thread(model):
    [place] = [n for n, words in enumerate(model.top_words(4)) if "sig" in words]
    return place


def shown(*arguments):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_thread_of_one_author_is_marked_wherever_topics_are_shown(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    place = place_of_thread(fitted)

    row = json.loads(shown("topics", tmp_path / "run", "--json"))[place]
    assert row["documents_with_half"] == 2
    assert row["mostly"] == {"field": "author", "value": "dean", "share": 1.0}
    marked = [line for line in shown("topics", tmp_path / "run").splitlines() if "half in" in line]
    [line] = [line for line in marked if "sig" in line]
    assert line.endswith("  [half in 2 documents; author: dean]")
    table = fitted.topics().to_pylist()[place]
    assert {name: table[name] for name in ("documents_with_half", "mostly")} == {
        name: row[name] for name in ("documents_with_half", "mostly")
    }
    shown("report", tmp_path / "run", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "half in 2 documents; author: dean" in page


def test_many_documents_are_no_mark():
    def mark(n_documents, mostly=None):
        return TopicRow(0, None, "name", None, [], n_documents, mostly).mark

    dean = {"field": "author", "value": "de\x1ban", "share": 1.0}
    assert [mark(None), mark(6), mark(11, dean)] == ["", "", ""]
    assert mark(1) == "half in 1 document"
    assert mark(10, dean) == r"half in 10 documents; author: de\x1ban"


def values_of(model):
    return [known and known.value for known in model._run().settings["few_documents"]]


def test_edits_keep_the_marks_of_the_other_topics(fitted, corpus):
    place = place_of_thread(fitted)
    known = fitted._run().settings["few_documents"]
    others = [topic for topic in range(fitted.n_components_) if topic != place]

    of_others = fitted.merge(others[:2])
    of_thread = fitted.merge([place, others[0]])
    again = fitted.split(others[-1], corpus, laps=2)
    divided = with_divided_topic(fitted._run(), place, np.full(len(WORDS) + 4, 0.5)).settings

    told = of_others._run().settings["few_documents"]
    assert told[place_of_thread(of_others)] == known[place]
    assert told.count(None) == 1
    assert "dean" not in values_of(of_thread)
    assert values_of(again)[place_of_thread(again)] == "dean"
    assert divided["few_documents"].count(None) == 2


def test_nothing_is_known_where_earlier_documents_are_not_visited_again(fitted, corpus, tmp_path):
    fitted.save(tmp_path / "run")

    more = load(tmp_path / "run").partial_fit(corpus)
    stochastic = LDA(3, learner="stochastic", max_iter=2).fit(corpus)

    for model in (more, stochastic):
        assert "few_documents" not in model._run().settings
        assert model.topics()["documents_with_half"].null_count == model.n_components_


def change_entry(folder, value):
    """Write a run's settings anew, with another entry or none."""
    content = json.loads((folder / "model.json").read_text())
    content.pop("sha256")
    content.pop("few_documents")
    write_sealed(folder / "model.json", content | ({} if value is None else value))


def test_runs_of_before_open_and_damaged_ones_do_not(fitted, tmp_path):
    fitted.save(tmp_path / "run")

    change_entry(tmp_path / "run", None)
    assert "few_documents" not in load_run(tmp_path / "run").settings
    assert "half in" not in shown("topics", tmp_path / "run")

    fitted.save(tmp_path / "run", overwrite=True)
    change_entry(tmp_path / "run", {"few_documents": [None]})
    with pytest.raises(RunError, match=r"few_documents: expected \d+ entries"):
        load_run(tmp_path / "run")

    fitted.save(tmp_path / "run", overwrite=True)
    none = [{"n_documents": 0}] * fitted.n_components_
    change_entry(tmp_path / "run", {"few_documents": none})
    with pytest.raises(RunError, match="n_documents"):
        load_run(tmp_path / "run")


def test_training_ends_well_if_fields_cannot_be_read_any_more(corpus, monkeypatch):
    def refuse(*arguments):
        raise CorpusFormatError("fields-00000.parquet", "there is no file")

    monkeypatch.setattr(MemoryRowGroup, "read_fields", refuse)
    with pytest.warns(SparsetopicsWarning, match=r"not compared with labels.*there is no file"):
        model = LDA(3, max_iter=8, random_state=1).fit(corpus)

    assert model._run().settings["few_documents"][place_of_thread(model)] == FewDocuments(2)

"""A row back for each text: in the order of the texts, also for those without a known word."""

import json
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sparsetopics import LDA, Corpus, GaussianMixture, MultinomialMixture, ShapeError
from sparsetopics.cli.main import main

PETS = "cats chase mice while dogs chase cats"
MONEY = "stocks fell while bonds rose and banks sold bonds"
TEXTS = ["", PETS, "zzz", MONEY, None, f"{MONEY} {PETS}", "qqq qqq"]
KNOWN = [1, 3, 5]

pytestmark = pytest.mark.filterwarnings("ignore:Skipped", "ignore:.*letters are in no word")


@cache
def pets_and_money():
    five = f"{PETS} {PETS}", f"{MONEY} {PETS}", f"{MONEY} {MONEY}", PETS, MONEY
    return Corpus.from_texts(five * 6)


@pytest.fixture(scope="module")
def topics():
    return LDA(3, max_iter=4).fit(pets_and_money())


@pytest.fixture(scope="module")
def mixture():
    return MultinomialMixture(2, max_iter=4).fit(pets_and_money())


def frame_of(library, columns, **named):
    return pytest.importorskip(library).DataFrame(columns, **named)


def dataset(column):
    return pytest.importorskip("datasets").Dataset.from_dict({"text": column})


SERIES = {
    "list": list,
    "tuple": tuple,
    "array": lambda texts: np.array(texts, object),
    "arrow": pa.array,
    "arrow in chunks": lambda texts: pa.chunked_array([texts[:2], texts[2:]], pa.string()),
    "pandas": lambda texts: frame_of("pandas", {"text": texts})["text"],
    "polars": lambda texts: frame_of("polars", {"text": texts})["text"],
    "datasets": lambda texts: dataset(texts)["text"],
}
TABLES = {
    "arrow": lambda texts: pa.table({"text": texts}),
    "pandas": lambda texts: frame_of("pandas", {"text": texts}),
    "polars": lambda texts: frame_of("polars", {"text": texts}),
    "datasets": dataset,
}


@pytest.fixture(params=SERIES)
def texts(request):
    """The texts in every form that Python code has them in."""
    return SERIES[request.param](TEXTS)


def counts():
    """The texts as a matrix of counts with empty rows."""
    matrix = np.zeros((len(TEXTS), pets_and_money().n_words))
    own = [TEXTS[row] for row in KNOWN]
    matrix[KNOWN] = (
        Corpus.from_texts(own, vocabulary=pets_and_money().vocabulary).to_csr().toarray()
    )
    return matrix


# --- arrays ---------------------------------------------------------------------------------------
def test_texts_are_transformed_as_a_matrix_with_empty_rows_is(topics, texts):
    found = topics.transform(texts)

    np.testing.assert_array_equal(found, topics.transform(counts()))
    prior = topics.model_.doc_concentration
    np.testing.assert_allclose(found[[0, 2, 4, 6]], np.tile(prior / prior.sum(), (4, 1)))


def test_a_text_without_words_has_the_component_that_the_prior_prefers(mixture, texts):
    shares = mixture.predict_proba(texts)

    np.testing.assert_array_equal(shares, mixture.predict_proba(counts()))
    np.testing.assert_array_equal(shares[2], mixture.weights_)
    assert mixture.predict(texts).tolist() == shares.argmax(axis=1).tolist()
    assert mixture.predict(["unknown"]).tolist() == [mixture.weights_.argmax()]


def test_texts_that_are_fitted_have_a_row_each(texts):
    expected = LDA(2, max_iter=3).fit(Corpus.from_texts(TEXTS))

    model = LDA(2, max_iter=3)
    found = model.fit_transform(texts)

    assert found.shape == (7, 2)
    np.testing.assert_array_equal(model.components_, expected.components_)
    np.testing.assert_array_equal(found, expected.transform(TEXTS))
    assert MultinomialMixture(2, max_iter=3).fit_predict(texts).shape == (7,)


def test_more_texts_are_learned_with_the_words_of_the_first():
    model = LDA(2).partial_fit(TEXTS).partial_fit([PETS, "unseen"]).partial_fit(["unseen"])

    assert model.vocabulary_.words == Corpus.from_texts(TEXTS).vocabulary.words
    assert model.n_docs_ == 5 + 1


def test_all_texts_may_be_unknown(topics):
    np.testing.assert_allclose(topics.transform(["zzz", None]).sum(axis=1), 1)
    np.testing.assert_allclose(topics.transform([None, float("nan")]).sum(axis=1), 1)


def test_texts_are_no_vectors():
    with pytest.raises(ShapeError):
        GaussianMixture(2).fit(TEXTS)


# --- positions and names --------------------------------------------------------------------------
@pytest.mark.parametrize("form", TABLES)
def test_a_corpus_knows_which_rows_of_a_table_it_has(form):
    corpus = Corpus.from_table(TABLES[form](TEXTS), vocabulary=pets_and_money().vocabulary)

    assert corpus.kept.tolist() == KNOWN
    assert corpus.n_skipped == 4


def test_a_corpus_knows_which_texts_and_rows_it_has(texts, tmp_path):
    corpus = Corpus.from_texts(texts, vocabulary=pets_and_money().vocabulary)

    assert corpus.kept.tolist() == KNOWN
    assert Corpus.from_csr(counts(), pets_and_money().vocabulary.words).kept.tolist() == KNOWN
    assert Corpus.from_gensim([[], [(7, 2)], []], {7: "cat"}).kept.tolist() == [1]
    corpus.save(tmp_path / "c")
    assert Corpus.open(tmp_path / "c").kept is None


def test_positions_go_on_after_a_row_group():
    texts = ["cats", "zzz"] * 9_000

    assert Corpus.from_texts(texts, max_df=1.0, min_df=2).kept[-1] == 17_999
    known = Corpus.from_texts(["cats"]).vocabulary
    assert Corpus.from_texts(texts, vocabulary=known).kept.tolist() == list(range(0, 18_000, 2))


def test_the_index_of_pandas_survives(topics):
    frame = frame_of("pandas", {"text": TEXTS}, index=list("abcdefg"))
    model = LDA(3, max_iter=4).set_output(transform="pandas").fit(pets_and_money())
    from_texts = Corpus.from_texts(frame["text"], vocabulary=pets_and_money().vocabulary)
    from_table = Corpus.from_table(frame, vocabulary=pets_and_money().vocabulary)
    every_other = Corpus.from_table(
        frame.reset_index()[1::2], vocabulary=pets_and_money().vocabulary
    )

    assert model.transform(frame["text"]).index.tolist() == list("abcdefg")
    assert model.transform(from_texts).index.tolist() == ["b", "d", "f"]
    assert model.transform(from_table).index.tolist() == ["b", "d", "f"]
    assert model.transform(every_other).index.tolist() == ["1", "3", "5"]
    assert topics.infer(frame["text"])["doc_id"].to_pylist() == list("abcdefg")
    assert topics.documents(0, frame["text"])["doc_id"][0].as_py() in ("b", "d", "f")
    rows = {"d": [PETS, "zzz"], "id": ["x", "y"]}
    named = Corpus.from_table(frame_of("pandas", rows, index=[7, 8]), text_field="d")
    assert next(named.doc_ids()) == ["x", "y"]


# --- tables ---------------------------------------------------------------------------------------
def test_infer_has_nulls_for_texts_without_a_known_word(topics, mixture, texts):
    for model, array in ((topics, topics.transform), (mixture, mixture.predict_proba)):
        table = model.infer(texts)

        assert table["doc_id"].to_pylist() == list("0123456")
        shares = table[1].to_pylist()
        assert [row for row in range(7) if shares[row] is not None] == KNOWN
        known = [shares[row] for row in KNOWN]
        np.testing.assert_allclose(known, array(texts)[KNOWN], rtol=1e-6, atol=1e-30)
        best = model.infer(texts, top=1)
        assert best["doc_id"].to_pylist() == list("0123456")
        assert [row for row, k in enumerate(best["topic"].to_pylist()) if k is not None] == KNOWN


def test_nothing_is_a_result(topics):
    assert topics.infer([]).num_rows == 0
    assert topics.infer([], top=2).column_names == ["doc_id", "topic", "id", "name", "proportion"]
    assert topics.infer(["zzz"]).to_pylist() == [{"doc_id": "0", "proportions": None}]
    unknown = {"doc_id": "0", "topic": None, "id": None, "name": None, "proportion": None}
    assert topics.infer([None], top=2).to_pylist() == [unknown]


def test_top_lists_only_topics_that_the_text_has(topics):
    whole = topics.infer([PETS, f"{PETS} {MONEY}"])["proportions"].to_pylist()
    table = topics.infer([PETS, f"{PETS} {MONEY}"], top=5)

    prior = topics.model_.doc_concentration
    sizes = [7, 7 + 9]  # tokens of three letters or more
    for number, size in enumerate(sizes):
        tokens = np.array(whole[number]) * (size + prior.sum()) - prior
        listed = table.filter(pa.compute.equal(table["doc_id"], str(number)))["topic"].to_pylist()
        assert sorted(listed) == np.flatnonzero(tokens >= 0.01).tolist()
    assert len(table) < 6


# --- the command ----------------------------------------------------------------------------------
@pytest.fixture
def saved(topics, tmp_path):
    topics.save(tmp_path / "run")
    return tmp_path / "run"


def infer(run, *arguments, given=None):
    command = ["infer", str(run), *map(str, arguments)]
    result = CliRunner().invoke(main, command, input=given)
    assert result.exit_code == 0, result.output
    return result


LINES = "".join(f"{text or ''}\n" for text in TEXTS)
READERS = {
    ".parquet": lambda path: pq.read_table(path).to_pylist(),
    ".arrow": lambda path: pa.ipc.open_file(path).read_all().to_pylist(),
    ".jsonl": lambda path: [json.loads(line) for line in path.read_text().splitlines()],
}


@pytest.mark.parametrize("top", [(), ("--top", 1)])
def test_the_command_writes_the_rows_of_python(saved, topics, tmp_path, top):
    expected = topics.infer(TEXTS, top=1 if top else None).to_pylist()

    for suffix, read in READERS.items():
        infer(saved, "-", "--out", tmp_path / f"a{suffix}", *top, given=LINES)

        rows = read(tmp_path / f"a{suffix}")
        assert [row["doc_id"] for row in rows] == list("0123456")
        for row, other in zip(rows, expected, strict=True):
            values, others = list(row.values())[1:], list(other.values())[1:]
            assert (values[0] is None) == (others[0] is None)
            if values[0] is not None:
                np.testing.assert_allclose(values[-1], others[-1], rtol=1e-6)
    infer(saved, "-", "--out", tmp_path / "a.csv", *top, given=LINES)
    rows = (tmp_path / "a.csv").read_text().splitlines()[1:]
    assert [row for row in range(7) if not rows[row].endswith(",")] == KNOWN


def test_the_command_prints_every_text(saved):
    printed = infer(saved, "--text", "zzz", "--text", PETS)
    said = json.loads(infer(saved, "--text", "zzz", "--json").stdout)

    assert printed.stdout.splitlines()[1].split() == ["0", "-", "-", "-"]
    assert printed.stdout.splitlines()[2].split()[0] == "1"
    assert printed.stderr.splitlines()[-1] == "Without a known word: 1 of 2 documents."
    assert (said["n_documents"], said["n_skipped"]) == (0, 1)
    assert said["documents"] == [{"doc_id": "0", "topics": []}]

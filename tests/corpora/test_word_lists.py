"""Documents that are lists of words: in Python, in columns of tables, in Parquet and JSON lines."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sparsetopics import LDA, Corpus
from sparsetopics.base.errors import OptionError, ShapeError, SourceError, VocabularyError
from sparsetopics.cli.main import main

LISTS = [
    ["New", "York", "owl", "owl"],
    None,
    ["a b", "York", "", "New"],
    ["owl", "New", "York"],
    [],
    ["the", "cat"],
]
WORDS = ("New", "York", "owl", "a b", "cat", "the")
COUNTS = [[1, 1, 2, 0, 0, 0], [1, 1, 0, 1, 0, 0], [1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1]]

pytestmark = pytest.mark.filterwarnings("ignore:Skipped")


def run(*words, status=0):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == status, result.output
    return result


def ordered(corpus):
    """The counts of the words that are expected, in their order."""
    columns = [corpus.vocabulary.words.index(word) for word in WORDS]
    assert len(corpus.vocabulary) == len(WORDS)
    return corpus.to_csr().toarray()[:, columns].tolist()


def frame_of(library, columns):
    return pytest.importorskip(library).DataFrame(columns)


TABLES = {
    "arrow": lambda lists: pa.table({"words": lists}),
    "large lists": lambda lists: pa.table(
        {"words": pa.array(lists, pa.large_list(pa.large_string()))}
    ),
    "dictionaries": lambda lists: pa.table(
        {"words": pa.array(lists, pa.list_(pa.dictionary(pa.int32(), pa.string())))}
    ),
    "pandas": lambda lists: frame_of("pandas", {"words": lists}),
    "polars": lambda lists: frame_of("polars", {"words": lists}),
    "datasets": lambda lists: pytest.importorskip("datasets").Dataset.from_dict({"words": lists}),
}


def write_table(path, lists, name="words"):
    table = pa.table({name: lists})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)


def write_jsonl(path, lists):
    path.write_text("".join(json.dumps({"words": each}) + "\n" for each in lists))


FILES = {"a.parquet": write_table, "a.arrow": write_table, "a.jsonl": write_jsonl}


# --- doors ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        iter,
        lambda lists: pa.array(lists),
        lambda lists: [x and (*x,) for x in lists],
        lambda lists: [x and (word for word in x) for x in lists],
        lambda lists: [x and [None, *x, float("nan")] for x in lists],
    ],
)
def test_lists_are_taken_as_they_are(form):
    corpus = Corpus.from_tokens(form(LISTS))

    assert ordered(corpus) == COUNTS
    assert corpus.kept.tolist() == [0, 2, 3, 5]
    assert next(corpus.doc_ids()) == ["0", "2", "3", "5"]


def test_sets_of_words_are_taken_in_an_order_that_stays():
    sets = [{"the", "owl", "and", "cat"}, None, frozenset({"owl"})]
    expected = Corpus.from_tokens([["and", "cat", "owl", "the"], None, ["owl"]], ngrams=2)
    frame = frame_of("pandas", {"words": sets})

    for corpus in (
        Corpus.from_tokens(sets, ngrams=2),
        Corpus.from_table(frame, text_field="words", ngrams=2),
    ):
        assert corpus.vocabulary.words == expected.vocabulary.words
        assert (corpus.to_csr() != expected.to_csr()).nnz == 0


def test_arrays_and_series_of_lists_are_taken():
    frame = frame_of("pandas", {"words": [x and np.array(x) for x in LISTS]})
    frame.index = list("abcdef")

    corpus = Corpus.from_tokens(frame["words"])

    assert ordered(corpus) == COUNTS
    assert next(corpus.doc_ids()) == ["a", "c", "d", "f"]
    assert ordered(Corpus.from_tokens(frame_of("polars", {"words": LISTS})["words"])) == COUNTS


@pytest.mark.parametrize("form", TABLES)
def test_a_column_of_lists_is_taken(form):
    corpus = Corpus.from_table(TABLES[form](LISTS), text_field="words")

    assert ordered(corpus) == COUNTS
    assert corpus.kept.tolist() == [0, 2, 3, 5]
    assert corpus.vocabulary.tokenizer == Corpus.from_tokens(LISTS).vocabulary.tokenizer


def test_rows_of_a_longer_table_are_taken():
    table = pa.table({"words": pa.array([["no"], *LISTS, ["no"]])}).slice(1, 6)

    assert ordered(Corpus.from_table(table, text_field="words")) == COUNTS
    batches = pa.Table.from_batches([*table.to_batches(max_chunksize=2)])
    assert ordered(Corpus.from_table(batches, text_field="words")) == COUNTS
    nothing = pa.table({"text": [[], None]})
    with pytest.raises(SourceError, match="there are no words in 2 documents"):
        Corpus.from_table(nothing)


@pytest.mark.parametrize("name", FILES)
def test_files_of_lists_make_the_same_corpus(tmp_path, name):
    FILES[name](tmp_path / name, LISTS)

    options = ("--text-field", "words", "--keep", "text", "--json")
    run("ingest", tmp_path / name, "--out", tmp_path / "c", *options)

    corpus, expected = Corpus.open(tmp_path / "c"), Corpus.from_tokens(LISTS, keep=["text"])
    assert ordered(corpus) == COUNTS
    assert corpus.vocabulary.tokenizer == expected.vocabulary.tokenizer
    for found in (corpus, expected):
        texts = next(found.read_fields(["text"]))["text"].to_pylist()
        assert texts == ["New York owl owl", "a b York New", "owl New York", "the cat"]


def test_lists_of_several_row_groups_of_parquet_are_read(tmp_path):
    pq.write_table(pa.table({"words": LISTS}), tmp_path / "a.parquet", row_group_size=2)

    run("ingest", tmp_path / "a.parquet", "--out", tmp_path / "c", "--text-field", "words")

    assert ordered(Corpus.open(tmp_path / "c")) == COUNTS


@pytest.mark.parametrize("name", FILES)
def test_lists_may_lie_in_other_objects(tmp_path, name):
    rows = [{"post": {"words": words}} for words in LISTS]
    if name == "a.jsonl":
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        column = pa.array([row["post"] for row in rows])
        write_table(tmp_path / name, column, "post")

    options = ("--text-field", "post.words", "--quiet")
    run("ingest", tmp_path / name, "--out", tmp_path / "c", *options)

    assert ordered(Corpus.open(tmp_path / "c")) == COUNTS


def test_json_lines_of_any_look_are_read(tmp_path):
    lines = ['{"text": ["owl", null, "cat"]}', '{"text": []}', '{ "text":["owl"], "x": [1]}', ""]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))

    run("ingest", tmp_path / "a.jsonl", "--out", tmp_path / "c", "--quiet")

    assert Corpus.open(tmp_path / "c").to_csr().toarray().tolist() == [[1, 1], [1, 0]]


# --- options --------------------------------------------------------------------------------------
def test_options_of_words_are_for_lists_too():
    assert Corpus.from_tokens(LISTS, stop_words=["THE", "new"]).vocabulary.words == (
        *("York", "owl", "a b", "cat"),
    )
    assert Corpus.from_tokens(LISTS, min_df=2, max_df=2).vocabulary.words == ("owl",)
    assert Corpus.from_tokens(LISTS, max_words=2).vocabulary.words == ("New", "York")
    assert "New_York" in Corpus.from_tokens(LISTS, ngrams=2).vocabulary.words
    joined = Corpus.from_tokens(LISTS * 5, phrases=True, phrase_threshold=0.1).vocabulary
    assert "New_York" in joined.words
    again = Corpus.from_tokens([["New", "York"]], vocabulary=joined)
    assert again.to_csr().toarray()[0, joined.words.index("New_York")] == 1


@pytest.mark.parametrize(
    ("option", "value"),
    [("token-pattern", "[a-z]+"), ("remove", "urls"), ("language", "de"), ("tokenizer", "os:walk")],
)
def test_options_of_cutting_are_refused_for_lists(tmp_path, option, value):
    write_table(tmp_path / "a.parquet", LISTS)
    sentence = "is for texts, but the documents are lists of words."

    said = run(
        *("ingest", tmp_path / "a.parquet", "--out", tmp_path / "c", "--text-field", "words"),
        *(f"--{option}", value),
        status=1,
    )
    assert f"Error: --{option}: {sentence}" in said.stderr
    assert not (tmp_path / "c").exists()
    key = option.replace("-", "_")
    given = {key: [value] if key == "remove" else value}
    with pytest.raises(OptionError, match=f"^{key}: {sentence}"):
        Corpus.from_table(pa.table({"text": LISTS}), **given)
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{key}'"):
        Corpus.from_tokens(LISTS, **given)


# --- new documents --------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def topics():
    return LDA(2, max_iter=3).fit(Corpus.from_tokens(LISTS * 3))


def test_new_lists_are_answered_row_by_row(topics):
    shares = topics.transform([["owl", "owl"], None, ["unknown"], [], ("cat",)])

    assert shares.shape == (5, 2)
    np.testing.assert_array_equal(shares[1], shares[2])
    found = topics.infer([["owl", "owl"], None, ["unknown"], [], ("cat",)])["proportions"]
    assert [row is None for row in found.to_pylist()] == [False, True, True, True, False]
    np.testing.assert_allclose(found[0].as_py(), shares[0], rtol=1e-6)
    assert topics.transform([[], None]).shape == (2, 2)
    np.testing.assert_array_equal(
        topics.transform(pa.array([["owl"]])), topics.transform([["owl"]])
    )


def test_lists_are_fitted_and_learned_like_their_corpus(topics):
    fitted = LDA(2, max_iter=3).fit(LISTS * 3)
    learned = LDA(2).partial_fit(LISTS).partial_fit([["owl", "unknown"], None])

    np.testing.assert_array_equal(fitted.components_, topics.components_)
    assert LDA(2, max_iter=3).fit_transform(LISTS).shape == (6, 2)
    assert learned.n_docs_ == 4 + 1


def test_a_model_of_texts_takes_lists_and_scores_them():
    texts = ["the owl saw a cat", "the cat ran home"] * 4
    model = LDA(2, max_iter=3).fit(texts)
    new = ["the owl saw the cat run home"]

    np.testing.assert_array_equal(model.transform([new[0].split()]), model.transform(new))
    lists = [text.split() for text in texts]
    assert model.evaluate(new, texts=lists) == model.evaluate(new, texts=texts)


@pytest.mark.parametrize("name", FILES)
def test_coherence_is_counted_in_files_of_lists(topics, tmp_path, name):
    topics.save(tmp_path / "run")
    new = [["owl", "New", "York", "cat"], ["the", "cat", "a b"]]
    Corpus.from_tokens(new, vocabulary=topics.vocabulary_).save(tmp_path / "new")
    FILES[name](tmp_path / name, LISTS)

    options = ("--texts", tmp_path / name, "--text-field", "words", "--json")
    said = json.loads(run("evaluate", tmp_path / "run", tmp_path / "new", *options).stdout)

    expected = topics.evaluate(Corpus.from_tokens(new, vocabulary=topics.vocabulary_), texts=LISTS)
    assert said[0]["c_v"] == expected["c_v"]
    assert expected["c_v"] is not None


def test_texts_are_refused_by_a_vocabulary_of_lists(topics, tmp_path):
    sentence = (
        "so there is no rule for splitting texts into words. Pass lists of words ([words] for"
    )

    for ask in (topics.infer, topics.transform):
        with pytest.raises(VocabularyError, match=f"{re.escape(sentence)} one .* with tokenizer"):
            ask(["owl"])
    topics.save(tmp_path / "run")
    said = run("infer", tmp_path / "run", "--text", "owl", status=1).stderr
    assert sentence in said
    assert "with --tokenizer." in said
    assert topics.infer(["owl"], tokenizer=str.split)["proportions"][0].as_py()


def test_lists_are_appended_and_texts_are_not(tmp_path):
    write_jsonl(tmp_path / "a.jsonl", LISTS)
    run("ingest", tmp_path / "a.jsonl", "--out", tmp_path / "c", "--text-field", "words", "--quiet")

    run("ingest", tmp_path / "a.jsonl", "--append", tmp_path / "c", "--text-field", "words")
    write_jsonl(tmp_path / "b.jsonl", ["a text"])
    said = run(
        *("ingest", tmp_path / "b.jsonl", "--append", tmp_path / "c", "--text-field", "words"),
        status=1,
    ).stderr

    assert "made from lists of words" in said
    assert Corpus.open(tmp_path / "c").n_docs == 8


# --- what is refused ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ("owl", "must be a list"),
        (
            ["owl cat"],
            r"lists\[0\]: must be a list of words or None, but is 'owl cat'. Corpus",
        ),
        ([["owl"], {"owl": 1}], r"lists\[1\]: must be a list of words or None, but is \{'owl': 1"),
        ([np.array(1)], r"lists\[0\]: must be a list of words or None, but is array\(1\)"),
        ([["owl", 3]], r"lists\[0\]: must hold words as strings, but holds 3\.$"),
        ([["owl"], [b"x"]], r"lists\[1\]: must hold words as strings, but holds b'x'"),
        ([[(0, 2)]], r"holds \(0, 2\). Corpus.from_gensim\(bow, dictionary\) reads bags of words"),
        ([[], None], "there are no words in 2 documents"),
        ([["owl", "\ud800"]], r"half of a surrogate pair"),
    ],
)
def test_what_is_no_list_of_words_is_refused_in_one_line(lists, message):
    with pytest.raises((SourceError, ShapeError), match=message) as caught:
        Corpus.from_tokens(lists)
    assert "\n" not in str(caught.value)


def test_lists_are_no_texts():
    with pytest.raises(SourceError, match=r"Corpus\.from_tokens takes lists of words\.$"):
        Corpus.from_texts(LISTS)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"text": ["a", 3]}'], "line 1, field 'text': expected words as strings, but found a nu"),
        (['{"text": ["owl"]}', '{"text": [["a"]]}'], "line 2, .* strings, but found a list"),
        (
            ['{"text": ["owl"]}', '{"text": "a"}'],
            "line 2: expected a list of words, like",
        ),
        (
            ['{"text": "a"}', '{"text": ["owl"]}'],
            "line 1: expected a list of words, like",
        ),
        (['{"text": ["\\ud800"]}'], "line 1, field 'text': an escaped half of a surrogate pair"),
    ],
)
def test_the_line_of_an_odd_list_is_named(tmp_path, lines, message):
    (tmp_path / "a.jsonl").write_text("".join(f"{line}\n" for line in lines))

    said = run("ingest", tmp_path / "a.jsonl", "--out", tmp_path / "c", status=1).stderr

    assert re.search(message, said), said


def test_texts_and_lists_make_two_corpora(tmp_path):
    write_jsonl(tmp_path / "a.jsonl", LISTS)
    write_jsonl(tmp_path / "b.jsonl", ["a text"])

    said = run(
        *("ingest", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--out", tmp_path / "c"),
        *("--text-field", "words"),
        status=1,
    ).stderr

    assert "Error: documents: 1 are texts, but 4 are lists of words. Make two corpora." in said


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.list_(pa.list_(pa.string()))])
def test_lists_of_other_things_are_refused(kind):
    with pytest.raises(SourceError, match="expected strings or lists of strings in field 'text'"):
        Corpus.from_table(pa.table({"text": pa.array([[]], kind)}))

"""Tables, functions, bags of words, weights and seeds as people pass them to estimators."""

import pickle
import re
import warnings

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from scipy import sparse

from sparsetopics import (
    HDP,
    LDA,
    Corpus,
    DPGaussianMixture,
    DPMultinomialMixture,
    GaussianMixture,
    MultinomialMixture,
    TopicPath,
    infer_batches,
    load,
)
from sparsetopics.base.errors import (
    CorpusError,
    OptionError,
    ShapeError,
    SourceError,
    SparsetopicsError,
    SparsetopicsWarning,
    VocabularyError,
)
from sparsetopics.cli.main import main

PETS, MONEY = "cats chase mice while dogs chase cats", "stocks fell while bonds rose"
TEXTS = [PETS, MONEY, f"{PETS} {MONEY}", f"{MONEY} {MONEY}"] * 5
OF_DOCUMENTS = {
    "LDA": lambda: LDA(2, max_iter=2),
    "HDP": lambda: HDP(2, max_iter=2),
    "TopicPath": lambda: TopicPath(4, fewest=2, max_iter=2),
    "MultinomialMixture": lambda: MultinomialMixture(2, max_iter=2),
    "DPMultinomialMixture": lambda: DPMultinomialMixture(2, max_iter=2),
}
OF_VECTORS = {"GaussianMixture": GaussianMixture, "DPGaussianMixture": DPGaussianMixture}


def frame_of(library, columns):
    return pytest.importorskip(library).DataFrame(columns)


TABLES = {
    "arrow": pa.table,
    "pandas": lambda columns: frame_of("pandas", columns),
    "polars": lambda columns: frame_of("polars", columns),
    "datasets": lambda columns: pytest.importorskip("datasets").Dataset.from_dict(columns),
}


def answer(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.predict_proba(X)


def cut_at_spaces(text):
    return text.split(" ")


# --- tables ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", TABLES)
@pytest.mark.parametrize("kind", OF_DOCUMENTS)
def test_a_column_of_a_table_is_fitted_and_asked_like_its_texts(kind, form):
    table = TABLES[form]({"body": TEXTS, "year": [*range(20)]})
    expected = OF_DOCUMENTS[kind]().fit(TEXTS)

    model = OF_DOCUMENTS[kind]().fit(table, text="body")

    np.testing.assert_array_equal(answer(model, table), answer(expected, TEXTS))
    np.testing.assert_array_equal(answer(model, TEXTS), answer(expected, TEXTS))
    assert not hasattr(model, "feature_names_in_")


def test_other_methods_know_the_column():
    table = pa.table({"body": TEXTS, "words": [text.split() for text in TEXTS]})
    model = LDA(2, max_iter=2)

    assert model.fit_transform(table, text="body").shape == (20, 2)
    assert MultinomialMixture(2, max_iter=2).fit_predict(table, text="body").shape == (20,)
    assert pickle.loads(pickle.dumps(model)).score(table) == model.score(TEXTS)
    assert model.fit(table, text="words").score(table) == model.score(table["words"])
    learned = LDA(2).partial_fit(table, text="body").partial_fit(table)
    assert learned.n_docs_ == 40
    model.fit(sparse.csr_array(np.eye(3, dtype=int)))
    with pytest.raises(ShapeError):
        model.transform(frame_of("pandas", {"body": TEXTS}))


def test_the_index_of_a_frame_names_documents():
    frame = frame_of("pandas", {"body": TEXTS[:3]})
    frame.index = list("xyz")

    model = LDA(2, max_iter=2).set_output(transform="pandas").fit(frame, text="body")

    assert model.transform(frame).index.tolist() == list("xyz")


@pytest.mark.parametrize("kind", OF_VECTORS)
def test_vectors_have_no_text(kind):
    with pytest.raises(OptionError, match=f"^text: is for documents, but {kind} learns from vec"):
        OF_VECTORS[kind](2).fit(pa.table({"body": TEXTS}), text="body")


@pytest.mark.parametrize(
    ("X", "text", "message"),
    [
        (
            pa.table({"body": TEXTS}),
            "text",
            "^text: expected one column 'text' in X, but found 'body'",
        ),
        (TEXTS, "body", "^text: expected one column 'body' in X, but found none"),
        (pa.table({"body": TEXTS}), 3, "^text: expected one column 3 in X, but found 'body'"),
        (
            pa.table([TEXTS, TEXTS], ["body", "body"]),
            "body",
            "^text: expected one column 'body' in X, but found 'body', 'body'",
        ),
    ],
)
def test_a_column_that_is_not_there_is_said(X, text, message):
    with pytest.raises(OptionError, match=message):
        LDA(2).fit(X, text=text)


@pytest.mark.parametrize("form", TABLES)
def test_a_table_in_place_of_a_corpus_has_no_fields(form, tmp_path):
    table = TABLES[form]({"body": TEXTS, "venue": ["x", "y"] * 10})
    model = LDA(2, max_iter=2).fit(table, text="body")

    for ask, option in (
        (lambda X: model.prevalence(X, by="venue"), "by"),
        (lambda X: model.prevalence(X, over="venue:5"), "over"),
        (lambda X: model.prevalence(X, formula="~ venue"), "formula"),
        (lambda X: model.documents(0, X, by="venue"), "by"),
        (lambda X: model.report(tmp_path / "r.html", corpus=X, by="venue"), "by"),
        (lambda X: model.plot.groups(X, "venue"), "by"),
        (lambda X: model.plot.groups(X), "by"),
    ):
        for X in (table, TEXTS):
            said = rf"^{option}: needs a Corpus that keeps fields, but was given with a \w+\. Make "
            with pytest.raises(OptionError, match=said):
                ask(X)
    assert len(model.prevalence(table)) == 2
    assert len(model.documents(0, table, n=3)) == 3
    kept = Corpus.from_table(table, text_field="body", keep=["venue"], vocabulary=model.vocabulary_)
    assert len(model.prevalence(kept, by="venue")) == 4


def test_a_table_for_a_model_of_a_corpus_is_told_to_be_texts():
    frame = frame_of("pandas", {"id": ["a"] * 20, "body": TEXTS})
    model = LDA(2, max_iter=2).fit(Corpus.from_texts(TEXTS))

    with pytest.raises(ShapeError, match=r"LDA, take a list of .* such as df\['text'\], or a C"):
        model.transform(frame)


def test_a_corpus_without_labels_names_its_fields():
    table = pa.table({"text": TEXTS, "venue": ["x", "y"] * 10, "year": [*range(20)]})
    corpus = Corpus.from_table(table, keep=["text", "venue", "year"])
    model = LDA(2, max_iter=2).fit(corpus)

    for ask in (model.plot.groups, lambda corpus: model.prevalence(corpus, by="label")):
        with pytest.raises(CorpusError, match="Choose another with by: it has 'venue' and 'year'"):
            ask(corpus)


def test_tables_that_are_queries_are_read_or_refused():
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    table = pa.table({"body": TEXTS})
    expected = LDA(2, max_iter=2).fit(TEXTS)

    model = LDA(2, max_iter=2).fit(duckdb.from_arrow(table), text="body")

    np.testing.assert_array_equal(model.components_, expected.components_)
    with pytest.raises(OptionError, match=r"is a LazyFrame, .* Pass X\.collect\(\)\.$"):
        LDA(2).fit(polars.from_arrow(table).lazy(), text="body")


@pytest.mark.parametrize("form", TABLES)
def test_later_calls_take_tables_with_the_column_that_was_fitted(form):
    table = TABLES[form]({"body": TEXTS, "year": [*range(20)]})
    model = LDA(2, max_iter=2).fit(table, text="body")

    assert model.infer(table)["proportions"] == model.infer(TEXTS)["proportions"]
    new = Corpus.from_texts([PETS, PETS, MONEY], vocabulary=model.vocabulary_)
    assert model.evaluate(new, texts=table) == model.evaluate(new, texts=TEXTS)
    for ask in (model.infer, model.transform):
        with pytest.raises(OptionError, match="expected one column 'body' in X, but found 'year'"):
            ask(TABLES[form]({"year": [1]}))


@pytest.mark.parametrize(
    ("nothing", "kind"), [([], "LDA"), (pa.array([]), "LDA"), (np.array([]), "MultinomialMixture")]
)
def test_no_documents_are_said(nothing, kind):
    with pytest.raises(SourceError, match=r"^documents: there are no documents"):
        OF_DOCUMENTS[kind]().fit(nothing)


def test_texts_for_a_model_of_vectors_name_the_models_that_take_them():
    with pytest.raises(
        ShapeError, match=r"but found texts\. Models of documents, such as LDA, take"
    ):
        GaussianMixture(2).fit(TEXTS)
    with pytest.raises(SourceError, match=r"texts\[0\]: must be a string or None, but is b'cats"):
        LDA(2).fit([text.encode() for text in TEXTS])


def test_a_frame_with_texts_says_how_to_name_them():
    frame = frame_of("pandas", {"body": TEXTS})

    with pytest.raises(ShapeError, match=r"fit\(df, text='text'\) reads tables\."):
        LDA(2).fit(frame)


# --- functions ------------------------------------------------------------------------------------
class Cutter:
    """An object that can be called, as pipelines of other libraries are."""

    def __call__(self, text):
        return text.split(" ")


@pytest.mark.parametrize("function", [cut_at_spaces, lambda t: t.split(" "), Cutter(), str.split])
def test_a_function_cuts_texts_and_is_needed_again(function, tmp_path):
    corpus = Corpus.from_texts(["a-b c", "c d", "c d"], tokenizer=function, stop_words=["d"])
    model = LDA(2, max_iter=2).fit(corpus)
    model.save(tmp_path / "run")

    assert corpus.vocabulary.words == ("c", "a-b")
    for ask in (model.infer, model.transform, load(tmp_path / "run").infer):
        with pytest.raises(
            VocabularyError, match=r"cut by the function .*, which runs only on req"
        ):
            ask(["a-b c"])
    for own in (model, load(tmp_path / "run"), pickle.loads(pickle.dumps(model))):
        table = own.infer(["a-b c", "d"], tokenizer=function)
        assert [row is None for row in table["proportions"].to_pylist()] == [False, True]
    again = Corpus.from_texts(["a-b x"], tokenizer=function, vocabulary=model.vocabulary_)
    assert again.to_csr().toarray().tolist() == [[0, 1]]
    table = pa.table({"text": ["a-b c", "c d", "c d"]})
    assert Corpus.from_table(table, tokenizer=function).n_words == 3
    run = CliRunner().invoke(main, ["infer", str(tmp_path / "run"), "--text", "a-b"])
    assert run.exit_code == 1
    is_named = "<" not in corpus.vocabulary.tokenizer["function"]
    assert ("Pass --tokenizer " in run.stderr) == is_named


def test_lists_of_words_need_no_function(tmp_path):
    texts, lists = ["a-b c", "c d", "c d"], [["a-b", "c"], ["c", "d"], ["c", "d"]]
    model = LDA(2, max_iter=2).fit(Corpus.from_texts(texts, tokenizer=lambda t: t.split(" ")))
    model.save(tmp_path / "run")

    np.testing.assert_array_equal(answer(model, lists), answer(load(tmp_path / "run"), lists))
    expected = model.infer(texts, tokenizer=str.split)
    assert model.infer(lists) == expected
    again = Corpus.from_tokens(lists, vocabulary=model.vocabulary_)
    assert again.vocabulary.tokenizer == model.vocabulary_.tokenizer
    batches = infer_batches(tmp_path / "run")(pa.table({"text": lists}))
    assert batches["proportions"].to_pylist() == expected["proportions"].to_pylist()
    (tmp_path / "a.jsonl").write_text('{"text": ["c", "d"]}\n')
    words = ["ingest", tmp_path / "a.jsonl", "--out", tmp_path / "c"]
    run = CliRunner().invoke(main, [*map(str, words), "--vocabulary", str(tmp_path / "run")])
    assert run.exit_code == 0, run.output


def test_a_function_that_can_be_imported_is_found_by_its_name():
    corpus = Corpus.from_texts(["a-b c", "c d"], tokenizer=cut_at_spaces)
    name = f"{__name__}:cut_at_spaces"

    assert corpus.vocabulary.tokenizer["function"] == name
    assert type(corpus.vocabulary.tokenizer["function"]) is str
    assert LDA(2, max_iter=2).fit(corpus).infer(["a-b"], tokenizer=name).num_rows == 1


def test_what_is_wrong_with_a_function_is_one_line():
    for function, message in ((lambda t: 3, "failed to return words"), (3, "must be a string")):
        with pytest.raises(OptionError, match=message) as caught:
            Corpus.from_texts(["a"], tokenizer=function)
        assert "\n" not in str(caught.value)


# --- counts ---------------------------------------------------------------------------------------
BAG = [[(0, 2), (2, 1)], [(1, 1)], []]
DICTIONARY = {0: "cats", 1: "unseen", 2: "dogs"}


@pytest.mark.parametrize("pair", [tuple, list])
def test_a_bag_of_words_names_the_function_that_reads_it(pair):
    bag = [[pair(each) for each in document] for document in BAG]
    model = LDA(2, max_iter=2).fit(TEXTS)

    for ask in (LDA(2).fit, model.transform, model.infer, model.partial_fit, LDA(2).partial_fit):
        with pytest.raises(SourceError, match=r"Corpus\.from_gensim\(bow, dictionary\) reads bags"):
            ask(bag)


def test_counts_are_brought_to_the_words_of_a_model():
    model = LDA(2, max_iter=2).fit(TEXTS)
    expected = Corpus.from_texts(["cats cats dogs", "unseen"], vocabulary=model.vocabulary_)

    bag = Corpus.from_gensim(BAG, DICTIONARY, vocabulary=model.vocabulary_)
    matrix = [[2.0, 0, 1], [0, 1, 0], [0, 0, 0]]
    counts = Corpus.from_csr(matrix, ["cats", "unseen", "dogs"], vocabulary=model.vocabulary_)

    for corpus in (bag, counts):
        np.testing.assert_array_equal(corpus.to_csr().toarray(), expected.to_csr().toarray())
        assert corpus.to_csr().has_canonical_format
        assert corpus.vocabulary.words == model.vocabulary_.words
        assert (corpus.n_skipped, corpus.n_unknown_tokens) == (2, 1)
        found = model.infer(corpus)["proportions"].to_pylist()
        assert found == model.infer(["cats cats dogs"])["proportions"].to_pylist()
        assert corpus.kept.tolist() == [0]
        np.testing.assert_array_equal(model.transform(corpus), model.transform(expected))
    with pytest.raises(SourceError, match="counts: no word is known"):
        Corpus.from_gensim([[(1, 1)]], DICTIONARY, vocabulary=model.vocabulary_)
    for make in (Corpus.from_csr, Corpus.from_gensim):
        with pytest.raises(OptionError, match="vocabulary: must be the Vocabulary of a corpus"):
            make(
                *((matrix, [*"abc"]) if make == Corpus.from_csr else (BAG, DICTIONARY)),
                vocabulary=3,
            )


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_weights_are_no_counts(norm):
    from sklearn.feature_extraction.text import TfidfVectorizer

    weights = TfidfVectorizer(norm=norm).fit_transform([*TEXTS, ""])
    bag = [[*zip(row.indices.tolist(), row.data.tolist(), strict=True)] for row in weights[:9]]
    names = [f"w{n}" for n in range(weights.shape[1])]
    sentence = (
        "all rows have length one, like those of tf-idf weights, which are not counts. Use Count"
    )
    model = LDA(2, max_iter=2).fit(TEXTS)

    for ask in (
        lambda: LDA(2).fit(weights),
        lambda: MultinomialMixture(2).fit(weights.toarray()),
        lambda: LDA(2).partial_fit(weights.astype(np.float32)),
        lambda: model.transform(weights),
        lambda: Corpus.from_csr(weights, names),
        lambda: Corpus.from_gensim(bag, dict(enumerate(names))),
    ):
        with pytest.raises(ShapeError, match=sentence):
            ask()


def test_counts_that_are_not_whole_stay_allowed():
    Corpus.from_csr([[0.5, 0.25], [1.5, 0.5]], ["a", "b"])
    Corpus.from_csr([[1, 0], [0, 1]], ["a", "b"])


# --- arguments ------------------------------------------------------------------------------------
def test_a_random_state_draws_the_seeds(tmp_path):
    drawn = np.random.RandomState(3).randint(2**31 - 1, size=2).tolist()
    state = np.random.RandomState(3)
    model = LDA(2, max_iter=2, random_state=state)

    for seed in drawn:
        model.fit(TEXTS)
        expected = LDA(2, max_iter=2, random_state=seed).fit(TEXTS)
        np.testing.assert_array_equal(model.components_, expected.components_)
        model.save(tmp_path / "run", overwrite=True)
        assert load(tmp_path / "run").random_state == seed
    pickle.loads(pickle.dumps(model)).infer(["cats"])
    assert LDA(2, random_state=np.random.RandomState(3)).partial_fit(TEXTS).n_docs_ == 20
    vectors = np.random.RandomState(0).normal(size=(20, 2))
    mixture = GaussianMixture(2, max_iter=2, random_state=np.random.RandomState(1)).fit(vectors)
    assert mixture.sample(3)[0].shape == (3, 2)
    path = TopicPath(4, fewest=2, max_iter=2, random_state=np.random.RandomState(1)).fit(TEXTS)
    path.model().save(tmp_path / "rung")
    assert load(tmp_path / "rung").random_state == path._run().settings["seed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"doc_concentration": "auto"}, "share it evenly. learn_hyperparameters learns it"),
        ({"doc_concentration": [0.1, 0.1]}, "It is the sum over all topics, which share it"),
        ({"word_concentration": "auto"}, "learn_hyperparameters learns it, and `sparsetopics tr"),
        ({"word_concentration": np.ones((2, 9))}, "favour seed words. learn_hyperparameters"),
        (
            {"doc_concentration": -1},
            r"^doc_concentration: must be from 1e-09 to 1e\+09, but is -1.$",
        ),
    ],
)
def test_priors_of_other_toolkits_say_what_there_is_instead(arguments, message):
    with pytest.raises(OptionError, match=message) as caught:
        LDA(2, **arguments).fit(TEXTS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("option", ["alpha", "eta"])
def test_priors_of_other_toolkits_say_it_in_the_command_too(option, tmp_path):
    Corpus.from_texts(TEXTS).save(tmp_path / "c")

    words = ["train", str(tmp_path / "c"), "--out", str(tmp_path / "run"), "--model", "lda"]
    said = CliRunner().invoke(main, [*words, f"--{option}", "auto"])

    assert said.exit_code == 1
    assert re.search(
        f"Error: --{option}: must be a number, .*hyperparameters learns it", said.stderr
    )


@pytest.mark.parametrize("nothing", [[], np.zeros((0, 3)), sparse.csr_array((0, 3)), pa.array([])])
def test_a_batch_without_rows_changes_nothing(nothing):
    model = LDA(2).partial_fit(nothing).partial_fit(TEXTS)
    before = model.components_

    np.testing.assert_array_equal(model.partial_fit(nothing).components_, before)
    assert model.n_docs_ == 20
    assert GaussianMixture(2).partial_fit(np.zeros((0, 2))).n_components == 2


# --- warnings -------------------------------------------------------------------------------------
WARNED = {
    "from_texts": lambda: Corpus.from_texts(["", PETS]),
    "from_tokens": lambda: Corpus.from_tokens([[], ["cats"]]),
    "from_table": lambda: Corpus.from_table(pa.table({"text": ["", PETS]})),
    "an option": lambda: Corpus.from_texts([PETS], stop_words=["de"]),
    "fit": lambda: LDA(2, max_iter=2).fit(["", PETS, MONEY]),
    "fit_transform": lambda: LDA(2, max_iter=2).fit_transform(["", PETS, MONEY]),
    "fit_predict": lambda: MultinomialMixture(2, max_iter=2).fit_predict(["", PETS, MONEY]),
    "topics": lambda: LDA(9, max_iter=2).fit([PETS, MONEY]),
    "a path": lambda: TopicPath(50, fewest=2, max_iter=2).fit(TEXTS),
    "evaluate": lambda: LDA(2, max_iter=2).fit(TEXTS).evaluate(TEXTS),
    "names": lambda: (
        LDA(2, max_iter=2).fit(frame_of("pandas", {"a": [1, 2], "b": [2, 1]})).transform([[1, 2]])
    ),
}


@pytest.mark.parametrize("name", WARNED)
def test_a_warning_points_to_the_line_of_the_user(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        WARNED[name]()

    own = [each for each in caught if issubclass(each.category, SparsetopicsWarning | UserWarning)]
    assert own
    assert {each.filename for each in own} == {__file__}


def test_all_errors_are_of_the_family():
    for wrong in (lambda: Corpus.from_tokens(3), lambda: LDA(2).fit(TEXTS, text="body")):
        with pytest.raises(SparsetopicsError):
            wrong()

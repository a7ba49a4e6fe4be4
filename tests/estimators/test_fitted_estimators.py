"""What fitted estimators can be asked: the same as the commands say about their saved runs."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sparsetopics import (
    LDA,
    Corpus,
    CorpusError,
    GaussianMixture,
    MultinomialMixture,
    OptionError,
    OutputError,
    ShapeError,
    SourceError,
    TopicPath,
    UnfittedError,
    VectorCorpus,
    VocabularyError,
    load,
)
from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.cli.main import main

PETS = "cats chase mice and dogs chase cats while owls hunt mice"
MONEY = "stocks fell while bonds rose and banks sold bonds and stocks"
TEXTS = [f"{PETS} {PETS}", f"{MONEY} {PETS}", f"{MONEY} {MONEY}", PETS, MONEY] * 6


def pets():
    """The texts, without fields."""
    return Corpus.from_texts(TEXTS)


def said(*arguments):
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def corpus():
    return Corpus.from_texts(TEXTS)


@pytest.fixture(scope="module")
def models(corpus):
    return {
        "topics": LDA(3, max_iter=4).fit(corpus),
        "mixture": MultinomialMixture(2, max_iter=4).fit(corpus),
        "path": TopicPath(rungs=(4, 3, 2), validation_share=0.2).fit(corpus),
    }


@pytest.fixture(params=["topics", "mixture", "path"])
def model(models, request):
    return models[request.param]


@pytest.fixture
def saved(model, tmp_path):
    """The folder of the run that the model is saved as."""
    model.save(tmp_path / "run")
    if isinstance(model, TopicPath):
        return tmp_path / "run" / str(model.n_components_)
    return tmp_path / "run"


@pytest.fixture(scope="module")
def vectors():
    values = np.random.default_rng(0).normal(size=(80, 3))
    return values, GaussianMixture(2, max_iter=4).fit(values)


COLUMNS = ["topic", "id", "name", "weight", "words", "documents_with_half", "mostly"]


def in_python(rows):
    """Rows of JSON as the table has them, without lists of words, of a single run."""
    others = ("list_name", "keyword_rate", "n_runs", "found_in_runs", "similarity")
    assert all(row.pop(name) is None for row in rows for name in others)
    return [{**row, "words": [word for word, _ in row["words"]]} for row in rows]


def test_topics_are_those_of_the_command(model, saved):
    table = model.topics(4)

    assert table.column_names == COLUMNS
    rows = said("topics", saved, "--words", 4, "--json")
    expected = in_python(rows)
    assert table.to_pylist() == expected
    assert len(table.to_pandas()) == model.n_components_
    relevant = model.topics(3, 0.6, names={1: "Crime"})
    assert relevant["words"].to_pylist() == model.top_words(3, 0.6)
    expected = table["name"].to_pylist()
    expected[1] = "Crime"
    assert relevant["name"].to_pylist() == expected
    ids = table["id"].to_pylist()
    assert model.topics(3, 0.6, names={ids[1]: "Crime"}) == relevant


def test_topics_of_words_are_those_of_the_command(model, saved):
    for words in (["Cats"], ["stocks", "bonds"]):
        table = model.topics(4, find=words)

        assert table.column_names == [*COLUMNS, "share"]
        given = [part for word in words for part in ("--find", word)]
        rows = said("topics", saved, "--words", 4, *given, "--json")
        expected = in_python(rows)
        assert table.to_pylist() == expected
    named = model.topics(find=["cats"], names={k: f"Pets {k}" for k in range(model.n_components_)})
    assert named["name"].to_pylist() == [f"Pets {k}" for k in named["topic"].to_pylist()]


def test_topics_of_each_word_are_those_of_the_command(models, tmp_path):
    model = models["topics"]
    model.save(tmp_path / "run")
    texts = ["Cats CHASE owls. Cats!", "nothing known", None, "Banks sold stocks"]

    table = model.infer(texts, tokens=True)

    rows = said("infer", tmp_path / "run", *(p for t in texts for p in ("--text", t or "")),
                "--tokens", "--json")["tokens"]  # fmt: skip
    assert table.to_pylist() == rows
    assert table["doc_id"].to_pylist() == ["0"] * 3 + ["3"] * 3
    assert table["count"].to_pylist() == [2, 1, 1, 1, 1, 1]
    assert model.infer([], tokens=True).schema == table.schema
    documents = Corpus.from_texts(["cats chase owls"], vocabulary=model.vocabulary_)
    assert model.infer(documents, tokens=True)["word"].to_pylist() == ["cats", "chase", "owls"]


def test_top_words_are_those_of_the_command(model, saved):
    for relevance, option in ((None, ()), (0.6, ("--relevance", 0.6))):
        rows = said("topics", saved, "--words", 3, *option, "--json")
        expected = [[word for word, _ in row["words"]] for row in rows]
        assert model.top_words(3, relevance) == expected
    assert len(model.top_words()[0]) == 10


def test_scores_are_those_of_the_command(model, saved, corpus, tmp_path):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    (tmp_path / "texts.jsonl").write_text(lines)
    said(
        "ingest", tmp_path / "texts.jsonl", "--vocabulary", saved, "--out", tmp_path / "c", "--json"
    )

    (expected,) = said("evaluate", saved, tmp_path / "c", "--json")

    with pytest.warns(SparsetopicsWarning, match="^[A-Za-z]+ was trained with this corpus: its"):
        found = model.evaluate(corpus)
    # The scores of single topics are a table of their own, which only topic models have.
    by_topic, expected_by_topic = (s.get("topic_npmi", {}) for s in (found, expected))
    assert by_topic == pytest.approx(expected_by_topic)
    found, expected = ({**s, "run": "", "topic_npmi": 0} for s in (found, expected))
    assert found == pytest.approx(expected, nan_ok=True)
    assert found["in_sample"] is True


def test_coherence_is_counted_in_another_corpus_as_by_the_command(models, corpus, tmp_path):
    model, new = models["topics"], Corpus.from_texts(TEXTS[:8], vocabulary=corpus.vocabulary)
    model.save(tmp_path / "run")
    new.save(tmp_path / "new")
    corpus.save(tmp_path / "c")
    command = ("evaluate", tmp_path / "run", tmp_path / "new", "--coherence-corpus", tmp_path / "c")
    (expected,) = said(*command, "--json")

    for counted_in in (corpus, TEXTS):
        found = model.evaluate(new, coherence_corpus=counted_in)
        scores = [found["npmi"], found["u_mass"]]
        assert scores == pytest.approx([expected["npmi"], expected["u_mass"]])
        assert scores != pytest.approx([model.evaluate(new)[name] for name in ("npmi", "u_mass")])


def test_unknown_words_are_counted_in_texts_as_in_a_corpus(models):
    texts = ["cats chase zebras", "zebras and gnus", None]
    lists = [["cats", "chase", "zebras"], ["zebras", "gnus"], []]
    of_lists = LDA(2, max_iter=2).fit([["cats", "chase"], ["chase", "dogs"]])

    assert models["topics"].evaluate(texts)["n_unknown_tokens"] == 3
    assert of_lists.evaluate(lists)["n_unknown_tokens"] == 3


def test_a_corpus_of_other_words_is_refused_with_advice(models):
    other = Corpus.from_texts(["owls and newts", "owls"])

    for ask in (models["topics"].score, models["topics"].evaluate):
        with pytest.raises(ShapeError, match=r"X has .* Make X with vocabulary=model\.vocabulary_"):
            ask(other)


def test_a_corpus_is_known_after_it_was_saved(model, corpus, tmp_path):
    corpus.save(tmp_path / "saved")
    with pytest.warns(SparsetopicsWarning, match="was trained with this corpus"):
        assert model.evaluate(Corpus.open(tmp_path / "saved"))["in_sample"] is True


def test_new_texts_are_cut_as_the_training_texts_were(model, saved, tmp_path):
    texts = ["Cats CHASE owls.", "nothing known", None, "Banks sold stocks"]

    shares = model.infer(texts)

    assert shares["doc_id"].to_pylist() == ["0", "1", "2", "3"]
    documents = Corpus.from_texts([texts[0], texts[3]], vocabulary=model.vocabulary_)
    of_model = model.predict_proba if isinstance(model, MultinomialMixture) else model.transform
    known = shares[1].take([0, 3]).to_pylist()
    np.testing.assert_allclose(known, of_model(documents), rtol=1e-5, atol=1e-30)
    top = model.infer(texts, top=2)
    assert list(dict.fromkeys(top["doc_id"].to_pylist())) == ["0", "1", "2", "3"]
    assert top.column_names[:-1] == ["doc_id", "topic", "id", "name"]
    printed = said("infer", saved, "--text", texts[0], "--top", 2, "--json")["documents"]
    for key in ("topic", "id", "name"):
        own = [row[key] for row in printed[0]["topics"]]
        assert top[key].to_pylist()[: len(own)] == own


def test_a_function_that_cut_the_training_texts_is_named_again(monkeypatch, tmp_path):
    (tmp_path / "cutting_pairs.py").write_text("def pairs(text):\n    return text.split('+')\n")
    monkeypatch.syspath_prepend(tmp_path)
    texts = ["a b+c d", "a b+e f"] * 5
    corpus = Corpus.from_texts(texts, tokenizer="cutting_pairs:pairs")
    model = LDA(2, max_iter=2).fit(corpus)

    found = model.infer(["a b+x"], tokenizer="cutting_pairs:pairs")

    assert found["doc_id"].to_pylist() == ["0"]
    with pytest.raises((OptionError, VocabularyError), match="cutting_pairs:pairs"):
        model.infer(["a b+x"])


def test_a_page_is_that_of_the_command(model, saved, corpus, tmp_path):
    model.report(tmp_path / "r.html", corpus=corpus, names={1: "<b>Crime"})

    page = (tmp_path / "r.html").read_text()
    assert '<b class="topic-name">&lt;b&gt;Crime</b>' in page
    assert "documents of <strong>the given corpus</strong>" in page
    assert ('<section id="path"' in page) == isinstance(model, TopicPath)
    with pytest.raises(OutputError, match=r"exists\. Use overwrite=True to replace it\.$"):
        model.report(tmp_path / "r.html")
    model.report(tmp_path / "r.html", overwrite=True)
    if not isinstance(model, TopicPath):
        said("report", saved, "--out", tmp_path / "c.html", "--json")
        by_command = (tmp_path / "c.html").read_text().replace(str(saved), "X")
        name = type(model).__name__
        by_python = (tmp_path / "r.html").read_text()
        assert by_python.replace(f">{name}<", ">X<").count("topic-name") == by_command.count(
            "topic-name"
        )
        assert facts_of(by_python) == facts_of(by_command)


def facts_of(page):
    start = page.index("<dl>", page.index("How training went"))
    return page[start : page.index("</dl>", start)]


@pytest.mark.parametrize("target", ["mallet", "matrix-market", "csv", "parquet", "names"])
def test_exports_are_those_of_the_command(models, target, tmp_path):
    model = models["topics"]
    model.save(tmp_path / "run")
    said("export", tmp_path / "run", "--to", target, "--out", tmp_path / "a", "--json")

    model.export(tmp_path / "b", target)

    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()


def test_exports_take_documents_and_names(models, corpus, tmp_path):
    models["topics"].export(tmp_path / "v.json", to="pyldavis", corpus=corpus)
    models["topics"].export(tmp_path / "t.parquet", to="parquet", names={0: "Crime"})

    assert len(json.loads((tmp_path / "v.json").read_text())["doc_topic_dists"]) == len(TEXTS)
    assert pq.read_table(tmp_path / "t.parquet")["name"][0].as_py() == "Crime"


def test_a_path_exports_its_tree_and_its_model(models, tmp_path):
    path = models["path"]

    path.export(tmp_path / "t.nwk", to="newick")
    path.export(tmp_path / "t.csv", to="csv")
    path.export(tmp_path / "t.parquet", to="parquet")

    assert (tmp_path / "t.nwk").read_text().endswith(";\n")
    assert (tmp_path / "t.csv").read_text().startswith('"n_topics","topic"')
    n_topics = len(set(pq.read_table(tmp_path / "t.parquet")["topic"].to_pylist()))
    assert n_topics == path.n_components_


def test_a_loaded_model_answers_too(models, tmp_path):
    models["topics"].save(tmp_path / "run")

    assert load(tmp_path / "run").topics() == models["topics"].topics()


def test_components_of_vectors_have_scores_and_pages_but_no_words(vectors, tmp_path):
    values, model = vectors

    with pytest.warns(SparsetopicsWarning, match="GaussianMixture was trained with this corpus"):
        found = model.evaluate(values)
    assert found["log_likelihood_per_item"] == pytest.approx(model.score(values))
    assert model.evaluate(values[1:])["in_sample"] is False
    for option in ("texts", "coherence_corpus"):
        with pytest.raises(OptionError, match=f"^{option}: is for topic models, but GaussianMixtu"):
            model.evaluate(values, **{option: ["a"]})
    model.report(tmp_path / "r.html", corpus=values)
    model.export(tmp_path / "t.csv", to="csv")
    assert "Components" in (tmp_path / "r.html").read_text()
    for ask in (model.topics, model.top_words, lambda: model.infer(["a"])):
        with pytest.raises(OptionError, match="GaussianMixture: has components of vectors, which"):
            ask()
    with pytest.raises(OptionError, match="to: mallet is for words, but GaussianMixture is a"):
        model.export(tmp_path / "x", to="mallet")


@pytest.fixture(scope="module")
def dated():
    """The texts as a data frame, with a section and the time of each."""
    pandas = pytest.importorskip("pandas")
    hours = pandas.date_range("2024-01-30 18:00", periods=len(TEXTS), freq="7h")
    sections = ["pets", None, "money", "pets", "money"] * 6
    return pandas.DataFrame({"text": TEXTS, "section": sections, "date": hours})


@pytest.mark.parametrize("kind", ["topics", "path"])
def test_prevalence_is_that_of_the_command(models, kind, dated, corpus, tmp_path):
    model = models[kind]
    model.save(tmp_path / "run")
    run = tmp_path / "run" / (str(model.n_components_) if kind == "path" else "")
    kept = Corpus.from_table(dated, vocabulary=corpus.vocabulary, keep=["section", "date"])
    kept.save(tmp_path / "c")
    options = ("--by", "section", "--over", "date:month", "--words", 2)

    found = model.prevalence(kept, "section", "date:month", names={0: "Crime"}, n_words=2)
    compared = model.prevalence(kept, by="section", differences=True)

    expected = said("prevalence", run, tmp_path / "c", *options, "--json")
    rows = [{**row, "from": str(row["from"]), "to": str(row["to"])} for row in found.to_pylist()]
    assert rows == [{**row, "name": "Crime"} if row["topic"] == 0 else row for row in expected]
    differences = ("prevalence", run, tmp_path / "c", "--by", "section", "--differences")
    assert compared.to_pylist() == said(*differences, "--json")


@pytest.mark.parametrize(
    "written",
    [
        lambda dates: dates,
        lambda dates: dates.dt.tz_localize("UTC"),
        lambda dates: dates.astype("datetime64[s]"),
        lambda dates: dates.where(dates.dt.hour != 18),  # NaT for others
        lambda dates: dates.dt.date,
        lambda dates: dates.astype(str),
    ],
    ids=["times", "UTC", "seconds", "missing", "dates", "strings"],
)
def test_times_of_a_data_frame_divide_documents_into_months(models, dated, corpus, written):
    frame = dated.assign(date=written(dated["date"]))
    kept = Corpus.from_table(frame, vocabulary=corpus.vocabulary, keep=["date"])

    table = models["topics"].prevalence(kept, over="date:month").to_pandas()

    months = dated["date"][frame["date"].notna()].dt.to_period("M").value_counts().sort_index()
    found = table[table["topic"] == 0].set_index("from")["n_documents"]
    assert kept.fields == {"date": "date"}
    assert [str(month)[:7] for month in found.index] == [str(month) for month in months.index]
    assert found.tolist() == months.tolist()


def test_without_groups_prevalence_is_of_all_documents(models, corpus):
    table = models["topics"].prevalence(corpus)

    assert sum(table["mean"].to_pylist()) == pytest.approx(1.0)
    assert set(table["n_documents"].to_pylist()) == {len(TEXTS)}


@pytest.mark.parametrize("kind", ["topics", "path"])
def test_effects_and_correlations_are_those_of_the_command(models, kind, dated, corpus, tmp_path):
    pytest.importorskip("formulaic")
    model = models[kind]
    model.save(tmp_path / "run")
    run = tmp_path / "run" / (str(model.n_components_) if kind == "path" else "")
    kept = Corpus.from_table(dated, vocabulary=corpus.vocabulary, keep=["section", "date"])
    kept.save(tmp_path / "c")
    command = ("prevalence", run, tmp_path / "c", "--json")
    formula = "~ section + s(date, df=2)"

    found = model.prevalence(kept, formula=formula).to_pylist()
    compared = model.prevalence(kept, formula=formula, differences=True).to_pylist()
    pairs = model.correlations(kept, names={0: "Crime"}).to_pylist()

    assert [row | {"at_date": row["at_date"] and str(row["at_date"])} for row in found] == said(
        *command, "--formula", formula
    )
    assert compared == said(*command, "--formula", formula, "--differences")
    for row, other in zip(pairs, said(*command, "--correlations"), strict=True):
        assert row == (other | {"name": "Crime"} if row["topic"] == 0 else other)


def test_errors_over_models_are_those_of_the_command(models, dated, corpus, tmp_path):
    model = models["topics"]
    others = [LDA(3, max_iter=3, random_state=seed).fit(corpus) for seed in (1, 2)]
    kept = Corpus.from_table(dated, vocabulary=corpus.vocabulary, keep=["section"])
    kept.save(tmp_path / "c")
    (tmp_path / "runs").mkdir()
    for number, own in enumerate([model, *others]):
        own.save(tmp_path / ("run" if number == 0 else f"runs/{number}"))
    command = ("prevalence", tmp_path / "run", tmp_path / "c", "--json")
    command += ("--by", "section", "--runs", tmp_path / "runs")

    for differences in (False, True):
        found = model.prevalence(kept, "section", runs=others, differences=differences)
        options = ["--differences"] * differences
        assert found.to_pylist() == said(*command, *options)


def test_mixtures_have_no_prevalence(models, vectors, corpus):
    values, gaussian = vectors

    for model, data in ((models["mixture"], corpus), (gaussian, values)):
        name = type(model).__name__
        with pytest.raises(OptionError, match=f"^{name}: is a mixture, which has responsib"):
            model.prevalence(data)
        with pytest.raises(OptionError, match=f"^{name}: is a mixture, which has responsib"):
            model.correlations(data)


def test_labels_of_a_corpus_are_scored(vectors):
    values, model = vectors

    scores = model.evaluate(
        VectorCorpus.from_array(values[1:], labels=["a", "b", "b"] * 26 + ["a"])
    )

    assert scores["n_labels"] == 2


def test_nothing_is_asked_before_fit(tmp_path):
    model, page = LDA(2), tmp_path / "r.html"

    for ask in (model.topics, model.top_words, lambda: model.infer(["a"]),
                lambda: model.evaluate([[1]]), lambda: model.report(page),
                lambda: model.prevalence([[1]]), lambda: model.correlations([[1]]),
                lambda: model.export(page, to="csv")):  # fmt: skip
        with pytest.raises(UnfittedError, match="LDA: is not fitted yet"):
            ask()


@pytest.mark.parametrize(
    ("ask", "kind", "problem"),
    [
        (lambda m, f: m.topics(0), OptionError, "n_words: must be"),
        (lambda m, f: m.topics("3"), OptionError, "n_words: must be"),
        (lambda m, f: m.topics(3, 1.5), OptionError, "relevance: must be"),
        (lambda m, f: m.topics(names={9: "a"}), OptionError, "names: there is no"),
        (lambda m, f: m.top_words(3, 1.5), OptionError, "relevance: must be"),
        (lambda m, f: m.infer(["cats"], top=0), OptionError, "top: must be"),
        (lambda m, f: m.topics(find=["catz"]), OptionError, "find: 'catz' is not in .* cats"),
        (lambda m, f: m.topics(find="cats"), OptionError, "find: must be a list"),
        (lambda m, f: m.infer(["cats"], tokens=3), OptionError, "tokens: must be true or false"),
        (
            lambda m, f: m.infer(["cats"], top=1, tokens=True),
            OptionError,
            "tokens: cannot be combined with top",
        ),
        (lambda m, f: m.infer(["cats"], tokenizer=3), OptionError, "tokenizer: must be"),
        (lambda m, f: m.infer("cats"), SourceError, "texts: "),
        (lambda m, f: m.evaluate([[1, 2]]), ShapeError, "X has 2 features, but LDA is"),
        (lambda m, f: m.prevalence([[1, 2]]), ShapeError, "X has 2 features, but LDA is"),
        (lambda m, f: m.prevalence(pets(), 3), OptionError, "by: must be a text or None"),
        (lambda m, f: m.prevalence(pets(), over=3), OptionError, "over: must be a text or None"),
        (
            lambda m, f: m.prevalence(pets(), "section"),
            OptionError,
            "by: the corpus has no field 'section'. It has 'label'. Pass others to keep when",
        ),
        (lambda m, f: m.prevalence(pets(), over="date:x"), OptionError, "over: expected a field"),
        (
            lambda m, f: m.prevalence(pets(), differences=True),
            OptionError,
            "differences: needs by or over",
        ),
        (lambda m, f: m.prevalence(pets(), differences=1), OptionError, "differences: must be tru"),
        (lambda m, f: m.prevalence(pets(), formula=3), OptionError, "formula: must be a text or"),
        (lambda m, f: m.prevalence(pets(), runs=[m]), OptionError, "runs: needs at least 2 runs"),
        (lambda m, f: m.prevalence(pets(), runs=[m, 3]), OptionError, "runs: must be a list of"),
        (lambda m, f: m.prevalence(pets(), runs=3), OptionError, "runs: must be a list"),
        (lambda m, f: m.prevalence(pets(), runs=m), OptionError, "runs: must be a list"),
        (lambda m, f: m.prevalence(pets(), runs=[m, LDA(2)]), UnfittedError, "is not fitted yet"),
        (
            lambda m, f: m.prevalence(pets(), "label", formula="~ label"),
            OptionError,
            "formula: cannot stand beside by",
        ),
        (lambda m, f: m.prevalence(pets(), formula="~ a"), OptionError, "formula: the corpus has"),
        (lambda m, f: m.correlations([[1, 2]]), ShapeError, "X has 2 features, but LDA is"),
        (lambda m, f: m.correlations(pets(), names={9: "a"}), OptionError, "names: there is no"),
        (lambda m, f: m.prevalence(pets(), n_words=-1), OptionError, "n_words: must be at least 0"),
        (lambda m, f: m.prevalence(pets(), names={9: "a"}), OptionError, "names: there is no"),
        (lambda m, f: m.prevalence(pets(), by="label"), CorpusError, "Was it made with labels?"),
        (lambda m, f: m.report(f / "x.txt"), OptionError, "path: must end in .html"),
        (lambda m, f: m.report(3), OptionError, "path: must be a path"),
        (lambda m, f: m.report(f), OutputError, "but found a folder"),
        (lambda m, f: m.report(f / "x.html", names={9: "a"}), OptionError, "names: there is no"),
        (lambda m, f: m.report(f / "x.html", names=["a"]), OptionError, "names: must be a mapping"),
        (lambda m, f: m.report(f / "x.html", overwrite=1), OptionError, "overwrite: must be true"),
        (lambda m, f: m.report(f / "x.html", corpus=[[1]]), ShapeError, "X has 1 features"),
        (lambda m, f: m.export(f / "x", "spss"), OptionError, "to: must be one of gensim, "),
        (lambda m, f: m.export(f / "x", "newick"), OptionError, "to: must be one of gensim, "),
        (lambda m, f: m.export(f / "x", "pyldavis"), OptionError, "corpus: pyldavis needs"),
        (
            lambda m, f: m.export(f / "x", "mallet", spreadsheet_safe=True),
            OptionError,
            "spreadsheet_safe: is for csv, not for to mallet",
        ),
        (
            lambda m, f: m.export(f / "x", "csv", spreadsheet_safe="yes"),
            OptionError,
            "spreadsheet_safe: must be true or false",
        ),
        (lambda m, f: m.export(f / "x.csv", "parquet"), OptionError, "path: must end in .parquet"),
    ],
)
def test_wrong_questions_are_refused(models, tmp_path, ask, kind, problem):
    with pytest.raises(kind, match=problem):
        ask(models["topics"], tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_tables_are_those_of_arrow(models):
    assert isinstance(models["topics"].topics(), pa.Table)
    assert isinstance(models["topics"].infer(["cats"]), pa.Table)

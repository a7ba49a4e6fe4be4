"""Any value of any parameter is refused in one line at once, or gives a finite result.

The parameters are those of the constructors' signatures, and what they take is read from the table
of options.
"""

import inspect
import math
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from sparsetopics import (
    HDP,
    LDA,
    Corpus,
    DPGaussianMixture,
    DPMultinomialMixture,
    GaussianMixture,
    MultinomialMixture,
    OptionError,
    SparsetopicsError,
    VectorCorpus,
    load,
)
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.options.option import Interval, OneOf
from sparsetopics.options.resolve import ARGUMENTS

COUNTS = np.random.default_rng(0).poisson(0.8, (30, 8))
VECTORS = np.random.default_rng(0).normal(size=(30, 2))
ESTIMATORS = (
    LDA,
    HDP,
    GaussianMixture,
    DPGaussianMixture,
    MultinomialMixture,
    DPMultinomialMixture,
)


class Long:
    def __repr__(self):
        return "x" * 30_000


class Unprintable:
    def __repr__(self):
        raise RuntimeError("it has no name")


class Controlling:
    def __repr__(self):
        return "two\nlines, \x1b[31mred"


NUMBERS = {
    "0": 0,
    "-1": -1,
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "1e308": 1e308,
    "1e-320": 1e-320,
    "10**12": 10**12,
    "10**400": 10**400,
    "10**5000": 10**5000,
    "-10**400": -(10**400),
    "half": Fraction(1, 2),
    "huge fraction": Fraction(10**400),
    "float32": np.float32(0.5),
    "int64": np.int64(2),
}
WRONG = {
    "empty": "",
    "word": "word",
    "surrogate": "\ud800",
    "bytes": b"1",
    "dict": {"a": 1},
    "array": np.array([1, 2]),
    "array of no dimension": np.array(1),
    "complex": 1j,
    "decimal": Decimal("0.5"),
    "signalling": Decimal("sNaN"),
    "object": object(),
    "type": int,
    "function": len,
    "generator": (name for name in ("merge",)),
    "nested": [["merge"]],
    "long": Long(),
    "unprintable": Unprintable(),
    "controlling": Controlling(),
    "masked": np.ma.masked,
}
PARAMETERS = [(kind, name) for kind in ESTIMATORS for name in inspect.signature(kind).parameters]


def data_of(kind):
    return VECTORS if kind in (GaussianMixture, DPGaussianMixture) else COUNTS


def is_one_line(error, name):
    text = str(error)
    return text.startswith(name) and text.isprintable() and len(text) <= 300


def refused_or_finite(kind, name, value):
    """Fit with one value; the message if it is refused."""
    arguments = {"n_components": 2, "max_iter": 2} | {name: value}
    if name == "tree_tolerance":
        arguments |= {"learner": "accelerated", "n_components": 1}
    if name in ("forgetting_rate", "delay", "fixed_rate"):
        arguments["learner"] = "stochastic"
    if name in ("step_size", "momentum"):
        arguments |= {"learner": "gradient", "gradient": "momentum"}
        arguments["likelihood"] = "isotropic-gaussian"
    if name == "variance":
        arguments["likelihood"] = "isotropic-gaussian"
    if name == "minimum_mass":
        arguments |= {"local_update": "mean-field", "restarts": 0}
    refusal = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="There are more topics or components")
        try:
            model = kind(**arguments).fit(data_of(kind))
        except SparsetopicsError as error:
            refusal = error
    if refusal is not None:
        assert isinstance(refusal, ValueError | TypeError)
        assert is_one_line(refusal, name), str(refusal)
        return str(refusal)
    assert all(math.isfinite(n) for entry in model.trace_ for n in entry.values() if n is not None)
    use = model.transform if hasattr(model, "transform") else model.predict_proba
    assert np.isfinite(use(data_of(kind))).all()
    return None


@pytest.mark.parametrize(("kind", "name"), PARAMETERS)
def test_any_value_is_refused_in_one_line_or_gives_a_finite_result(kind, name):
    takes = ARGUMENTS[name].takes
    for value in NUMBERS.values():
        message = refused_or_finite(kind, name, value)
        if not isinstance(takes, Interval):
            assert message is not None, value
        elif name != "n_jobs" or value != -1:  # which stands for a thread per core
            number = takes.number(value)
            assert message is not None or (number is not None and number in takes), value
    for key, value in WRONG.items():
        assert refused_or_finite(kind, name, value) is not None, key


@pytest.mark.parametrize(("kind", "name"), PARAMETERS)
def test_only_flags_take_a_truth_value(kind, name):
    is_flag = ARGUMENTS[name].takes is bool

    assert (refused_or_finite(kind, name, True) is None) == is_flag


def test_every_choice_is_refused_with_the_names_that_there_are():
    for kind, name in PARAMETERS:
        if isinstance(ARGUMENTS[name].takes, OneOf):
            message = refused_or_finite(kind, name, "nonsense")
            assert "must be one of" in message
            assert "nonsense" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"doc_concentration": 10**400}, "must be from 1e-09 to 1e.09, but is 10,000"),
        ({"doc_concentration": Decimal("0.5")}, r"must be a number, but is Decimal\('0.5'\)"),
        ({"n_components": Unprintable()}, "a whole number, but is an object of type Unprintable"),
        ({"moves": (name for name in ("merge",))}, "a list of names, but is <generator"),
        ({"minimum_mass": math.inf}, "must be at least 0 tokens and finite, but is inf"),
        ({"n_jobs": np.array([1])}, r"must be a whole number, but is array\(\[1\]\)"),
        ({"n_batches": 10**5000}, "but is a number of thousands of digits"),
    ],
)
def test_the_message_has_parameter_value_and_what_is_expected(arguments, message):
    with pytest.raises(OptionError, match=message) as caught:
        HDP(**{"n_components": 2, **arguments}).fit(COUNTS)

    assert is_one_line(caught.value, next(iter(arguments)))


def test_a_fraction_is_a_number_like_any_other():
    half = LDA(2, max_iter=2, doc_concentration=Fraction(1, 2)).fit(COUNTS)

    expected = LDA(2, max_iter=2, doc_concentration=0.5).fit(COUNTS)
    np.testing.assert_array_equal(half.components_, expected.components_)


def test_numbers_of_numpy_are_saved_and_loaded(tmp_path):
    numbers = {"n_batches": np.int64(3), "random_state": np.int64(5), "n_jobs": np.int64(2)}
    LDA(np.int64(2), max_iter=2, doc_concentration=np.float32(0.5), **numbers).fit(COUNTS).save(
        tmp_path / "run"
    )

    found = load(tmp_path / "run")

    assert (found.n_components, found.n_batches, found.random_state) == (2, 3, 5)


@cache
def topics():
    return LDA(2, max_iter=2).fit(COUNTS)


@cache
def mixture():
    return GaussianMixture(2, max_iter=2).fit(VECTORS)


@cache
def mixture_of_documents():
    return MultinomialMixture(2, max_iter=2).fit(COUNTS)


PATHS = {
    "save": lambda path: topics().save(path),
    "load": load,
    "open": Corpus.open,
    "open vectors": VectorCorpus.open,
}
TEXTS = ["one two", "two three"]
ODD = {**WRONG, "None": None, "nan": math.nan, "number": 3, "1e12": 10**12, "NUL": "a\0b"}
# What each parameter of a method is called, how it is given, and the odd values that it takes.
METHODS = {
    "n_samples": (lambda value: mixture().sample(value), {"number"}),
    "overwrite": (lambda value: topics().save("run", overwrite=value), set()),
    "on_lap": (
        lambda value: LDA(2, max_iter=1).fit(COUNTS, on_lap=value),
        {"None", "type", "function"},
    ),
    "texts": (Corpus.from_texts, {"nested", "generator"}),
    "texts[1]": (
        lambda value: Corpus.from_texts(["one", value]),
        {"None", "nan", "empty", "NUL", "word"},
    ),
    "tokenizer": (lambda value: Corpus.from_texts(TEXTS, tokenizer=value), {"None"}),
    "keep": (lambda value: Corpus.from_texts(TEXTS, keep=value), {"None"}),
    "vocabulary": (lambda value: Corpus.from_texts(TEXTS, vocabulary=value), {"None"}),
    "min_df": (lambda value: PruningOptions(min_df=value), {"None", "number", "1e12"}),
    "max_words": (lambda value: PruningOptions(max_words=value), {"None", "number", "1e12"}),
    "stop_words": (lambda value: PruningOptions(stop_words=value), set()),
    "token_pattern": (
        lambda value: TokenizerOptions(value),
        {"None", "empty", "word", "surrogate", "NUL"},
    ),
    "lowercase": (lambda value: TokenizerOptions(lowercase=value), set()),
    "ngrams": (lambda value: TokenizerOptions(ngrams=value), {"number"}),
    "phrases": (lambda value: TokenizerOptions(phrases=value), {"empty"}),
    "text_field": (lambda value: table_corpus(text_field=value), {"None"}),
    "id_field": (lambda value: table_corpus(id_field=value), {"None"}),
    "table": (Corpus.from_table, set()),
    "counts": (lambda value: Corpus.from_csr(value, ["a", "b"]), set()),
    "words": (lambda value: Corpus.from_csr(COUNTS[:2, :2] + 1, value), set()),
    "doc_ids": (lambda value: Corpus.from_csr(np.ones((2, 1)), ["a"], value), {"None", "array"}),
    "values": (VectorCorpus.from_array, set()),
    "item_ids": (lambda value: VectorCorpus.from_array(np.eye(2), None, value), {"None", "array"}),
    "labels": (lambda value: VectorCorpus.from_array(np.eye(2), value), {"None", "array"}),
    "bow": (lambda value: Corpus.from_gensim(value, {0: "a"}), set()),
    "dictionary": (lambda value: Corpus.from_gensim([[(0, 1)]], value), set()),
    "X": (lambda value: topics().transform(value), {"nested"}),
    "X to score": (lambda value: topics().score(value), set()),
    "X to predict": (lambda value: mixture().predict(value), set()),
    "X to add": (lambda value: mixture_of_documents().partial_fit(value), {"nested"}),
    "input_features": (lambda value: topics().get_feature_names_out(value), {"None"}),
    "transform": (lambda value: LDA().set_output(transform=value), {"None"}),
}


def table_corpus(**fields):
    pa = pytest.importorskip("pyarrow")
    return Corpus.from_table(pa.table({"text": TEXTS}), **fields)


@pytest.mark.parametrize("name", METHODS)
def test_wrong_arguments_of_methods_are_refused_in_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    use, taken = METHODS[name]
    for key, value in ODD.items():
        if key in taken:
            continue
        with pytest.raises((ValueError, TypeError)) as caught:
            use(value)
        assert isinstance(caught.value, SparsetopicsError), (key, repr(caught.value))
        assert str(caught.value).isprintable(), key
        assert len(str(caught.value)) <= 400, key


@pytest.mark.parametrize("name", PATHS)
def test_what_is_no_path_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for key, value in ODD.items():
        if key != "word":
            with pytest.raises(OptionError, match=r"^path: must be a path") as caught:
                PATHS[name](value)
            assert is_one_line(caught.value, "path"), key

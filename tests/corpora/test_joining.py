"""n-grams and phrases against plain Python, and how they travel with a vocabulary."""

import collections
import json
import logging
from dataclasses import replace

import pyarrow as pa
import pytest
from gensim.models.phrases import Phrases
from hypothesis import given
from hypothesis import strategies as st

from resealing import reseal
from sparsetopics.base.errors import OptionError, VocabularyError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.readers.blocks import TextBlock
from sparsetopics.corpora.sources import byte_stream
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.tokenizer import FIRST_RULE, TokenizerOptions, count_texts
from sparsetopics.corpora.text.tokens import PhraseOptions
from sparsetopics.corpora.validate import validate
from sparsetopics.options.workplace import Workplace
from worlds.collections_on_disk import documents_of, write_jsonl

documents = st.lists(st.lists(st.sampled_from(["a", "b", "c", "a_b", "é"]), max_size=8), max_size=5)
ALL = PruningOptions(min_df=1, max_df=1.0)


def counted(texts, options):
    """Word counts of each document, after ``count_texts``."""
    nothing = pa.nulls(len(texts), pa.string())
    block = count_texts(TextBlock(nothing, nothing, pa.array(texts, pa.string())), options)
    words = block.words.to_pylist()
    assert len(set(words)) == len(words)
    return [
        dict(
            zip(
                [words[n] for n in block.word_ids[start:stop]],
                block.word_counts[start:stop].tolist(),
                strict=True,
            )
        )
        for start, stop in zip(block.indptr[:-1], block.indptr[1:], strict=True)
    ]


def plain_ngrams(tokens, longest):
    return collections.Counter(
        "_".join(tokens[start : start + n])
        for n in range(1, longest + 1)
        for start in range(len(tokens) - n + 1)
    )


def plain_phrases(tokens, phrases):
    words, n = [], 0
    while n < len(tokens):
        joins = tuple(tokens[n : n + 2]) in phrases
        words.append("_".join(tokens[n : n + 2]) if joins else tokens[n])
        n += 2 if joins else 1
    return collections.Counter(words)


@given(rows=documents, longest=st.integers(1, 4), stop=st.sets(st.sampled_from("abc")))
def test_ngrams_are_those_of_plain_python(rows, longest, stop):
    options = TokenizerOptions(r"\S+", ngrams=longest, stop_words=tuple(stop))

    found = counted([" ".join(row) for row in rows], options)

    left = [[token for token in row if token not in stop] for row in rows]
    assert found == [plain_ngrams(row, longest) for row in left]


@given(rows=documents, phrases=st.sets(st.tuples(*[st.sampled_from(["a", "b", "é", "zz"])] * 2)))
def test_phrases_are_joined_from_left_to_right(rows, phrases):
    options = TokenizerOptions(r"\S+", phrases=tuple(sorted(phrases)))

    found = counted([" ".join(row) for row in rows], options)

    assert found == [plain_phrases(row, phrases) for row in rows]


CITIES = ["new york", "hong kong", "los angeles"]
TEXTS = [
    f"the {CITIES[n % 3]} times and the {['big', 'small', 'old'][n % 3]} of it" for n in range(30)
]


def settings_of(folder):
    return json.loads((folder / "manifest.json").read_text())["tokenizer"]


def test_phrases_are_those_of_gensim_and_travel_with_the_vocabulary(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", TEXTS)
    options = PhraseOptions(threshold=0.6, min_count=3)
    pruning = PruningOptions(min_df=1, max_df=1.0, stop_words=frozenset(["the", "and"]))

    ingest([source], tmp_path / "train", IngestOptions(phrases=options, pruning=pruning))

    tokens = [[w for w in text.split() if len(w) > 2 and w not in ("the", "and")] for text in TEXTS]
    model = Phrases(tokens, min_count=3, threshold=0.6, scoring="npmi")
    expected = sorted(key.split("_") for key in model.export_phrases())
    assert ["hong", "kong"] in expected
    assert settings_of(tmp_path / "train") == {
        "lowercase": True,
        "phrases": expected,
        "stop_words": ["and", "the"],
        "rule": 2,
    }
    corpus = Corpus.open(tmp_path / "train")
    assert list(documents_of(corpus).values()) == [
        plain_phrases(row, set(map(tuple, expected))) for row in tokens
    ]
    assert validate(tmp_path / "train") == []
    held_out = write_jsonl(tmp_path / "b.jsonl", ["New York and the Hong Kong", "kong hong"])

    ingest([held_out], tmp_path / "heldout", IngestOptions(vocabulary=tmp_path / "train"))

    found = documents_of(Corpus.open(tmp_path / "heldout"))
    assert found == {"doc-0": {"new_york": 1, "hong_kong": 1}}
    assert settings_of(tmp_path / "heldout") == settings_of(tmp_path / "train")
    again = Corpus.from_texts(["new york"], vocabulary=corpus.vocabulary)
    assert documents_of(again) == {"0": {"new_york": 1}}


def test_phrases_depend_neither_on_workers_nor_on_blocks(tmp_path, monkeypatch):
    source = write_jsonl(tmp_path / "a.jsonl", TEXTS)
    alone = IngestOptions(phrases=PhraseOptions())
    ingest([source], tmp_path / "one", alone)
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 300)
    ingest(
        [source],
        tmp_path / "many",
        replace(alone, where=Workplace(workers=3)),
    )

    files = [path.name for path in (tmp_path / "one").iterdir()]
    assert [(tmp_path / "many" / f).read_bytes() for f in files] == [
        (tmp_path / "one" / f).read_bytes() for f in files
    ]


def test_finding_phrases_says_nothing_of_its_own(tmp_path, caplog):
    source = write_jsonl(tmp_path / "a.jsonl", TEXTS)
    told = []
    with caplog.at_level(logging.WARNING):
        ingest([source], tmp_path / "a", IngestOptions(phrases=PhraseOptions()), told.append)

    # A cluster of another test may still be closing.
    assert [name for name, *_ in caplog.record_tuples if not name.startswith("distributed")] == []
    assert told[0] == "finding phrases: 30 documents"


def test_ngrams_travel_with_the_vocabulary(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", TEXTS)
    stop_words = frozenset(["the", "and", "york"])
    options = IngestOptions(
        tokenizer=TokenizerOptions(ngrams=2),
        pruning=PruningOptions(min_df=1, max_df=1.0, stop_words=stop_words),
    )

    ingest([source], tmp_path / "train", options)
    ingest([source], tmp_path / "heldout", IngestOptions(vocabulary=tmp_path / "train"))

    train, heldout = (Corpus.open(tmp_path / name) for name in ("train", "heldout"))
    assert documents_of(heldout) == documents_of(train)
    assert heldout.n_unknown_tokens == 0
    assert documents_of(train)["doc-0"] == {
        **{"new": 1, "times": 1, "big": 1, "new_times": 1, "times_big": 1}
    }
    assert settings_of(tmp_path / "heldout")["ngrams"] == 2
    texts = Corpus.from_texts(TEXTS, ngrams=2, min_df=1, max_df=1.0, stop_words=stop_words)
    assert list(documents_of(texts).values()) == list(documents_of(train).values())


def test_plain_settings_stay_what_they_were():
    settings = {"token_pattern": "[a-z]+", "lowercase": False}

    options = TokenizerOptions("[a-z]+", lowercase=False, rule=FIRST_RULE)
    assert options.settings() == settings
    assert TokenizerOptions.from_settings(settings) == options


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: TokenizerOptions(ngrams=0), "ngrams: must be from 1 to 5, but is 0"),
        (lambda: TokenizerOptions(ngrams=6), "ngrams: must be from 1 to 5, but is 6"),
        (lambda: TokenizerOptions(ngrams=2, phrases=(("a", "b"),)), "combined with phrases"),
        (
            lambda: PhraseOptions(threshold=1.5),
            "phrase-threshold: must be from -1 to 1, but is 1.5",
        ),
        (
            lambda: PhraseOptions(threshold=float("nan")),
            "phrase-threshold: must be a number, but is nan",
        ),
        (lambda: PhraseOptions(min_count=0), "min_count: must be at least 1, but is 0"),
        (
            lambda: IngestOptions(phrases=PhraseOptions(), tokenizer=TokenizerOptions(ngrams=2)),
            "ngrams: cannot be combined with --phrases",
        ),
        (
            lambda: IngestOptions(phrases=PhraseOptions(), vocabulary="news"),
            "phrases: a given vocabulary has its own phrases",
        ),
    ],
)
def test_options_out_of_range_are_refused(make, found):
    with pytest.raises(OptionError, match=found):
        make()


def test_phrases_of_counts_are_refused(tmp_path):
    (tmp_path / "docword.a.txt").write_text("1\n1\n1\n1 1 1\n")

    with pytest.raises(OptionError, match=r"phrases: needs text, but .*docword\.a\.txt has counts"):
        ingest([tmp_path / "docword.a.txt"], tmp_path / "c", IngestOptions(phrases=PhraseOptions()))


@pytest.mark.parametrize("settings", [{"phrases": ["ab", "c"]}, {"phrases": 3}, {"ngrams": 99}])
def test_damaged_settings_are_refused(settings, tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", TEXTS)
    vocabulary = Corpus.from_texts(TEXTS).vocabulary
    damaged = type(vocabulary)(
        vocabulary.words, vocabulary.document_frequency, vocabulary.term_frequency, settings
    )
    ingest([source], tmp_path / "corpus")
    damaged.save(tmp_path / "corpus")
    reseal(tmp_path / "corpus")

    with pytest.raises(VocabularyError, match="does not know its tokeniser settings"):
        ingest([source], tmp_path / "out", IngestOptions(vocabulary=tmp_path / "corpus"))


# --- sentences ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("An owl. Cats sleep", {"cats_sleep"}),
        ("An owl! “Cats sleep?” Dogs", {"cats_sleep"}),
        ("see Prof. Smith, of St. Louis", {"see_prof", "prof_smith", "smith_louis"}),
        ("about 3.5 owls, e.g. cats", {"about_owls", "owls_cats"}),
        ("approx.  new \xa0 owls.) \n Cats sleep", {"approx_new", "new_owls", "cats_sleep"}),
        ("Owls sleep\n\nCats eat", {"owls_sleep", "cats_eat"}),
        ("उल्लू सोता। बिल्ली खाती।", {"उल्लू_सोता", "बिल्ली_खाती"}),
    ],
)
def test_words_do_not_join_across_the_end_of_a_sentence(text, pairs):
    words = Corpus.from_texts([text], ngrams=2, stop_words=["the"]).vocabulary.words

    assert {word for word in words if "_" in word} == pairs


def test_phrases_are_neither_learned_nor_joined_across_sentences():
    texts = ["the old Falcon. Nest of Falcon. Nest new"] * 9 + ["big owl far", "new cat far"] * 9
    options = {"phrases": True, "phrase_threshold": 0.1, "max_df": 1.0}

    assert "falcon_nest" not in Corpus.from_texts(texts, **options).vocabulary.words
    joined = [text.replace("Falcon. Nest", "Falcon Nest") for text in texts]
    assert "falcon_nest" in Corpus.from_texts(joined, **options).vocabulary.words

"""Lists of stop words by language, from files, and as Python gives them."""

import unicodedata

import pytest

from sparsetopics import Corpus
from sparsetopics.base.errors import OptionError, SparsetopicsWarning
from sparsetopics.cli.main import main
from sparsetopics.corpora.text.stop_words import language_codes, stop_words_of
from worlds.collections_on_disk import write_jsonl


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("english", {"the", "and", "would"}),
        ("de", {"und", "nicht", "über"}),
        ("fr", {"avec", "aujourd'hui", "aujourd", "hui"}),  # also in parts, as tokens are cut
        ("ru", {"как", "может быть"}),
    ],
)
def test_a_language_has_its_words(language, words):
    assert words <= stop_words_of(language)


def test_parts_of_phrases_are_no_stop_words():
    words = stop_words_of("vi")

    assert "bao giờ" in words
    assert "giờ" not in words


def test_every_list_has_words():
    assert len(language_codes()) > 50
    assert all(len(stop_words_of(code)) > 20 for code in language_codes())


def test_a_language_without_a_list_is_refused_with_those_that_have_one():
    with pytest.raises(
        OptionError, match=r"^stop_words: must be english or .*'xx'\. Codes: af, ar"
    ):
        stop_words_of("xx")


@pytest.mark.parametrize(
    ("stop_words", "words"),
    [
        (None, {"der", "hund", "und", "the", "owl"}),
        ("de", {"hund", "the", "owl"}),
        ("english,de", {"hund", "owl"}),
        ("none", {"der", "hund", "und", "the", "owl"}),
        (["owl", "hund"], {"der", "und", "the"}),
        ({"owl"}, {"der", "hund", "und", "the"}),
    ],
)
def test_python_takes_a_language_or_words(stop_words, words):
    corpus = Corpus.from_texts(["der hund und the owl"], stop_words=stop_words)

    assert set(corpus.vocabulary.words) == words


@pytest.mark.parametrize("stop_words", ["german", 3, [1], b"de"])
def test_others_are_refused(stop_words):
    with pytest.raises(OptionError, match=r"^stop_words"):
        Corpus.from_texts(["der hund"], stop_words=stop_words)


def test_the_command_adds_up_languages_and_files(tmp_path):
    from click.testing import CliRunner

    source = write_jsonl(tmp_path / "a.jsonl", ["der hund und the owl barked"])
    (tmp_path / "own.txt").write_text("barked\n")
    lists = ("de", "english", str(tmp_path / "own.txt"))
    said = [part for name in lists for part in ("--stop-words", name)]

    result = CliRunner().invoke(main, ["ingest", str(source), *said, "--out", str(tmp_path / "c")])

    assert result.exit_code == 0, result.output
    assert set(Corpus.open(tmp_path / "c").vocabulary.words) == {"hund", "owl"}


def test_a_file_is_a_list_in_python_too(tmp_path):
    (tmp_path / "own,list.txt").write_text("owl\n")

    corpus = Corpus.from_texts(["the owl", "hund the"], stop_words=str(tmp_path / "own,list.txt"))

    assert set(corpus.vocabulary.words) == {"the", "hund"}


def test_a_list_of_codes_gives_a_hint():
    said = r"stop_words was taken as a list of words; .*pass 'english,de'"
    with pytest.warns(SparsetopicsWarning, match=said) as caught:
        corpus = Corpus.from_texts(["der hund und the owl"], stop_words=["english", "de"])

    assert caught[0].filename == __file__
    assert len(corpus.vocabulary.words) == 5


def test_a_word_with_apostrophes_is_a_stop_word_if_its_parts_are():
    texts = ["don't it’s they're rock'n'roll l'eau's"]
    pattern = r"[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*"

    corpus = Corpus.from_texts(texts, stop_words="english", token_pattern=pattern)

    assert set(corpus.vocabulary.words) == {"rock'n'roll", "l'eau's"}


@pytest.mark.parametrize("options", [{}, {"ngrams": 2}, {"token_pattern": r"[\p{L}\p{M}]+"}])
def test_case_and_normal_form_do_not_matter(options):
    decomposed = [unicodedata.normalize("NFD", word) for word in ("Über", "हिन्दी", "क़लम")]
    texts = ["Über The OWL über क़लम हिन्दी", "the OWL the"]

    corpus = Corpus.from_texts(texts, stop_words=["THE", *decomposed], lowercase=False, **options)

    assert set(corpus.vocabulary.words) - {"OWL_OWL"} == {"OWL"}


def test_stop_words_of_scripts_with_marks_are_whole_words():
    words = stop_words_of("hi")

    assert "के" in words
    assert "क" not in words


def test_options_of_texts_are_those_of_ingest():
    texts = ["new york is big", "new york is far", "an owl", "an owl", "an owl"] * 3
    corpus = Corpus.from_texts(texts, phrases=True, phrase_threshold=0.1, min_df=2, max_df=0.7)

    assert "new_york" in corpus.vocabulary.words
    with pytest.raises(OptionError, match=r"^phrase_threshold: needs phrases"):
        Corpus.from_texts(texts, phrase_threshold=0.1)
    with pytest.raises(OptionError, match=r"^min_df: cannot be combined with vocabulary"):
        Corpus.from_texts(texts, min_df=2, vocabulary=corpus.vocabulary)
    with pytest.raises(OptionError, match=r"^ngrams: cannot be combined with phrases"):
        Corpus.from_texts(texts, ngrams=2, phrases=True)

"""Scripts without spaces: their words are found, and clauses never become words."""

import sys

import pytest
from click.testing import CliRunner

from sparsetopics import Corpus
from sparsetopics.base.errors import OptionError, SourceError, SparsetopicsWarning
from sparsetopics.cli.main import main
from sparsetopics.corpora.text.segmenting import SEGMENTED
from worlds.collections_on_disk import write_jsonl

# Sentences, and their words of two letters, a mark not counted. Of zh, from the README of jieba,
# cut as there; in traditional writing, of our own, cut as by ICU 78; of ja, from the constitution
# of Japan, article 41, cut as by MeCab with IPADIC; of th, from the test
# word-break-normal-th-000 of web-platform-tests, cut as there; the others, from the first article
# of the Universal Declaration of Human Rights, cut as by ICU 78.
SENTENCES = {
    "zh": (
        "我来到北京清华大学，他来到了网易杭研大厦。我爱北京天安门，今天天气不错。",
        "来到 北京 清华大学 网易 杭研 大厦 天安门 今天天气 不错",
    ),
    "zh-Hant": ("臺灣大學的學生來到臺北車站", "臺灣大學 學生 來到 臺北 車站"),
    "ja": (
        "国会は、国権の最高機関で、国の唯一の立法機関である。",
        "国会 国権 最高 機関 唯一 立法 ある",
    ),
    "th": ("ภาษาไทยภาษาไทย", "ภาษา ไทย"),
    "km": ("មនុស្សទាំងអស់កើតមកមានសេរីភាព", "មនុស្ស ទាំងអស់ កើតមក មាន សេរីភាព"),
    "lo": ("ມະນຸດທຸກຄົນເກີດມາມີສິດເສລີພາບ", "ມະນຸດ ທຸກຄົນ ເກີດ ມາ ສິດ ເສລີພາບ"),
    "my": ("လူတိုင်းသည် တူညီ လွတ်လပ်သော", "တိုင်း သည် တူညီ လွတ်လပ်"),
}
ENGLISH = ["the owls sleep", "the owls fly at night", "cats sleep"] * 3


def words_of(texts, **options):
    return list(Corpus.from_texts(texts, **options).vocabulary.words)


@pytest.mark.parametrize("name", SENTENCES)
def test_words_are_those_of_a_dictionary(name):
    text, words = SENTENCES[name]

    found = words_of([text], language=name[:2], stop_words=[])

    assert sorted(found) == sorted(set(words.split()))


@pytest.mark.parametrize("language", SEGMENTED)
def test_without_a_language_ingest_stops_and_names_the_option(language, tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", [SENTENCES[language][0]] * 3 + ENGLISH[:2])

    said = CliRunner().invoke(main, ["ingest", str(source), "--out", str(tmp_path / "c")])

    assert said.exit_code == 1
    assert "Pass --language ja, km, lo, my, th or zh" in said.output
    assert not (tmp_path / "c").exists()
    with pytest.raises(SourceError, match="Pass language ja"):
        Corpus.from_texts([SENTENCES[language][0]])


def test_a_few_documents_of_such_a_script_make_no_words():
    with pytest.warns(SparsetopicsWarning, match=r"^Skipped 1 document without a word: 9\.$"):
        words = words_of([*ENGLISH, "送餐很快"], language="en")

    assert words == ["owls", "sleep", "cats", "fly", "night"]


def test_both_scripts_of_a_collection_have_words():
    texts = ["AI模型很好 the owl", "don't 模型"]

    assert set(words_of(texts, language="zh", stop_words=[])) == {*["模型", "don", "owl", "the"]}


def test_words_end_where_the_script_changes():
    assert set(words_of(["ฉันใช้iPhoneทุกวัน"], language="th", stop_words=[])) == {
        *["ฉัน", "ใช้", "iphone", "ทุก", "วัน"]
    }


def test_a_pattern_takes_texts_that_spaces_divide():
    assert words_of(["模型 很 好"], token_pattern=r"\w+") == ["好", "很", "模型"]


def test_held_out_texts_are_divided_alike(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", [SENTENCES["zh"][0]] * 2)
    run = CliRunner().invoke
    made = run(main, ["ingest", str(source), "--out", str(tmp_path / "c"), "--language", "zh"])
    assert made.exit_code == 0, made.output
    corpus = Corpus.open(tmp_path / "c")

    again = Corpus.from_texts([SENTENCES["zh"][0]], vocabulary=corpus.vocabulary)

    assert corpus.vocabulary.tokenizer == {"lowercase": True, "language": "zh", "rule": 2}
    assert (again.to_csr().toarray()[0] == corpus.to_csr().toarray()[0]).all()
    assert "来到" in corpus.vocabulary.words


def test_spaces_without_width_divide_words_of_such_scripts():
    assert words_of(["ไทย\u200bกับ\u200bลาว"], language="th", stop_words=[]) == ["กับ", "ลาว", "ไทย"]


def test_a_language_chooses_its_stop_words_unless_others_are_given():
    texts = ["der hund und die eule"]

    assert words_of(texts, language="de") == ["eule", "hund"]
    assert words_of(texts, language="de", stop_words=["hund"]) == ["der", "die", "eule", "und"]
    assert "the" not in words_of(ENGLISH, language="en")


@pytest.mark.parametrize("language", ["xx", "english", ""])
def test_an_unknown_language_is_refused_with_those_there_are(language):
    with pytest.raises(OptionError, match=r"^language: must be the code.*Codes: af, ar, .*, zh"):
        Corpus.from_texts(ENGLISH, language=language)


@pytest.mark.parametrize("name", ["icu4py.breakers", "rjieba"])
def test_a_missing_library_is_named_before_anything_is_read(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(OptionError, match=f"^language: zh needs {name}, which is not installed\\."):
        Corpus.from_texts(["模型"], language="zh")

"""Parts of texts that are no words are removed if asked."""

import pytest
from click.testing import CliRunner

from sparsetopics import Corpus
from sparsetopics.base.errors import OptionError
from sparsetopics.cli.main import main
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from worlds.collections_on_disk import histograms, write_jsonl

TEXT = (
    "See https://owls.org/café?q=barn, ftp://nest.net or www.beak.com. Mail anna.kovac@uni.edu, "
    "ask @wing_span about #TreeNests &#1234; and rock@sea #1 a@b"
)
WORDS = {"see", "mail", "ask", "about", "and"}
PARTS = {
    "urls": {"https", "owls", "org", "café", "barn", "ftp", "nest", "net", "www", "beak", "com"},
    "emails": {"anna", "kovac", "uni", "edu"},
    "mentions": {"wing", "span"},
    "hashtags": {"treenests"},
}
OTHERS = {"rock", "sea"}  # of no address, and no mention


def words_of(*names):
    return set(histograms([TEXT], TokenizerOptions(remove=names))[0])


@pytest.mark.parametrize("name", PARTS)
def test_one_kind_of_parts_is_removed(name):
    others = set().union(*(words for other, words in PARTS.items() if other != name))

    assert words_of(name) == WORDS | OTHERS | others


def test_all_kinds_are_removed_in_whatever_order_they_are_named():
    assert words_of(*PARTS) == words_of(*reversed(PARTS)) == WORDS | OTHERS
    assert words_of() == WORDS | OTHERS | set().union(*PARTS.values())


@pytest.mark.parametrize(
    ("name", "language", "text", "words"),
    [
        ("urls", "zh", "看这里http://t.cn/abc，学习中文。 结束", "这里 学习 中文 结束"),
        ("urls", "th", "ไทยhttp://t.co/xyzไทย", "ไทย"),
        ("urls", "en", "Read (http://a.com/x). Owls", "read owls"),
        ("emails", "zh", "请发邮件到joe@x.com谢谢大家帮助", "发邮件 谢谢 大家 帮助"),
        ("mentions", "zh", "你好@owl 我们", "你好 我们"),
        ("hashtags", "zh", "你好#owl 我们", "你好 我们"),
    ],
)
def test_words_beside_a_part_stay(name, language, text, words):
    options = TokenizerOptions(remove=(name,), language=language)

    assert set(words.split()) == set(histograms([text], options)[0])


def test_the_option_may_be_given_twice(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", [TEXT] * 2)
    command = f"ingest {source} --out {tmp_path / 'c'} --remove urls,emails --remove mentions"

    assert CliRunner().invoke(main, command.split()).exit_code == 0

    settings = Corpus.open(tmp_path / "c").vocabulary.tokenizer
    assert settings["remove"] == ["urls", "emails", "mentions"]


def test_held_out_texts_lose_the_same_parts():
    corpus = Corpus.from_texts(["owl www.owl.org"], remove=["urls"])
    held_out = Corpus.from_texts(["owl www.owl.org"], vocabulary=corpus.vocabulary)

    assert corpus.vocabulary.tokenizer["remove"] == ("urls",)
    assert held_out.n_tokens == 1


@pytest.mark.parametrize("wrong", ["urls", ["links"], ["urls", "urls"]])
def test_other_names_are_refused(wrong):
    with pytest.raises(OptionError, match=r"^remove: "):
        Corpus.from_texts(["owl"], remove=wrong)

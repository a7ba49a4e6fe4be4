"""Nothing vanishes without a word: what became of tokens, letters and documents."""

import json

import pytest
from click.testing import CliRunner

from sparsetopics import Corpus
from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.cli.main import main

TEXTS = ["the owl and the cat", "the owl", "the dog", "the ox", "", "an", "the owl cat"]


def ingested(tmp_path, texts, *options):
    source = tmp_path / "a.lines"
    source.write_text("".join(f"{text}\n" for text in texts))
    words = ["ingest", source, "--out", tmp_path / "c", "--overwrite", *options]
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result


def test_ingest_ends_with_the_account_of_its_words(tmp_path):
    options = ("--stop-words", "english", "--min-df", 2, "--max-words", 1)

    result = ingested(tmp_path, TEXTS, *options)

    assert result.stdout.splitlines()[1:] == [
        "Skipped 4 documents without a word: 2, 3, 4, 5.",
        "Read 13 tokens and kept 3, but not 7 stop words, 1 in too few documents and 2 of too rare "
        "words. The commonest words are owl.",
    ]


@pytest.mark.parametrize("more", [{}, {"ngrams": 2}])
def test_python_has_the_same_account(tmp_path, more):
    options = [part for name, value in more.items() for part in (f"--{name}", str(value))]
    made = json.loads(
        ingested(tmp_path, TEXTS, "--json", "--stop-words", "english", *options).stdout
    )

    with pytest.warns(SparsetopicsWarning, match=r"^Skipped 3 documents .*: 3, 4, 5\.$"):
        account = Corpus.from_texts(TEXTS, stop_words="english", **more).account

    assert made["account"] == json.loads(json.dumps(account._asdict()))
    assert account.n_read == account.n_kept + sum(account.left_out.values())
    assert account.left_out["stop_words"] == 7
    assert account.lost_letters == pytest.approx(4 / 43)  # ox, an


def test_tokens_outside_a_given_vocabulary_are_counted(tmp_path):
    words = Corpus.from_texts(["the owl"]).vocabulary

    account = Corpus.from_texts(["the cat saw the owl"], vocabulary=words).account

    assert (account.n_read, account.n_kept) == (5, 3)
    assert account.left_out == {"vocabulary": 2}
    assert account.commonest == ()


def test_lost_letters_are_a_warning(tmp_path):
    texts = ["ab cd ef the"] * 3

    assert (
        "Warning: 67% of the letters do not belong to any word." in ingested(tmp_path, texts).stderr
    )
    with pytest.warns(
        SparsetopicsWarning, match=r"^67% of the letters do not belong to any word\."
    ):
        Corpus.from_texts(texts)


def test_letters_are_counted_by_pattern_and_function_too():
    texts = ["наша Eule the 42"]

    with pytest.warns(SparsetopicsWarning, match="letters do not belong to any word"):
        by_pattern = Corpus.from_texts(texts, token_pattern="[a-z]{4,}").account
    by_function = Corpus.from_texts(texts, tokenizer="shlex:split").account

    assert by_pattern.lost_letters == pytest.approx(7 / 11)
    assert by_function.lost_letters == 0


def test_web_addresses_give_a_hint(tmp_path):
    texts = ["see https://a.org/owl", "owl www.b.org"]

    said = ingested(tmp_path, texts).stderr

    hint = "To remove web addresses, pass urls to the option remove."
    assert f"Warning: https and www are very common. {hint}" in said


def test_empty_documents_count_for_no_limit(tmp_path):
    texts = [f"common word{'abcdefghij'[n % 10]}x" for n in range(60)]

    with pytest.warns(SparsetopicsWarning, match="Skipped"):
        padded = Corpus.from_texts([*texts, *[""] * 80], max_df=0.5)

    assert padded.vocabulary.words == Corpus.from_texts(texts, max_df=0.5).vocabulary.words
    assert "common" not in padded.vocabulary.words
    with pytest.warns(SparsetopicsWarning, match="Skipped"):  # fewer than 100 with words: no limit
        assert "common" in Corpus.from_texts([*texts, *[""] * 80]).vocabulary.words


def test_all_skipped_documents_are_in_json_and_the_first_are_named(tmp_path):
    texts = ["owl", *["--"] * 9]

    result = ingested(tmp_path, texts)
    record = json.loads(ingested(tmp_path, texts, "--json").stdout)

    assert "Skipped 9 documents without a word: 1, 2, 3, 4, 5, …." in result.stdout
    assert record["account"]["skipped"] == [str(n) for n in range(1, 10)]


def test_an_account_survives_an_interruption_and_workers(tmp_path):
    texts = [f"owl dog{n % 7} at" if n % 3 else "cat dog at" for n in range(3000)]

    one, more = (
        json.loads(ingested(tmp_path, texts, "--json", "--workers", n).stdout) for n in (1, 3)
    )

    assert one == more
    assert one["account"]["lost_letters"] > 0

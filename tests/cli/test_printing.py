"""What commands print: no control character of a source reaches a terminal; tables are narrow."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from printed_tables import table_of
from sparsetopics.cli.main import main
from sparsetopics.cli.printing import WIDTH, score_lines

EVIL = "e\x1b]0;owned\x07\u202e\x9b2J\nl"  # sets a title, turns the line round, clears the screen
ESCAPED = "e\\x1b]0;owned\\x07\\u202e\\x9b2J\\nl"
QUICK = ("--laps", 2, "--topics", 2)


def printed_by(*arguments, status=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    for line in [*result.stdout.split("\n"), *result.stderr.split("\n")]:
        assert line.isprintable(), line
    return result


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with a hostile name, texts with hostile words, ids and labels, and vectors."""
    folder = tmp_path_factory.mktemp("printing")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        word = EVIL.replace("\n", "\u2028")
        rows = [
            {"id": f"{EVIL}{n}", "text": f"{word} {word}x{n % 3} other", "label": f"{EVIL}{n % 2}"}
            for n in range(24)
        ]
        (folder / EVIL).mkdir()
        source = folder / EVIL / f"{EVIL}.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        vectors = np.random.default_rng(0).normal(size=(40, 3))
        np.savez(folder / EVIL / "v.npz", values=vectors, labels=np.array([EVIL, "b"] * 20))
        printed_by("ingest", source, "--token-pattern", "[^ ]+", "--min-df", 1, "--max-df", 1.0,
                   "--out", f"{EVIL}/corpus")  # fmt: skip
        printed_by("ingest", f"{EVIL}/v.npz", "--out", f"{EVIL}/vectors")
        printed_by("train", f"{EVIL}/corpus", "--model", "lda", *QUICK, "--out", f"{EVIL}/run")
        printed_by("train", f"{EVIL}/vectors", "--model", "mixture", *QUICK,
                   "--out", f"{EVIL}/mixture")  # fmt: skip
        yield folder


@pytest.mark.parametrize(
    "command",
    [
        "topics @/run",
        "evaluate @/run @/corpus",
        "evaluate @/mixture @/vectors",
        "corpus info @/corpus",
        "corpus validate @/corpus",
        "corpus split @/corpus --out-train @/a --out-heldout @/b --overwrite",
        "corpus export @/corpus --to lda-c --out @/c --overwrite",
        "ingest @/@.jsonl --token-pattern [^\\s]+ --out @/again --overwrite",
        "train @/corpus --model lda --laps 1 --topics 2 --out @/more --overwrite",
        "resume @/run",
        "infer @/run @/corpus --out @/p.parquet --overwrite",
        "export @/run --to csv --out @/e.csv --overwrite",
        "report @/run --out @/r.html --overwrite",
        "repair @/run",
    ],
)
def test_no_command_prints_what_a_terminal_obeys(world, monkeypatch, command):
    monkeypatch.chdir(world)

    found = printed_by(*(word.replace("@", EVIL) for word in command.split()))

    if "info" not in command:
        assert "e\\x1b]0;own" in found.output
    assert json.loads(printed_by(*(w.replace("@", EVIL) for w in command.split()), "--json").stdout)


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("topics @/missing", 1),
        ("topics -v @/missing", 1),
        ("@", 2),
        ("topics --@ run", 2),
        ("ingest x --format @ --out y", 1),
        ("train @/corpus --config @/none.toml --out x", 1),
        ("train @/corpus --out @/run", 1),
        ("corpus split @/corpus --held-out-share @ --out-train a --out-heldout b", 1),
        ("denoise @/mixture @/v.npz --out x", 1),
    ],
)
def test_no_error_prints_what_a_terminal_obeys(world, monkeypatch, command, status):
    monkeypatch.chdir(world)

    found = printed_by(*(word.replace("@", EVIL) for word in command.split()), status=status)

    assert "\\x1b]0;owned" in found.stderr


# --- tables of scores -----------------------------------------------------------------------------
TOPIC_SCORES = {
    "log_likelihood_per_token": -7.08561, "standard_error": 0.13781, "perplexity": 1194.61,
    "unigram_log_likelihood_per_token": -7.47791, "npmi": -0.485, "u_mass": -11.5,
    "c_v": 0.41, "c_npmi": -0.12, "diversity": 0.912, "inverted_rbo": 0.953,
    "elbo_per_token": -7.27341, "criterion_per_token": -7.24522, "n_topics": 138,
}  # fmt: skip
MIXTURE_SCORES = {
    "log_likelihood_per_item": -1048.71321, "standard_error": 0.13781, "elbo_per_item": -1050.12341,
    "n_components": 1050, "n_used_components": 1018, "nmi": 0.91231, "hungarian_accuracy": 0.81231,
    "majority_accuracy": 0.85123,
}  # fmt: skip


@pytest.mark.parametrize("scores", [TOPIC_SCORES, MIXTURE_SCORES])
@pytest.mark.parametrize("name", ["run", "runs/news-of-today/dp-mixture-50"])
def test_a_table_fits_a_terminal_and_holds_every_score(scores, name):
    lines = score_lines([name, "other"], ["dp-mixture", "HDP"], [scores, scores])

    assert max(map(len, lines)) <= WIDTH
    first, second = table_of("\n".join(lines)).values()
    assert first | {"run": "", "model": ""} == second | {"run": "", "model": ""}
    assert len(first) == len(scores) + 2


def test_names_are_cut_only_if_that_tells_them_apart():
    long = "experiments/{}/of-a-long-series/run"
    (short,) = table_of("\n".join(score_lines([long], ["LDA"], [TOPIC_SCORES])))
    both = table_of("\n".join(score_lines([long.format(n) for n in "ab"], ["LDA"] * 2, [{}, {}])))

    assert len(short) == 24
    assert list(both) == [long.format(n) for n in "ab"]


def test_missing_scores_are_dashes_and_empty_columns_are_left_out():
    lines = score_lines(["a", "b"], ["LDA", "HDP"], [{"npmi": 0.5}, {"npmi": None, "c_v": None}])

    assert [line.split() for line in lines] == [
        ["run", "model", "NPMI"], ["a", "LDA", "0.500"], ["b", "HDP", "-"]
    ]  # fmt: skip

"""Names that no file can have, and patterns that ``re`` cannot compile, end in one line."""

import pytest
from click.testing import CliRunner

from sparsetopics import LDA, SparsetopicsError, load
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.text.tokenizer import TokenizerOptions

NAMES = {
    "long": "x" * 5000,
    "long-part": f"folder/{'x' * 300}",
    "deep": "x/" * 3000,
    "nul": "a\0b",
    "pattern": "x" * 300 + "*",
}
COMMANDS = [
    "ingest X --out o",
    "ingest a.txt --out X",
    "ingest a.txt --append X",
    "ingest a.txt --out o --vocabulary X",
    "ingest a.txt --out o --vocabulary-file X --format lda-c",
    "ingest a.txt --out o --stop-words X",
    "ingest a.txt --out o --tokenizer X:f",
    "ingest a.txt --out o --format X",
    "ingest a.npy --out o --projection X",
    "train X --out o",
    "train folder --out X",
    "train folder --out o --heldout X",
    "train folder --out o --config X",
    "train folder --out o --start X",
    "resume X",
    "corpus info X",
    "corpus validate X",
    "corpus split X --out-train o --out-heldout p",
    "corpus split folder --out-train X --out-heldout p",
    "corpus export X --to lda-c --out o",
    "corpus export folder --to lda-c --out X",
    "evaluate X folder",
    "evaluate folder X",
    "evaluate folder folder --texts X",
    "infer X folder --out o.parquet",
    "infer folder X --out o.parquet",
    "infer folder folder --out X",
    "topics X",
    "topics folder --names X",
    "denoise X a.png --out o",
    "denoise folder X --out o",
    "denoise folder a.png --out X",
    "denoise folder a.png --out o --clean X",
    "report X --out o.html",
    "report folder --out X",
    "export X --to csv --out o",
    "export folder --to csv --out X",
    "repair X",
    "quickstart --out X",
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.txt").write_text("owl cat dog")
    return tmp_path


def one_line(arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1, (result.output, result.exception)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 3500
    return result.stderr


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", COMMANDS)
def test_names_on_the_command_line(command):
    for name in NAMES.values():
        one_line([word.replace("X", name) for word in command.split()])


@pytest.mark.usefixtures("here")
def test_a_name_that_is_too_long_is_told_as_such():
    assert "cannot be read (File name too long)" in one_line(["ingest", "x" * 5000, "--out", "o"])


def test_names_in_a_config_file(here):
    (here / "a.toml").write_text('heldout = "a\\u0000b"\n')

    line = one_line(["train", "folder", "--out", "o", "--config", "a.toml"])

    assert r"a.toml, heldout: must be a file or folder, but is 'a\x00b'" in line


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_in_python(name, here):
    model = LDA(2, max_iter=1).fit(Corpus.from_texts(["owl cat", "dog cat"]))
    for use in (
        lambda: ingest([name], here / "o"),
        lambda: Corpus.open(name),
        lambda: VectorCorpus.open(name),
        lambda: load(name),
    ):
        with pytest.raises(SparsetopicsError):
            use()
    if name != NAMES["pattern"]:
        with pytest.raises(SparsetopicsError):
            ingest([here / "a.txt"], name)
        with pytest.raises(SparsetopicsError):
            model.save(name)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a)" * 2000, "has 2,000 groups, but may have one at most"),
        ("(" * 2000 + ")" * 2000, "recursion"),
        ("(?:" * 2000 + "a" + ")" * 2000, "recursion"),
        ("a{99999999999}", "repeats a part too often"),
        ("[a-z]{2,99999999999999999999}", "repeats a part too often"),
        (r"(?:(?:\w{9999}){9999}){9999}", "repeats a part too often"),
        (r"(?x)(?:(?:[a-z]{999}) {999}) {9}", "repeats a part too often"),
        (f"a{{{'9' * 5000}}}", "repeats a part too often"),
        ("[" * 100_000, "unterminated character set"),
    ],
)
@pytest.mark.filterwarnings("ignore:Possible nested set")
def test_patterns_that_are_too_large(pattern, why, here):
    with pytest.raises(SparsetopicsError, match=why) as caught:
        TokenizerOptions(pattern)
    line = one_line(["ingest", "a.txt", "--out", "o", "--token-pattern", pattern])

    assert "token_pattern: " in str(caught.value) or "token-pattern: " in str(caught.value)
    assert "--token-pattern: " in line
    assert len(str(caught.value)) < 400

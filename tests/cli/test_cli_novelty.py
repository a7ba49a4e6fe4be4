"""``sparsetopics infer --novelty``: what it writes, prints and refuses."""

import json
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from sparsetopics.answers.novelty import LEAST_NOVELTY
from sparsetopics.cli.main import main
from worlds.streams import around_event, draw_stream

N_FIRST = 200
GIVEN = ("infer", "run", "june", "--novelty", "corpus")


def called(*words, status=0):
    made = CliRunner().invoke(main, [*map(str, words)])
    assert made.exit_code == status, made.output
    return made


def write_documents(path, documents, dates):
    records = [
        {"id": f"{Path(path).stem}{n}", "date": date, "text": " ".join(words)}
        for n, (words, date) in enumerate(zip(documents, dates, strict=True))
    ]
    Path(path).write_text("\n".join(map(json.dumps, records)) + "\n")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A run, and documents of three nights, of which the last two have a theme that the run lacks.

    ``june`` has the words of the run, and ``grown`` those of the new documents too.
    """
    folder = tmp_path_factory.mktemp("novelty")
    stream = around_event(draw_stream("arrives", 0, n_first=N_FIRST, n_nights=22), 1, 2)
    kept = ("--keep", "date", "--date-format", "date=%Y-%m-%d", "--quiet")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        first, *nights = stream.nights
        dates = [f"2026-06-0{n}" for n, night in enumerate(nights, start=1) for _ in night]
        dates[3] = None
        write_documents("first.jsonl", first, ["2026-05-01"] * len(first))
        write_documents("later.jsonl", [words for night in nights for words in night], dates)
        called("ingest", "first.jsonl", *kept, "--out", "corpus")
        lda = ("--model", "lda", "--topics", 10, "--laps", 8, "--quiet")
        called("train", "corpus", *lda, "--out", "run")
        mixture = ("--model", "mixture", "--likelihood", "multinomial", "--topics", 2, "--laps", 2)
        called("train", "corpus", *mixture, "--quiet", "--out", "mixture")
        called("ingest", "later.jsonl", "--vocabulary", "run", *kept, "--out", "june")
        called("ingest", "first.jsonl", *kept, "--out", "grown")
        called("ingest", "later.jsonl", "--append", "grown", "--grow-vocabulary", "--quiet")
        Path("other.lines").write_text("owl cat\ndog elk\n" * 10)
        called("ingest", "other.lines", "--out", "few", "--quiet")
    return folder


@pytest.fixture(autouse=True)
def here(world, monkeypatch):
    monkeypatch.chdir(world)


def course_by_hand(table):
    """The course from the rows of the file."""
    novelty, starts = np.array(table["novelty"]), [each and str(each) for each in table["from"]]
    for start in sorted({*starts} - {None}):
        own = novelty[[each == start for each in starts]]
        yield start, len(own), own.mean(), (own >= LEAST_NOVELTY).sum()


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "arrow"])
def test_each_document_has_a_row(tmp_path, ending):
    out = tmp_path / f"out.{ending}"

    said = called(*GIVEN, "--out", out).stdout

    assert said == f"Wrote a row for each of 240 documents to {out}.\n"
    assert out.stat().st_size > 0


def test_ids_that_spreadsheets_take_for_formulas_get_an_apostrophe(tmp_path):
    words = ["=1+1", *json.loads(Path("first.jsonl").read_text().splitlines()[0])["text"].split()]
    record = {"id": words[0], "date": "2026-06-01", "text": " ".join(words)}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n")
    called("ingest", tmp_path / "a.jsonl", "--vocabulary", "run", "--out", tmp_path / "a")
    given = ("infer", "run", tmp_path / "a", "--novelty", "corpus", "--out")

    called(*given, tmp_path / "plain.csv")
    called(*given, tmp_path / "safe.csv", "--spreadsheet-safe")

    plain, safe = ((tmp_path / f"{name}.csv").read_text() for name in ("plain", "safe"))
    assert '"=1+1"' in plain
    assert safe == plain.replace('"=1+1"', '"\'=1+1"')


def test_the_course_is_that_of_the_rows(tmp_path):
    out = tmp_path / "out.parquet"
    given = (*GIVEN, "--over", "date:day", "--out", out)

    said = json.loads(called(*given, "--json").stdout)

    table = pyarrow.parquet.read_table(out).to_pydict()
    assert list(table) == ["doc_id", "n_tokens", "novelty", "from"]
    assert table["doc_id"] == [f"later{n}" for n in range(240)]
    assert table["from"][3] is None
    assert said["n_documents"] == 240
    assert said["n_novel"] == sum(each >= LEAST_NOVELTY for each in table["novelty"])
    expected = [dict(zip(said["course"][0], row, strict=True)) for row in course_by_hand(table)]
    assert [each["from"] for each in said["course"]] == [f"2026-06-0{n}" for n in (1, 2, 3)]
    assert [each["n_documents"] for each in said["course"]] == [79, 80, 80]
    for mine, theirs in zip(said["course"], expected, strict=True):
        assert mine == pytest.approx(theirs)

    lines = called(*given, "--overwrite").stdout.splitlines()
    assert lines[0].split() == ["from", "documents", "novelty", "novel"]
    for line, row in zip(lines[1:4], said["course"], strict=True):
        shown = [row["from"], str(row["n_documents"]), f"{row['mean_novelty']:.2f}"]
        assert line.split() == [*shown, str(row["n_novel"])]


def test_new_words_make_a_theme_more_novel(tmp_path):
    said = {}
    for corpus in ("june", "grown"):
        out = tmp_path / f"{corpus}.csv"
        called("infer", "run", corpus, "--novelty", "corpus", "--out", out)
        table = pyarrow.csv.read_csv(out).to_pydict()
        said[corpus] = np.array(table["novelty"])[-240:]

    quiet, loud = slice(0, 80), slice(80, 240)
    n_novel = {name: (found >= LEAST_NOVELTY) for name, found in said.items()}
    assert n_novel["grown"][loud].sum() > n_novel["june"][loud].sum()
    assert n_novel["grown"][loud].mean() > 3.0 * n_novel["grown"][quiet].mean()


def test_the_number_of_workers_changes_no_bit(tmp_path):
    found = []
    for workers in (1, 2):
        called(*GIVEN, "--workers", workers, "--out", tmp_path / f"{workers}.parquet")
        found.append((tmp_path / f"{workers}.parquet").read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((*GIVEN, "--top", 3), "--novelty: is for a corpus, without --top, --tokens and --themes"),
        ((*GIVEN, "--tokens"), "--novelty: is for a corpus, without --top, --tokens and --themes"),
        ((*GIVEN, "--themes", 2), "--novelty: is for a corpus, without --top"),
        (("infer", "run", "june", "--over", "date:day"), "--over: needs --novelty"),
        ((*GIVEN, "--over", "nothing:day"), "nothing"),
        ((*GIVEN, "--over", "date:century"), "century"),
        (("infer", "run", "--text", "a", "--novelty", "corpus"), "--novelty: is for a corpus"),
        (("infer", "run", "-", "--novelty", "corpus"), "--novelty: is for a corpus"),
        (("infer", "mixture", "june", "--novelty", "corpus"), "needs topics of LDA or an HDP"),
        (("infer", "run", "june", "--novelty", "nowhere"), "nowhere"),
        (("infer", "run", "june", "--novelty", "few"), "few"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, words, problem):
    stderr = called(*words, "--out", tmp_path / "out.csv", status=1).stderr

    assert stderr.count("\n") == 1, stderr
    assert problem in stderr
    assert not [*tmp_path.iterdir()]


def test_a_file_is_replaced_only_if_asked(tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("precious")

    assert "--overwrite" in called(*GIVEN, "--out", out, status=1).stderr
    assert out.read_text() == "precious"
    called(*GIVEN, "--out", out, "--overwrite")
    assert out.read_text().startswith('"doc_id","n_tokens","novelty"')

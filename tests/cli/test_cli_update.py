"""``sparsetopics update`` and ``diff``: what they write, say again and refuse."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sparsetopics import LDA, Corpus
from sparsetopics.cli.main import main
from sparsetopics.corpora.append import append
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run
from worlds.streams import N_THEMES, around_event, draw_stream

CONTROL = "\x1b[31mred\u202e"
QUICK = ("--model", "lda", "--topics", 10, "--laps", 8, "--quiet")


def called(*words, status=0):
    made = CliRunner().invoke(main, [*map(str, words)])
    assert made.exit_code == status, made.output
    return made


def told(*words, status=0):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(called(*words, "--json", status=status).stdout, parse_constant=refuse)


def refusal(*words):
    stderr = called(*words, status=1).stderr
    assert stderr.count("\n") == 1, stderr
    return stderr


def bytes_of(folder):
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


def write_night(path, documents, first):
    """Documents of a night; their ids and a word of some of them would control a terminal."""
    lines = [
        json.dumps({"id": f"{CONTROL}{first + n}", "text": " ".join(words)})
        for n, words in enumerate(documents)
    ]
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A corpus that has grown by two nights in which a theme has arrived, and a run from before."""
    folder = tmp_path_factory.mktemp("update")
    stream = around_event(draw_stream("arrives", 0, n_first=300, n_nights=22), 0, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        first, *nights = stream.nights
        write_night("first.jsonl", first, 0)
        write_night("later.jsonl", [words for night in nights for words in night], len(first))
        ingest([Path("first.jsonl")], Path("corpus"), IngestOptions())
        called("train", "corpus", *QUICK, "--out", "lda")
        mixture = ("--model", "mixture", "--likelihood", "multinomial", "--topics", 2, "--laps", 2)
        called("train", "corpus", *mixture, "--quiet", "--out", "mixture")
        called("path", "corpus", "--rungs", "4,2", "--laps", 2, "--quiet", "--out", "path")
        Path("vectors.csv").write_text("a,b\n" + "".join(f"{n},{-n}\n" for n in range(20)))
        called("ingest", "vectors.csv", "--kind", "vectors", "--quiet", "--out", "vectors")
        shutil.copytree("corpus", "before")
        append([Path("later.jsonl")], Path("corpus"), IngestOptions(grow_vocabulary=True))
        called("update", "lda", "corpus", "--quiet", "--out", "updated")
    return folder


@pytest.fixture(autouse=True)
def here(world, monkeypatch):
    monkeypatch.chdir(world)
    yield
    for name in ("out", "again"):
        shutil.rmtree(name, ignore_errors=True)


def test_an_update_learns_new_documents_and_words():
    said = told("update", "lda", "corpus", "--quiet", "--out", "out")

    run, corpus = load_run(Path("out"), TopicPosterior), Corpus.open("corpus")
    before = load_run(Path("lda"), TopicPosterior)
    assert said["run"] == "out"
    assert said["is_new"]
    assert said["n_new_documents"] == corpus.n_docs - 300
    assert said["n_new_words"] == corpus.n_words - before.model.n_words > 0
    assert run.vocabulary.words == corpus.vocabulary.words
    assert {topic.id for topic in run.topics} == {topic.id for topic in before.topics}
    new = [change for change in said["changes"] if change["is_news"]]
    assert any(change["kind"] == "no topic fits" for change in new)
    names = {f"{CONTROL}{n}" for n in range(300, corpus.n_docs)}
    assert {name for change in new for name in change["documents"]} <= names
    assert bytes_of("out").keys() == bytes_of("lda").keys() - {"config.toml"}


def test_the_same_update_gives_the_same_bytes():
    called("update", "lda", "corpus", "--quiet", "--workers", 2, "--out", "out")

    for name in ("model.safetensors", "themes.json", "vocabulary.parquet"):
        assert Path("out", name).read_bytes() == Path("updated", name).read_bytes()


def test_an_update_that_is_repeated_changes_nothing():
    before = bytes_of("updated")

    said = called("update", "lda", "corpus", "--out", "updated")

    assert said.stdout == "updated is up to date.\n"
    assert told("update", "lda", "corpus", "--out", "updated") == {
        "run": "updated",
        "is_new": False,
    }
    assert bytes_of("updated") == before


def test_quiet_updates_say_nothing():
    assert called("update", "lda", "corpus", "--quiet", "--out", "out").output == ""
    assert called("update", "lda", "corpus", "--quiet", "--out", "out").output == ""


def test_an_empty_night_gives_the_same_topics():
    said = called("update", "lda", "before", "--out", "out")

    assert "Learned 0 new documents and 0 new words. Wrote out." in said.stdout
    assert "There are no new documents." in said.stdout
    model = Path("out", "model.safetensors").read_bytes()
    assert model == Path("lda", "model.safetensors").read_bytes()
    assert called("diff", "lda", "out", "--exit-code").stdout == "Topics without news: 10.\n"
    assert called("diff", "lda", "out", "--corpus", "before", "--exit-code").exit_code == 0


@pytest.mark.parametrize("made", ["run", "corpus", "folder", "file"])
def test_something_else_is_not_replaced(made):
    if made == "run":
        shutil.copytree("mixture", "out")
    elif made == "corpus":
        shutil.copytree("before", "out")
    elif made == "folder":
        Path("out").mkdir()
        Path("out", "thesis.txt").write_text("precious")
    else:
        Path("out").write_text("precious")
    before = bytes_of("out") if made != "file" else Path("out").read_text()

    assert "out: " in refusal("update", "lda", "corpus", "--out", "out")
    if made != "run":
        refusal("update", "lda", "corpus", "--overwrite", "--out", "out")

    assert before == (bytes_of("out") if made != "file" else Path("out").read_text())
    if made == "file":
        Path("out").unlink()


@pytest.mark.parametrize("command", ["update", "diff"])
@pytest.mark.parametrize(
    ("run", "problem"),
    [
        ("mixture", "the model must be one of lda, hdp, but is 'mixture'"),
        ("path", "expected a run folder, but found a topic path"),
        ("corpus", "expected a run folder, but found a corpus folder"),
        ("vectors", "expected a run folder, but found a corpus folder"),
        ("nowhere", "expected a run folder, but found no such folder"),
        ("damaged", "model.safetensors"),
    ],
)
def test_other_runs_are_refused(command, run, problem):
    if run == "damaged" and not Path("damaged").exists():
        shutil.copytree("lda", "damaged")
        data = bytearray(Path("damaged/model.safetensors").read_bytes())
        data[-9] ^= 1
        Path("damaged/model.safetensors").write_bytes(data)

    if command == "update":
        assert problem in refusal("update", run, "corpus", "--out", "out")
        assert not Path("out").exists()
    else:
        assert problem in refusal("diff", run, "lda")
        assert problem in refusal("diff", "lda", run)


@pytest.mark.parametrize(
    ("corpus", "problem"),
    [
        ("vectors", "vectors"),
        ("lda", "lda"),
        ("nowhere", "found no such folder"),
        ("other-words", "but found another vocabulary"),
        ("other-documents", "expected the 300 documents that lda was trained with and others"),
    ],
)
def test_other_corpora_are_refused(corpus, problem):
    if corpus == "other-words" and not Path(corpus).exists():
        Path("w.lines").write_text("owl cat\ndog elk\n" * 200)
        ingest([Path("w.lines")], Path(corpus), IngestOptions())
    if corpus == "other-documents" and not Path(corpus).exists():
        called("ingest", "later.jsonl", "--vocabulary", "lda", "--quiet", "--out", corpus)

    for words in (
        ("update", "lda", corpus, "--out", "out"),
        ("diff", "lda", "updated", "--corpus", corpus),
    ):
        said = refusal(*words)
        assert said.startswith(f"Error: {corpus}: ")
        assert problem in said
    assert not Path("out").exists()


def test_out_may_be_no_input():
    before = bytes_of("lda")

    assert "the output is the input" in refusal(
        "update", "lda", "corpus", "--overwrite", "--out", "lda"
    )
    assert "lies inside" in refusal("update", "lda", "corpus", "--out", "lda/more")
    assert bytes_of("lda") == before


def test_diff_ends_with_status_3_if_there_is_something_to_tell():
    words = ("diff", "lda", "updated", "--corpus", "corpus")

    found = told(*words, "--exit-code", status=3)["changes"]

    assert found == told(*words)["changes"]
    assert {change["kind"] for change in found if change["is_news"]} >= {"no topic fits"}
    assert called("diff", "lda", "lda", "--exit-code").exit_code == 0
    assert "status" not in called(*words, "--exit-code", status=3).stderr


def test_update_and_diff_say_the_same():
    said = told("update", "lda", "corpus", "--out", "out")

    assert told("diff", "lda", "out", "--corpus", "corpus")["changes"] == said["changes"]


def test_hostile_words_and_names_do_not_reach_a_terminal():
    """Words of a matrix are any strings."""
    rng = np.random.default_rng(0)
    words = [f"{CONTROL}{n}" for n in range(20)]
    for seed, name in enumerate(("one", "other")):
        counts = rng.multinomial(30, rng.dirichlet(np.full(20, 0.1), 3), (20, 3)).sum(axis=1)
        LDA(3, max_iter=2, random_state=seed).fit(Corpus.from_csr(counts, words)).save(name)

    said = called("diff", "one", "other").stdout

    assert "red" in said
    assert not {"\x1b", "\u202e"} & {*said}


def test_what_was_told_is_kept_with_the_run():
    assert ("no topic fits", "") in load_run(Path("updated"), TopicPosterior).settings["told"]


def test_hostile_ids_and_words_do_not_reach_a_terminal():
    for words in (
        ("diff", "lda", "updated", "--corpus", "corpus"),
        ("update", "lda", "corpus", "--out", "out"),
    ):
        said = called(*words)
        assert "red" in said.stdout
        assert not {"\x1b", "\u202e"} & {*said.stdout}
        shutil.rmtree("out", ignore_errors=True)
        raw = called(*words, "--json").stdout
        assert not {"\x1b", "\u202e"} & {*raw}
        shutil.rmtree("out", ignore_errors=True)


def test_documents_that_are_named_are_of_the_theme_that_arrived(world):
    lines = called("diff", "lda", "updated", "--corpus", "corpus").stdout.splitlines()

    (head,) = (line for line in lines if line.startswith("No topic fits: "))
    letter = chr(97 + N_THEMES)
    assert f"themea{letter}word" in head
    assert lines[lines.index(head) + 1].startswith("    Documents: ")


# --- pages ----------------------------------------------------------------------------------------
PAGE = ("diff", "lda", "updated", "--corpus", "corpus", "--out")


@pytest.fixture
def page(tmp_path):
    return lambda ending: tmp_path / f"page{ending}"


def six_digits(value):
    """What a page says of a number."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def test_a_page_as_json_has_the_changes(page):
    said = told(*PAGE, page(".json"))["changes"]

    record = json.loads(page(".json").read_text())
    assert said == told(*PAGE[:-1])["changes"]
    assert record["title"] == "From lda to updated"
    assert len(record["changes"]) == len(said)
    for mine, theirs in zip(record["changes"], said, strict=True):
        is_news = theirs.pop("is_news")
        assert mine == {key: six_digits(value) for key, value in theirs.items()}
        assert is_news == (mine["kind"] not in ("same", "moved") and not mine["was_told"])
    assert [subject["path"] for subject in record["subjects"]] == ["updated"]
    assert record["examples_corpus"] == "corpus"


@pytest.mark.parametrize("ending", [".html", ".HTM", ".md"])
def test_a_page_begins_with_the_changes(page, ending):
    news = [change for change in told(*PAGE, page(ending))["changes"] if change["is_news"]]

    text = page(ending).read_text(encoding="utf-8")
    if ending == ".md":
        first, second = re.findall("^## (.*)", text, re.MULTILINE)[:2]
        assert (first, second) == ("What has changed", "Topics")
        section = text[text.index("\n## ") : text.index("\n## Topics")]
        rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    else:
        first, second = re.findall('<section id="(.*?)"', text)[:2]
        assert (first, second) == ("changes", "overview")
        assert re.search(r"<main>\s*<section id=.changes.>", text)
        section = text[text.index("<section") : text.index("</section>")]
        rows = re.findall(r"^<tr><td>.*", section, re.MULTILINE)
    assert len(rows) == len(news) > 0
    for row, change in zip(rows, news, strict=True):
        assert change["kind"] in row
        assert " ".join(change["words"]) in row
        if change["share"] is not None:
            assert f"{change['share']:.1%}" in row or f"{change['share']:.2%}" in row
    n_others = len(told(*PAGE[:-1])["changes"]) - len(news)
    assert f"{n_others} other topics have no news." in section
    assert ending != ".md" or not {"\x1b", "\u202e"} & {*text}  # which terminals show


@pytest.mark.parametrize("ending", [".html", ".md"])
def test_a_page_says_where_topics_come_from(page, ending):
    called("edit", "lda", "--merge", "0,1", "--out", "out", "--quiet")
    merged, *others = (
        change for change in told("diff", "lda", "out", "--out", page(ending))["changes"]
        if change["is_news"]
    )  # fmt: skip

    assert (merged["kind"], others) == ("merged", [])
    text = page(ending).read_text(encoding="utf-8")
    assert f"from {merged['former'][0]}" in text


@pytest.mark.parametrize("ending", [".html", ".md"])
def test_a_page_without_news_has_no_table_of_changes(page, ending):
    called("diff", "lda", "lda", "--out", page(ending))

    text = page(ending).read_text(encoding="utf-8")
    assert "10 topics have no news." in text
    assert "share before" not in text


def test_a_page_without_a_corpus_has_no_shares(page):
    called("diff", "lda", "updated", "--out", page(".json"))

    record = json.loads(page(".json").read_text())
    assert {change["share"] for change in record["changes"]} == {None}
    assert (record["title"], record["examples_corpus"]) == ("From lda to updated", "")


def test_a_page_is_written_if_there_is_something_to_tell(page):
    said = called(*PAGE, page(".md"), "--exit-code", status=3).stdout

    assert "No topic fits: " in said
    assert "no topic fits" in page(".md").read_text()


@pytest.mark.parametrize("name", ["page.txt", "page", "page.parquet", "page.html.gz", ".html"])
def test_pages_of_other_endings_are_refused(tmp_path, name):
    said = refusal(*PAGE, tmp_path / name)

    assert said == f"Error: --out: must end in .html, .htm, .json or .md, but is {name}.\n"
    assert not [*tmp_path.iterdir()]


def test_a_page_is_replaced_only_if_asked(page):
    page(".md").write_text("precious")

    assert "Use --overwrite to replace it" in refusal(*PAGE, page(".md"))
    assert page(".md").read_text() == "precious"
    called(*PAGE, page(".md"), "--overwrite")
    assert page(".md").read_text().startswith("# From lda to updated\n")


@pytest.mark.parametrize("out", ["lda/page.html", "updated/page.html", "corpus/page.html"])
def test_a_page_may_lie_in_no_input(out):
    before = bytes_of(".")

    assert "lies inside" in refusal(*PAGE, out)
    assert "lies inside" in refusal(*PAGE, out, "--overwrite")

    assert bytes_of(".") == before


@pytest.mark.parametrize(
    ("run", "later", "corpus"),
    [
        ("mixture", "updated", "corpus"),
        ("lda", "path", "corpus"),
        ("lda", "nowhere", "corpus"),
        ("lda", "updated", "vectors"),
        ("updated", "lda", "before"),
    ],
)
@pytest.mark.parametrize("is_there", [False, True])
def test_nothing_is_written_if_runs_cannot_be_compared(page, run, later, corpus, is_there):
    if is_there:
        page(".html").write_text("precious")
    before = bytes_of(page("").parent)

    refusal("diff", run, later, "--corpus", corpus, "--out", page(".html"), "--overwrite")

    assert bytes_of(page("").parent) == before

"""What counts as a file to read: regular files, links of a folder, names that are not empty."""

import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sparsetopics.base import safe_reading
from sparsetopics.base.errors import RunError, SourceError
from sparsetopics.cli.main import main
from sparsetopics.corpora.append import append
from sparsetopics.corpora.corpus import Corpus, VectorCorpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.ingest_vectors import VectorOptions, ingest_vectors
from sparsetopics.corpora.readers.counts import read_words
from sparsetopics.corpora.readers.formats import FORMATS, VECTOR_FORMATS
from sparsetopics.corpora.readers.images import read_grey
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources.source_files import find_files
from sparsetopics.corpora.text.stop_words import read_stop_words
from sparsetopics.evaluation.scoring.fixed_topics import read_topic_matrix
from sparsetopics.evaluation.scoring.weight_files import READERS
from worlds.collections_on_disk import documents_of, make_texts

NULL = Path("/dev/null")
DEVICE = "/dev/null: .*a device instead of a regular file"


@pytest.fixture
def pipe(tmp_path):
    """A pipe with a line in it, whose other end is soon closed, so that a test cannot hang."""
    path = tmp_path / "pipe.lines"
    os.mkfifo(path)
    held = os.open(path, os.O_RDWR)
    os.write(held, b"owl cat\n")
    closing = threading.Timer(5.0, os.close, [held])
    closing.start()
    yield path
    if not closing.finished.is_set():
        closing.cancel()
        os.close(held)


def run(*arguments, status=1):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.mark.parametrize("name", FORMATS)
def test_documents_are_not_read_from_devices(name, tmp_path):
    with pytest.raises(SourceError, match=DEVICE):
        ingest([NULL], tmp_path / "corpus", IngestOptions(format=name))


@pytest.mark.parametrize("name", VECTOR_FORMATS)
def test_vectors_are_not_read_from_devices(name, tmp_path):
    with pytest.raises(SourceError, match=DEVICE):
        ingest_vectors([NULL], tmp_path / "corpus", VectorOptions(format=name))


def test_pipes_are_refused_and_links_to_files_are_read(pipe, tmp_path):
    with pytest.raises(SourceError, match="a pipe instead of a regular file"):
        ingest([pipe], tmp_path / "corpus")
    (tmp_path / "real.txt").write_text("owl cat")
    (tmp_path / "a.lines").symlink_to("real.txt")

    ingest([tmp_path / "a.lines"], tmp_path / "corpus")

    assert documents_of(Corpus.open(tmp_path / "corpus")) == {"0": {"owl": 1, "cat": 1}}


def test_other_files_that_users_name_are_regular_too(tmp_path):
    source = tmp_path / "a.ldac"
    source.write_text("1 0:1\n")
    with pytest.raises(SourceError, match=DEVICE):
        ingest([source], tmp_path / "corpus", IngestOptions(read=ReadOptions(vocabulary_file=NULL)))
    for read in (read_words, read_stop_words, read_grey):
        with pytest.raises(SourceError, match=DEVICE):
            read(NULL)


@pytest.mark.parametrize("suffix", READERS)
def test_topics_of_other_toolkits_are_regular_files(suffix, tmp_path):
    link = tmp_path / f"topics{suffix}"
    link.symlink_to(NULL)

    with pytest.raises(RunError, match="topic-word matrix: a device instead of a regular file"):
        read_topic_matrix(link, ["owl"], READERS[suffix])


def test_words_beside_topics_are_a_regular_file(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    (tmp_path / "a.npy.vocab").symlink_to(NULL)

    with pytest.raises(RunError, match="topic-word matrix: a device instead of a regular file"):
        read_topic_matrix(tmp_path / "a.npy", ["owl"], READERS[".npy"])


def test_a_config_file_is_regular_and_small(tmp_path, monkeypatch):
    said = ("train", tmp_path / "corpus", "--out", tmp_path / "run", "--config")
    assert re.search(DEVICE, run(*said, NULL).output)
    monkeypatch.setattr(safe_reading, "LARGEST_TOML", 100)
    (tmp_path / "a.toml").write_text("topics = 3\n" + "# " * 100)
    result = run(*said, tmp_path / "a.toml")
    assert "a.toml: cannot be read: it has more than 100 bytes." in result.output
    assert len(result.output.splitlines()) == 1


@pytest.fixture
def folder(tmp_path):
    """Two files of its own, links to what is elsewhere, and links to what is here."""
    for name in ("in/a.txt", "in/sub/b.txt", "out/c.txt", "out/deep/d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"words of {name[-5]}{name[-5]}{name[-5]}")
    inside = tmp_path / "in"
    (inside / "out-c.txt").symlink_to(tmp_path / "out" / "c.txt")
    (inside / "sub" / "out").symlink_to("../../out")
    (inside / "own-b.txt").symlink_to("sub/b.txt")
    (inside / "sub" / "loop").symlink_to("..")
    (inside / "gone.txt").symlink_to("nowhere")
    (inside / ".hidden.txt").symlink_to(tmp_path / "out" / "c.txt")
    (tmp_path / "link").symlink_to("in")
    return inside


OWN = ["a.txt", "own-b.txt", "sub/b.txt"]
LINKED = ["out-c.txt", "sub/out/c.txt", "sub/out/deep/d.txt"]


@pytest.mark.parametrize("name", ["in", "link"])
def test_links_out_of_a_folder_are_skipped_and_said(name, folder, tmp_path):
    said = []

    ingest([tmp_path / name], tmp_path / "corpus", say=said.append)

    assert list(documents_of(Corpus.open(tmp_path / "corpus"))) == OWN
    links = [tmp_path / name / each for each in ("out-c.txt", "sub/loop", "sub/out")]
    shown = ", ".join(map(str, links))
    assert len(said) == 1
    assert f"Skipped 3 links that lead out of the folder or to another folder: {shown}." in said[0]


@pytest.mark.usefixtures("folder")
def test_links_are_followed_if_that_is_wanted(tmp_path):
    said = []

    ingest(
        [tmp_path / "in"], tmp_path / "corpus", IngestOptions(follow_links=True), say=said.append
    )

    assert list(documents_of(Corpus.open(tmp_path / "corpus"))) == sorted(OWN + LINKED)
    assert said == []


@pytest.mark.filterwarnings("ignore:.*new documents without a label")
@pytest.mark.usefixtures("folder")
def test_links_on_the_command_line(tmp_path):
    said = ("ingest", tmp_path / "in", "--out", tmp_path / "corpus")
    result = run(*said, status=0)
    links, others = result.stderr.splitlines()
    assert links.startswith("Skipped 3 links")
    assert others.endswith("Left out 1 file: 1 no regular file (gone.txt).")

    run(*said, "--follow-links", "--overwrite", status=0)

    assert Corpus.open(tmp_path / "corpus").n_docs == 6
    result = run("ingest", tmp_path / "in", "--append", tmp_path / "corpus", status=0)
    assert result.stderr.startswith("Skipped 3 links")


@pytest.mark.filterwarnings("ignore:.*new documents without a label")
@pytest.mark.usefixtures("folder")
def test_appended_documents_come_from_links_too(tmp_path):
    ingest([tmp_path / "in"], tmp_path / "corpus")

    n_added, _ = append([tmp_path / "in"], tmp_path / "corpus", IngestOptions(follow_links=True))

    assert n_added == 6


def test_links_to_vectors(tmp_path):
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "a.npy", np.eye(3))
    np.save(tmp_path / "in" / "b.npy", np.eye(3))
    (tmp_path / "in" / "a.npy").symlink_to(tmp_path / "a.npy")
    said = []

    ingest_vectors([tmp_path / "in"], tmp_path / "one", say=said.append)
    ingest_vectors([tmp_path / "in"], tmp_path / "two", VectorOptions(follow_links=True))

    assert VectorCorpus.open(tmp_path / "one").n_items == 3
    assert VectorCorpus.open(tmp_path / "two").n_items == 6
    assert said[0].startswith("Skipped 1 link that leads out of the folder")


def test_a_folder_of_links_alone_says_how_to_read_them(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "a.txt").write_text("words")
    (tmp_path / "in" / "a.txt").symlink_to(tmp_path / "a.txt")

    with pytest.raises(SourceError, match=r"left out 1 link that .*a\.txt.*Use --follow-links"):
        ingest([tmp_path / "in"], tmp_path / "corpus")


def test_a_link_to_itself_is_no_file(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("words")
    (tmp_path / "in" / "loop.txt").symlink_to("loop.txt")

    files = ingest([tmp_path / "in"], tmp_path / "corpus").files

    assert str(files).endswith("Left out 1 file: 1 no regular file (loop.txt).")


def test_many_links_are_counted(tmp_path):
    texts = make_texts(5)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(texts[0])
    for n, text in enumerate(texts):
        (tmp_path / f"{n}.txt").write_text(text)
        (tmp_path / "in" / f"{n}.txt").symlink_to(tmp_path / f"{n}.txt")
    said = []

    ingest([tmp_path / "in"], tmp_path / "corpus", say=said.append)

    assert "Skipped 5 links" in said[0]
    assert "2.txt and 2 more." in said[0]


@pytest.mark.usefixtures("folder")
def test_patterns_do_not_go_through_links_to_folders(tmp_path):
    (tmp_path / "in" / "gone.txt").unlink()
    pattern = tmp_path / "in" / "**" / "*.txt"
    found = find_files([pattern], lambda _: True, or_all=False)
    (tmp_path / "in" / "sub" / "loop").unlink()
    followed = find_files([pattern], lambda _: True, or_all=False, follow_links=True)

    names = {str(file.path.relative_to(tmp_path / "in")) for file in found.files}
    assert names == set(OWN)
    assert {str(link.name) for link in found.skipped_links} == {"out", "out-c.txt", "loop"}
    assert len(followed.files) > len(found.files)


@pytest.mark.usefixtures("folder")
def test_links_that_a_pattern_matches_are_skipped_as_in_a_folder(tmp_path):
    (tmp_path / "in" / "gone.txt").unlink()
    said = []

    ingest([tmp_path / "in" / "*.txt"], tmp_path / "corpus", say=said.append)

    assert list(documents_of(Corpus.open(tmp_path / "corpus"))) == ["a.txt", "own-b.txt"]
    assert said[0].startswith("Skipped 1 link that leads")
    assert str(tmp_path / "in" / "out-c.txt") in said[0]
    with pytest.raises(SourceError, match=r"left out 1 link .*out-c.txt. Use --follow-links"):
        find_files([tmp_path / "in" / "out-*"], lambda _: True, or_all=False)
    # Links in the fixed part of a pattern are named by the user.
    found = find_files([tmp_path / "link" / "a.*"], lambda _: True, or_all=False)
    assert [file.path for file in found.files] == [tmp_path / "link" / "a.txt"]


@pytest.fixture
def linked_words(tmp_path):
    """Counts, whose words are behind a link out of the folder."""
    (tmp_path / "words").write_text("owl\ncat\n")
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "docword.x.txt").write_text("1\n2\n1\n1 1 3\n")
    (tmp_path / "in" / "vocab.x.txt").symlink_to(tmp_path / "words")
    return tmp_path / "in" / "docword.x.txt"


@pytest.mark.parametrize("named", [".", "docword.x.txt", "doc*"])
def test_words_beside_counts_are_not_read_through_links_out_of_the_folder(linked_words, named):
    source, corpus = linked_words.parent / named, linked_words.parent.parent / "corpus"
    with pytest.raises(SourceError, match=r"vocab\.x\.txt: the words .* are behind a link"):
        ingest([source], corpus)

    ingest([source], corpus, IngestOptions(follow_links=True))
    assert documents_of(Corpus.open(corpus)) == {"1": {"owl": 3}}


def test_words_beside_counts_may_be_a_link_to_another_file_of_the_folder(linked_words, tmp_path):
    counts = linked_words.rename(linked_words.parent / "sub" / linked_words.name)
    (tmp_path / "in" / "vocab.x.txt").unlink()
    (tmp_path / "words").rename(tmp_path / "in" / "words.md")
    (counts.parent / "vocab.x.txt").symlink_to("../words.md")

    ingest([tmp_path / "in"], tmp_path / "corpus")

    assert documents_of(Corpus.open(tmp_path / "corpus")) == {"1": {"owl": 3}}


def test_an_empty_source_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("words")
    monkeypatch.chdir(tmp_path)

    result = run("ingest", "", "--out", tmp_path / "corpus")

    assert result.output == "Error: sources: the name of a file, folder or pattern is empty.\n"


@pytest.mark.parametrize(
    "said",
    [
        ("train", "", "--out", "run"),
        ("train", "corpus", "--out", "run", "--heldout", ""),
        ("train", "corpus", "--out", "run", "--config", ""),
        ("ingest", "a.txt", "--out", "corpus", "--vocabulary", ""),
        ("ingest", "a.txt", "--out", "corpus", "--vocabulary-file", ""),
        ("ingest", "a.txt", "--append", ""),
        ("ingest", "a.npy", "--out", "corpus", "--projection", ""),
        ("corpus", "info", ""),
        ("evaluate", "", "heldout"),
        ("evaluate", "run", ""),
        ("infer", "run", "", "--out", "x.parquet"),
        ("topics", ""),
        ("resume", ""),
        ("denoise", "run", "a.png", "--out", "x", "--clean", ""),
        ("report", "", "--out", "x.html"),
        ("plot", "", "themes", "--out", "x.pdf"),
        ("export", "", "--out", "x.npz"),
    ],
)
def test_an_empty_name_is_refused_wherever_something_is_read(said, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("words")
    monkeypatch.chdir(tmp_path)

    result = run(*said)

    assert ": must be a file or folder, but is empty." in result.output
    assert len(result.output.splitlines()) == 1


def test_an_empty_file_of_stop_words_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("words")
    monkeypatch.chdir(tmp_path)

    result = run("ingest", "a.txt", "--out", "corpus", "--stop-words", "")

    assert "--stop-words: must not be empty." in result.output


def test_a_vocabulary_that_is_named_alone_is_no_collection(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("vocab.kos.txt").write_text("owl\ncat\n")

    result = run("ingest", "vocab.kos.txt", "--format", "uci", "--out", "x")

    assert result.stderr == (
        "Error: vocab.kos.txt: holds the words of a collection of counts, not the counts. "
        "Name the file with the counts, or the folder.\n"
    )


@pytest.mark.parametrize("kind", ["documents", "vectors"])
@pytest.mark.parametrize("names_the_folder", [False, True])
def test_a_name_that_is_not_utf8_is_refused(kind, names_the_folder, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    path = folder / os.fsdecode(b"\xff.csv")
    path.write_text("text,a\nowl,1\n")

    source = folder if names_the_folder else path
    result = run("ingest", source, "--kind", kind, "--out", tmp_path / "x")

    assert result.stderr.endswith(".csv: the path is not UTF-8. Rename the file.\n")


def test_words_that_are_not_utf8_do_not_advise_encoding_errors(tmp_path):
    for name in ("vocab.txt", "stop.txt"):
        (tmp_path / name).write_bytes(b"caf\xe9\n")
    (tmp_path / "a.dat").write_text("1 0:1\n")
    (tmp_path / "a.jsonl").write_text('{"text": "owl"}\n')

    counts = run("ingest", tmp_path / "a.dat", "--out", tmp_path / "x")
    stop_words = ("--stop-words", tmp_path / "stop.txt")
    text = run("ingest", tmp_path / "a.jsonl", *stop_words, "--out", tmp_path / "x")

    assert "found byte 0xe9. Convert the file to UTF-8.\n" in counts.stderr
    assert text.stderr == f"Error: --stop-words: {tmp_path}/stop.txt is not UTF-8 text.\n"

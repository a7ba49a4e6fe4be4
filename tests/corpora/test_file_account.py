"""What ``ingest`` says that it has read as what, and what it has left out."""

import gzip
import json
import os
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

from sparsetopics.base.errors import SourceError
from sparsetopics.cli.main import main
from sparsetopics.corpora.append import append
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.ingest_vectors import ingest_vectors
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources.source_files import FileGroup
from sparsetopics.evaluation.scoring.tokenized_texts import TokenizedTexts
from worlds.collections_on_disk import documents_of

WORDS = ["owl", "cat", "dog"]
LDA_C = "2 0:2 2:1\n1 1:5\n"
UCI = "2\n3\n3\n1 1 2\n1 3 1\n2 2 5\n"
MATRIX_MARKET = "%%MatrixMarket matrix coordinate integer general\n2 3 3\n1 1 2\n1 3 1\n2 2 5\n"
COUNTS = [{"owl": 2, "dog": 1}, {"cat": 5}]


def run(*arguments, status=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result


def written(folder, **files):
    """A folder of files, whose names have ``__`` for a full stop; ``.gz`` packs them."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        name, data = name.replace("__", "."), text.encode()
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


def mixed(folder):
    files = {f"page{n}__html": "<p>owl</p>" for n in range(4)}
    return written(folder, a__txt="owl cat", b__txt="dog cat", notes__md="#", LICENSE="", **files)


def rows(corpus):
    return list(documents_of(Corpus.open(corpus)).values())


def test_a_folder_that_is_read_in_part_says_so(tmp_path):
    result = run("ingest", mixed(tmp_path / "in"), "--out", tmp_path / "corpus")

    assert result.stderr == (
        "Read 2 files as text (a.txt, b.txt). Left out 6 files: "
        "4 .html (page0.html, page1.html, page2.html, …), 1 .md (notes.md), "
        "1 without extension (LICENSE). To read them, name them with a pattern and --format.\n"
    )


def test_scripts_get_the_same_as_json(tmp_path):
    result = run("ingest", mixed(tmp_path / "in"), "--out", tmp_path / "corpus", "--json")

    found = json.loads(result.stdout)
    assert found["read"] == [{"kind": "text", "n_files": 2, "names": ["a.txt", "b.txt"]}]
    assert [(group["kind"], group["n_files"]) for group in found["left_out"]] == [
        (".html", 4),
        (".md", 1),
        ("without extension", 1),
    ]
    assert found["left_out"][0]["names"] == ["page0.html", "page1.html", "page2.html"]


def test_quiet_is_silent_even_if_something_was_left_out(tmp_path):
    folder = written(tmp_path / "in", a__txt="owl cat", b__md="#")

    assert run("ingest", folder, "--out", tmp_path / "corpus", "--quiet").output == ""


def test_python_gets_it_too(tmp_path):
    folder = mixed(tmp_path / "in")

    made = ingest([folder], tmp_path / "corpus")
    _, added = append([folder], tmp_path / "corpus")

    assert made.files.read == (FileGroup("text", 2, ("a.txt", "b.txt")),)
    assert sum(group.n_files for group in made.files.left_out) == 6
    assert added.files == made.files


def test_vectors_and_archives(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("in/readme.md", "#")
        with archive.open("in/a.npy", "w") as member:
            np.save(member, np.eye(3))

    files = ingest_vectors([tmp_path / "a.zip"], tmp_path / "corpus").files

    assert str(files) == ("Read 1 file as npy (in/a.npy). Left out 1 file: 1 .md (in/readme.md).")


def test_a_format_that_is_named_leaves_others_out(tmp_path):
    folder = written(tmp_path / "in", a__txt="owl cat", b__csv="text\nowl\n", c__csv="text\ncat\n")

    files = ingest([folder], tmp_path / "corpus", IngestOptions(format="csv")).files

    assert str(files) == "Read 2 files as csv (b.csv, c.csv). Left out 1 file: 1 .txt (a.txt)."


def test_pipes_broken_links_and_links_elsewhere_are_told(tmp_path):
    folder = written(tmp_path / "in", a__txt="owl cat")
    written(tmp_path / "out", b__txt="dog")
    os.mkfifo(folder / "pipe.txt")
    (folder / "gone.txt").symlink_to("nowhere")
    (folder / "b.txt").symlink_to(tmp_path / "out" / "b.txt")

    left_out = ingest([folder], tmp_path / "corpus").files.left_out

    expected = {"no regular file": ("gone.txt", "pipe.txt"), "link": ("b.txt",)}
    assert {group.kind: group.names for group in left_out} == expected


def test_names_cannot_control_a_terminal(tmp_path):
    folder = written(tmp_path / "in", a__txt="owl cat")
    (folder / "b\x1b]0;x\n.md").write_text("#")

    said = str(ingest([folder], tmp_path / "corpus").files)

    assert said.isprintable()
    assert r"(b\x1b]0;x\n.md)" in said


@pytest.mark.parametrize(
    ("counts", "text", "words"),
    [
        ("ap.dat", LDA_C, "vocab.txt"),
        ("ap.dat.gz", LDA_C, "vocab.txt.gz"),
        ("ap.ldac", LDA_C, "ap.vocab"),
        ("docword.kos.txt.gz", UCI, "vocab.kos.txt.gz"),
        ("docword.kos.txt", UCI, "vocab.txt"),
        ("a.mtx", MATRIX_MARKET, "vocab.txt"),
        ("a_bow.mm", MATRIX_MARKET, "a_wordids.txt"),
    ],
)
def test_counts_and_their_words_are_read_together(counts, text, words, tmp_path):
    files = {counts.replace(".", "__"): text, words.replace(".", "__"): "\n".join(WORDS)}
    folder = written(tmp_path / "in", **files)

    made = ingest([folder], tmp_path / "corpus").files
    named = ingest([folder / words, folder / counts], tmp_path / "named").files

    assert rows(tmp_path / "corpus") == rows(tmp_path / "named") == COUNTS
    assert [group[1:] for group in made.read] == [(1, (counts,)), (1, (words,))]
    assert made.read[1].kind == "vocabulary"
    assert made.left_out == ()
    assert named == made


def test_words_in_an_archive_are_no_document(tmp_path):
    with zipfile.ZipFile(tmp_path / "ap.zip", "w") as archive:
        archive.writestr("ap/ap.dat", LDA_C)
        archive.writestr("ap/vocab.txt", "\n".join(WORDS))

    files = ingest([tmp_path / "ap.zip"], tmp_path / "corpus").files

    assert rows(tmp_path / "corpus") == COUNTS
    assert str(files) == ("Read 1 file as lda-c (ap/ap.dat) and 1 file as vocabulary (vocab.txt).")


def test_words_that_are_named_replace_those_beside_the_counts(tmp_path):
    folder = written(tmp_path / "in", ap__dat=LDA_C, vocab__txt="x\ny\nz", own__txt="owl\ncat\ndog")
    read = ReadOptions(vocabulary_file=folder / "own.txt")

    files = ingest([folder], tmp_path / "corpus", IngestOptions(read=read)).files

    assert rows(tmp_path / "corpus") == COUNTS
    assert str(files) == (
        "Read 1 file as lda-c (ap.dat) and 1 file as vocabulary (own.txt). "
        "Left out 1 file: 1 .txt (vocab.txt)."
    )


def test_texts_beside_counts_are_refused_rather_than_guessed(tmp_path):
    folder = written(tmp_path / "in", ap__dat=LDA_C, ap__txt="an owl", vocab__txt="owl\ncat\ndog")

    with pytest.raises(SourceError, match=r"ap\.txt: has format text, but .*ap\.dat has .*lda-c"):
        ingest([folder], tmp_path / "corpus")
    files = ingest([folder], tmp_path / "corpus", IngestOptions(format="lda-c")).files

    assert rows(tmp_path / "corpus") == COUNTS
    assert files.left_out == (FileGroup(".txt", 1, ("ap.txt",)),)


@pytest.mark.parametrize("name", ["lda-c", "ldac"])
def test_both_names_of_a_format_work(name, tmp_path):
    folder = written(tmp_path / "in", ap__counts=LDA_C, vocab__txt="owl\ncat\ndog")

    run("ingest", folder, "--format", name, "--out", tmp_path / "corpus")

    assert rows(tmp_path / "corpus") == COUNTS


def test_counts_with_the_longest_name(tmp_path):
    name = f"{'x' * 250}.dat"
    folder = written(
        tmp_path / "in", **{name.replace(".", "__"): LDA_C}, vocab__txt="owl\ncat\ndog"
    )

    ingest([folder], tmp_path / "corpus")

    assert rows(tmp_path / "corpus") == COUNTS


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz", "a.rar", "a.jsonl.xz", "A.TAR.XZ"])
@pytest.mark.parametrize(
    "options", [(), ("--patches", 8), ("--format", "image"), ("--stop-words", "english")]
)
def test_packings_that_are_not_read_are_blamed_themselves(name, options, tmp_path):
    (tmp_path / name).write_bytes(b"")

    result = run("ingest", tmp_path / name, "--out", tmp_path / "corpus", *options, status=1)

    packing = ".tar" if name == "a.tar.gz" else f".{name.rpartition('.')[2].lower()}"
    assert f"{name}: files packed as {packing} are not read. Unpack it" in result.stderr
    assert ".zip" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_folder_of_nothing_known_lists_what_it_holds(tmp_path):
    folder = written(tmp_path / "in", a__html="", b__html="", c__tar="")

    with pytest.raises(SourceError, match=r"none of 3 files has .* \(2 \.html, 1 \.tar\)"):
        ingest([folder], tmp_path / "corpus")


def test_texts_for_coherence_are_accounted_for(tmp_path):
    said = []
    ingest([mixed(tmp_path / "in")], tmp_path / "corpus")
    vocabulary = Corpus.open(tmp_path / "corpus").vocabulary

    TokenizedTexts.find([tmp_path / "in"], vocabulary, IngestOptions(), said.append)

    assert [sentence[:19] for sentence in said] == ["Left out 6 files: 4"]


def test_many_words_beside_counts_become_no_document(tmp_path):
    folder = written(tmp_path / "in", docword__kos__txt=UCI, vocab__kos__txt="owl\ncat\ndog")
    (folder / "vocab.nips.txt").write_text("x\ny\n")  # whose counts are elsewhere

    files = ingest([folder], tmp_path / "corpus").files

    assert rows(tmp_path / "corpus") == COUNTS
    assert files.left_out == (FileGroup(".txt", 1, ("vocab.nips.txt",)),)


def test_a_text_file_of_many_lines_may_be_meant_as_documents(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("owl cat\n" * 10)
    advice = "each file is one document. If each line is a document, use --format lines."
    sentence = f"{path}: {advice}\n"

    said = run("ingest", path, "--out", tmp_path / "a").stderr
    chosen = run("ingest", path, "--out", tmp_path / "b", "--format", "text").stderr

    assert said == f"{sentence}Read 1 file as text (t.txt).\n"
    assert sentence not in chosen


def test_a_vocabulary_among_texts_is_told(tmp_path):
    folder = written(tmp_path / "in", a__txt="owl cat", vocab__txt="owl\ncat\n" * 10)

    said = run("ingest", folder, "--out", tmp_path / "a").stderr

    assert said == (
        f"{folder}/vocab.txt is read as a document. "
        "To leave it out, name the others by a pattern.\n"
        "Read 2 files as text (a.txt, vocab.txt).\n"
    )

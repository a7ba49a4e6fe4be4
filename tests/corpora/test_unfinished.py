"""An ingest that is stopped at any moment: the same command continues it, to the same bytes."""

import gc
import os
import signal
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

from sparsetopics.base.errors import CorpusFormatError, OutputError, SourceError
from sparsetopics.cli.main import main
from sparsetopics.corpora import ingest as ingest_module
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.ingest_vectors import ingest_vectors
from sparsetopics.corpora.sources import byte_stream
from sparsetopics.corpora.store import unfinished
from sparsetopics.corpora.store.shards import ShardWriter
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.corpora.text.tokens import PhraseOptions
from sparsetopics.options.workplace import Workplace
from worlds.collections_on_disk import make_texts, write_jsonl
from worlds.vectors_on_disk import make_vectors

BLOCK_BYTES = 3_000  # so that a small collection is many blocks
TEXTS = make_texts(300)
PHRASES = PhraseOptions(threshold=0.0)


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "news.jsonl", TEXTS)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", BLOCK_BYTES)


@pytest.fixture
def n_counted(monkeypatch):
    """Calls it for the number of documents that have been tokenised and counted."""
    seen = []

    def count(block, options, **others):
        seen.append(len(block.texts))
        return plain(block, options, **others)

    plain = ingest_module.count_texts
    monkeypatch.setattr(ingest_module, "count_texts", count)
    return lambda: sum(seen)


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def stop_after(monkeypatch, n_blocks, error=KeyboardInterrupt):
    """Have the spool refuse the next block, as if a signal came."""

    def write(placed):
        if placed[1].stem == f"block-{n_blocks:06d}":
            raise error
        return plain(placed)

    plain = unfinished._write
    monkeypatch.setattr(unfinished, "_write", write)


def interrupt(source, out, options=None, *, n_blocks=4):
    with pytest.MonkeyPatch.context() as patch:
        stop_after(patch, n_blocks)
        with pytest.raises(KeyboardInterrupt) as stopped:
            ingest([source], out, options)
    return str(stopped.value)


def killed(owner, name, survives, folder, call):
    """The exit status of a fork that calls something, and is killed once ``name`` is called more
    often than ``survives``."""
    child = os.fork()
    if child == 0:
        plain, calls = getattr(owner, name), []

        def killing(*arguments):
            if owner is not os or str(arguments[1]).startswith(str(folder)):  # numba replaces too
                calls.append(name)
            if len(calls) > survives:
                os.kill(os.getpid(), signal.SIGKILL)
            return plain(*arguments)

        try:
            setattr(owner, name, killing)
            call()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize(
    ("owner", "name", "survives", "n_kept"),
    [
        (unfinished.WorkFolder, "keep_tokenizer", 0, 0),
        (os, "replace", 3, 2),  # after that of the job
        (ShardWriter, "append", 1, None),
        (unfinished, "publish", 0, None),
    ],
)
def test_killed_at_any_moment_it_goes_on(
    owner, name, survives, n_kept, source, tmp_path, n_counted
):
    has_phrases = name == "keep_tokenizer"
    options = IngestOptions(phrases=PHRASES if has_phrases else None)
    ingest([source], tmp_path / "whole", options)
    n_all = n_counted()

    status = killed(
        owner, name, survives, tmp_path, lambda: ingest([source], tmp_path / "corpus", options)
    )

    assert status == -signal.SIGKILL
    assert not (tmp_path / "corpus").exists()
    kept = list((tmp_path / ".corpus.sparsetopics" / "spool").glob("*.arrow"))
    if n_kept is not None:
        assert len(kept) == n_kept
    said = []
    ingest([source], tmp_path / "corpus", options, say=said.append)
    assert files_of(tmp_path / "corpus") == files_of(tmp_path / "whole")
    assert said == [f"{tmp_path / 'corpus'}: continuing an ingest that was interrupted."]
    again = n_counted() - n_all
    assert again < n_all if kept else again == n_all
    assert (again == 0) == (n_kept is None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "news.jsonl", "whole"]


def test_half_a_corpus_does_not_open(source, tmp_path):
    interrupt(source, tmp_path / "corpus")

    with pytest.raises(CorpusFormatError):
        Corpus.open(tmp_path / ".corpus.sparsetopics" / "new" / "corpus")
    assert not (tmp_path / "corpus").exists()


def test_stopped_twice_with_other_workers_it_goes_on(source, tmp_path, n_counted):
    ingest([source], tmp_path / "whole")
    n_all = n_counted()

    assert "repeat the command to continue" in interrupt(source, tmp_path / "corpus", n_blocks=2)
    interrupt(source, tmp_path / "corpus", IngestOptions(where=Workplace(workers=2)), n_blocks=5)
    told = []
    ingest([source], tmp_path / "corpus", IngestOptions(where=Workplace(workers=3)), told.append)

    assert files_of(tmp_path / "corpus") == files_of(tmp_path / "whole")
    assert n_counted() < 2.5 * n_all
    assert f"reading: {len(TEXTS):,} documents" in told


def test_a_block_that_the_disk_lost_is_read_again(source, tmp_path):
    ingest([source], tmp_path / "whole")
    interrupt(source, tmp_path / "corpus", n_blocks=4)
    lost = tmp_path / ".corpus.sparsetopics" / "spool" / "block-000001.arrow"
    lost.write_bytes(b"\0" * lost.stat().st_size)

    ingest([source], tmp_path / "corpus")

    assert files_of(tmp_path / "corpus") == files_of(tmp_path / "whole")


def test_sources_that_have_changed_are_read_anew(source, tmp_path, n_counted):
    interrupt(source, tmp_path / "corpus")
    texts = [*TEXTS[1:], TEXTS[0]]  # as many bytes
    later = source.stat().st_mtime_ns + 1
    write_jsonl(source, texts)
    os.utime(source, ns=(later, later))
    ingest([source], tmp_path / "whole")
    n_before = n_counted()
    said = []

    ingest([source], tmp_path / "corpus", say=said.append)

    assert "the sources have changed" in said[0]
    assert n_counted() - n_before == len(texts)
    assert files_of(tmp_path / "corpus") == files_of(tmp_path / "whole")


def test_a_file_more_in_a_folder_is_a_change(tmp_path):
    (tmp_path / "news").mkdir()
    write_jsonl(tmp_path / "news" / "a.jsonl", TEXTS)
    interrupt(tmp_path / "news", tmp_path / "corpus")
    (tmp_path / "news" / "b.jsonl").write_text('{"id": "new", "text": "more of the same"}\n')
    said = []

    assert ingest([tmp_path / "news"], tmp_path / "corpus", say=said.append).n_documents > 290
    assert "have changed" in said[0]


# The exception of an interrupt keeps the archive open until the collector of cycles comes.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_members_of_an_archive_go_on_until_one_changes(source, tmp_path):
    archive = tmp_path / "news.zip"

    def pack(lines):
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("all.jsonl", lines)

    pack(source.read_bytes())
    ingest([source], tmp_path / "whole")
    interrupt(archive, tmp_path / "corpus")
    pack(source.read_bytes())  # later, but the same
    said = []
    ingest([archive], tmp_path / "corpus", say=said.append)
    assert "continuing" in said[0]
    assert files_of(tmp_path / "corpus") == files_of(tmp_path / "whole")

    interrupt(archive, tmp_path / "other")
    pack(source.read_bytes()[:-1])
    ingest([archive], tmp_path / "other", say=said.append)
    assert "have changed" in said[1]
    gc.collect()  # here, and not in a test that follows


def test_what_is_behind_a_url_starts_anew(source, tmp_path):
    fsspec = pytest.importorskip("fsspec", reason="fsspec reads URLs")
    with fsspec.open("memory://unfinished/news.jsonl", "wb") as file:
        file.write(source.read_bytes())
    ingest([source], tmp_path / "whole")

    said = interrupt("memory://unfinished/news.jsonl", tmp_path / "corpus")

    assert "Nothing was written" in said
    ingest(["memory://unfinished/news.jsonl"], tmp_path / "corpus")
    assert files_of(tmp_path / "corpus") == files_of(tmp_path / "whole")


@pytest.mark.parametrize(
    "other",
    [
        IngestOptions(tokenizer=TokenizerOptions("[a-z]+")),
        IngestOptions(pruning=PruningOptions(stop_words=frozenset({"baco", "duco"}))),
        IngestOptions(phrases=PHRASES),
        IngestOptions(format="lines"),
    ],
)
def test_other_options_are_refused_until_told(source, tmp_path, other):
    interrupt(source, tmp_path / "corpus")
    left = files_of(tmp_path / ".corpus.sparsetopics" / "spool")

    with pytest.raises(
        OutputError, match=r"interrupted ingest of other sources or options.*--overwrite"
    ):
        ingest([source], tmp_path / "corpus", other)
    assert files_of(tmp_path / ".corpus.sparsetopics" / "spool") == left

    ingest([source], tmp_path / "whole", other)
    said = []
    replacing = IngestOptions(
        format=other.format,
        tokenizer=other.tokenizer,
        phrases=other.phrases,
        pruning=other.pruning,
        overwrite=True,
    )
    ingest([source], tmp_path / "corpus", replacing, say=said.append)
    assert "of something else" in said[0]
    assert files_of(tmp_path / "corpus") == files_of(tmp_path / "whole")


def test_another_tokenizer_function_of_the_same_name_is_noticed(source, tmp_path, monkeypatch):
    module = tmp_path / "cutting_for_a_test.py"
    module.write_text("def cut(text):\n    return text.split()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    options = IngestOptions(tokenizer=TokenizerOptions(function="cutting_for_a_test:cut"))
    interrupt(source, tmp_path / "corpus", options)
    module.write_text("def cut(text):\n    return text.lower().split()\n")
    said = []

    ingest([source], tmp_path / "corpus", options, say=said.append)

    assert "have changed" in said[0]


def test_an_error_leaves_nothing(source, tmp_path):
    source.write_bytes(source.read_bytes() + b"[]\n")

    with pytest.raises(SourceError):
        ingest([source], tmp_path / "corpus")

    assert list(tmp_path.iterdir()) == [source]


def test_before_anything_is_read_nothing_is_kept(source, tmp_path):
    assert "Nothing was written" in interrupt(source, tmp_path / "corpus", n_blocks=0)
    assert list(tmp_path.iterdir()) == [source]


def test_two_at_once_are_refused(source, tmp_path):
    refusals = []

    def again(progress):
        if not refusals:
            with pytest.raises(OutputError, match=r"/corpus: another process .* writes") as told:
                ingest([source], tmp_path / "corpus")
            refusals.append(told)

    ingest([source], tmp_path / "corpus", on_progress=again)

    assert refusals
    assert (tmp_path / "corpus" / "manifest.json").exists()


def test_what_keeps_nothing_starts_anew(source, tmp_path):
    (tmp_path / "docword.a.txt").write_text("1\n1\n1\n1 1 1\n")
    (tmp_path / "vocab.a.txt").write_text("baco\n")
    ingest([source], tmp_path / "words")
    vectors = tmp_path / "vectors.npy"
    np.save(vectors, make_vectors(20, 3))
    given = IngestOptions(vocabulary=tmp_path / "words")
    for name, make in (
        ("counts", lambda say: ingest([tmp_path / "docword.a.txt"], tmp_path / "counts", say=say)),
        ("given", lambda say: ingest([source], tmp_path / "given", given, say=say)),
        ("vectors", lambda say: ingest_vectors([vectors], tmp_path / "vectors", say=say)),
    ):
        left = tmp_path / f".{name}.sparsetopics"  # as a kill leaves it
        (left / "new" / name).mkdir(parents=True)
        (left / "lock").touch()
        said = []

        make(said.append)

        assert said == []
        assert (tmp_path / name / "manifest.json").exists()
        assert not left.exists()


def test_the_command_says_how_to_go_on(source, tmp_path):
    out = tmp_path / "corpus"
    arguments = ["ingest", str(source), "--out", str(out)]

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ShardWriter, "append", stop)
        result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 130
    assert result.stderr == (
        "Error: interrupted. What was read is kept; repeat the command to continue.\n"
    )

    refused = CliRunner().invoke(main, [*arguments, "--min-df", "3"])
    assert refused.exit_code == 1
    assert "or pass --overwrite to start over" in refused.stderr
    again = CliRunner().invoke(main, arguments)
    assert again.exit_code == 0
    assert again.stderr.startswith(f"{out}: continuing an ingest that was interrupted.\n")

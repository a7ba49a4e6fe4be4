"""Ingest by Dask workers: the same bytes as without them, whichever of them die."""

import os
import pickle
import signal
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("distributed")


from sparsetopics.base.errors import ClusterError, OptionError, SourceError
from sparsetopics.cli.main import main
from sparsetopics.corpora.append import append
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.ingest_vectors import VectorOptions, ingest_vectors
from sparsetopics.corpora.readers import arrays as read_arrays
from sparsetopics.corpora.readers import blocks
from sparsetopics.corpora.readers.formats import find_collection
from sparsetopics.corpora.readers.options import ReadOptions, VectorReadOptions
from sparsetopics.corpora.sources import byte_stream
from sparsetopics.corpora.sources.byte_stream import SourceFile
from sparsetopics.corpora.store import unfinished
from sparsetopics.corpora.text.tokenizer import TokenizerOptions
from sparsetopics.corpora.text.tokens import PhraseOptions
from sparsetopics.execution import dask_cluster
from sparsetopics.execution.dask_cluster import AHEAD_WITH_DATA, open_cluster
from sparsetopics.options.workplace import Workplace
from worker_kills import Killer
from worlds.collections_on_disk import make_texts, write_jsonl
from worlds.vectors_on_disk import make_grey, make_vectors

TEXTS = make_texts(300)
N_FILES = 40  # each is a task
BLOCK_BYTES = 3_000  # so that a small collection is many blocks


def at(where):
    """The option of ingest that names a place."""
    return {"where": Workplace(**where)}


@pytest.fixture
def there(cluster):
    """Options of an ingest by the workers of the cluster."""
    return {"executor": "dask", "scheduler": cluster.scheduler_address}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    for module in (blocks, byte_stream):
        monkeypatch.setattr(module, "BLOCK_BYTES", BLOCK_BYTES)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A file, a folder or an archive of each kind."""
    folder = tmp_path_factory.mktemp("sources")
    write_jsonl(folder / "news.jsonl", TEXTS)
    quoted = (text.replace('"', '""') for text in TEXTS)
    (folder / "news.csv").write_text("\n".join(["text", *(f'"{text}"' for text in quoted)]))
    with zipfile.ZipFile(folder / "news.zip", "w") as archive:
        for number, text in enumerate(TEXTS[:N_FILES]):
            archive.writestr(f"{number % 3}/{number}.txt", text)
    with zipfile.ZipFile(folder / "news.zip") as archive:
        archive.extractall(folder / "files")
    (folder / "news.vocab").write_text("a\nb\nc\n")
    lines = [f"2 {n % 3}:{n % 5 + 1} {(n + 1) % 3}:1" for n in range(900)]
    (folder / "news.ldac").write_text("\n".join([*lines, ""]))
    np.save(folder / "vectors.npy", make_vectors(400, 12))
    ids = np.array([f"item-{n}" for n in range(400)])
    np.savez(folder / "named.npz", values=make_vectors(400, 12), ids=ids, labels=ids)
    return folder


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


DOCUMENTS = {
    "lines of JSON": ("news.jsonl", {}),
    "CSV": ("news.csv", {"tokenizer": TokenizerOptions(r"\w+")}),
    "files": ("files", {}),
    "an archive": ("news.zip", {}),
    "phrases": ("news.jsonl", {"phrases": PhraseOptions(threshold=0.0)}),
    "n-grams": ("news.jsonl", {"tokenizer": TokenizerOptions(ngrams=2)}),
    "counts": ("news.ldac", {}),
    "fields kept": ("news.jsonl", {"read": ReadOptions(keep=("all",))}),
}


@pytest.mark.parametrize("case", DOCUMENTS)
def test_documents_are_the_same_bytes_wherever_they_are_counted(
    sources, tmp_path, monkeypatch, there, case
):
    monkeypatch.chdir(sources)  # workers are elsewhere
    source, said = DOCUMENTS[case]
    made = {
        name: ingest([source], tmp_path / name, IngestOptions(**said, **at(where)))
        for name, where in (
            ("serial", {"executor": "serial"}),
            ("threads", {"workers": 2}),
            ("dask", there),
        )
    }

    serial = files_of(tmp_path / "serial")
    n_texts = N_FILES if case in ("files", "an archive") else len(TEXTS)
    assert made["serial"].n_documents >= n_texts - 5
    assert made["threads"] == made["dask"] == made["serial"]
    assert files_of(tmp_path / "threads") == serial
    assert files_of(tmp_path / "dask") == serial


VECTORS = {
    "plain": ("vectors.npy", {}),
    "projected": ("vectors.npy", {"pca": 3, "whiten": True}),
    "named": ("named.npz", {"pca": 3}),
    "patches": ("photos", {"read": VectorReadOptions(patches=4, stride=2), "pca": 5}),
}


@pytest.mark.parametrize("case", VECTORS)
def test_vectors_are_the_same_bytes_wherever_they_are_decoded(sources, tmp_path, there, case):
    source, said = VECTORS[case]
    if source == "photos":
        write_photos(sources / "photos")
    for name, where in (
        ("serial", {"executor": "serial"}),
        ("threads", {"workers": 2}),
        ("dask", there),
    ):
        ingest_vectors([sources / source], tmp_path / name, VectorOptions(**said, **at(where)))

    serial = files_of(tmp_path / "serial")
    assert files_of(tmp_path / "threads") == serial
    assert files_of(tmp_path / "dask") == serial


def write_photos(folder):
    images = pytest.importorskip("PIL.Image", reason="needs Pillow")
    folder.mkdir()
    for number in range(2):
        images.fromarray(make_grey(40, 60, number)).save(folder / f"{number}.png")


def test_held_out_and_appended_documents_are_the_same(sources, tmp_path, there):
    more = write_jsonl(tmp_path / "more.jsonl", make_texts(200, 1))
    found, keep = [], ReadOptions(duplicate_ids="keep")
    for name, where in (("threads", {}), ("dask", there)):
        train, heldout = tmp_path / f"train-{name}", tmp_path / f"heldout-{name}"
        ingest([sources / "news.jsonl"], train)
        given = IngestOptions(vocabulary=train, **at(where))
        summary = ingest([more], heldout, given)
        added = append([more], train, IngestOptions(read=keep, **at(where)))
        found.append((summary, added, files_of(heldout), files_of(train)))

    assert found[0][0].n_unknown_tokens > 0
    assert found[0] == found[1]


# --- workers that are killed ----------------------------------------------------------------------
DEADLY = """
import os, signal
from pathlib import Path

def cut(text):
    words = text.split()
    for mark in sorted(Path({marks!r}).iterdir()):
        try:
            mark.unlink()
        except FileNotFoundError:
            continue  # another was first
        os.kill(os.getpid(), signal.SIGKILL)
    return words
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module into the current folder, of a name that no other test uses."""
    name = f"cutting_{abs(hash(tmp_path))}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(code, folder=tmp_path):
        (folder / f"{name}.py").write_text(code)
        sys.modules.pop(name, None)
        return TokenizerOptions(function=f"{name}:cut")

    yield write
    sys.modules.pop(name, None)


def test_workers_may_die_while_they_count(sources, tmp_path, there, module):
    marks = tmp_path / "marks"
    marks.mkdir()
    options = {"tokenizer": module(DEADLY.format(marks=str(marks)))}
    ingest([sources / "news.jsonl"], tmp_path / "serial", IngestOptions(**options))
    for number in range(2):
        (marks / str(number)).touch()

    ingest(
        [sources / "news.jsonl"],
        tmp_path / "dask",
        IngestOptions(**options, **at(there)),
    )

    assert list(marks.iterdir()) == []
    assert files_of(tmp_path / "dask") == files_of(tmp_path / "serial")


@pytest.mark.parametrize(("owner", "name"), [(dask_cluster, "_result"), (unfinished, "_write")])
def test_workers_may_die_whatever_the_driver_does(
    sources, tmp_path, there, cluster, monkeypatch, owner, name
):
    source, killer = sources / "news.jsonl", Killer(cluster)
    ingest([source], tmp_path / "serial")

    with monkeypatch.context() as patch:
        killer.around(patch, owner, name)
        ingest([source], tmp_path / "dask", IngestOptions(**at(there)))

    assert killer.deaths == ["before", "after"]
    assert files_of(tmp_path / "dask") == files_of(tmp_path / "serial")


def test_workers_may_die_over_vectors(sources, tmp_path, there, cluster, monkeypatch):
    source, killer = sources / "vectors.npy", Killer(cluster)
    ingest_vectors([source], tmp_path / "serial", VectorOptions(pca=3))

    with monkeypatch.context() as patch:
        killer.around(patch, dask_cluster, "_result")
        ingest_vectors([source], tmp_path / "dask", VectorOptions(pca=3, **at(there)))

    assert killer.deaths == ["before", "after"]
    assert files_of(tmp_path / "dask") == files_of(tmp_path / "serial")


# --- ingests that are stopped ---------------------------------------------------------------------
def stop(source, out, options, error):
    """When four blocks have been put by."""

    def write(placed):
        if placed[1].stem == "block-000004":
            raise error
        return plain(placed)

    plain, said = unfinished._write, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unfinished, "_write", write)
        with pytest.raises(type(error)):
            ingest([source], out, options, say=said.append)
    return said


@pytest.mark.parametrize("is_first", [True, False])
def test_what_dask_began_threads_end_and_the_other_way(sources, tmp_path, there, is_first):
    source, out = sources / "news.jsonl", tmp_path / "corpus"
    ingest([source], tmp_path / "whole")
    places = (there, {}) if is_first else ({}, there)
    stop(source, out, IngestOptions(**at(places[0])), KeyboardInterrupt())
    said = []

    ingest([source], out, IngestOptions(**at(places[1])), say=said.append)

    assert said == [f"{out}: continuing an ingest that was interrupted."]
    assert files_of(out) == files_of(tmp_path / "whole")


def test_a_cluster_that_is_lost_costs_nothing_that_was_read(sources, tmp_path, there):
    source, out = sources / "news.jsonl", tmp_path / "corpus"
    ingest([source], tmp_path / "whole")
    lost = ClusterError("the Dask cluster", "its scheduler is lost")

    said = stop(source, out, IngestOptions(**at(there)), lost)

    assert said == [f"{out}: What was read is kept; repeat the command to continue."]
    ingest([source], out, say=said.append)
    assert "continuing" in said[1]
    assert files_of(out) == files_of(tmp_path / "whole")


def test_ctrl_c_in_a_terminal_is_for_the_driver(there):
    """Workers belong to the same group of processes, and would each show a traceback."""
    with open_cluster(Workplace(**there)) as workers:
        (handler,) = workers.map(signal.getsignal, [signal.SIGINT], ["0"])

    assert handler == signal.SIG_IGN


# --- the user's function --------------------------------------------------------------------------
CUT = "def cut(text):\n    return text.split()\n"


def test_a_function_in_the_current_folder_is_found_by_workers(sources, tmp_path, there, module):
    options = {"tokenizer": module(CUT)}
    ingest([sources / "news.jsonl"], tmp_path / "serial", IngestOptions(**options))

    ingest(
        [sources / "news.jsonl"],
        tmp_path / "dask",
        IngestOptions(**options, **at(there)),
    )

    assert files_of(tmp_path / "dask") == files_of(tmp_path / "serial")


def test_a_function_that_workers_do_not_have_is_refused(sources, tmp_path, there, module):
    (tmp_path / "mine").mkdir()
    tokenizer = module(CUT, tmp_path / "mine")
    sys.path.append(str(tmp_path / "mine"))

    with pytest.raises(OptionError, match=r"a worker cannot import it \(.*No module"):
        ingest(
            [sources / "news.jsonl"],
            tmp_path / "dask",
            IngestOptions(tokenizer=tokenizer, **at(there)),
        )

    assert not (tmp_path / "dask").exists()


def test_workers_that_have_another_version_of_a_function_say_so(sources, tmp_path, there, module):
    tokenizer = module(CUT)
    ingest(
        [sources / "news.jsonl"],
        tmp_path / "a",
        IngestOptions(tokenizer=tokenizer, **at(there)),
    )
    options = IngestOptions(tokenizer=module(CUT.replace("text.", "text.lower().")), **at(there))

    with pytest.raises(OptionError, match="a worker has imported a different file"):
        ingest([sources / "news.jsonl"], tmp_path / "b", options)

    assert not (tmp_path / "b").exists()


# --- what travels ---------------------------------------------------------------------------------
def test_a_stream_takes_few_items_ahead_and_keeps_their_order(there):
    n_taken, n_back, most = 0, 0, 0

    def items():
        nonlocal n_taken, most
        for number in range(40):
            n_taken += 1
            most = max(most, n_taken - n_back)
            yield number

    def with_pid(item):
        return item, os.getpid()

    pids = set()
    with open_cluster(Workplace(**there)) as workers:
        for number, (item, pid) in enumerate(workers.stream(with_pid, items())):
            assert item == number
            n_back += 1
            pids.add(pid)

    assert n_back == 40
    assert most == 2 * AHEAD_WITH_DATA + 1
    assert len(pids) == 2


def test_large_blocks_travel_without_a_warning(there):
    blocks = (np.full(2 << 20, number, np.float64) for number in range(3))  # 16 MiB each

    with open_cluster(Workplace(**there)) as workers:
        assert list(workers.stream(np.max, blocks)) == [0.0, 1.0, 2.0]


def test_a_block_carries_no_more_than_it_needs(sources, tmp_path):
    """Not the names of all items, nor the whole image."""
    read = VectorReadOptions()
    blocks = list(read_arrays.read_npz(SourceFile(sources / "named.npz", "named.npz"), read))
    sizes = [len(pickle.dumps(block)) for block in blocks]
    assert len(sizes) > 5
    assert max(sizes) < 2 * BLOCK_BYTES


def test_strips_of_an_image_travel_alone(tmp_path, monkeypatch):
    images = pytest.importorskip("PIL.Image", reason="needs Pillow")
    from sparsetopics.corpora.readers import images as read_images

    monkeypatch.setattr("sparsetopics.corpora.readers.blocks.BLOCK_BYTES", 16 * 1024)
    images.fromarray(make_grey(300, 300)).save(tmp_path / "a.png")
    file = SourceFile(tmp_path / "a.png", "a.png")

    blocks = list(read_images.read_images(file, VectorReadOptions(patches=8)))

    assert len(blocks) > 10
    assert max(len(pickle.dumps(block)) for block in blocks) < 300 * 300 * 4 / 5


def test_a_member_of_an_archive_opens_in_another_process(sources):
    collection = find_collection([sources / "news.zip"], None)
    block = next(collection.format.read(collection.files, ReadOptions()))

    there = pickle.loads(pickle.dumps(block))

    *columns, place = there()
    *expected, here = block()
    assert (columns, place(0)) == (expected, here(0))


# --- the command line, and what is refused --------------------------------------------------------
def run(*words, status=0):
    result = CliRunner().invoke(main, ["ingest", *(str(word) for word in words), "--quiet"])
    assert result.exit_code == status, result.output
    return result


def test_the_command_takes_a_scheduler(sources, tmp_path, cluster):
    place = ("--executor", "dask", "--scheduler", cluster.scheduler_address)
    for name, said in (("threads", ()), ("dask", place)):
        run(sources / "news.jsonl", "--out", tmp_path / name, *said)
        run(sources / "vectors.npy", "--out", tmp_path / f"vectors-{name}", "--pca", 3, *said)
        run(sources / "news.jsonl", "--append", tmp_path / name, "--duplicate-ids", "keep", *said)

    assert files_of(tmp_path / "dask") == files_of(tmp_path / "threads")
    assert files_of(tmp_path / "vectors-dask") == files_of(tmp_path / "vectors-threads")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            ("--scheduler", "tcp://host:1"),
            "--scheduler: needs --executor dask, but found --executor threads.",
        ),
        (
            ("--executor", "serial", "--workers", "2"),
            "--workers: must be 1 with --executor serial, but is 2.",
        ),
        (("--executor", "dask", "--scheduler", "host:port"), "no Dask scheduler answers"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(sources, tmp_path, said, told):
    for source in ("news.jsonl", "vectors.npy"):
        result = run(sources / source, "--out", tmp_path / "x", *said, status=1)

        assert told in result.stderr
        assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_dask_the_extra_is_named(sources, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)

    result = run(sources / "news.jsonl", "--out", tmp_path / "x", "--executor", "dask", status=1)

    assert "dask needs the package distributed, which is not installed" in result.stderr
    assert "[dask]" in result.stderr


def test_an_error_of_a_worker_is_the_reader_s(tmp_path, there):
    source = write_jsonl(tmp_path / "bad.jsonl", TEXTS)
    n_lines = len(source.read_bytes().splitlines())
    source.write_bytes(source.read_bytes() + b"[]\n")

    with pytest.raises(SourceError, match=f"bad.jsonl, line {n_lines + 1}"):
        ingest([source], tmp_path / "dask", IngestOptions(**at(there)))

    assert [path for path in tmp_path.iterdir() if path != Path(source)] == []

"""Sources behind URLs, by fsspec's file system in memory."""

import http.server
import importlib
import subprocess
import sys
import threading
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.sources import byte_stream, remote
from sparsetopics.corpora.sources.remote import RemoteFile
from sparsetopics.corpora.sources.source_files import find_files
from worlds.collections_on_disk import documents_of, make_texts, write_jsonl

fsspec = pytest.importorskip("fsspec")
TEXTS = make_texts(40)


@pytest.fixture
def bucket():
    """``put(name, data)`` in a file system that is empty before and after."""
    system = fsspec.filesystem("memory")
    system.store.clear()

    def put(name, data):
        system.pipe(f"/bucket/{name}", data if isinstance(data, bytes) else data.encode())
        return f"memory://bucket/{name}"

    yield put
    system.store.clear()


def ingested(source, tmp_path):
    ingest([source], tmp_path / "corpus", IngestOptions(overwrite=True))
    return documents_of(Corpus.open(tmp_path / "corpus"))


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.parquet", "a.zip"])
def test_a_url_gives_what_the_file_gives(name, bucket, tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 1_000)
    path = tmp_path / name
    if name == "a.parquet":
        ids = [f"doc-{n}" for n in range(len(TEXTS))]
        pq.write_table(pa.table({"id": ids, "text": TEXTS}), path)
    elif name == "a.jsonl.zst":
        plain = write_jsonl(tmp_path / "a.jsonl", TEXTS)
        path.write_bytes(pa.compress(plain.read_bytes(), "zstd", asbytes=True))
    elif name == "a.zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(write_jsonl(tmp_path / "b.jsonl", TEXTS), "b.jsonl")
    else:
        write_jsonl(path, TEXTS)
    expected = ingested(path, tmp_path)

    assert ingested(bucket(name, path.read_bytes()), tmp_path) == expected


def test_an_archive_on_a_server_that_cannot_seek(bucket, tmp_path, monkeypatch):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.lines", "one word\nother words\n")
    url = bucket("a.zip", path.read_bytes())
    monkeypatch.setattr(remote._RemoteStream, "seekable", lambda _: False)

    assert ingested(url, tmp_path) == {"0": {"one": 1, "word": 1}, "1": {"other": 1, "words": 1}}


def test_folders_and_patterns(bucket, tmp_path):
    for name in ("in/b.txt", "in/pets/a.txt", "in/.hidden/c.txt", "in/notes.md"):
        url = bucket(name, f"words of {name}")
    folder = url.removesuffix("/notes.md")

    ingest([folder], tmp_path / "corpus")

    corpus = Corpus.open(tmp_path / "corpus")
    assert next(corpus.doc_ids()) == ["b.txt", "pets/a.txt"]
    assert next(corpus.labels()) == [None, "pets"]
    files = find_files(
        [f"{folder}/*.txt", str(tmp_path / "cor*" / "*.json")], bool, or_all=True
    ).files
    assert [file.name for file in files] == ["b.txt", "manifest.json"]


def test_words_beside_remote_counts(bucket, tmp_path):
    bucket("vocab.a.txt", "owl\ncat\n")
    url = bucket("docword.a.txt", "1\n2\n1\n1 2 3\n")

    assert ingested(url, tmp_path) == {"1": {"cat": 3}}
    assert ingested(url.removesuffix("/docword.a.txt"), tmp_path) == {"1": {"cat": 3}}


def test_the_query_of_a_web_address_is_no_part_of_the_name():
    file = RemoteFile(None, "https://host/a/news.jsonl.gz?x=1&y=b/c.txt".replace("b/", ""), True)

    assert (file.name, byte_stream.packing_of(file)) == ("news.jsonl.gz", ".gz")
    assert file.with_name("vocab.txt").path == "https://host/a/vocab.txt"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("memory://bucket/gone.jsonl", "no file or folder has this name or matches this pattern"),
        ("memory://bucket/*.jsonl", "no file or folder has this name or matches this pattern"),
        ("nonsense://bucket/a.jsonl", r"the URL cannot be opened \(.*nonsense"),
    ],
)
@pytest.mark.usefixtures("bucket")
def test_a_url_that_leads_nowhere(url, found, tmp_path):
    with pytest.raises(SourceError, match=found):
        ingest([url], tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst", "a.zip"])
def test_a_damaged_remote_file_is_named(name, bucket, tmp_path):
    url = bucket(name, b"plain")

    with pytest.raises(SourceError, match=rf"bucket/{name}: damaged"):
        ingest([url], tmp_path / "corpus")


@pytest.fixture
def server():
    """The address of a server whose /a.lines is a text, and the headers of its redirects."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            target = redirects.get(self.path)
            self.send_response(302 if target else 200)
            if target:
                self.send_header("Location", target)
            self.end_headers()
            self.wfile.write(b"" if target else b"owl cat\n")

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    redirects = {}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_port}", redirects
        made.shutdown()


def test_redirects_lead_to_no_other_host(server, tmp_path):
    pytest.importorskip("aiohttp")
    address, redirects = server
    elsewhere = address.replace("127.0.0.1", "localhost") + "/a.lines"
    redirects |= {"/near.lines": "/a.lines", "/far.lines": "/hop", "/hop": elsewhere}

    for name in ("a", "near"):
        assert ingested(f"{address}/{name}.lines", tmp_path) == {"0": {"owl": 1, "cat": 1}}
    with pytest.raises(SourceError, match=rf"another host; if you trust it, give {elsewhere}"):
        ingested(f"{address}/far.lines", tmp_path)


@pytest.mark.parametrize("error", [RuntimeError("403 Forbidden\nno more"), OSError("reset")])
@pytest.mark.parametrize("name", ["a.jsonl", "a.txt", "a.jsonl.zst"])
def test_errors_of_a_service_are_one_line(error, name, bucket, tmp_path, monkeypatch):
    url = bucket(name, b"words")

    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "_open", refuse)

    with pytest.raises(SourceError, match=rf"bucket/{name}: .*\(.*(Forbidden|reset)") as caught:
        ingest([url], tmp_path / "corpus")
    assert "\n" not in str(caught.value)


def test_errors_while_reading_are_one_line(bucket, tmp_path, monkeypatch):
    url = bucket("a.jsonl", b"words")
    stream = type(fsspec.open(url).open())

    def break_off(*_):
        raise RuntimeError("connection lost")

    monkeypatch.setattr(stream, "read", break_off, raising=False)

    with pytest.raises(SourceError, match=r"cannot be read \(RuntimeError: connection lost"):
        ingest([url], tmp_path / "corpus")


def test_without_fsspec_the_extra_is_named(tmp_path, monkeypatch):
    imports = importlib.import_module

    def no_fsspec(name):
        if name.startswith("fsspec"):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return imports(name)

    monkeypatch.setattr(importlib, "import_module", no_fsspec)

    with pytest.raises(
        OptionError, match=r"No module named 'fsspec.*pip install 'sparsetopics\[remote\]'"
    ):
        ingest(["s3://bucket/a.jsonl"], tmp_path / "corpus")


def test_without_the_package_of_a_protocol_it_is_named(tmp_path, monkeypatch):
    def no_package(_):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", no_package)

    with pytest.raises(OptionError, match=r"missing \(Install s3fs to access S3\)"):
        ingest(["s3://bucket/a.jsonl"], tmp_path / "corpus")


def test_fsspec_is_imported_only_where_used(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", TEXTS)
    program = (
        "import sys\nfrom sparsetopics.corpora.ingest import ingest\n"
        f"ingest([{str(source)!r}], {str(tmp_path / 'corpus')!r})\n"
        "sys.exit('fsspec' in sys.modules)\n"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

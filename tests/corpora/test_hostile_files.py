"""Files made to harm: bombs, links, paths out of folders, sizes that are lies, pickles.

What the fuzzer has found stands in ``test_fuzz.py``.
"""

import bz2
import gzip
import io
import json
import stat
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from resealing import reseal
from sparsetopics.base import safe_reading
from sparsetopics.base.array_files import read_npy
from sparsetopics.base.errors import CorpusFormatError, OutputError, RunError, SourceError
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.cli.main import main
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.ingest_vectors import ingest_vectors
from sparsetopics.corpora.readers import blocks as read_blocks
from sparsetopics.corpora.readers import images as read_images
from sparsetopics.corpora.readers import text_tables
from sparsetopics.corpora.readers.formats import find_collection
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources import archives, arrow_batches, ipc_sizes, parquet_sizes
from sparsetopics.corpora.sources.parquet_sizes import check_sizes, longest_shared
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.estimators.loading import load
from sparsetopics.evaluation.scoring.fixed_topics import read_topic_matrix
from sparsetopics.evaluation.scoring.weight_files import READERS
from sparsetopics.model.memo import Memo
from worlds.collections_on_disk import documents_of

ZEROS = bytes(3 << 20)


@pytest.fixture
def small_bombs(monkeypatch):
    """A mebibyte is too much, if it was packed too well."""
    monkeypatch.setattr(archives, "MOST_UNPACKED", 1 << 20)
    monkeypatch.setattr(parquet_sizes, "MOST_UNPACKED", 1 << 20)


def refused(source, tmp_path, match, make=ingest, kind=SourceError):
    with pytest.raises(kind, match=match) as caught:
        make([source], tmp_path / "corpus")
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).isprintable()
    assert not (tmp_path / "corpus").exists()


def zipped(path, members, packing=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", packing) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return path


def lines_of(n_bytes):
    return b"owl cat\n" * (n_bytes // 8)


@pytest.mark.parametrize("name", ["a.lines.gz", "a.lines.zst", "a.parquet.gz", "a.txt.gz"])
def test_a_packed_bomb_is_stopped_on_the_way(name, tmp_path, small_bombs):
    data = lines_of(3 << 20)
    packed = gzip.compress(data) if name.endswith("gz") else pa.compress(data, "zstd", asbytes=True)
    (tmp_path / name).write_bytes(packed)

    refused(
        tmp_path / name,
        tmp_path,
        r"bytes unpack to .* or more, but may unpack to at most 250 times",
    )


def test_what_is_no_bomb_is_read_however_long(tmp_path, small_bombs):
    words = np.random.default_rng(0).integers(0, 26**5, 200_000)
    text = "".join(np.base_repr(word + 26**5, 26) + " " for word in words).encode()
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text, 1))

    ingest([tmp_path / "a.txt.gz"], tmp_path / "corpus")

    assert len(text) > archives.MOST_UNPACKED


@pytest.mark.parametrize("members", [{"a.lines": lines_of(3 << 20)}, {"a.npy": ZEROS}])
def test_a_zip_bomb_is_refused_unopened(members, tmp_path, small_bombs):
    path = zipped(tmp_path / "a.zip", members)

    refused(path, tmp_path, r"a\.zip: [\d,]+ bytes unpack to 3,")


def test_small_members_may_be_a_bomb_together(tmp_path, small_bombs):
    path = zipped(tmp_path / "a.zip", {f"{n}.txt": bytes(900_000) for n in range(4)})

    refused(path, tmp_path, "bytes unpack to 3,600,000")


def test_what_is_packed_twice_is_compared_with_the_archive(tmp_path, small_bombs):
    inner = gzip.compress(lines_of(3 << 20), 9)
    path = zipped(tmp_path / "a.zip", {"a.lines.gz": inner})

    refused(path, tmp_path, r"a\.zip/a\.lines\.gz: [\d,]+ bytes unpack")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_packed_members_may_be_a_bomb_together(pack, tmp_path, small_bombs):
    suffix = "gz" if pack is gzip.compress else "bz2"
    members = {f"{n}.lines.{suffix}": pack(b"\n" * 900_000) for n in range(9)}
    path = zipped(tmp_path / "a.zip", members, zipfile.ZIP_STORED)

    refused(path, tmp_path, r"a\.zip/1\.lines\.\w+: [\d,]+ bytes unpack to 1,")


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packings_without_a_bound_are_refused(packing, tmp_path):
    refused(zipped(tmp_path / "a.zip", {"a.txt": "owl"}, packing), tmp_path, "but found method")


@pytest.mark.parametrize("name", [".", "", "\n", "a\nb.txt", "\x1b[31m.txt"])
def test_odd_names_of_members(name, tmp_path):
    path = zipped(tmp_path / "a.zip", {"b.txt": "owl"})
    info = zipfile.ZipInfo("x" * max(1, len(name)))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, "cat")
        info.filename = name

    try:
        ingest([path], tmp_path / "corpus")
    except SourceError as error:
        assert str(error).isprintable()  # noqa: PT017  either way is right
    else:
        assert "b.txt" in documents_of(Corpus.open(tmp_path / "corpus"))


def test_a_name_that_is_not_the_utf8_that_is_promised(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a.txt": "owl"})
    data = bytearray(path.read_bytes())
    head = data.rindex(b"PK\x01\x02")
    data[head + 9] |= 8  # the flag of UTF-8
    data[data.rindex(b"a.txt")] = 0xFF
    path.write_bytes(data)

    refused(path, tmp_path, "damaged or unreadable zip data")


def test_a_name_that_is_not_utf_8_beside_the_data_is_damage(tmp_path):
    """The directory at the end of the archive has the true name."""
    path = zipped(tmp_path / "a.zip", {"ä.txt": "owl"})
    data = path.read_bytes()
    path.write_bytes(data.replace("ä".encode(), b"\xf2\xa4", 1))

    refused(path, tmp_path, r"a\.zip/ä\.txt: damaged or truncated zip data \(a name is not UTF-8")


def test_links_in_an_archive_are_not_followed_nor_read(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a.txt": "owl"})
    link = zipfile.ZipInfo("b.txt")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/hostname")

    ingest([path], tmp_path / "corpus")

    assert documents_of(Corpus.open(tmp_path / "corpus")) == {"a.txt": {"owl": 1}}


@pytest.mark.parametrize("compression", ["zstd", "gzip", "brotli"])
def test_a_parquet_bomb_is_refused_before_it_is_unpacked(compression, tmp_path, small_bombs):
    table = pa.table({"text": ["owl " * 1_000_000, "cat"]})
    pq.write_table(table, tmp_path / "a.parquet", compression=compression, use_dictionary=False)

    refused(tmp_path / "a.parquet", tmp_path, r"bytes unpack to 4,0\d\d,\d\d\d or more")


def test_a_list_without_end_is_refused(tmp_path, small_bombs):
    """Repeated values take next to no bytes, packed or not."""
    table = pa.table({"x": pa.array([[1.0] * 400_000])})
    pq.write_table(table, tmp_path / "a.parquet", compression="none")

    refused(tmp_path / "a.parquet", tmp_path, "bytes unpack to", ingest_vectors)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_every_page_is_seen(version, compression, tmp_path):
    """The heads and what they announce are all that a column has on disk."""
    rng = np.random.default_rng(0)
    names = [f"name {n}" for n in range(5_000)]
    table = pa.table(
        {
            "name": names,
            "label": ["owl", None] * 2_500,
            "number": rng.random(5_000),
            "long": ["x" * 3_000, *names[1:]],
            "list": pa.array([list(range(n % 4)) for n in range(5_000)]),
        }
    )
    path = tmp_path / "a.parquet"
    pq.write_table(
        table, path, compression=compression, data_page_version=version, row_group_size=2_000,
        data_page_size=5_000, write_page_checksum=True,
    )  # fmt: skip

    with path.open("rb") as raw, pq.ParquetFile(raw) as file:
        groups = parquet_sizes.row_groups(raw)
        assert len(groups) == file.metadata.num_row_groups == 3
        for index, group in enumerate(groups):
            for number, chunk in enumerate(group):
                column = file.metadata.row_group(index).column(number)
                found = list(parquet_sizes.pages(raw, chunk))
                n_heads = sum(page.n_head for page in found)
                assert chunk.n_values == column.num_values
                assert chunk.is_nested == (number == 4)
                assert n_heads + sum(p.n_packed for p in found) == column.total_compressed_size
                assert n_heads + sum(p.n_unpacked for p in found) == column.total_uncompressed_size
                assert found[0].is_dictionary == column.has_dictionary_page
        shared = check_sizes(raw)
        assert set(shared) == {"name", "label", "long"}
        longest = {name: longest_shared(raw, pages) for name, pages in shared.items()}
        assert longest == {"name": 9, "label": 3, "long": 3_000}


def test_a_list_of_doubles_that_claims_more_than_the_footer_holds_is_refused(tmp_path):
    """It would take more memory than there is: doubles were skipped, not read."""
    footer = b"\x49\xf7" + b"\xff" * 8 + b"\x0f" + bytes(80)
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")

    with path.open("rb") as raw, pytest.raises(ValueError, match="footer is damaged"):
        check_sizes(raw)


def test_chunks_that_share_their_pages_are_refused(tmp_path, monkeypatch):
    """A short foot could have the same pages looked at for hours."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["owl", "cat"] * 90}), path)
    with path.open("rb") as raw:
        (group,) = parquet_sizes.row_groups(raw)
        monkeypatch.setattr(parquet_sizes, "row_groups", lambda file: [group] * 1_000)

        with pytest.raises(ValueError, match="pages share their data"):
            check_sizes(raw)


LONG = "owl " * 250_000
SHARED = pa.DictionaryArray.from_arrays(pa.array([0] * 3_000), pa.array([LONG]))


def views(text, n_rows):
    """Rows that all point to the same bytes."""
    _, places, data = pa.array([text], pa.string_view()).buffers()
    return pa.Array.from_buffers(
        pa.string_view(), n_rows, [None, pa.py_buffer(places.to_pybytes() * n_rows), data]
    )


def ipc(path, column, name="text", packing=None):
    kind = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
    options = pa.ipc.IpcWriteOptions(compression=packing)
    table = pa.table({name: column, "x": [0.5] * len(column)})
    with pa.OSFile(str(path), "wb") as sink, kind(sink, table.schema, options=options) as out:
        out.write_table(table)


def parquet(path, column, name="text", **options):
    pq.write_table(pa.table({name: column, "x": [0.5] * len(column)}), path, **options)


INCREMENTAL = {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
EXPANDING = {
    "dictionary.arrow": lambda path: ipc(path, SHARED, packing="zstd"),
    "dictionary.arrows": lambda path: ipc(path, SHARED, packing="lz4"),
    "views.arrows": lambda path: ipc(path, views(LONG, 3_000)),
    "nothing.arrow": lambda path: feather.write_feather(
        pa.table({"text": pa.nulls(40_000_000)}), path, chunksize=40_000_000
    ),
    "dictionary.parquet": lambda path: parquet(path, SHARED),
    "plain.parquet": lambda path: parquet(path, SHARED, store_schema=False),
    "increments.parquet": lambda path: parquet(path, [LONG] * 300, **INCREMENTAL),
}


def decoded_in_small_blocks(source):
    """Whether no block takes much memory, however long reading goes on before it is refused."""
    before = pa.total_allocated_bytes()
    collection = find_collection([source], None)
    for pending in collection.format.read(collection.files, ReadOptions()):
        assert pending().texts.nbytes < 20 << 20
        assert pa.total_allocated_bytes() - before < 300 << 20


@pytest.mark.parametrize("name", EXPANDING)
def test_rows_that_expand_without_end_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_batches, "MOST_UNPACKED", 100 << 20)
    EXPANDING[name](tmp_path / name)

    with pytest.raises(SourceError, match=r"bytes unpack to [\d,]+ or more"):
        decoded_in_small_blocks(tmp_path / name)


@pytest.mark.parametrize("name", ["dictionary.arrow", "dictionary.parquet"])
def test_labels_that_expand_without_end_are_refused_beside_vectors(name, tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_batches, "MOST_UNPACKED", 100 << 20)
    write = parquet if name.endswith("parquet") else ipc
    labels = pa.DictionaryArray.from_arrays(pa.array([0] * 3_000), pa.array([LONG[:60_000]]))
    write(tmp_path / name, labels, "label")

    refused(tmp_path / name, tmp_path, "bytes unpack to", ingest_vectors)


def test_weights_of_words_that_expand_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_batches, "MOST_UNPACKED", 100 << 20)
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"topic": [0] * 3_000, "word": SHARED, "probability": [0.5] * 3_000}), path
    )

    with pytest.raises(RunError, match="bytes unpack to"):
        read_topic_matrix(path, ["owl"], READERS[".parquet"])


@pytest.mark.parametrize("name", ["a.arrow", "a.arrows"])
def test_an_ipc_bomb_is_refused_before_it_is_unpacked(name, tmp_path, small_bombs):
    ipc(tmp_path / name, [LONG] * 3, packing="zstd")

    refused(tmp_path / name, tmp_path, r"bytes unpack to 3,0\d\d,\d\d\d or more")


@pytest.mark.parametrize("name", ["a.arrow", "a.arrows"])
@pytest.mark.parametrize("packing", [None, "zstd", "lz4"])
def test_every_ipc_message_is_seen(name, packing, tmp_path):
    """What the heads announce is what Arrow allocates."""
    rng = np.random.default_rng(0)
    table = pa.table({"text": [str(n) for n in range(500)], "number": rng.random(500)})
    table = table.append_column("label", pa.array(["owl", None] * 250).dictionary_encode())
    kind = pa.ipc.new_stream if name.endswith("s") else pa.ipc.new_file
    options = pa.ipc.IpcWriteOptions(compression=packing)
    path = tmp_path / name
    with pa.OSFile(str(path), "wb") as sink, kind(sink, table.schema, options=options) as out:
        out.write_table(table, max_chunksize=200)

    with path.open("rb") as file:
        found = [(m.is_dictionary, ipc_sizes.n_unpacked(file, m)) for m in ipc_sizes.messages(file)]

    of_rows = [n_bytes for is_dictionary, n_bytes in found if not is_dictionary and n_bytes]
    assert len([1 for is_dictionary, _ in found if is_dictionary]) == 1
    if packing is None:
        assert not of_rows
    else:
        least = [batch.nbytes - 100 for batch in table.to_batches(max_chunksize=200)]
        assert len(of_rows) == 3
        assert all(n_bytes > n for n_bytes, n in zip(of_rows, least, strict=True))
        assert sum(of_rows) < 2 * table.nbytes


def test_what_repeats_is_read_in_pieces(tmp_path):
    """Long strings that repeat are no bomb in a file that is long enough."""
    texts = pa.array([f"owl {n} " * 20_000 for n in range(8)])
    column = pa.DictionaryArray.from_arrays(pa.array([n % 8 for n in range(200)]), texts)
    for name, write in (("a.parquet", parquet), ("a.arrow", ipc)):
        write(tmp_path / name, column)
        collection = find_collection([tmp_path / name], None)
        blocks = [p() for p in collection.format.read(collection.files, ReadOptions())]
        assert len(blocks) == 3
        assert [t for b in blocks for t in b.texts.to_pylist()] == column.to_pylist()


def test_rows_that_share_a_long_string_are_read_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_batches, "MOST_DECODED", 1 << 20)
    monkeypatch.setattr(arrow_batches, "BLOCK_BYTES", 1 << 20)
    monkeypatch.setattr(read_blocks, "BLOCK_BYTES", 1 << 20)
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 90), pa.array(["owl " * 100_000]))
    pq.write_table(pa.table({"text": text}), tmp_path / "a.parquet", store_schema=False)
    before = pa.total_allocated_bytes()
    pool = pa.default_memory_pool()

    blocks = text_tables.read_table(
        arrow_batches.open_parquet_table,
        text_tables.SourceFile(tmp_path / "a.parquet", "a"),
        text_tables.ReadOptions(),
    )

    for pending in blocks:
        assert len(pending().texts) <= 4
        assert pa.total_allocated_bytes() - before < 16 << 20, pool.backend_name


def test_a_vocabulary_of_one_word_many_times(tmp_path):
    numbers = pa.array([1] * 100_000)
    word = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000), pa.array(["x" * 10_000]))
    table = pa.table({"word": word, "document_frequency": numbers, "term_frequency": numbers})
    pq.write_table(table, tmp_path / "vocabulary.parquet", store_schema=False)

    with pytest.raises(CorpusFormatError, match="only 1 of its 100,000 words are different"):
        Vocabulary.read(tmp_path)


def png(width, height):
    """Of pixels that are not there."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


@pytest.mark.parametrize("size", [(2**31 - 1, 2**31 - 1), (10_000, 10_000)])
def test_a_huge_image_is_refused_by_its_head(size, tmp_path):
    pytest.importorskip("PIL")
    (tmp_path / "a.png").write_bytes(png(*size))

    refused(tmp_path / "a.png", tmp_path, "pixels", ingest_vectors)
    assert read_images.LARGEST_IMAGE < 10_000**2


@pytest.mark.parametrize("data", [b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", b"8BPS"])
def test_what_pillow_would_start_programs_for_is_no_image(data, tmp_path):
    pytest.importorskip("PIL")
    (tmp_path / "a.png").write_bytes(data + bytes(200))

    refused(tmp_path / "a.png", tmp_path, "cannot be decoded", ingest_vectors)


class Harm:
    """Unpickled, it leaves a file."""

    def __reduce__(self):
        return (Path("harm").write_text, ("done",))


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_nothing_is_unpickled(suffix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"a{suffix}"
    harm = np.array([[Harm()]], object)
    if suffix == ".npy":
        np.save(path, harm, allow_pickle=True)
    else:
        np.savez(path, values=harm, topic_word=harm)

    refused(path, tmp_path, "Python objects, which are never unpickled", ingest_vectors)
    with pytest.raises(RunError, match="never unpickled"):
        read_topic_matrix(path, ["owl"], READERS[suffix])

    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "shape", ["(1000000000000, 1000)", "(99999999999999999999999, 2)", "(-1, 4)", "(2**40, 1)"]
)
def test_an_array_whose_head_lies_asks_for_no_memory(shape):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(64)
    tracemalloc.start()

    with pytest.raises(ValueError, match=r"early|shape|header|malformed"):
        read_npy(io.BytesIO(data))

    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()


def test_a_head_of_brackets_takes_no_time(tmp_path):
    """numpy looks for what Python 2 wrote, which took it seconds; it is not asked."""
    head = (b"{'descr': '<f8', 'shape': (4, 3)" + b"(" * 300 + b"\\\n" * 4_000)[:9_000]
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head

    with pytest.raises(ValueError, match="damaged header"):
        read_npy(io.BytesIO(data))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("array real general\n2 5\n" + "1\n" * 9, "expected 2 x 5 numbers, but found"),
        ("array real general\n2 5\n" + "1\n" * 11, "expected 2 x 5 numbers, but found"),
        ("array real general\n1000000 1000000\n1\n", r"the header promises \d+ x \d+ numbers in"),
        ("array real general\n0 5\n", r"the header promises \d+ x \d+ numbers in"),
        (
            "coordinate real general\n1000000 1000000 1\n1 1 1\n",
            r"the header promises \d+ x \d+ numbers in",
        ),
        ("coordinate real general\n2 5 1\n3 1 1\n", "a row or column that the matrix lacks"),
        ("coordinate real general\n2 5 1\n1.5 1 1\n", "a row or column that the matrix lacks"),
        (
            "coordinate real general\n2 5 2\n1 1 1\n",
            r"expected 2 entries, but found shape \(1, 3\)",
        ),
        ("array complex general\n2 5\n", "line 1: expected %%MatrixMarket matrix"),
        ("array real general\n2\n", "line 2: expected numbers of rows"),
    ],
)
def test_matrix_market_weights_are_as_many_as_promised(body, message, tmp_path):
    """scipy ends the process for some of these."""
    (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix {body}")

    with pytest.raises(RunError, match=message):
        read_topic_matrix(tmp_path / "a.mtx", list("abcde"), READERS[".mtx"])


@pytest.mark.parametrize("n_docs", [2_000_000_000, 2**31, 10**17])
def test_documents_that_are_only_promised(n_docs, tmp_path):
    (tmp_path / "docword.a.txt").write_text(f"{n_docs}\n1\n1\n1 1 1\n")
    (tmp_path / "vocab.a.txt").write_text("owl\n")

    refused(tmp_path / "docword.a.txt", tmp_path, f"{n_docs:,} documents")


@pytest.mark.parametrize("file", ["../../outside", "/etc/hostname", "..", "a/b", "a\0b", "x" * 300])
def test_a_manifest_that_points_out_of_its_folder(file, tmp_path):
    (tmp_path / "a.txt").write_text("owl")
    ingest([tmp_path / "a.txt"], tmp_path / "corpus")
    path = tmp_path / "corpus" / "manifest.json"
    content = json.loads(path.read_text())
    content["shards"][0]["file"] = file
    write_sealed(path, content)

    with pytest.raises(CorpusFormatError, match="expected a plain file name, but found"):
        Corpus.open(tmp_path / "corpus")


@pytest.mark.parametrize("file", ["../memo-00000001.npz", "/memo-00000001.npz", "model.json", "."])
def test_a_checkpoint_that_points_out_of_its_folder(file, tmp_path):
    """What a memo adopts it may remove."""
    (tmp_path / "memo").mkdir()
    (tmp_path / "memo-00000001.npz").write_bytes(b"abc")

    with pytest.raises(RunError, match="is not the name of a memo file"):
        Memo(tmp_path / "memo").adopt(file, 3, "")


def test_strange_names_in_the_memo(tmp_path):
    (tmp_path / "memo-x.npz").write_bytes(b"")

    Memo(tmp_path).drop_strangers()

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "1" * 5_000, '{"a": 1' + "0" * 5_000]
)
@pytest.mark.parametrize("name", ["model.json", "trace.jsonl"])
def test_json_that_breaks_parsers(text, name, run_folder):
    (run_folder / name).write_text(text)
    reseal(run_folder)

    with pytest.raises(RunError, match=f"{name}.*the JSON is damaged"):
        load(run_folder)


def test_settings_that_are_too_long_are_not_read(run_folder, monkeypatch):
    monkeypatch.setattr(safe_reading, "LARGEST_TEXT", 100)

    with pytest.raises(RunError, match=r"model\.json: the file has more than 100 bytes"):
        load(run_folder)


@pytest.mark.parametrize(
    "head",
    [
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 100_000_001) + b"{}",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 84)
        + b'{"doc_concentration":{"dtype":"F64","shape":[1000000,1000000],"data_offsets":[0,8]}}',
    ],
)
def test_safetensors_heads_that_lie(head, run_folder):
    (run_folder / "model.safetensors").write_bytes(head + bytes(8))

    with pytest.raises(RunError, match=r"model\.safetensors") as caught:
        load(run_folder)

    assert len(str(caught.value).splitlines()) == 1


LEFT = ("", "{", "[" * 100_000, "[]", "1" * 5_000, '{"command": 1}', '{"a": {}, "b": []}', "\ud800")


@pytest.mark.parametrize("text", LEFT)
def test_what_an_interrupted_ingest_left_may_be_damaged(text, tmp_path):
    (tmp_path / "a.txt").write_text("owl")
    left = tmp_path / ".corpus.sparsetopics"
    left.mkdir()
    (left / "lock").touch()
    (left / "job.json").write_bytes(text.encode(errors="surrogatepass"))

    try:
        ingest([tmp_path / "a.txt"], tmp_path / "corpus")
    except OutputError as error:
        assert "job.json" in str(error)  # noqa: PT017  either way is right
    else:
        assert documents_of(Corpus.open(tmp_path / "corpus")) == {"a.txt": {"owl": 1}}


@pytest.mark.parametrize("text", ["alpha = 1" + "0" * 400, "topics = " + "[" * 3_000, "alpha = ["])
def test_options_that_break_parsers(text, tmp_path):
    (tmp_path / "a.toml").write_text(text)

    given = ["corpus", "--out", "run", "--config", str(tmp_path / "a.toml")]
    result = CliRunner().invoke(main, ["train", *given])

    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {tmp_path / 'a.toml'}")
    assert result.stderr.count("\n") == 1

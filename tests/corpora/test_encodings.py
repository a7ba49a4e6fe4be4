"""Texts in every encoding are read or refused by the name of what they are."""

import codecs
import gzip
import io
import json
import re
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetopics import Corpus
from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.cli.main import main
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.ingest_options import IngestOptions
from sparsetopics.corpora.readers.formats import find_collection
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources import byte_stream

TEXT = "Füße über Brücken, früh am Tag"
# One document of each format, and its text.
FORMATS = {
    "a.txt": lambda text: f"{text}\n",
    "a.lines": lambda text: f"{text}\n",
    "a.csv": lambda text: f'id,text\n1,"{text}"\n',
    "a.tsv": lambda text: f"id\ttext\n1\t{text}\n",
    "a.jsonl": lambda text: json.dumps({"text": text}, ensure_ascii=False) + "\n",
}
CYRILLIC = "Привет, мир! Это обычный русский текст о погоде и о реках."
IN_ENCODINGS = {
    "cp1252": "Grüße – „schöne“ Mädchen, fünf Äpfel, weiß",
    "cp1250": "Zażółć gęślą jaźń, příliš žluťoučký kůň úpěl ďábelské ódy",
    "cp1251": CYRILLIC,
    "koi8_r": CYRILLIC,
    "cp1253": "Αυτό είναι ένα ελληνικό κείμενο για τον καιρό",
    "cp932": "これは日本語の文章です。今日は天気がいいですね。",
    "gb18030": "这是一个中文句子。今天天气很好,我们去公园。",
    "big5": "這是一個中文句子。今天天氣很好,我們去公園。",
    "cp949": "이것은 한국어 문장입니다. 오늘 날씨가 좋네요.",
    "cp1256": "مرحبا بالعالم، هذا نص عادي باللغة العربية",
}


def written(folder, name, text, encoding="utf-8"):
    path = folder / name
    data = text if isinstance(text, bytes) else FORMATS[name.removesuffix(".gz")](text)
    data = data if isinstance(data, bytes) else data.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def folder(place):
    (place / "in").mkdir(exist_ok=True)
    return place / "in"


def texts(path, options=None):
    collection = find_collection([path], None)
    blocks = [pending() for pending in collection.read(options or ReadOptions())]
    return [text.strip() for block in blocks for text in block.texts.to_pylist()]


def run(*words, status=0):
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == status, result.output
    return result


# --- encodings ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*FORMATS, "a.txt.gz", "a.jsonl.gz"])
@pytest.mark.parametrize(
    "encoding", ["cp1252", "latin-1", "shift_jis_2004", "utf-7", "utf-16", "utf-32", "cp500", "hz"]
)
def test_a_given_encoding_is_read_in_every_format(name, encoding, tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 9)  # characters lie across blocks
    text = {"hz": "中文句子", "shift_jis_2004": "日本語の文章"}.get(encoding, TEXT)
    path = written(tmp_path, name, text, encoding)

    assert texts(path, ReadOptions(encoding=encoding)) == [text]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("text", [TEXT, "这是一个中文句子。一一今天天气很好 "])
def test_utf_16_and_utf_32_are_recognised(name, encoding, mark, text, tmp_path):
    path = tmp_path / name
    path.write_bytes((mark + FORMATS[name](text)).encode(encoding))

    assert texts(path) == [text.strip()]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_the_order_of_bytes_may_be_left_open(encoding, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("这是一个中文句子今天天气很好".encode(encoding))

    assert texts(path, ReadOptions(encoding="UTF-16")) == ["这是一个中文句子今天天气很好"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-be", "utf-32-le"])
def test_a_byte_order_mark_comes_before_the_option(encoding, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(f'\ufefftext\n"{TEXT}"\n'.encode(encoding))

    assert texts(path, ReadOptions(encoding="cp1252")) == [TEXT]


@settings(max_examples=60)
@given(
    text=st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1),
    encoding=st.sampled_from(["utf-8-sig", "utf-16", "utf-32", "gb18030"]),
    block_bytes=st.integers(4, 40),
)
def test_any_text_is_read_back(text, encoding, block_bytes, tmp_path_factory):
    path = written(tmp_path_factory.mktemp("any"), "a.lines", f"{text}\n", encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_stream, "BLOCK_BYTES", block_bytes)
        collection = find_collection([path], None)
        blocks = [pending() for pending in collection.read(ReadOptions(encoding=encoding))]

    assert [t for block in blocks for t in block.texts.to_pylist()] == [text, ""]


@pytest.mark.parametrize("name", ["x-klingon", "base64", "idna", "unicode_escape", "a\0b", "rot13"])
def test_names_of_no_encoding_of_texts_are_refused(name):
    with pytest.raises(OptionError, match=r"^encoding: must be an encoding .*such as cp1252"):
        ReadOptions(encoding=name)


def test_formats_with_an_encoding_of_their_own_refuse_the_option(tmp_path):
    pq.write_table(pa.table({"text": ["the owl"]}), tmp_path / "a.parquet")
    said = run(
        *("ingest", tmp_path / "a.parquet", "--out", tmp_path / "c", "--encoding", "cp1252"),
        status=1,
    ).stderr

    assert said == (
        "Error: --encoding: is for text, lines, mallet, jsonl, json or csv, but the format is "
        "parquet. Leave it out.\n"
    )


def test_a_config_file_and_the_command_name_the_encoding(tmp_path):
    path = written(tmp_path, "a.csv", TEXT, "cp1252")
    (tmp_path / "own.toml").write_text('encoding = "latin-1"\n')

    run("ingest", path, "--out", tmp_path / "c", "--encoding", "cp1252")
    run("ingest", path, "--out", tmp_path / "d", "--config", tmp_path / "own.toml")
    more = tmp_path / "more.csv"
    more.write_bytes(path.read_bytes())
    options = ("--encoding", "cp1252", "--duplicate-ids", "keep")
    run("ingest", more, "--append", tmp_path / "c", *options)

    words = ["brücken", "früh", "füße", "tag", "über"]
    assert sorted(Corpus.open(tmp_path / "c").vocabulary.words) == words
    assert sorted(Corpus.open(tmp_path / "d").vocabulary.words) == words
    assert Corpus.open(tmp_path / "c").n_docs == 2


# --- errors ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("encoding", IN_ENCODINGS)
def test_the_error_names_the_likely_encoding(encoding, tmp_path):
    lines = ["text", "plain words", *[IN_ENCODINGS[encoding]] * 3]
    (tmp_path / "a.csv").write_bytes("\n".join(lines).encode(encoding))

    with pytest.raises(SourceError) as caught:
        texts(tmp_path / "a.csv")

    found = re.search(r"line 3: expected UTF-8 .* is probably (\w+)\)", str(caught.value))[1]
    assert IN_ENCODINGS[encoding].encode(encoding).decode(found) == IN_ENCODINGS[encoding]
    assert f"Use --encoding {found} if all files use it, or convert to UTF-8. " in str(caught.value)


def test_a_byte_outside_the_given_encoding_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 7)
    path = tmp_path / "a.lines"
    path.write_bytes(b"fine\nalso f\xefne\nbad \x81\n")

    with pytest.raises(SourceError, match=r"line 3: expected cp1252 text, but found byte 0x81"):
        texts(path, ReadOptions(encoding="cp1252"))


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("kind", [".txt", ".csv"])
def test_every_bad_file_is_named_with_its_first_bad_line(kind, workers, tmp_path):
    for n, bad in enumerate([2, None, 3, 1]):
        lines = ["text" if kind == ".csv" else "owl", *["owl and cat"] * 5]
        data = "\n".join(lines).encode()
        for line in (bad, 5) if bad else ():
            rows = data.split(b"\n")
            rows[line] = "Müller fährt über die Brücke".encode("cp1252")
            data = b"\n".join(rows)
        (folder(tmp_path) / f"{n}{kind}").write_bytes(data)

    ingested = ("ingest", tmp_path / "in", "--out", tmp_path / "c", "--workers", workers)
    said = run(*ingested, status=1).stderr

    first, *others = (
        f"{tmp_path}/in/{n}{kind}, line {line}: expected UTF-8 text, but found byte 0xfc "
        "(the file is probably cp1252)"
        for n, line in ((0, 3), (2, 4), (3, 2))
    )
    assert said == (
        f"Error: {first}. Use --encoding cp1252 if all files use it, or convert to UTF-8. "
        f"--encoding-errors replace loses characters. 2 more files: {'; '.join(others)}.\n"
    )
    run(*ingested, "--encoding", "cp1252")


def test_an_error_of_an_append_names_all_files(tmp_path):
    (tmp_path / "a.txt").write_text("owl and cat", encoding="utf-8")
    ingest([tmp_path / "a.txt"], tmp_path / "c")
    for name in ("b", "d"):
        (tmp_path / f"{name}.txt").write_text("Füße und Brücken", encoding="cp1252")

    sources = [tmp_path / f"{name}.txt" for name in "abd"]
    said = run("ingest", *sources, "--append", tmp_path / "c", status=1).stderr

    assert "b.txt, line 1: expected UTF-8" in said
    assert "1 more file: " in said
    assert Corpus.open(tmp_path / "c").n_docs == 1


# --- replaced characters --------------------------------------------------------------------------
BAD = b"caf\xe9 na\xefve"
REPLACED = {
    "a.txt": BAD,
    "a.lines": BAD + b"\nfine\n" + b"caf\xe9\n",
    "a.csv": b'id,text\n1,"' + BAD + b'\nna\xefve"\n2,fine\n3,caf\xe9\n',
    "a.jsonl": b'{"text": "' + BAD + b'"}\n{"text": "half \\ud800"}\n{"text": "fine"}\n',
}
COUNTS = {"a.txt": (2, 1), "a.lines": (3, 2), "a.csv": (4, 2), "a.jsonl": (3, 2)}


@pytest.mark.parametrize("name", REPLACED)
def test_replaced_characters_are_counted(name, tmp_path):
    (tmp_path / name).write_bytes(REPLACED[name])

    said = run(
        *("ingest", tmp_path / name, "--out", tmp_path / "c", "--encoding-errors", "replace"),
        *("--keep", "text", "--json"),
    )

    n_characters, n_documents = COUNTS[name]
    account = json.loads(said.stdout)["account"]
    assert (account["n_replaced"], account["n_with_replaced"]) == COUNTS[name]
    where = f"{n_documents} document{'s' if n_documents > 1 else ''}"
    assert (
        f"Warning: Found {n_characters} replacement characters (\ufffd), for what could not be "
        f"decoded, in {where}."
    ) in said.stderr
    kept = Corpus.open(tmp_path / "c").read_fields(["text"])
    found = [text for part in kept for text in part["text"].to_pylist()]
    assert any("caf\ufffd" in text for text in found)


def test_replaced_characters_of_an_encoding_and_of_a_table_are_counted(tmp_path):
    read = ReadOptions(encoding="cp1252", encoding_errors="replace")
    (tmp_path / "a.lines").write_bytes(b"caf\xe9 \x81\nfine\n")
    column = pa.array([b"fine", None, b"caf\xe9"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": column}), tmp_path / "a.parquet")

    lines = ingest([tmp_path / "a.lines"], tmp_path / "c", IngestOptions(read=read))
    read = ReadOptions(encoding_errors="replace")
    table = ingest([tmp_path / "a.parquet"], tmp_path / "d", IngestOptions(read=read))

    for summary in (lines, table):
        assert (summary.account.n_replaced, summary.account.n_with_replaced) == (1, 1)


def test_replaced_characters_of_ids_labels_and_fields_are_counted(tmp_path):
    read = ReadOptions(encoding_errors="replace", keep=("s",))
    (tmp_path / "a.csv").write_bytes(
        b"id,text,label,s\n1,owl,\xe4,fine\n2,owl,b,\xf6\n\xfc,owl,\xfc,c\n4,owl,d,e\n"
    )

    summary = ingest([tmp_path / "a.csv"], tmp_path / "c", IngestOptions(read=read))

    assert (summary.account.n_replaced, summary.account.n_with_replaced) == (4, 3)


def test_nothing_is_said_if_nothing_was_replaced(tmp_path):
    written(tmp_path, "a.lines", TEXT)

    said = run(
        *("ingest", tmp_path / "a.lines", "--out", tmp_path / "c", "--encoding-errors", "replace")
    )

    assert "decoded" not in said.stderr


# --- files that are no text -----------------------------------------------------------------------
def packed(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def tar(buffer):
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))


def zip_of_text(buffer):
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.txt", "the owl")


OTHER_FILES = {
    "a PDF document": b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n",
    "a zip archive": packed(zip_of_text),
    "compressed": gzip.compress(b"the owl"),
    "a tar archive": packed(tar),
    "an Office document": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(84),
    "binary, with many control characters": bytes(range(256)) * 9,
    "coded with escapes": "日本語の文章".encode("iso2022_jp") + "中文".encode("hz"),
}


@pytest.mark.parametrize("found", OTHER_FILES)
@pytest.mark.parametrize(
    "options",
    [ReadOptions(), ReadOptions(encoding_errors="replace"), ReadOptions(encoding="latin-1")],
)
def test_files_that_are_no_text_are_refused_by_what_they_are(found, options, tmp_path):
    for n in range(3):
        (folder(tmp_path) / f"{n}.txt").write_text("the owl")
    (tmp_path / "in" / "other.txt").write_bytes(OTHER_FILES[found])
    if options.encoding and found.startswith("coded"):
        return  # whoever names an encoding knows it

    with pytest.raises(SourceError, match=rf"other\.txt: expected text, .*{found}"):
        ingest([tmp_path / "in"], tmp_path / "c", IngestOptions(read=options))
    (tmp_path / "in" / "second.txt").write_bytes(OTHER_FILES[found])
    with pytest.raises(
        SourceError, match=rf"other\.txt: .*{found}.* 1 more file: .*second\.txt: .*{found}"
    ):
        ingest([tmp_path / "in"], tmp_path / "c", IngestOptions(read=options))


@pytest.mark.parametrize("marks", ["\x02\x02\x02\x02", "\x1cowl\x1d \x18owl\x19 \x13 \x14"])
def test_a_text_with_a_few_kinds_of_control_characters_is_text(marks, tmp_path):
    (tmp_path / "a.txt").write_bytes(f"an owl {marks} and a bird".encode())

    assert texts(tmp_path / "a.txt") == [f"an owl {marks} and a bird"]


@pytest.mark.parametrize("coded", ["中文名字".encode("hz"), "日本語の名前".encode("iso2022_jp")])
def test_a_mail_with_a_name_that_is_coded_with_escapes_is_text(coded, tmp_path):
    mail = b"From: someone (" + coded + b")\nSubject: the owl\n\n" + 20 * b"An owl is a bird.\n"
    (tmp_path / "mail.txt").write_bytes(mail)

    assert texts(tmp_path / "mail.txt") == [mail.decode().strip()]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.lines"])
def test_tables_and_lines_that_are_no_text_are_refused(name, tmp_path):
    (tmp_path / name).write_bytes(OTHER_FILES["a PDF document"])

    with pytest.raises(SourceError, match=rf"{name}: expected text, but the file is a PDF"):
        texts(tmp_path / name)


@pytest.mark.parametrize(
    "data",
    [
        b"one \x02 stray control\n",
        b"\x1b[31mred\x1b[0m words\n",
        b"page one\x0cpage two\x1a",
        b"a ~{x}~ of LaTeX, and 5 + 3 - 2\n",
        "marks \u200b\ufffd of texts".encode(),
        b"",
    ],
)
def test_odd_texts_are_read(data, tmp_path):
    (tmp_path / "a.txt").write_bytes(data)

    assert texts(tmp_path / "a.txt") == [data.decode().strip()]


def test_marks_are_those_of_the_codecs():
    assert byte_stream.BYTE_ORDER_MARK == codecs.BOM_UTF8

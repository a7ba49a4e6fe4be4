"""Which encoding a file has, how its bytes become UTF-8, and which files are not text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.options.option import shown

UTF_8 = "utf-8"
# Those of 32 bits come first, because a mark of one begins with a mark of UTF-16.
_WIDE = ["utf_32_le", "utf_32_be", "utf_16_le", "utf_16_be"]
# The encodings that files are likely to have, Western texts first, which look like many of them.
_LIKELY = ["utf_8", "cp1252", "cp1251", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r"]
_LIKELY += ["cp932", "euc_jp", "gb18030", "big5", "cp949"]
# Encodings of Python that are not for files.
_NOT_OF_FILES = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
_N_LOOKED_AT = 1 << 16  # bytes
_OTHER_FILES = re.compile(
    rb"(?P<a_PDF_document>%PDF-)|(?P<an_Office_document>\xd0\xcf\x11\xe0)"
    rb"|(?P<a_Word_document>PK\x03\x04.*?word/(?:document|_rels))"
    rb"|(?P<an_Excel_workbook>PK\x03\x04.*?xl/(?:workbook|_rels))"
    rb"|(?P<a_zip_archive_or_an_Office_document>PK\x03\x04)|(?P<a_tar_archive>.{257}ustar)"
    rb"|(?P<compressed>\x1f\x8b|BZh[1-9]1AY|\xfd7zXZ|7z\xbc\xaf|Rar!\x1a|\x28\xb5\x2f\xfd)"
    rb"|(?P<a_pickled_dictionary_of_gensim>(?:\x80[\x02-\x05].{0,40}|c)gensim\.corpora\.dictionary)"
    rb"|(?P<a_Python_pickle>\x80[\x02-\x05])",
    re.DOTALL,
)
_TO_TEXT = "Convert it to text, or leave it out."
_WHAT_TO_DO = {
    "a PDF document": "Convert it to text, for example with pdftotext, or leave it out.",
    "an Office document": "Save it as .xlsx, .csv or plain text, or leave it out.",
    "a Word document": "Save it as plain text (.txt), for example with pandoc, or leave it out.",
    "an Excel workbook": "Name it .xlsx, or save it as .csv.",
    "compressed": "Unpack it, or give it the extension of its format: .gz, .zst or .bz2.",
    "a pickled dictionary of gensim": "In Python, save it with dictionary.save_as_text(path).",
    "a Python pickle": "It could run code when opened. Save its contents as text or JSON lines.",
}
_KINDS_IN_TEXTS = 8
_BINARY = "binary, with many control characters"
# All bytes of texts: the escape is there for terminals, and byte 26 ends files of DOS.
_OF_TEXTS = bytes([*range(7, 14), 26, 27, *range(32, 256)])
# Stretches of escape-coded text. An English mail with a name in them is text for all that.
_ESCAPE_CODED = re.compile(
    rb"(?P<iso2022_jp>(?:\x1b\$\(?[@-D]|\x1b\([IJ])[!-~\s]+)|(?P<iso2022_kr>\x1b\$\)C.+)"
    rb"|(?P<hz>~\{(?:[!-w][!-~])+~\})",
    re.DOTALL,
)


class Decoding(NamedTuple):
    """How the bytes of files become text."""

    encoding: str | None = None  # None: UTF-8, UTF-16 and UTF-32 are recognised
    errors: str = "strict"  # or "replace"


class NotTextError(SourceError):
    """A file that is not text, or not in the encoding that it is read in."""


def check_encoding(name: str) -> None:
    """OptionError unless this is the name of an encoding of text files in Python."""
    try:
        codec = codecs.lookup(name)
        is_of_files = getattr(codec, "_is_text_encoding", True) and codec.name not in _NOT_OF_FILES
    except (LookupError, ValueError):  # ValueError for NUL characters
        is_of_files = False
    if not is_of_files:
        problem = f"must be an encoding of text files that Python knows, but is {shown(name)}"
        raise OptionError("encoding", problem, "Give a name such as cp1252, latin-1 or utf-16.")


# --- the beginning of a file ----------------------------------------------------------------------
def encoding_of(start: bytes, given: str | None, path: str) -> str:
    """The encoding of a text that begins with ``start``: that of its byte order mark, the given
    one, UTF-16 or UTF-32 if it looks so, or UTF-8. NotTextError for files of other kinds."""
    sample = start[:_N_LOOKED_AT]
    kind, hint = kind_of_other(sample)
    if kind:
        raise _other_file(path, kind, hint)
    for name in (UTF_8, *_WIDE):
        if start.startswith("\ufeff".encode(name)):
            return name
    name = UTF_8 if given is None else codecs.lookup(given).name.removesuffix("-sig")
    if name in ("utf-16", "utf-32"):  # in which order are the bytes?
        return _most_likely(sample, _WIDE) or f"{name}-le"
    if given is None and (coded := _escape_coded(sample)):
        raise _other_file(path, "coded with escapes", f"Use --encoding {coded}.")
    if name == UTF_8 and _has_controls(sample):
        if given is None and 0 in sample and (wide := _most_likely(sample, _WIDE)):
            return wide
        raise _other_file(path, _BINARY)
    return name


def kind_of_other(start: bytes) -> tuple[str, str]:
    """What a file that is not text seems to be, and what to do about it; "" if not known."""
    found = _OTHER_FILES.match(start[:_N_LOOKED_AT])
    kind = str(found.lastgroup).replace("_", " ") if found else ""
    return kind, _WHAT_TO_DO.get(kind, _TO_TEXT)


def _escape_coded(sample: bytes) -> str | None:
    """The escape-coded encoding of a tenth of the bytes, or more."""
    if b"\x1b" not in sample and b"~{" not in sample:  # these are found faster
        return None
    found = [*_ESCAPE_CODED.finditer(sample)]
    is_coded = 10 * sum(len(stretch[0]) for stretch in found) >= len(sample)
    return found[0].lastgroup if found and is_coded else None


def _has_controls(sample: bytes) -> bool:
    """Whether more than one in a hundred bytes are control characters that texts do not have: zeros
    or many kinds of them. Damaged quotes and mathematics leave a few kinds in texts."""
    controls = sample.translate(None, _OF_TEXTS)
    few = 1 + len(sample) // 100
    return controls.count(0) > few or (len(controls) > few and len({*controls}) > _KINDS_IN_TEXTS)


def _other_file(path: str, kind: str, hint: str = _TO_TEXT) -> NotTextError:
    return NotTextError(path, f"expected text, but the file is {kind}", hint)


# --- the bytes ------------------------------------------------------------------------------------
def as_utf8(
    pieces: Iterable[bytes], encoding: str, decoding: Decoding, path: str
) -> Iterator[bytes]:
    """The pieces of a file in UTF-8; NotTextError at the first byte that cannot be decoded."""
    n_lines = 0
    try:
        for text in codecs.iterdecode(pieces, encoding, decoding.errors):
            data = text.encode(errors="surrogatepass")  # UTF-7 may hold halves of pairs
            if _has_controls(data[:_N_LOOKED_AT]):
                raise _other_file(path, _BINARY)
            n_lines += text.count("\n")
            yield data
    except UnicodeDecodeError as error:
        n_lines += error.object[: error.start].decode(encoding, "ignore").count("\n")
        raise undecodable(error, encoding, decoding, f"{path}, line {n_lines + 1}") from error


def undecodable(
    error: UnicodeDecodeError, encoding: str, decoding: Decoding | None, where: str
) -> NotTextError:
    """The error for a byte that is not in the encoding, with the encoding that is likely.

    ``decoding`` is None where the options of decoding are not for the file.
    """
    expected = encoding.replace("_", "-").replace(UTF_8, "UTF-8")
    problem = f"expected {expected} text, but found byte 0x{error.object[error.start]:02x}"
    if decoding is None:
        return NotTextError(where, problem, "Convert the file to UTF-8.")
    way = "Name the encoding with --encoding"
    if likely := _most_likely(_odd_lines(error.object, error.start), _LIKELY):
        likely = likely.replace("utf_8", UTF_8)
        problem += f" (the file is probably {likely})"
        way = f"Use --encoding {likely} if all files use it"
    hint = f"{way}, or convert to UTF-8. --encoding-errors replace loses characters."
    return NotTextError(where, problem, hint)


def _odd_lines(data: bytes, position: int) -> bytes:
    """Lines from ``position`` on that are not ASCII; only these tell encodings apart."""
    start = data.rfind(b"\n", 0, position) + 1
    lines = data[start : start + 4 * _N_LOOKED_AT].split(b"\n")
    return b"\n".join(line for line in lines if not line.isascii())[: _N_LOOKED_AT // 4]


def _most_likely(sample: bytes, encodings: list[str]) -> str | None:
    """Which of the encodings gives a text, says charset-normalizer; the first of equals."""
    from charset_normalizer import from_bytes

    found = [
        (round(match.chaos, 1), -round(match.coherence, 1), encodings.index(name))
        for match in from_bytes(sample, cp_isolation=encodings)
        for name in match.could_be_from_charset
        if name in encodings
    ]
    return encodings[min(found)[-1]] if found else None

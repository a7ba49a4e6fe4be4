"""Which encoding a file has, how its bytes become UTF-8, and what files are no text at all."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.wording import quantity, reason_of
from sparsetopics.options.option import shown

#: Stands for a character that was replaced until these are counted. No text has this noncharacter.
REPLACED = "\ufdd0"
_ERRORS = {"strict": "strict", "replace": "sparsetopics.replace"}
_UTF_8 = "utf-8"
# Those of UTF-32 come first, because one of them begins with one of UTF-16.
_MARKS = {
    codecs.BOM_UTF8: _UTF_8,
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
# They turn any text into ASCII for a purpose of their own, and files do not have them.
_NOT_OF_FILES = frozenset({"idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape"})
_TO_UNPACK = "Unpack it first, or give it the extension of its kind."
_TO_TEXT = "Extract its text first, or leave it out."
# How files begin that are often found among texts, or that have lost their extension.
_OTHER_FILES = {
    b"%PDF-": ("a PDF document", _TO_TEXT),
    b"{\\rtf": ("an RTF document", _TO_TEXT),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("a document of Microsoft Office", _TO_TEXT),
    b"PK\x03\x04": ("a zip archive, or a document of an office program", _TO_UNPACK),
    b"\x1f\x8b": ("packed by gzip", _TO_UNPACK),
    b"\x28\xb5\x2f\xfd": ("packed by Zstandard", _TO_UNPACK),
    b"BZh": ("packed by bzip2", _TO_UNPACK),
    b"\xfd7zXZ\0": ("packed by xz", _TO_UNPACK),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", _TO_UNPACK),
    b"Rar!\x1a\x07": ("a RAR archive", _TO_UNPACK),
    b"PAR1": ("a Parquet file", _TO_UNPACK),
    b"ARROW1\0": ("an Arrow file", _TO_UNPACK),
    b"SQLite format 3\0": ("an SQLite database", _TO_TEXT),
}
_BEGINNINGS = tuple(_OTHER_FILES)
_TAR = slice(257, 262)  # bytes that say "ustar"
_N_LOOKED_AT = 1 << 16  # bytes of the beginning of a file
_N_GUESSED_FROM = 1 << 14  # bytes
# All bytes of texts; the escape is there for terminals, and the last one ends files of DOS.
_OF_TEXTS = bytes([*range(7, 14), 26, 27, *range(32, 256)])
_ESCAPE_CODED = re.compile(
    rb"\x1b(?P<iso>\$[@AB]|\$\([@-D]|\([IJ]|\$\)[ACG])|(?P<hz>~\{(?:[!-w][!-~])+~\})"
)
_LEAST_ASCII = 1 / 500  # of the characters of texts in any language: spaces, digits, line breaks
# The common encodings that charset-normalizer may choose from. The others win by chance.
_COMMON = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("koi8_r", "cp932", "euc_jp", "gb18030", "big5", "cp949", "cp437", "cp850", "mac_roman"),
]
_MOST_NAMED = 100  # files in one message
_CLOSE = 0.1  # a difference of charset-normalizer's measure of mess that a short text may have


class Decoding(NamedTuple):
    """How the bytes of files become text."""

    encoding: str | None = None  # None: UTF-8, or what ``encoding_of`` recognises
    errors: str = "strict"  # or "replace"

    @property
    def handler(self) -> str:
        """The name of the error handler, which replaces by ``REPLACED``."""
        return _ERRORS[self.errors]


class NotTextError(SourceError):
    """A file that is not text, or not in the encoding that it is read in.

    Its parts are for ``joint_error``; an error that comes from another process has none.
    """

    found: str  # "a PDF document", "byte 0xe9"
    hint: str  # what to do about files of this kind; empty if an encoding is wrong
    likely: str | None  # the encoding

    @classmethod
    def of(cls, place: str, found: str, hint: str) -> NotTextError:
        """The error for a file that is something else."""
        error = cls(place, f"expected text, but the file is {found}", hint)
        error.found, error.hint, error.likely = found, hint, None
        return error


def joint_error(errors: Sequence[NotTextError], *, are_others_ascii: bool) -> NotTextError:
    """One error for several files; ``are_others_ascii`` says that any encoding will do for the
    files without an error."""
    encodings = {error.likely for error in errors if not error.hint}
    hints = dict.fromkeys(error.hint for error in errors if error.hint)
    (*several, likely) = encodings or {None}
    if len(errors) == 1 and (hints or are_others_ascii):
        return errors[0]
    if encodings and likely and not several and are_others_ascii:
        hints[f"Give --encoding {likely} if that is right, or convert to UTF-8."] = None
    elif encodings:
        hints["Convert to UTF-8, because --encoding is for all files."] = None
    named = [
        f"{error.where}: {error.found}" + (f" (probably {error.likely})" if error.likely else "")
        for error in errors[:_MOST_NAMED]
    ]
    n_more = len(errors) - len(named)
    more = [f"{n_more:,} more"] if n_more else []
    problem = f"{quantity(len(errors), 'file')} cannot be read as text in one encoding"
    return NotTextError("sources", problem, f"{'; '.join(named + more)}. {' '.join(hints)}")


def check_encoding(name: str | None) -> None:
    """OptionError for a name of no encoding of text files that Python has."""
    try:
        codec = None if name is None else codecs.lookup(name)
    except (LookupError, ValueError):  # ValueError for NUL characters and surrogates
        problem = f"Python knows no encoding {shown(name)}"
        hint = "Give a name such as cp1252, latin-1, utf-16 or shift_jis."
        raise OptionError("encoding", problem, hint) from None
    is_of_text = codec is None or getattr(codec, "_is_text_encoding", True)
    if codec is not None and (not is_of_text or codec.name.replace("-", "_") in _NOT_OF_FILES):
        problem = f"{name} is not an encoding of text files"
        raise OptionError("encoding", problem, "Give a name such as cp1252, latin-1 or utf-16.")


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return REPLACED, error.end


codecs.register_error(_ERRORS["replace"], _replaced)


# --- the beginning of a file ----------------------------------------------------------------------
def encoding_of(start: bytes, given: str | None, path: str) -> str:
    """The encoding of a file that begins with ``start``: that of its byte order mark, the given
    one, UTF-16 or UTF-32 if it looks so, or UTF-8. NotTextError for a known kind of other files."""
    if start.startswith(_BEGINNINGS):
        found, hint = next(_OTHER_FILES[b] for b in _BEGINNINGS if start.startswith(b))
        raise NotTextError.of(path, found, hint)
    if start[_TAR] == b"ustar":
        raise NotTextError.of(path, "a tar archive", _TO_UNPACK)
    if marked := next((name for mark, name in _MARKS.items() if start.startswith(mark)), None):
        return marked
    name = _UTF_8 if given is None else codecs.lookup(given).name
    if given is None or name in ("utf-16", "utf-32"):  # whose order of bytes is open
        order = "-le" if name != _UTF_8 else ""
        return _wide_encoding(start[:_N_LOOKED_AT]) or name + order
    return _UTF_8 if name == "utf-8-sig" else name


def _wide_encoding(sample: bytes) -> str | None:
    """UTF-16 or UTF-32 if a text without a mark is in one of these."""
    if not _has_controls(sample):
        return None
    shares = {name: _ascii_share(sample, name) for name in _WIDE}
    best = max(_WIDE, key=shares.__getitem__)
    return best if shares[best] >= _LEAST_ASCII else None


def _ascii_share(sample: bytes, encoding: str) -> float:
    """The share of characters of ASCII in text; 0 if the sample is no text in this encoding."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return 0.0
    others = {character for character in text if unicodedata.category(character) in ("Cn", "Co")}
    if others or _has_controls(text.encode()):
        return 0.0
    return sum(map(str.isascii, text)) / max(len(text), 1)


def _has_controls(sample: bytes) -> bool:
    """Whether more than one in a hundred bytes are control characters that texts do not have."""
    return len(sample.translate(None, _OF_TEXTS)) > 1 + len(sample) // 100


def refuse_controls(start: bytes, given: str | None, path: str) -> None:
    """NotTextError if the beginning of a file, as UTF-8, is not text."""
    sample = start[:_N_LOOKED_AT]
    if _has_controls(sample):
        found = "binary, with many control characters"
        raise NotTextError.of(path, found, "Convert it to text, or leave it out.")
    coded = _ESCAPE_CODED.search(sample) if given is None else None
    if coded:
        families = {"hz": "HZ (Chinese)", "iso": "ISO-2022 (Japanese, Korean or Chinese)"}
        names = {"hz": "hz", "iso": "iso2022_jp_2, for example"}
        family = families[coded.lastgroup or "iso"]
        hint = f"Give its encoding with --encoding: {names[coded.lastgroup or 'iso']}."
        raise NotTextError.of(path, f"coded with escapes, as in {family}", hint)


# --- the bytes ------------------------------------------------------------------------------------
def as_utf8(
    pieces: Iterable[bytes], encoding: str, decoding: Decoding, path: str
) -> Iterator[bytes]:
    """The pieces of a file in UTF-8; NotTextError at the first byte that cannot be decoded."""
    decoder = codecs.getincrementaldecoder(encoding)(decoding.handler)
    n_lines = 0
    for piece in chain(pieces, [b""]):
        try:
            text = decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode(encoding, "ignore")
            line = 1 + n_lines + before.count("\n")
            raise undecodable(error, encoding, decoding, f"{path}, line {line}") from error
        except UnicodeError as error:  # codecs may say no more
            problem = f"expected {encoding} text, but decoding it failed ({reason_of(error)})"
            raise SourceError(path, problem, "Check --encoding.") from error
        n_lines += text.count("\n")
        yield text.encode("utf-8", "surrogatepass")  # halves of pairs will be found as no UTF-8


def undecodable(
    error: UnicodeDecodeError, encoding: str, decoding: Decoding | None, where: str
) -> NotTextError:
    """The error for a byte that is not in the encoding, with the encoding that is likely."""
    data = bytes(error.object)
    found = f"byte 0x{data[error.start]:02x}" if error.start < len(data) else "its end"
    expected = "UTF-8" if encoding == _UTF_8 else encoding
    likely = _likely_encoding(data, error.start)
    guess = f" (the file is probably {likely})" if likely and decoding is not None else ""
    hint = "Convert the file to UTF-8." if decoding is None else _advice(likely)
    not_text = NotTextError(where, f"expected {expected} text, but found {found}{guess}", hint)
    not_text.found, not_text.hint, not_text.likely = found, "", likely
    return not_text


def _advice(likely: str | None) -> str:
    encoding = f"--encoding {likely} if that is right" if likely else "its --encoding"
    return f"Give {encoding}, or convert it to UTF-8. --encoding-errors replace loses characters."


def _likely_encoding(data: bytes, position: int) -> str | None:
    """What charset-normalizer takes the lines from ``position`` on for that are not ASCII."""
    from charset_normalizer import from_bytes

    start = data.rfind(b"\n", 0, position) + 1
    lines = data[start : start + 16 * _N_GUESSED_FROM].split(b"\n")
    sample = b"\n".join(line for line in lines if not line.isascii())
    if len(sample) > _N_GUESSED_FROM:  # ends with a whole character
        sample = sample[:_N_GUESSED_FROM].rpartition(b" ")[0] or sample
    matches = from_bytes(sample, cp_isolation=_COMMON)
    best = matches.best()
    if best is None:
        return None
    for match in matches:  # texts of Western languages look like many encodings
        is_close = match.chaos <= best.chaos + _CLOSE and match.coherence >= best.coherence
        if is_close and _COMMON[0] in match.could_be_from_charset:
            return _COMMON[0]
    return best.encoding

"""Plain text: a document per file or per line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pyarrow as pa

from sparsetopics.corpora.readers.blocks import PendingBlock, TextBlock, grouped, text_block
from sparsetopics.corpora.readers.options import ReadOptions
from sparsetopics.corpora.sources.byte_stream import (
    LineBlock,
    Place,
    SourceFile,
    absolute,
    line_blocks,
    n_bytes_of,
    open_bytes,
    read_utf8,
)
from sparsetopics.corpora.sources.encodings import Decoding
from sparsetopics.corpora.sources.source_files import bare_suffix, names_of

_LEAST = 1 << 11  # bytes that a file counts for, so that a block has 4,096 at most
_FIRST_BYTES = 1 << 20  # that are looked at for lines; a packed file may unpack without end
_FIRST_FILES = 5  # likewise
_MANY_LINES = 10  # more than a short document would have
_LONG_LINE = 100  # bytes: longer than lines of wrapped text


def read_text(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[PendingBlock]:
    """Read each file as a document: its name is the id, the folder that it lies in the label."""
    # Workers open the files, because opening many small files takes most of the time.
    sized = ((f._replace(path=absolute(f.path)), max(n_bytes_of(f.path), _LEAST)) for f in files)
    return (partial(_decode_files, own, options) for own in grouped(sized))


def doubts_about_text(files: Sequence[SourceFile], *, by_line: bool) -> Iterator[str]:
    """Sentences about plain text that is perhaps divided in the wrong way. Documents are lines if
    ``by_line``, else files."""
    samples = [_first_lines(file.path) for file in files[:_FIRST_FILES]]
    are_many = all(len(lines) >= _MANY_LINES for lines in samples)
    said = ""
    if are_many and all(map(_have_labels, samples)):
        said = "each line seems to begin with an id and a label. If so, use --format mallet."
    elif are_many and not by_line and all(_are_documents(own, len(files)) for own in samples):
        said = "each file is one document. If each line is a document, use --format lines."
    if said:
        yield f"{names_of(files)}: {said}"
    for file in files if len(files) > 1 and not by_line else ():
        name = file.path.name
        if name.startswith(("vocab.", "vocabulary.")) or bare_suffix(file.path) == ".vocab":
            hint = "To leave it out, name the others by a pattern."
            yield f"{file.path} is read as a document. {hint}"


def _first_lines(path: Place) -> list[bytes]:
    with open_bytes(path) as stream:
        start = stream.read(_FIRST_BYTES)
    lines = start.rstrip().split(b"\n")
    return lines[:-1] if len(start) == _FIRST_BYTES else lines  # the last may go on


def _have_labels(lines: list[bytes]) -> bool:
    """Whether each line begins with a word of its own and one that lines share."""
    parts = [line.split(None, 2) for line in lines if line.strip()]
    if min(map(len, parts), default=0) < 3:
        return False
    ids, labels, _ = map(set, zip(*parts, strict=True))
    return len(ids) == len(parts) >= 2 * len(labels)


def _are_documents(lines: list[bytes], n_files: int) -> bool:
    """Whether lines seem to be documents, not paragraphs between blank lines; of several files, not
    wrapped text either."""
    n_blank = sum(not line.strip() for line in lines)
    are_long = sum(map(len, lines)) >= _LONG_LINE * len(lines)
    return 10 * n_blank <= len(lines) and (n_files == 1 or are_long)


def _decode_files(files: list[SourceFile], options: ReadOptions) -> TextBlock:
    folders = [file.name.rpartition("/")[0] or None for file in files]
    return TextBlock(
        pa.array([file.name for file in files], pa.string()),
        pa.array(folders, pa.string()),
        pa.array([read_utf8(file.path, options.decoding) for file in files], pa.string()),
        place=lambda row: str(files[row].path),
    )


def line_reader(
    decode: Callable[[LineBlock, ReadOptions], TextBlock],
    blocks: Callable[[Place, Decoding], Iterator[LineBlock]] = line_blocks,
) -> Callable[[SourceFile, ReadOptions], Iterator[PendingBlock]]:
    """A reader of files in blocks of lines, which workers decode."""

    def read(file: SourceFile, options: ReadOptions) -> Iterator[PendingBlock]:
        return (partial(decode, block, options) for block in blocks(file.path, options.decoding))

    return read


def _decode_lines(block: LineBlock, options: ReadOptions) -> TextBlock:
    """Each line as a document without id and label; empty lines are empty documents."""
    texts = pa.array(block.data.decode().replace("\r\n", "\n").split("\n")[:-1], pa.string())
    nothing = pa.nulls(len(texts), pa.string())
    return TextBlock(nothing, nothing, texts, place=block.place)


def _decode_labelled(block: LineBlock, options: ReadOptions) -> TextBlock:
    """Each line as id, label and text, separated by white space, as MALLET reads it."""
    rows = []
    for number, line in enumerate(block.data.split(b"\n")):
        if parts := line.removesuffix(b"\r").split(None, 2):
            doc_id, label, text = [*(part.decode() for part in parts), None, None][:3]
            rows.append((block.place(number), doc_id, label, text))
    return text_block(rows, {})


read_lines = line_reader(_decode_lines)
read_mallet = line_reader(_decode_labelled)

"""``sparsetopics corpus``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from sparsetopics.answers.exports import CORPUS_TARGETS
from sparsetopics.base.errors import CorpusFormatError
from sparsetopics.base.wording import quantity
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, NameType, NumberType
from sparsetopics.cli.printing import show
from sparsetopics.options.option import Interval

_CORPUS = click.argument("corpus", type=NAMED_PATH)
_SIZES_OF_PARTS = ("n_documents", "n_tokens", "n_items", "n_columns")
_JSON = shared.json_option()


@click.group(name="corpus")
def command() -> None:
    """Describe, check, split or export a corpus folder.

    \b
    Example:
        sparsetopics corpus info news
    """


@command.command(short_help="Print the totals of a corpus.")
@_CORPUS
@_JSON
def info(corpus: Path) -> None:
    """Print the totals of CORPUS: documents or items, words, tokens and others, and which fields of
    its documents it keeps. It says so if it holds their texts.

    \b
    Example:
        sparsetopics corpus info news
    """
    from sparsetopics.corpora.corpus import load_any_manifest, open_corpus
    from sparsetopics.corpora.readers.fields import TEXT, described
    from sparsetopics.corpora.store.document_rows import DocumentManifest

    open_corpus(corpus)  # refuses a manifest that is not that of the other files
    manifest = load_any_manifest(corpus)
    totals = manifest.totals
    names = {name: name.removeprefix("n_").replace("_", " ") for name in totals}
    lines = [f"{names[name]:<16}{value:>16,}" for name, value in totals.items()]
    record: dict[str, int | float | Mapping[str, str]] = {**totals}
    if isinstance(manifest, DocumentManifest):
        record["fields"] = manifest.fields
        lines.append(f"Kept fields: {described(manifest.fields)}.")
        if TEXT in manifest.fields:
            lines.append("The corpus holds the texts of its documents.")
    show(record, lines)


@command.command(short_help="Check every file of a corpus.")
@_CORPUS
@_JSON
def validate(corpus: Path) -> None:
    """Check every file of CORPUS: its checksum, its totals, and the content of its rows.

    Words of a document must be sorted and counts positive; values of vectors must be finite. Prints
    one line for each problem. The exit status is 1 if there are problems.

    \b
    Example:
        sparsetopics corpus validate news
    """
    from sparsetopics.corpora.validate import validate as find_problems

    problems = find_problems(corpus)
    show({"n_problems": len(problems), "problems": problems}, problems or [f"{corpus}: sound."])
    if problems:
        hint = "Ingest the sources again, or restore the files."
        raise CorpusFormatError(str(corpus), f"has {quantity(len(problems), 'problem')}", hint)


@command.command(short_help="Split a corpus at random.")
@_CORPUS
@click.option(
    "--held-out-share",
    "share",
    type=NumberType(Interval(0, 1, above_low=True, below_high=True)),
    default=0.1,
    show_default=True,
    help="Share of the documents or items to hold out.",
)
@shared.seed_option("Seed of the split.")
@click.option("--out-train", type=NEW_PATH, required=True, help="Folder for the training part.")
@click.option("--out-heldout", type=NEW_PATH, required=True, help="Folder for the held-out part.")
@shared.overwrite_option("Replace the outputs if they exist.")
@_JSON
def split(
    corpus: Path,
    share: float,
    seed: int,
    out_train: Path,
    out_heldout: Path,
    overwrite: bool,
) -> None:
    """Split CORPUS at random into two corpora that share its vocabulary or projection.

    \b
    Example:
        sparsetopics corpus split news --held-out-share 0.1 --out-train train --out-heldout heldout
    """
    import numpy as np

    from sparsetopics.corpora.split import split_corpus

    rng = np.random.default_rng(seed)
    parts = split_corpus(corpus, out_train, out_heldout, share, overwrite, rng)
    rows, lines = [], []
    for path, part in zip((out_train, out_heldout), parts, strict=True):
        sizes = {name: part.totals[name] for name in _SIZES_OF_PARTS if name in part.totals}
        rows.append({"corpus": str(path), **sizes})
        in_words = [quantity(size, name[2:-1]) for name, size in sizes.items()]
        lines.append(f"{path}: {', '.join(in_words)}")
    show(rows, lines)


@command.command(short_help="Write word counts for other toolkits.")
@_CORPUS
@click.option(
    "--to", "target", type=NameType(list(CORPUS_TARGETS)), required=True, help="Format to write."
)
@click.option("--out", type=NEW_PATH, required=True, help="File to write.")
@shared.overwrite_option("Replace the files if they exist.")
@_JSON
def export(corpus: Path, target: str, out: Path, overwrite: bool) -> None:
    """Write the word counts of CORPUS in the format of another toolkit.

    \b
    gensim         OUT and OUT.index for `MmCorpus(OUT)`, and OUT.dictionary for
                   `Dictionary.load`; OUT.index and OUT.dictionary are Python pickles
    matrix-market  a matrix of documents by words; the words are in OUT.vocab, one per line
    lda-c          Blei's format, `M id:count ...`; the words are in OUT.vocab

    \b
    Example:
        sparsetopics corpus export news --to gensim --out news.mm
    """
    from sparsetopics.answers.exports.exporting import export_corpus

    export_corpus(corpus, target, out, overwrite=overwrite)
    show({"path": str(out)}, [f"Wrote {out}."])

"""What ``export`` and ``corpus export`` do: check the request, read the input, write the output."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from pathlib import Path

from sparsetopics.base.errors import OptionError
from sparsetopics.base.outputs import output_file, written
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.exports import (
    EXTENSIONS,
    OTHER_EXTENSIONS,
    RUN_TARGETS,
    corpus_writer,
    run_writer,
)
from sparsetopics.options.option import check_extension, refuse
from sparsetopics.runs.run import load_run, refuse_run


def export_run(
    path: Path,
    target: str,
    out: Path,
    *,
    documents: Path | None = None,
    spreadsheet_safe: bool = False,
    overwrite: bool = False,
) -> None:
    """Write the model of the run at ``path`` as ``target``, a key of ``RUN_TARGETS``.

    ``documents`` is the training corpus, for formats that also show documents. With
    ``spreadsheet_safe``, which is for CSV, words that begin like a formula get an apostrophe in
    front. Raises OutputError, RunError, VocabularyError, or OptionError for a combination that is
    not supported.
    """
    inputs = [path] if documents is None else [path, documents]
    output = output_file(out, overwrite=overwrite, inputs=inputs)
    _check_extension(target, out)
    _check_documents(target, documents)
    if spreadsheet_safe and not RUN_TARGETS[target].is_for_spreadsheets:
        takers = _names_of(kind.is_for_spreadsheets for kind in RUN_TARGETS.values())
        raise OptionError("spreadsheet-safe", f"is for {takers}, not for --to {target}")
    run = load_run(path)
    if run.vocabulary is None and not RUN_TARGETS[target].takes_vectors:
        problem = f"{target} is for words, but {path} is a mixture of vectors"
        hint = "Export it as csv or parquet, which hold means and covariances."
        raise OptionError("to", problem, hint)
    more: list[Corpus | bool] = [spreadsheet_safe] if spreadsheet_safe else []
    if documents is not None:
        refuse_run(documents)
        corpus = Corpus.open(documents)
        run.check_vocabulary(corpus.vocabulary, str(documents))
        more = [corpus]
    with written(output) as aside:
        run_writer(target)(aside, run, *more)


def export_corpus(path: Path, target: str, out: Path, *, overwrite: bool = False) -> None:
    """Write the documents of the corpus at ``path`` as ``target``, a key of ``CORPUS_TARGETS``.

    Documents and words keep their order. Raises OutputError, OptionError or CorpusFormatError.
    """
    output = output_file(out, overwrite=overwrite, inputs=[path])
    _check_extension(target, out)
    refuse_run(path)
    corpus = Corpus.open(path)
    with written(output) as aside:
        corpus_writer(target)(aside, corpus)


def _check_extension(target: str, out: Path) -> None:
    """Refuse an extension that means another format; others say nothing about it."""
    own, suffix = EXTENSIONS.get(target), out.suffix.lower()
    if suffix == own or suffix not in (*EXTENSIONS.values(), *OTHER_EXTENSIONS):
        return
    if own is None:
        refuse("out", f"must not end in {suffix} with --to {target}, but is {out.name}")
    check_extension("out", out, (own,))


def _check_documents(target: str, documents: Path | None) -> None:
    needed = RUN_TARGETS[target].needs_documents
    if needed and documents is None:
        problem = f"{target} needs the corpus of the documents to show"
        raise OptionError("corpus", problem, "Name it with --corpus.")
    if documents is not None and not needed:
        takers = _names_of(kind.needs_documents for kind in RUN_TARGETS.values())
        problem = f"{target} takes no corpus, but {documents} is given"
        raise OptionError("corpus", problem, f"Only {takers} shows documents.")


def _names_of(chosen: Iterable[bool]) -> str:
    """The names of those targets of a run that are ``chosen``, one flag for each."""
    return ", ".join(compress(RUN_TARGETS, chosen))

"""What ``export`` and ``corpus export`` do: check the request, read the input, write the output."""

from __future__ import annotations

from pathlib import Path

from sparsetopics.base.errors import OptionError
from sparsetopics.base.outputs import output_file, written
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.exports import RUN_TARGETS, corpus_writer, run_writer
from sparsetopics.runs.run import load_run, refuse_run


def export_run(
    path: Path, target: str, out: Path, *, documents: Path | None = None, overwrite: bool = False
) -> None:
    """Write the model of the run at ``path`` as ``target``, a key of ``RUN_TARGETS``.

    ``documents`` is the training corpus, for formats that also show documents. Raises OutputError,
    RunError, VocabularyError, or OptionError for a combination that is not supported.
    """
    inputs = [path] if documents is None else [path, documents]
    output = output_file(out, overwrite=overwrite, inputs=inputs)
    _check_documents(target, documents)
    run = load_run(path)
    if run.vocabulary is None:
        _check_vectors(path, target)
    corpora = []
    if documents is not None:
        refuse_run(documents)
        corpora = [Corpus.open(documents)]
        run.check_vocabulary(corpora[0].vocabulary, str(documents))
    with written(output) as aside:
        run_writer(target)(aside, run, *corpora)


def export_corpus(path: Path, target: str, out: Path, *, overwrite: bool = False) -> None:
    """Write the documents of the corpus at ``path`` as ``target``, a key of ``CORPUS_TARGETS``.

    Documents and words keep their order. Raises OutputError or CorpusFormatError.
    """
    output = output_file(out, overwrite=overwrite, inputs=[path])
    refuse_run(path)
    corpus = Corpus.open(path)
    with written(output) as aside:
        corpus_writer(target)(aside, corpus)


def _check_documents(target: str, documents: Path | None) -> None:
    needed = RUN_TARGETS[target].needs_documents
    if needed and documents is None:
        raise OptionError(
            "corpus",
            found=f"none for {target}",
            wanted="the corpus of the documents to show",
            hint="Name them with --corpus.",
        )
    if documents is not None and not needed:
        takers = ", ".join(name for name, kind in RUN_TARGETS.items() if kind.needs_documents)
        wanted = f"no corpus, as only {takers} shows documents"
        raise OptionError("corpus", found=f"{documents} for {target}", wanted=wanted)


def _check_vectors(path: Path, target: str) -> None:
    if not RUN_TARGETS[target].takes_vectors:
        raise OptionError(
            "to",
            found=f"{target} for {path}, a mixture of vectors",
            wanted="csv or parquet, which hold means and covariances",
            hint="The other formats are for words.",
        )

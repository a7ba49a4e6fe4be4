"""What ``export`` and ``corpus export`` do: open, write aside, move into place."""

from __future__ import annotations

from pathlib import Path

from sparsetopics.base.errors import OptionError
from sparsetopics.base.outputs import output_file, written
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.exports.targets import NEED_DOCUMENTS, corpus_writer, run_writer
from sparsetopics.exports.word_topics import WordTopics
from sparsetopics.runs.stored_models import load_any_run
from sparsetopics.runs.topic_runs import refuse_run


def export_run(
    path: Path, target: str, out: Path, *, documents: Path | None = None, overwrite: bool = False
) -> None:
    """Write the model of the run at ``path`` as ``target``, one of ``RUN_TARGETS``.

    ``documents`` is the training corpus, for the formats that show documents too. Raises
    OutputError, RunError, VocabularyError, or OptionError for a combination that makes no sense.
    """
    inputs = [path] if documents is None else [path, documents]
    output = output_file(out, overwrite=overwrite, inputs=inputs)
    _check_documents(target, documents)
    writer = run_writer(target)
    run = load_any_run(path)
    if run.vocabulary is None:
        _check_vectors(path, target, has_writer=hasattr(writer, "write_normals"))
        with written(output) as aside:
            writer.write_normals(aside, run.model)
        return
    topics = WordTopics(run, _open(documents))
    if topics.documents is not None:
        topics.run.check_vocabulary(topics.documents.vocabulary, str(documents))
    with written(output) as aside:
        writer.write_topics(aside, topics)


def export_corpus(path: Path, target: str, out: Path, *, overwrite: bool = False) -> None:
    """Write the documents of the corpus at ``path`` as ``target``, one of ``CORPUS_TARGETS``.

    Documents and words keep their order. Raises OutputError or CorpusFormatError.
    """
    output = output_file(out, overwrite=overwrite, inputs=[path])
    refuse_run(path)
    corpus = Corpus.open(path)
    with written(output) as aside:
        corpus_writer(target).write_corpus(aside, corpus)


def _open(documents: Path | None) -> Corpus | None:
    if documents is None:
        return None
    refuse_run(documents)
    return Corpus.open(documents)


def _check_documents(target: str, documents: Path | None) -> None:
    needed = target in NEED_DOCUMENTS
    if needed and documents is None:
        raise OptionError(
            "corpus",
            found=f"none for {target}",
            wanted="the documents that it is to show",
            hint="Name them with --corpus.",
        )
    if documents is not None and not needed:
        wanted = f"it left out: only {', '.join(NEED_DOCUMENTS)} has documents"
        raise OptionError("corpus", found=f"{documents} for {target}", wanted=wanted)


def _check_vectors(path: Path, target: str, *, has_writer: bool) -> None:
    if not has_writer:
        raise OptionError(
            "to",
            found=f"{target} for {path}, a mixture of vectors",
            wanted="csv or parquet, which take its means and covariances",
            hint="The other formats are for words.",
        )

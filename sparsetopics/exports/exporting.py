"""What ``export`` and ``corpus export`` do: check the request, read the input, write the output."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sparsetopics.base.batches import DocumentBatch, FloatArray
from sparsetopics.base.errors import OptionError
from sparsetopics.base.outputs import output_file, written
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.exports import RUN_TARGETS, corpus_writer, run_writer
from sparsetopics.inference.new_documents import topic_proportions
from sparsetopics.runs.mixture_runs import MixtureRun
from sparsetopics.runs.stored_models import load_any_run
from sparsetopics.runs.topic_runs import Run, refuse_run


@dataclass(frozen=True, eq=False)
class ExportedRun:
    """A run to write, with its training documents if the format shows documents.

    All attributes below need a run over words: topics, or a mixture of documents.
    """

    run: Run | MixtureRun
    documents: Corpus | None = None

    @property
    def vocabulary(self) -> Vocabulary:
        return self.run.words

    @property
    def posterior(self) -> FloatArray:
        """λ = η + the expected word counts, (n_topics, n_words)."""
        return self.run.model.topic_word_posterior

    @cached_property
    def topic_word(self) -> FloatArray:
        """Posterior mean probability of each word in each topic, (n_topics, n_words)."""
        return self.run.model.topic_word_mean

    @property
    def weights(self) -> FloatArray:
        """α_k of a topic model or E[w_k] of a mixture, (n_topics,)."""
        if isinstance(self.run, Run):
            return self.run.model.doc_concentration
        return self.run.model.weights

    def proportions(self, batch: DocumentBatch) -> FloatArray:
        """Share of each topic in each document, (n_docs, n_topics); rows sum to one."""
        if isinstance(self.run, Run):
            return topic_proportions(batch, self.topic_word, self.run.model.doc_concentration)
        return self.run.model.responsibilities(batch)


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
    run = load_any_run(path)
    corpus = None
    if run.vocabulary is None:
        _check_vectors(path, target)
    elif documents is not None:
        refuse_run(documents)
        corpus = Corpus.open(documents)
        run.check_vocabulary(corpus.vocabulary, str(documents))
    with written(output) as aside:
        run_writer(target)(aside, ExportedRun(run, corpus))


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
            wanted="the documents that it is to show",
            hint="Name them with --corpus.",
        )
    if documents is not None and not needed:
        takers = ", ".join(name for name, kind in RUN_TARGETS.items() if kind.needs_documents)
        wanted = f"it left out: only {takers} has documents"
        raise OptionError("corpus", found=f"{documents} for {target}", wanted=wanted)


def _check_vectors(path: Path, target: str) -> None:
    if not RUN_TARGETS[target].takes_vectors:
        raise OptionError(
            "to",
            found=f"{target} for {path}, a mixture of vectors",
            wanted="csv or parquet, which take its means and covariances",
            hint="The other formats are for words.",
        )

"""The page of runs that nobody has scored: what ``sparsetopics report`` writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sparsetopics.base.outputs import output_file
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.opening import open_corpus
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.evaluation.report.mixture_subjects import mixture_subject
from sparsetopics.evaluation.report.report import Report, write_page
from sparsetopics.evaluation.report.report_subject import Subject
from sparsetopics.evaluation.report.topic_subjects import run_subject
from sparsetopics.evaluation.scoring.candidates import run_candidate
from sparsetopics.runs.mixture_runs import MixtureRun
from sparsetopics.runs.stored_models import check_corpus, load_any_run
from sparsetopics.runs.topic_runs import refuse_run


def write_run_report(
    path: Path,
    runs: Sequence[Path],
    corpus: Path | None = None,
    *,
    overwrite: bool = False,
    workers: int = 1,
) -> None:
    """Write a page about trained runs, side by side if they are several.

    Documents or items of ``corpus`` are given as examples, and coherence is counted in it. Raises
    OutputError, RunError, and VocabularyError or ShapeError for a corpus of other words or columns.
    """
    inputs = [*runs, *([] if corpus is None else [corpus])]
    output = output_file(path, overwrite=overwrite, inputs=inputs)
    opened = None
    if corpus is not None:
        refuse_run(corpus)
        opened = open_corpus(corpus)
    subjects = [_subject(run, opened, str(corpus), workers) for run in runs]
    has_words = any(subject.topics for subject in subjects)
    examples = "" if corpus is None else str(corpus)
    report = Report(
        title="Topic model" if has_words else "Mixture",
        subjects=subjects,
        coherence_corpus=examples if has_words else "",
        examples_corpus=examples,
    )
    write_page(output, report)


def _subject(path: Path, corpus: Corpus | VectorCorpus | None, where: str, workers: int) -> Subject:
    run = load_any_run(path)
    if corpus is not None:
        check_corpus(run, corpus, where)
    if isinstance(run, MixtureRun):
        return mixture_subject(run, corpus)
    assert not isinstance(corpus, VectorCorpus), "topics fit documents"
    return run_subject(run_candidate(run), corpus, workers=workers)

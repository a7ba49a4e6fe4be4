"""Reports about runs: with held-out scores for ``evaluate --report``, without for ``report``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import NoneType

from sparsetopics.answers.prevalence import grouped_documents
from sparsetopics.answers.themes import ONE_OF_PATH, opened
from sparsetopics.base.errors import RunError
from sparsetopics.base.outputs import output_file
from sparsetopics.corpora.corpus import AnyCorpus, Corpus
from sparsetopics.corpora.grouping import Grouping
from sparsetopics.evaluation.report.division import Division, division
from sparsetopics.evaluation.report.model_subjects import mixture_subject, topic_subject
from sparsetopics.evaluation.report.overview import shown_themes
from sparsetopics.evaluation.report.page import write_page
from sparsetopics.evaluation.report.report_content import Fact, Report, Subject
from sparsetopics.evaluation.report.topic_path import shown_number, topic_path_section
from sparsetopics.evaluation.scoring.mixture_scores import AnyCard
from sparsetopics.evaluation.scoring.topic_scores import Scorecard
from sparsetopics.execution.executors import Crew
from sparsetopics.options.option import check_extension, check_type, refuse
from sparsetopics.options.registry import MODELS, imported
from sparsetopics.options.table import PAGE_EXTENSIONS
from sparsetopics.runs.run import AnyRun, corpus_at
from sparsetopics.runs.topic_identity import THEME, problem_of_name
from sparsetopics.runs.topic_path_files import TopicPathFolder, is_topic_path, load_topic_path

# Of a run, a corpus with examples, its scores and a number of threads.
RunSubject = Callable[..., Subject]


def scored_report(
    cards: Sequence[AnyCard],
    name: str,
    coherence_corpus: str,
    seed: int,
    heldout: AnyCorpus | None = None,
    *,
    workers: int = 1,
) -> Report:
    """Return a page about models scored on the corpus ``name``.

    Coherence of topics was counted in ``coherence_corpus``, that of mixtures in the scored corpus,
    and ``seed`` is that of the split of documents.
    Examples are from ``heldout``; without it the page has none.
    """
    first = cards[0]
    if isinstance(first, Scorecard):
        title, noun, n_scored = "Topic model evaluation", "documents", first.completion.n_documents
        score = first.completion
        facts: dict[str, Fact] = {
            "documents scored": f"{score.n_documents:,}",
            "hidden tokens scored": f"{score.n_tokens:,.0f}",
            "documents skipped": f"{score.n_skipped_documents:,} with fewer than two known words",
            "tokens unknown": f"{score.n_unknown_tokens:,} outside the training vocabulary",
            "split": f"by word type, one fifth hidden, seed {seed}",
            "coherence counted in": coherence_corpus,
        }
    else:
        title, n_scored = "Mixture evaluation", first.n_items
        of_words = isinstance(heldout, Corpus)
        noun, coherence_corpus = ("documents", name) if of_words else ("items", "")
        facts = {f"{noun} scored": f"{n_scored:,}"}
    subjects = [_scored_subject(card, heldout, workers) for card in cards]
    seen = "training" if all(card.in_sample for card in cards) else "held-out"
    return Report(
        title=_title(subjects, title),
        kind=title,
        subjects=subjects,
        scored_on=f"{n_scored:,} {seen} {noun}",
        heldout=name,
        coherence_corpus=coherence_corpus,
        examples_corpus="" if heldout is None else name,
        scoring=facts,
    )


def _scored_subject(card: AnyCard, heldout: AnyCorpus | None, workers: int) -> Subject:
    if heldout is not None and card.run is not None:
        heldout = card.run.reading(heldout, "held-out data")  # whose vocabulary may have grown
    if isinstance(card, Scorecard):
        return topic_subject(card.topics, heldout, card, workers=workers)
    return mixture_subject(card.run, heldout, card, workers=workers)


def _title(subjects: Sequence[Subject], of_one: str) -> str:
    """Return the title of a page that has been given none; ``of_one`` is for a single model."""
    models = "topic models" if subjects[0].noun == "topics" else "mixtures"
    return f"Comparison of {len(subjects)} {models}" if len(subjects) > 1 else of_one


def check_title(title: str | None) -> None:
    """Raise OptionError for a title that is no printable line of 1 to 200 characters."""
    check_type("title", title, (str, NoneType), "a text or None")
    if title is not None and (problem := problem_of_name(title)):
        refuse("title", problem.removeprefix("a name "))


def write_run_report(
    path: Path,
    runs: Sequence[Path],
    corpus: Path | None = None,
    *,
    by: str | None = None,
    over: str | None = None,
    names: Path | None = None,
    n_themes: int | None = None,
    title: str | None = None,
    overwrite: bool = False,
    workers: int = 1,
) -> None:
    """Write a page about trained runs without held-out scores; several stand side by side.

    The ending of ``path`` says how: .html or .htm, .json or .md. Without a ``title``, a page about
    one run has the name of the corpus that it was trained on.

    For the folder of a topic path, which must be alone, the page shows the path and then the run
    that is recommended, or the one in the middle if none was scored. Example documents or items
    come from ``corpus``, and coherence is counted in it. ``by`` and ``over`` divide its documents,
    as for ``sparsetopics prevalence``, to show the topics of one run by groups and over time.
    ``names`` is a file or another run, with names for the topics of one run. Raises OutputError,
    OptionError for a page with another ending, for runs of several kinds, for a title or names that
    cannot be used and for documents that cannot be divided, RunError, and VocabularyError or
    ShapeError for a corpus of other words or columns.
    """
    output = output_file(path, overwrite=overwrite, inputs=[*runs, corpus, names])
    check_extension("out", path, PAGE_EXTENSIONS)
    check_title(title)
    documents = None if corpus is None else corpus_at(corpus)
    if names and len(runs) > 1:
        refuse("names", f"is for the topics of one run, but {len(runs)} runs are given")
    grouping = page_grouping(by, over, has_corpus=corpus is not None, n_runs=len(runs))
    shown, topic_path = shown_runs(runs, names, n_themes)
    page = run_report(shown, documents, str(corpus), topic_path, grouping, title, workers=workers)
    write_page(output, page)


def shown_runs(
    runs: Sequence[Path], names: Path | None, n_themes: int | None
) -> tuple[Iterator[AnyRun], TopicPathFolder | None]:
    """Return the runs that a page is about, read one by one, and their topic path if it has one.

    That of a topic path is the recommended run, or the one in the middle. Raises what ``opened``
    raises, RunError for a topic path among others, and OptionError for themes of one.
    """
    paths = [run for run in runs if is_topic_path(run)]
    if not paths:
        return (opened(run, names, n_themes) for run in runs), None
    if len(runs) > 1:
        problem = "a topic path must be reported alone, but several inputs are given"
        hint = f"Name runs in it instead, such as {paths[0] / 'NUMBER'}."
        raise RunError(str(paths[0]), problem, hint)
    if n_themes:
        refuse("themes", f"is for one run, but {paths[0]} is a topic path", ONE_OF_PATH)
    topic_path = load_topic_path(paths[0])
    chosen = topic_path.run(shown_number(topic_path.scores))
    return (opened(run, names) for run in [chosen]), topic_path


def page_grouping(
    by: str | None, over: str | None, *, has_corpus: bool, n_runs: int = 1
) -> Grouping | None:
    """Return how a page divides documents; None for a page without groups.

    Raises OptionError for a grouping that cannot be read, and without a corpus or for several runs.
    """
    if by is None and over is None:
        return None
    option = "by" if over is None else "over"
    if not has_corpus:
        refuse(option, "needs --corpus", "It has the documents to divide.")
    if n_runs > 1:
        refuse(option, f"is for the topics of one run, but {n_runs} runs are given")
    return Grouping.parse(by, over)


def run_report(
    runs: Iterable[AnyRun],
    corpus: AnyCorpus | None = None,
    corpus_name: str = "",
    topic_path: TopicPathFolder | None = None,
    grouping: Grouping | None = None,
    title: str | None = None,
    *,
    workers: int = 1,
) -> Report:
    """Return a page about runs, which are taken one by one; see ``write_run_report``.

    The only run may belong to a ``topic_path``. ``grouping`` divides the documents of ``corpus``,
    for the topics of the only run. Raises OptionError for runs of several kinds.
    """
    found, subjects, has_given_names, kind = None, list[Subject](), False, "Topic model"
    kinds = set[tuple[bool, bool]]()
    for run in runs:
        kinds.add((MODELS[run.model.name].of_items, run.vocabulary is None))
        if len(kinds) > 1:
            problem = "must be topic models only, mixtures of documents or mixtures of vectors"
            refuse("runs", problem, "Make one page for each kind: their numbers do not compare.")
        documents = None if corpus is None else run.reading(corpus, corpus_name)
        if documents is not None and grouping is not None:
            found = divided(shown_themes(run, topic_path), documents, grouping, workers)
        if run.topics[0].id.startswith(THEME):
            kind = "Themes of a topic model"
        has_given_names |= any(topic.name for topic in run.topics) or bool(run.lists)
        subject_of: RunSubject = imported(MODELS[run.model.name].subject)
        if topic_path is not None:
            subject_of = partial(topic_subject, topic_path=topic_path)
        subjects.append(subject_of(run, documents, workers=workers))
        trained = run.settings["corpus"]
    has_words = bool(subjects[0].topics)
    examples = "" if corpus is None else corpus_name
    kind = "Topic path" if topic_path else kind if has_words else "Mixture"
    return Report(
        title=title or _title(subjects, Path(trained.get("path", "")).name or kind),
        kind=kind,
        subjects=subjects,
        coherence_corpus=examples if has_words else "",
        examples_corpus=examples,
        has_given_names=has_given_names,
        topic_path=None if topic_path is None else topic_path_section(topic_path),
        division=found,
    )


def divided(themes: AnyRun, corpus: AnyCorpus, grouping: Grouping, workers: int) -> Division:
    """Return how much of each theme there is in groups of documents and over time."""
    if not isinstance(corpus, Corpus):
        refuse("by" if grouping.over is None else "over", "needs a corpus of documents")
    words = () if themes.vocabulary is None else themes.vocabulary.shown
    return division(grouped_documents(themes.model, corpus, words, grouping, Crew(workers)))

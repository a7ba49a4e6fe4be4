"""Several models, scored on the same held-out data: what ``sparsetopics evaluate`` does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sparsetopics.answers.themes import opened
from sparsetopics.base.errors import OptionError, ShapeError, VocabularyError
from sparsetopics.base.outputs import output_file
from sparsetopics.base.transactions import STATE_FOLDER, refuse_pending
from sparsetopics.corpora.batching import begin_alike
from sparsetopics.corpora.corpus import AnyCorpus, Corpus, VectorCorpus
from sparsetopics.corpora.ingest_options import IngestOptions
from sparsetopics.evaluation.scoring.fixed_topics import FixedTopics, read_topics
from sparsetopics.evaluation.scoring.mixture_scores import AnyCard
from sparsetopics.evaluation.scoring.tokenized_texts import TokenizedTexts
from sparsetopics.evaluation.scoring.topic_scores import Record, Scoring, score_topics
from sparsetopics.evaluation.scoring.weight_files import READERS
from sparsetopics.execution.executors import open_crew
from sparsetopics.measures.paired import differences_from_best
from sparsetopics.options.option import check_extension
from sparsetopics.options.registry import MODELS, imported
from sparsetopics.options.table import PAGE_EXTENSIONS
from sparsetopics.options.workplace import Workplace
from sparsetopics.runs.data import is_fingerprint_of
from sparsetopics.runs.run import SWAPPED, AnyRun, Run, corpus_at

ScoreRun = Callable[..., AnyCard]  # takes what ``score_model`` takes, for one kind of run


@dataclass(frozen=True, slots=True)
class ScoringPlan:
    """The models to score, the held-out corpus and the options."""

    models: Sequence[Path]  # run folders, and files with topics of other toolkits
    heldout: Path
    place: Workplace
    concentration: float | None = None  # Σ_k α_k for every topic model; None: its own
    unpickle: bool = False  # open files that only pickle can read
    coherence_corpus: Path | None = None  # None: the held-out documents
    texts: Sequence[str] = ()  # for c_v and c_npmi
    reading: IngestOptions = field(default_factory=IngestOptions)  # of the texts
    seed: int | None = None  # of the split of documents; None: 0
    report: Path | None = None  # page to write, if any
    overwrite: bool = False
    n_themes: int | None = None  # of each run, to be scored instead of its topics


def score_models(plan: ScoringPlan, say: Callable[[str], None] = lambda _: None) -> list[AnyCard]:
    """Score models, all topic models or all mixtures, and write a page if ``plan`` has one.

    ``say`` gets a sentence about skipped links in folders of texts. Raises OutputError, RunError,
    CorpusFormatError, VocabularyError or ShapeError for files that cannot be read or do not fit,
    and OptionError for options and models that do not go together.
    """
    output = None
    if plan.report is not None:
        inputs = [*plan.models, plan.heldout, plan.coherence_corpus, *map(Path, plan.texts)]
        output = output_file(plan.report, overwrite=plan.overwrite, inputs=inputs)
        check_extension("report", plan.report, PAGE_EXTENSIONS)
    heldout = corpus_at(plan.heldout, SWAPPED)
    models = [_opened(path, plan, heldout) for path in plan.models]
    _check_options(plan, models, heldout)
    counted_in, other, texts = heldout, plan.coherence_corpus, None
    if other is not None and isinstance(heldout, Corpus):
        counted_in = Corpus.open(other)
        if not begin_alike(heldout.vocabulary, counted_in.vocabulary):
            raise VocabularyError(str(other), f"its words are not those of {plan.heldout}")
    if plan.texts:
        assert isinstance(heldout, Corpus), "refused by _check_options"
        texts = TokenizedTexts.find(plan.texts, heldout.vocabulary, plan.reading, say)
    if len({each.model.n_columns for each in models if isinstance(each, Run)}) > 1:
        say("The runs know different numbers of words, so their scores are of different tokens.")
    with open_crew(plan.place) as crew:
        how = Scoring(plan.concentration, texts, plan.seed or 0, crew)
        cards = [score_model(model, heldout, counted_in, how) for model in models]
    if output is not None:
        # The page draws figures, and matplotlib is slow to import.
        from sparsetopics.evaluation.report.page import write_page
        from sparsetopics.evaluation.report.report import scored_report

        names = str(plan.heldout), str(other or plan.heldout)
        page = scored_report(cards, *names, plan.seed or 0, heldout, workers=plan.place.workers)
        write_page(output, page)
    return cards


def score_records(cards: Sequence[AnyCard]) -> list[Record]:
    """Return the records of ``evaluate --json``, for several models with paired differences."""
    records = [card.as_dict() for card in cards]
    found = differences_from_best([card.heldout for card in cards])
    if any(found):
        for record, difference in zip(records, found, strict=True):
            mean, error = difference or (None, math.nan)
            record["difference_from_best"] = mean
            record["difference_standard_error"] = None if math.isnan(error) else error
    return records


def score_model(
    model: FixedTopics | AnyRun, heldout: AnyCorpus, counted_in: AnyCorpus, how: Scoring
) -> AnyCard:
    """Score a run, or topics of another toolkit, that fit ``heldout``.

    Scores of topics also depend on where coherence is ``counted_in``.
    """
    score: ScoreRun = score_topics
    in_sample: bool | None = None
    if isinstance(model, Run):
        score = imported(MODELS[model.model.name].score)
        if trained_with := model.settings["corpus"].get("fingerprint"):
            in_sample = is_fingerprint_of(trained_with, heldout)
        if heldout.width != model.model.n_columns:  # one of the two vocabularies has grown
            heldout = model.reading(heldout, "held-out data")
    return replace(score(model, heldout, counted_in, how), in_sample=in_sample)


def _check_options(
    plan: ScoringPlan, models: Sequence[FixedTopics | AnyRun], heldout: AnyCorpus
) -> None:
    """Raise OptionError for models of two kinds, or mixtures with options of topic models."""
    n_mixtures = sum(isinstance(each, Run) and MODELS[each.model.name].of_items for each in models)
    if 0 < n_mixtures < len(models):
        problem = "mixtures and topic models cannot be scored together"
        raise OptionError("runs", problem, "Score them separately: their scores do not compare.")
    of_topics = {
        "alpha": plan.concentration is not None,
        "coherence-corpus": plan.coherence_corpus is not None,
        "texts": bool(plan.texts),
        "seed": plan.seed is not None,
    }
    given = [name for name, is_given in of_topics.items() if is_given]
    if n_mixtures and given:
        what = "holds vectors" if isinstance(heldout, VectorCorpus) else "is scored with mixtures"
        problem = f"needs topic models and held-out documents, but {plan.heldout} {what}"
        raise OptionError(given[0], problem, "Leave the option out for mixtures.")
    may_be_pickles = (path.is_file() and path.suffix not in READERS for path in plan.models)
    if plan.unpickle and not any(may_be_pickles):
        raise OptionError("unpickle", "needs a file without a known extension among the models")


def _opened(path: Path, plan: ScoringPlan, heldout: AnyCorpus) -> FixedTopics | AnyRun:
    where = str(plan.heldout)
    refuse_pending(path, (STATE_FOLDER,))
    # A path that is neither a file nor named like one of another toolkit names a run folder.
    if path.is_dir() or not (path.exists() or path.suffix in READERS):
        run = opened(path, n_themes=plan.n_themes)
        run.reading(heldout, where)
        return run
    if plan.n_themes is not None:
        raise OptionError("themes", f"is for runs, but {path} is a file of topics")
    if isinstance(heldout, VectorCorpus):
        raise ShapeError(where, f"holds vectors, but the topics of {path} need documents")
    return read_topics(path, heldout.vocabulary, plan.concentration, unpickle=plan.unpickle)

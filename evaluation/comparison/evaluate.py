"""Several models, scored on the same held-out data: what ``sparsetopics evaluate`` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparsetopics.base.errors import OptionError, ShapeError
from sparsetopics.base.outputs import Output, output_file
from sparsetopics.base.transactions import STATE_FOLDER, refuse_pending
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.opening import open_corpus
from sparsetopics.corpora.vectors import VectorCorpus
from sparsetopics.evaluation.scoring.fixed_topics import (
    FixedTopics,
    is_run,
    read_topics,
    topics_of_run,
)
from sparsetopics.evaluation.scoring.mixture_scores import MixtureCard, score_mixture
from sparsetopics.evaluation.scoring.tokenized_texts import TokenizedTexts
from sparsetopics.evaluation.scoring.topic_scores import Scorecard, score_topics
from sparsetopics.execution.executors import open_broadcast_map
from sparsetopics.options.training import Workplace
from sparsetopics.runs.mixture_runs import MixtureRun
from sparsetopics.runs.stored_models import check_corpus, load_any_run
from sparsetopics.runs.topic_runs import refuse_run


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
    text_field: str = "text"
    seed: int = 0  # of the split of documents
    report: Path | None = None  # page to write, if any
    overwrite: bool = False

    @property
    def topic_options(self) -> list[str]:
        """The options given that only topic models have, as they are named on the command line."""
        given = {
            "alpha": self.concentration is not None,
            "coherence-corpus": self.coherence_corpus is not None,
            "texts": bool(self.texts),
        }
        return [name for name, is_given in given.items() if is_given]


def score_models(
    plan: ScoringPlan, say: Callable[[str], None] = lambda _: None
) -> Sequence[Scorecard] | Sequence[MixtureCard]:
    """Score models, all topic models or all mixtures, and write a page if ``plan`` has one.

    ``say`` gets a sentence about skipped links in folders of texts. Raises OutputError, RunError,
    CorpusFormatError, VocabularyError or ShapeError for files that cannot be read or do not fit,
    and OptionError for options and models that do not go together.
    """
    output = _page(plan)
    refuse_run(plan.heldout)
    heldout = open_corpus(plan.heldout)
    opened = [_opened(path, plan, heldout) for path in plan.models]
    mixtures = [model for model in opened if isinstance(model, MixtureRun)]
    topic_models = [model for model in opened if isinstance(model, FixedTopics)]
    if mixtures and topic_models:
        raise OptionError(
            "runs",
            found="mixtures and topic models",
            wanted="one or the other",
            hint="They are not scored alike.",
        )
    if mixtures:
        return _score_mixtures(mixtures, plan, heldout, output)
    assert isinstance(heldout, Corpus), "refused by _opened"
    return _score_topics(topic_models, plan, heldout, output, say)


def _page(plan: ScoringPlan) -> Output | None:
    """Return where to write the page, if any; OutputError if it cannot be written there."""
    if plan.report is None:
        return None
    others = [] if plan.coherence_corpus is None else [plan.coherence_corpus]
    inputs = [*plan.models, plan.heldout, *others, *map(Path, plan.texts)]
    return output_file(plan.report, overwrite=plan.overwrite, inputs=inputs)


def _opened(
    path: Path, plan: ScoringPlan, heldout: Corpus | VectorCorpus
) -> FixedTopics | MixtureRun:
    where = str(plan.heldout)
    refuse_pending(path, (STATE_FOLDER,))
    if is_run(path):
        run = load_any_run(path)
        check_corpus(run, heldout, where)
        return run if isinstance(run, MixtureRun) else topics_of_run(run, plan.concentration)
    if isinstance(heldout, VectorCorpus):
        raise ShapeError(where, found="vectors", wanted=f"documents, for the topics of {path}")
    return read_topics(path, heldout.vocabulary, plan.concentration, unpickle=plan.unpickle)


def _score_topics(
    topic_models: Sequence[FixedTopics],
    plan: ScoringPlan,
    heldout: Corpus,
    output: Output | None,
    say: Callable[[str], None],
) -> list[Scorecard]:
    other = plan.coherence_corpus
    counted_in = heldout if other is None else Corpus.open(other)
    texts = None
    if plan.texts:
        texts = TokenizedTexts.find(plan.texts, heldout.vocabulary, plan.text_field, say)
    with open_broadcast_map(plan.place) as broadcast:
        cards = [
            score_topics(
                topics,
                heldout,
                counted_in,
                texts=texts,
                seed=plan.seed,
                workers=plan.place.threads,
                broadcast=broadcast,
            )
            for topics in topic_models
        ]
    if output is not None:
        from sparsetopics.evaluation.report.page import write_page
        from sparsetopics.evaluation.report.report import ScoreBasis, scored_report

        basis = ScoreBasis(str(plan.heldout), str(other or plan.heldout), plan.seed)
        page = scored_report(cards, basis, heldout, workers=plan.place.workers)
        write_page(output, page)
    return cards


def _score_mixtures(
    runs: Sequence[MixtureRun],
    plan: ScoringPlan,
    heldout: Corpus | VectorCorpus,
    output: Output | None,
) -> list[MixtureCard]:
    what = "which holds vectors" if isinstance(heldout, VectorCorpus) else "with mixtures"
    for option in plan.topic_options:
        raise OptionError(
            option,
            found=f"{plan.heldout}, {what}",
            wanted="held-out documents and topic models",
            hint="Mixtures are scored without it.",
        )
    with open_broadcast_map(plan.place) as broadcast:
        cards = [score_mixture(run, heldout, broadcast=broadcast) for run in runs]
    if output is not None:
        from sparsetopics.evaluation.report.page import write_page
        from sparsetopics.evaluation.report.report import scored_mixtures

        page = scored_mixtures(cards, heldout, str(plan.heldout))
        write_page(output, page)
    return cards

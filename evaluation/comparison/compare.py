"""Several models, trained and scored alike: what ``sparsetopics compare`` does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sparsetopics.base.errors import OptionError
from sparsetopics.base.outputs import output_file, output_folder
from sparsetopics.base.own_folders import COMPARISON
from sparsetopics.base.staging import refusing
from sparsetopics.corpora.corpus import AnyCorpus, Corpus, open_corpus
from sparsetopics.corpora.split import check_alike, count_held_out, split_corpus
from sparsetopics.evaluation.comparison.evaluate import score_model
from sparsetopics.evaluation.report.page import write_page
from sparsetopics.evaluation.report.report import scored_report
from sparsetopics.evaluation.scoring.mixture_scores import AnyCard
from sparsetopics.evaluation.scoring.topic_scores import Record, Scoring
from sparsetopics.measures.paired import Estimate, differences_from_best
from sparsetopics.options.option import Given
from sparsetopics.options.registry import DOCUMENT_LIKELIHOODS, MODELS, models_of
from sparsetopics.options.table import DEFAULT_DOCUMENT_LIKELIHOOD
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.plan import RunPlan, plan_run
from sparsetopics.runs.run import corpus_at, load_run
from sparsetopics.runs.train import RunResult, train_run

REPORT = "report.html"
TRAIN, HELDOUT = "train", "heldout"  # folders beside the run folders
Progress = Callable[[TrainingOptions], AbstractContextManager[RunHooks]]


class ModelSpec(NamedTuple):
    """A model to train: its kind, and its number of topics or None for the default."""

    model: str
    n_topics: int | None = None

    @property
    def name(self) -> str:
        """Name of its run folder."""
        return self.model if self.n_topics is None else f"{self.model}-{self.n_topics}"


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """The models to train, the corpus, and the options that all models share."""

    corpus: Path
    out: Path
    models: Sequence[ModelSpec]
    heldout: Path | None = None  # None: hold out a part of ``corpus``
    share: float = 0.1  # of ``corpus`` in that part
    laps: int | None = None
    sparsity: int | None = None
    likelihood: str | None = None  # of mixtures; None: multinomial for documents
    seed: int = 0  # of the split, of training and of the scores
    workers: int = 1
    every_lap: bool = False  # also score after every lap
    overwrite: bool = False

    @property
    def parts(self) -> tuple[Path, Path]:
        """The corpora to train on and to score on."""
        if self.heldout is not None:
            return self.corpus, self.heldout
        return self.out / TRAIN, self.out / HELDOUT


class ComparedModel(NamedTuple):
    """A model that was trained and scored."""

    name: str
    result: RunResult
    card: AnyCard
    difference: Estimate | None = None  # from the best model of its kind; None for that one

    def as_dict(self) -> Record:
        """Return the record of ``evaluate --json`` with what only ``compare`` knows.

        That is the name, the laps and seconds of training, and the paired difference from the best
        model of the same kind. Undefined numbers are None.
        """
        mean, error = self.difference or (None, math.nan)
        return {
            "name": self.name,
            **self.card.as_dict(),
            "laps": self.result.laps,
            "seconds": self.result.seconds,
            "difference_from_best": mean,
            "difference_standard_error": None if math.isnan(error) else error,
        }


def kinds_of(models: Sequence[ComparedModel]) -> list[list[ComparedModel]]:
    """The models whose scores compare, topic models and mixtures, each in their order."""
    kinds = dict.fromkeys(type(each.card) for each in models)
    return [[each for each in models if type(each.card) is kind] for kind in kinds]


def parse_models(text: str) -> tuple[ModelSpec, ...]:
    """Parse a list such as ``lda:50,hdp``. An OptionError proposes the nearest valid name."""
    specs = tuple(_parse_model(each.strip()) for each in text.split(","))
    names = [spec.name for spec in specs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise OptionError("models", f"{twice} is listed twice", "List each model once.")
    return specs


def _parse_model(text: str) -> ModelSpec:
    name, colon, number = text.partition(":")
    if name not in MODELS:
        number = number or text[len(text.rstrip("0123456789")) :]  # of lda50 too
        close = get_close_matches(name.lower(), MODELS, n=1, cutoff=0.0)
        near = f"{close[0]}:{number}" if number else close[0]
        known = ", ".join(MODELS)
        problem = f"expected {known}, or one with a number as in lda:50, but found {text!r}"
        raise OptionError("models", problem, f"Did you mean {near}?")
    # Python reads no numbers of thousands of digits.
    is_count = number.isascii() and number.isdigit() and len(number) < 1000 and int(number) > 0
    if colon and not is_count:
        problem = f"expected a number of topics of at least 1, as in {name}:50, but found {text!r}"
        raise OptionError("models", problem)
    return ModelSpec(name, int(number) if colon else None)


@contextmanager
def _topics_named_as_models() -> Iterator[None]:
    """Let errors about the number of topics name ``models``, where the user gave it."""
    try:
        yield
    except OptionError as error:
        raise error.renamed("models") if error.where == "topics" else error from error


@_topics_named_as_models()
def compare_models(
    plan: ComparisonPlan, say: Callable[[str], None], progress: Progress
) -> list[ComparedModel]:
    """Train each model on the same documents or items and score it on the same held-out ones.

    The models are in the order of ``plan``. ``plan.out`` gets the two parts of the corpus (unless
    held-out data are given), a run folder for each model, and a page that sets the models side by
    side. Each of these is written whole or not at all. Finished parts stay if a later model fails
    or is interrupted.

    ``say`` is called with a sentence about each step. ``progress`` is called with the options of
    each training, and yields the hooks that show how far it is. Raises OptionError, CorpusError,
    RunError or OutputError, if possible before any training.
    """
    corpus = corpus_at(plan.corpus)
    run_plans = [_run_plan(plan, spec, corpus) for spec in plan.models]
    if plan.likelihood is not None and not any(MODELS[each.model].of_items for each in plan.models):
        raise OptionError("likelihood", "is for mixtures, but --models names none")
    if plan.heldout is None:
        count_held_out(corpus, plan.share)
    else:
        check_alike(corpus, corpus_at(plan.heldout), plan.corpus, str(plan.heldout))
    # All checks come before the folder is made and before training, which takes long.
    with _folder(plan):
        if plan.heldout is None:
            say(f"Holding out {100 * plan.share:g} % of {plan.corpus}.")
            rng = np.random.default_rng(plan.seed)
            split_corpus(plan.corpus, *plan.parts, plan.share, plan.overwrite, rng)
        training, heldout = map(open_corpus, plan.parts)
        models = []
        for spec, own in zip(plan.models, run_plans, strict=True):
            say(f"Training {spec.name}.")
            with progress(own.options) as hooks:
                result = train_run(own, hooks)
            run = load_run(own.out)
            # As ``evaluate`` does, but coherence is counted in the training documents.
            how = Scoring(seed=plan.seed, workers=plan.workers)
            card = score_model(run, heldout, training, how)
            models.append(ComparedModel(spec.name, result, card))
        say("Writing the page.")
        _write_report(plan, models, heldout)
    return _paired(models)


def _paired(models: Sequence[ComparedModel]) -> list[ComparedModel]:
    """Return the same models with their differences from the best of their kind."""
    differences: dict[str, Estimate | None] = {}
    for alike in kinds_of(models):
        found = differences_from_best([each.card.heldout for each in alike])
        differences |= zip([each.name for each in alike], found, strict=True)
    return [each._replace(difference=differences[each.name]) for each in models]


def _run_plan(plan: ComparisonPlan, spec: ModelSpec, corpus: AnyCorpus) -> RunPlan:
    """Plan a run as ``train`` does; OptionError if options do not fit model and corpus."""
    of_items, of_words = MODELS[spec.model].of_items, isinstance(corpus, Corpus)
    if not of_items and not of_words:
        problem = f"{spec.model} cannot be trained on {plan.corpus}, which holds vectors"
        raise OptionError("models", problem, f"Use {' or '.join(models_of(items=True))}.")
    likelihood = plan.likelihood or (DEFAULT_DOCUMENT_LIKELIHOOD if of_words else None)
    if of_items and (likelihood in DOCUMENT_LIKELIHOODS) != of_words:
        held = "documents" if of_words else "vectors"
        problem = f"{likelihood} does not fit {plan.corpus}, which holds {held}"
        hint = f"Use {' or '.join(DOCUMENT_LIKELIHOODS)} for documents, another for vectors."
        raise OptionError("likelihood", problem, hint)
    training, heldout = plan.parts
    given: Given = {
        "model": spec.model,
        "topics": spec.n_topics,
        "laps": plan.laps,
        "sparsity": plan.sparsity,
        "likelihood": likelihood if of_items else None,
        "seed": plan.seed,
        "workers": plan.workers,
        "heldout": heldout if plan.every_lap else None,
    }
    return plan_run(training, plan.out / spec.name, given, overwrite=plan.overwrite)


@contextmanager
def _folder(plan: ComparisonPlan) -> Iterator[None]:
    """Create ``plan.out``, and remove it after a failure if it is empty."""
    output_folder(
        plan.out, COMPARISON, overwrite=plan.overwrite, inputs=[plan.corpus, plan.heldout]
    )
    with refusing(plan.out):
        plan.out.mkdir(exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # the folder is not empty
            plan.out.rmdir()
        raise


def _write_report(
    plan: ComparisonPlan, models: Sequence[ComparedModel], heldout: AnyCorpus
) -> None:
    cards, (training, name) = [each.card for each in models], map(str, plan.parts)
    page = scored_report(cards, name, training, plan.seed, heldout, workers=plan.workers)
    subjects = [
        replace(own, training={**own.training, "training seconds": f"{each.result.seconds:,.1f}"})
        for own, each in zip(page.subjects, models, strict=True)
    ]
    output = output_file(plan.out / REPORT, overwrite=plan.overwrite)
    write_page(output, replace(page, subjects=subjects))

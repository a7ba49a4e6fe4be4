"""Several models, trained and scored alike: what ``sparsetopics compare`` does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np

from sparsetopics.base.errors import OptionError
from sparsetopics.base.outputs import output_file, output_folder
from sparsetopics.base.own_folders import COMPARISON
from sparsetopics.base.staging import refusing
from sparsetopics.base.wording import listed
from sparsetopics.corpora.corpus import AnyCorpus, Corpus, open_corpus
from sparsetopics.corpora.split import check_alike, count_held_out, split_corpus
from sparsetopics.evaluation.report.page import Panel, Report, write_page
from sparsetopics.evaluation.report.report import ScoreBasis, score_facts, scored_subject
from sparsetopics.evaluation.report.subject import Fact, Subject
from sparsetopics.evaluation.scores.paired import Estimate, differences_from_best
from sparsetopics.evaluation.scoring.fixed_topics import topics_of_run
from sparsetopics.evaluation.scoring.mixture_scores import AnyCard, score_mixture
from sparsetopics.evaluation.scoring.topic_scores import Record, Scorecard, score_topics
from sparsetopics.inference.gradual_start import DOCUMENTS_PER_TOPIC
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.registry import DOCUMENT_LIKELIHOODS
from sparsetopics.options.resolve import resolve
from sparsetopics.options.table import (
    DEFAULT_DOCUMENT_LIKELIHOOD,
    MIXTURES,
    LikelihoodName,
    ModelName,
)
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.run import load_run, refuse_run
from sparsetopics.runs.train import RunHooks, RunResult, result_of, train_run

MODEL_NAMES: tuple[ModelName, ...] = get_args(ModelName)
REPORT = "report.html"
TRAIN, HELDOUT = "train", "heldout"  # folders beside the run folders
LDA_PATH = "lda-path"  # beside them too, with the runs of several LDA models


class ModelSpec(NamedTuple):
    """A model to train: its kind, and its number of topics or None for the default."""

    model: ModelName
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
    likelihood: LikelihoodName | None = None  # of mixtures; None: multinomial for documents
    seed: int = 0  # of the split, of training and of the scores
    workers: int = 1
    every_lap: bool = False  # also score after every lap
    overwrite: bool = False


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


class Comparison(NamedTuple):
    """All models, in the requested order, and the page about them."""

    models: list[ComparedModel]
    report: Path

    @property
    def kinds(self) -> list[list[ComparedModel]]:
        """The models whose scores compare, topic models and mixtures, each in their order."""
        kinds = dict.fromkeys(type(each.card) for each in self.models)
        return [[each for each in self.models if type(each.card) is kind] for kind in kinds]


class ComparisonHooks(NamedTuple):
    """How to report progress."""

    say: Callable[[str], None] = lambda step: None  # gets a sentence about each step
    progress: Callable[[TrainingOptions], AbstractContextManager[RunHooks]] = lambda options: (
        nullcontext(RunHooks())
    )


class Trained(NamedTuple):
    """A run folder, and what its last lap says."""

    run: Path
    result: RunResult


class _Parts(NamedTuple):
    """Folders of the two parts of the corpus."""

    train: Path
    heldout: Path


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
    if name not in MODEL_NAMES:
        number = number or text[len(text.rstrip("0123456789")) :]  # of lda50 too
        close = get_close_matches(name.lower(), MODEL_NAMES, n=1, cutoff=0.0)
        near = f"{close[0]}:{number}" if number else close[0]
        known = ", ".join(MODEL_NAMES)
        problem = f"expected {known}, or one with a number as in lda:50, but found {text!r}"
        raise OptionError("models", problem, f"Did you mean {near}?")
    # Python reads no numbers of thousands of digits.
    is_count = number.isascii() and number.isdigit() and len(number) < 1000 and int(number) > 0
    if colon and not is_count:
        expected = f"a number of topics of at least 1, as in {name}:50"
        problem = f"expected {expected}, but found {text!r}"
        raise OptionError("models", problem)
    return ModelSpec(name, int(number) if colon else None)


def compare_models(
    plan: ComparisonPlan,
    hooks: ComparisonHooks = ComparisonHooks(),  # noqa: B008
) -> Comparison:
    """Train each model on the same documents or items and score it on the same held-out ones.

    ``plan.out`` gets the two parts of the corpus (unless held-out data are given), a run folder for
    each model, and a page that sets the models side by side. LDA of several given numbers of topics
    is trained as one topic path where that is possible (``on_path``); its folder then has their
    runs. Each of these is written whole or not at all. Finished parts stay if a later model fails
    or is interrupted.

    Raises OptionError, CorpusError, RunError or OutputError, if possible before any training.
    """
    refuse_run(plan.corpus)
    corpus = open_corpus(plan.corpus)
    with _topics_named_as_models():
        options = [_options(plan, spec, corpus) for spec in plan.models]
    if plan.likelihood is not None and not any(each.is_mixture for each in options):
        raise OptionError("likelihood", "is for mixtures, but --models names none")
    if plan.heldout is None:
        count_held_out(corpus, plan.share)
    else:
        refuse_run(plan.heldout)
        check_alike(corpus, open_corpus(plan.heldout), plan.corpus, str(plan.heldout))
    # All checks come before the folder is made and before training, which takes long.
    with _folder(plan):
        parts = _divide(plan, hooks)
        heldout, training = open_corpus(parts.heldout), open_corpus(parts.train)
        trained = _train_path(plan, parts, options, hooks, training.sizes.n_docs)
        models = []
        for spec, own in zip(plan.models, options, strict=True):
            if spec not in trained:
                hooks.say(f"Training {spec.name}.")
                trained[spec] = _train(plan, parts, spec, own, hooks)
            run, result = trained[spec]
            card = _score(run, plan, own, heldout, training)
            models.append(ComparedModel(spec.name, result, card))
        hooks.say("Writing the page.")
        page = _report(models, plan, parts, heldout)
        write_page(output_file(plan.out / REPORT, overwrite=plan.overwrite), page)
    return _paired(Comparison(models, plan.out / REPORT))


def _paired(made: Comparison) -> Comparison:
    """Return the same models with their differences from the best of their kind."""
    found = {
        each.name: each._replace(difference=difference)
        for alike in made.kinds
        for each, difference in zip(
            alike, differences_from_best([each.card.heldout for each in alike]), strict=True
        )
    }
    return made._replace(models=[found[each.name] for each in made.models])


def _options(plan: ComparisonPlan, spec: ModelSpec, corpus: AnyCorpus) -> TrainingOptions:
    """Return options as ``train`` has them; OptionError if they do not fit model and corpus."""
    is_mixture, of_words = spec.model in MIXTURES, isinstance(corpus, Corpus)
    if not is_mixture and not of_words:
        problem = f"{spec.model} cannot be trained on {plan.corpus}, which holds vectors"
        raise OptionError("models", problem, f"Use {' or '.join(MIXTURES)}.")
    likelihood = plan.likelihood or (DEFAULT_DOCUMENT_LIKELIHOOD if of_words else None)
    if is_mixture and (likelihood in DOCUMENT_LIKELIHOODS) != of_words:
        held = "documents" if of_words else "vectors"
        problem = f"{likelihood} does not fit {plan.corpus}, which holds {held}"
        hint = f"Use {' or '.join(DOCUMENT_LIKELIHOODS)} for documents, another for vectors."
        raise OptionError("likelihood", problem, hint)
    given = {
        "topics": spec.n_topics,
        "laps": plan.laps,
        "sparsity": plan.sparsity,
        "likelihood": likelihood if is_mixture else None,
    }
    return resolve(spec.model, given)


@contextmanager
def _topics_named_as_models() -> Iterator[None]:
    """Let errors about the number of topics name ``models``, where the user gave it."""
    try:
        yield
    except OptionError as error:
        raise error.renamed("models") if error.where == "topics" else error from error


@contextmanager
def _folder(plan: ComparisonPlan) -> Iterator[None]:
    """Create ``plan.out``, and remove it after a failure if it is empty."""
    inputs = [plan.corpus, *([] if plan.heldout is None else [plan.heldout])]
    output_folder(plan.out, COMPARISON, overwrite=plan.overwrite, inputs=inputs)
    with refusing(plan.out):
        plan.out.mkdir(exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # the folder is not empty
            plan.out.rmdir()
        raise


def _divide(plan: ComparisonPlan, hooks: ComparisonHooks) -> _Parts:
    if plan.heldout is not None:
        return _Parts(plan.corpus, plan.heldout)
    parts = _Parts(plan.out / TRAIN, plan.out / HELDOUT)
    hooks.say(f"Holding out {100 * plan.share:g} % of {plan.corpus}.")
    rng = np.random.default_rng(plan.seed)
    split_corpus(plan.corpus, parts.train, parts.heldout, plan.share, plan.overwrite, rng)
    return parts


def on_path(plan: ComparisonPlan, n_docs: int) -> list[ModelSpec]:
    """The models that are rungs of one topic path, the largest first; empty for a single one.

    They are those of LDA with a given number of topics that is not too many for a path trained on
    ``n_docs``. A path has no number of laps that all models share, and its models are not scored in
    every lap.
    """
    numbers = range(1, n_docs // DOCUMENTS_PER_TOPIC + 1)
    rungs = [spec for spec in plan.models if spec.model == "lda" and spec.n_topics in numbers]
    may_be = plan.laps is None and not plan.every_lap and len(rungs) > 1
    return sorted(rungs, key=lambda spec: -(spec.n_topics or 0)) if may_be else []


def _train_path(
    plan: ComparisonPlan,
    parts: _Parts,
    options: Sequence[TrainingOptions],
    hooks: ComparisonHooks,
    n_docs: int,
) -> dict[ModelSpec, Trained]:
    """Train the models that are on a topic path; return the run of each."""
    rungs = on_path(plan, n_docs)
    if not rungs:
        return {}
    hooks.say(f"Training {listed([spec.name for spec in rungs])} as one topic path.")
    first, *others = rungs
    lower = tuple(spec.n_topics or 0 for spec in others)
    own = replace(options[plan.models.index(first)], lower_rungs=lower)
    folder = plan.out / LDA_PATH
    _train_run(plan, parts, folder, own, hooks)
    found = {}
    for spec in rungs:
        run = load_run(folder / str(spec.n_topics), TopicPosterior)
        found[spec] = Trained(run.path, result_of("lda", run.model.n_topics, run.trace))
    return found


def _train(
    plan: ComparisonPlan,
    parts: _Parts,
    spec: ModelSpec,
    options: TrainingOptions,
    hooks: ComparisonHooks,
) -> Trained:
    run = plan.out / spec.name
    return Trained(run, _train_run(plan, parts, run, options, hooks))


def _train_run(
    plan: ComparisonPlan,
    parts: _Parts,
    out: Path,
    options: TrainingOptions,
    hooks: ComparisonHooks,
) -> RunResult:
    run = RunPlan(
        corpus=parts.train,
        out=out,
        options=options,
        seed=plan.seed,
        workers=plan.workers,
        heldout=parts.heldout if plan.every_lap else None,
        overwrite=plan.overwrite,
    )
    with hooks.progress(options) as run_hooks, _topics_named_as_models():
        return train_run(run, run_hooks)


def _score(
    run: Path,
    plan: ComparisonPlan,
    options: TrainingOptions,
    heldout: AnyCorpus,
    training: AnyCorpus,
) -> AnyCard:
    """Score as ``evaluate`` does, but count coherence in the training documents."""
    if options.is_mixture:
        return score_mixture(load_run(run, MixturePosterior), heldout)
    assert isinstance(heldout, Corpus), "refused by _options"
    assert isinstance(training, Corpus), "refused by _options"
    topics = topics_of_run(load_run(run, TopicPosterior))
    return score_topics(topics, heldout, training, seed=plan.seed, workers=plan.workers)


def _report(
    models: Sequence[ComparedModel], plan: ComparisonPlan, parts: _Parts, heldout: AnyCorpus
) -> Report:
    rows = f"{heldout.sizes.n_docs:,}"
    facts: dict[str, Fact] = {heldout.noun: rows}
    basis = ScoreBasis(str(parts.heldout), str(parts.train), plan.seed)
    scored = [each.card for each in models if isinstance(each.card, Scorecard)]
    facts |= score_facts(scored[0].completion, basis) if scored else {}
    return Report(
        title="Topic model evaluation" if isinstance(heldout, Corpus) else "Mixture evaluation",
        subjects=[_subject(each, heldout, plan.workers) for each in models],
        scored_on=f"{rows} held-out {heldout.noun}",
        heldout=str(parts.heldout),
        coherence_corpus=str(parts.train) if scored else "",
        examples_corpus=str(parts.heldout),
        panels=[Panel(str(parts.heldout), facts)],
    )


def _subject(each: ComparedModel, heldout: AnyCorpus, workers: int) -> Subject:
    subject = scored_subject(each.card, heldout, workers=workers)
    seconds = {"training seconds": f"{each.result.seconds:,.1f}"}
    return replace(subject, training={**subject.training, **seconds})

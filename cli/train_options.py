"""The options of ``sparsetopics train``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import click

from sparsetopics.base.errors import OptionError
from sparsetopics.cli.named_path import NAMED_PATH
from sparsetopics.cli.option_groups import option_group
from sparsetopics.cli.workplace_options import WORKPLACE_OPTIONS
from sparsetopics.options.registry import DOCUMENT_LIKELIHOODS, LEARNERS, LIKELIHOODS
from sparsetopics.options.training import (
    DEFAULT_COLD_EVERY,
    DEFAULT_CRITERION,
    DEFAULT_DOC_CONCENTRATION,
    DEFAULT_LAPS,
    DEFAULT_LIKELIHOOD,
    DEFAULT_MOVES,
    DEFAULT_RESTARTS,
    DEFAULT_SPARSITY,
    DEFAULT_TOP_CONCENTRATION,
    DEFAULT_TOPICS,
    DEFAULT_TREE_TOLERANCE,
    DEFAULT_TRUNCATION,
    DEFAULT_WORD_CONCENTRATION,
    GROWTH_LAPS,
    MIXTURES,
    RESIDENT_PAIRS,
    Criterion,
    ExecutorName,
    GradientName,
    GradientOptions,
    LearnerName,
    LikelihoodName,
    LocalUpdate,
    ModelName,
    MoveName,
    StartName,
    TopicPrior,
    TrainingOptions,
    chosen_moves,
    default_local,
    default_topics,
)

if TYPE_CHECKING:
    from sparsetopics.runs.plan import RunPlan

NO_MOVES = "none"
STARTS = get_args(StartName)
HELP_SECTIONS = {
    "Model": (
        "likelihood", "variance", "moves", "criterion", "alpha", "gamma", "eta",
        "learn_hyperparameters",
    ),
    "Learning": (
        "learner", "batches", "round", "start", "local_update", "sparsity", "restarts",
        "minimum_mass", "cold_every", "tree_tolerance", "gradient",
    ),
    "Carrying it out": (
        "executor", "scheduler", "resident_pairs", "checkpoint_every", "keep_state",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class ModelChoices:
    """What the user said of the model and how it is learned; None where nothing was said."""

    model: ModelName
    topics: int | None
    likelihood: LikelihoodName | None
    learner: LearnerName
    tree_tolerance: float | None
    gradient: GradientName | None
    variance: float | None
    local_update: LocalUpdate | None
    sparsity: int | None
    moves: tuple[MoveName, ...] | None
    criterion: Criterion | None
    laps: int | None
    start: str | None
    restarts: int | None
    minimum_mass: float | None
    alpha: float | None
    gamma: float | None
    eta: float | None
    learn_hyperparameters: bool
    round: int
    cold_every: int | None

    @property
    def start_run(self) -> Path | None:
        """The run to go on from."""
        if self.start == "":  # which pathlib takes for the current folder
            raise OptionError("start", found="an empty name", wanted="a start or a run")
        return None if self.start is None or self.start in STARTS else Path(self.start)

    def training_options(self) -> TrainingOptions:
        """The same, checked; raises OptionError."""
        if self.model in MIXTURES:
            self._refuse_what_mixtures_lack()
        local = default_local(self.model, self.sparsity)
        usual = default_topics(self.model, self.learner)
        return TrainingOptions(
            n_topics=usual if self.topics is None else self.topics,
            laps=self.laps,
            learner=self.learner,
            local=replace(
                local,
                update=self.local_update or local.update,
                restarts=local.restarts if self.restarts is None else self.restarts,
                minimum_mass=self.minimum_mass,
            ),
            prior=TopicPrior(
                DEFAULT_DOC_CONCENTRATION if self.alpha is None else self.alpha,
                DEFAULT_WORD_CONCENTRATION if self.eta is None else self.eta,
                self.gamma,
            ),
            start=cast("StartName | None", None if self.start_run else self.start),
            learn_hyperparameters=self.learn_hyperparameters,
            model=self.model,
            moves=chosen_moves(self.moves, self.criterion),
            likelihood=self.likelihood,
            tree_tolerance=self.tree_tolerance,
            variance=self.variance,
            gradient=None if self.gradient is None else GradientOptions(self.gradient),
            batches_per_round=self.round,
            cold_every=self.cold_every,
        )

    def _refuse_what_mixtures_lack(self) -> None:
        given = {"alpha": self.alpha, "minimum-mass": self.minimum_mass}
        if self.likelihood not in DOCUMENT_LIKELIHOODS:
            given["eta"] = self.eta
        for name, value in given.items():
            if value is not None:
                raise OptionError(
                    name,
                    found=f"{value:g} with a mixture",
                    wanted="a topic model",
                    hint="Vectors have no words, and documents of a mixture no topics of their "
                    "own.",
                )


@dataclass(frozen=True)
class CourseChoices:
    """What the user said of how training is carried out."""

    batches: int | None
    seed: int
    workers: int
    executor: ExecutorName
    scheduler: str | None
    heldout: Path | None
    resident_pairs: int
    checkpoint_every: int | None
    keep_state: bool

    def plan(self, corpus: Path, out: Path, choices: ModelChoices, *, overwrite: bool) -> RunPlan:
        """All that ``train_run`` needs; raises OptionError."""
        from sparsetopics.runs.plan import RunPlan

        return RunPlan(
            corpus=corpus,
            out=out,
            options=choices.training_options(),
            n_batches=self.batches,
            resident_pairs=self.resident_pairs,
            seed=self.seed,
            workers=self.workers,
            executor=self.executor,
            scheduler=self.scheduler,
            heldout=self.heldout,
            start_run=choices.start_run,
            start_topics=choices.topics is None,
            overwrite=overwrite,
            checkpoint_every=self.checkpoint_every,
            keep_state=self.keep_state,
        )


def _move_names(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """``merge,delete`` as its two names, ``none`` as no name."""
    if value is None:
        return None
    return () if value == NO_MOVES else tuple(name.strip() for name in value.split(","))


model_options = option_group(
    "choices",
    ModelChoices,
    [
        click.option(
            "--model",
            type=click.Choice(get_args(ModelName)),
            default="hdp",
            show_default=True,
            help="Of documents: hdp learns how many topics there are, lda keeps the number it is "
            "given. Of vectors, or documents of one component each: dp-mixture learns how many "
            "components there are, mixture keeps the number.",
        ),
        click.option(
            "--topics",
            type=int,
            help="Number of topics or components; the number that hdp and dp-mixture start from. "
            "Default: "
            f"{', '.join(f'{number} for {name}' for name, number in DEFAULT_TOPICS.items())}; or "
            "as many as a run to go on from has. The learners alternating and gradient empty "
            f"some of as many, {DEFAULT_TRUNCATION} by default.",
        ),
        click.option(
            "--likelihood",
            type=click.Choice(list(LIKELIHOODS)),
            help="Of a mixture's components: multinomial for documents, the others for vectors. "
            f"Default: {DEFAULT_LIKELIHOOD}.",
        ),
        click.option(
            "--learner",
            type=click.Choice(list(LEARNERS)),
            default="memoized",
            show_default=True,
            help="How batches update the topics. accelerated: a dp-mixture of vectors grows from "
            "one component, on a kd-tree whose nodes stand for their items. alternating and "
            "gradient: a dp-mixture of isotropic Gaussians moves single values, not posteriors, "
            "and every item has one component.",
        ),
        click.option(
            "--tree-tolerance",
            type=float,
            help="Of the accelerated learner: nats per number that dividing all nodes of the "
            "tree once more may add; 0 for no tree, but all items. Default: "
            f"{DEFAULT_TREE_TOLERANCE:g}.",
        ),
        click.option(
            "--gradient",
            type=click.Choice(get_args(GradientName)),
            help="Steps of the gradient learner: plain, with momentum, or divided by the Fisher "
            "information. Default: fisher.",
        ),
        click.option(
            "--variance",
            type=float,
            help="Known variance σ² of isotropic-gaussian. Default: the mean variance of the "
            "columns, and tr C² / tr C of their covariance C for alternating and gradient.",
        ),
        click.option(
            "--local-update",
            type=click.Choice(get_args(LocalUpdate)),
            help="How topics are found in a document. Only mean-field is sure to raise the ELBO; "
            "collapsed predicts better. Default: collapsed for topics; mixtures are always "
            "mean-field.",
        ),
        click.option(
            "--sparsity",
            type=int,
            help="Topics a word of a document may use at once, L; the number of topics for a "
            f"dense step, 1 for hard assignment. Default: {DEFAULT_SPARSITY}, or all topics if "
            "fewer.",
        ),
        click.option(
            "--moves",
            callback=_move_names,
            metavar="NAME,NAME|none",
            help="How hdp and dp-mixture change their number of topics, with the memoized "
            f"learner. Default: {','.join(DEFAULT_MOVES)}. For lda: regroup, which splits all "
            "topics and merges them back to as many; default: none.",
        ),
        click.option(
            "--criterion",
            type=click.Choice(get_args(Criterion)),
            help="What a move must raise: the ELBO (bound), or the collapsed criterion, which is "
            f"no bound but finds more topics and predicts better. Default: {DEFAULT_CRITERION} "
            "for hdp, bound for dp-mixture.",
        ),
        click.option(
            "--laps",
            type=int,
            help=f"Passes over the corpus. Default: {DEFAULT_LAPS['lda']} for lda; at most "
            f"{DEFAULT_LAPS['hdp']} for the others, which stop when they have settled; "
            f"{GROWTH_LAPS} for the accelerated learner, in each of which a component is added.",
        ),
        click.option(
            "--start",
            help="Seed documents drawn at random (random) or far apart (distant), or a run "
            "folder to go on from. Default: distant.",
        ),
        click.option(
            "--restarts",
            type=int,
            help=f"Restart proposals a document. Default: {DEFAULT_RESTARTS} mean-field.",
        ),
        click.option(
            "--minimum-mass",
            type=float,
            help="Tokens below which a topic leaves a document, if they are less than 2 % of it. "
            "Default: 3 with the collapsed update, next to nothing with mean-field.",
        ),
        click.option(
            "--alpha",
            type=float,
            help=f"Total Σ α_k of documents. Default: {DEFAULT_DOC_CONCENTRATION:g}.",
        ),
        click.option(
            "--gamma",
            type=float,
            help="γ of hdp and mixtures: the greater, the more topics they expect. "
            f"Default: {DEFAULT_TOP_CONCENTRATION:g}.",
        ),
        click.option(
            "--eta",
            type=float,
            help="η of each word, of topics and of multinomial mixtures. "
            f"Default: {DEFAULT_WORD_CONCENTRATION:g}.",
        ),
        click.option(
            "--learn-hyperparameters/--no-learn-hyperparameters",
            help="Learn η, α and, of the HDP, γ.",
        ),
        click.option(
            "--round",
            type=int,
            default=1,
            show_default=True,
            help="Batches that share the parameters they begin with; one update takes them all. "
            "Workers of a cluster share out a round, so it should hold a few for each.",
        ),
        click.option(
            "--cold-every",
            type=int,
            metavar="LAPS",
            help="Of so many laps, one looks at all topics for every document; the others begin "
            "with those it had, which takes half the time. Without moves. Default: "
            f"{DEFAULT_COLD_EVERY} for collapsed lda, else 1.",
        ),
    ],
)

course_options = option_group(
    "course",
    CourseChoices,
    [
        click.option(
            "--batches",
            type=int,
            help="Batches the corpus is divided into. Default: by its size, 10 at least.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Same seed, same bytes.",
        ),
        *WORKPLACE_OPTIONS,
        click.option("--heldout", type=NAMED_PATH, help="Score this corpus after every lap."),
        click.option(
            "--resident-pairs",
            type=click.IntRange(min=0),
            default=RESIDENT_PAIRS,
            show_default=True,
            help="A corpus with more document-word pairs than this is streamed from disk.",
        ),
        click.option(
            "--checkpoint-every",
            type=click.IntRange(min=0),
            metavar="LAPS",
            help="Keep the state of training after so many laps, 0 for never; `sparsetopics "
            "resume` goes on from there. Default: as often as takes less than a tenth of the "
            "time.",
        ),
        click.option(
            "--keep-state/--no-keep-state",
            help="Keep the state when training is done, so that `resume --laps` can go on.",
        ),
    ],
)

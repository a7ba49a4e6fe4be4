"""The table of all options of training.

The options of ``train``, the keys of ``config.toml``, the parameters of estimators and the checks
of single values are made from it. What two options mean together is checked in ``training``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from sparsetopics.options.option import (
    NATURAL,
    POSITIVE,
    Interval,
    OneOf,
    Option,
    Part,
    SomeOf,
    counts_from,
)
from sparsetopics.options.registry import LEARNERS, LIKELIHOODS, move_options

ModelName = Literal["lda", "hdp", "dp-mixture", "mixture"]
LocalUpdate = Literal["mean-field", "collapsed"]
GradientName = Literal["plain", "momentum", "fisher"]
StartName = Literal["random", "distant"]
Criterion = Literal["bound", "collapsed"]
ExecutorName = Literal["serial", "threads", "dask"]
# The registry has the names of these, which users may extend.
LikelihoodName = str
LearnerName = str
MoveName = str

TOPIC_MODELS: tuple[ModelName, ...] = ("lda", "hdp")
MIXTURES: tuple[ModelName, ...] = ("dp-mixture", "mixture")
WITH_MOVES: tuple[ModelName, ...] = ("hdp", "dp-mixture")  # which learn their number of topics

DEFAULT_MODEL: ModelName = "hdp"
DEFAULT_LEARNER: LearnerName = "memoized"
DEFAULT_TOPICS: Mapping[str, int] = {"lda": 100, "hdp": 100, "dp-mixture": 1, "mixture": 10}
DEFAULT_TRUNCATION = 50  # components of alternating and gradient, which leave some of them empty
DEFAULT_LAPS: Mapping[str, int] = {"lda": 20, "hdp": 100, "dp-mixture": 100, "mixture": 100}
GROWTH_LAPS = 1000  # of the accelerated learner, which adds a component in each lap
DEFAULT_SPARSITY = 8
DEFAULT_RESTARTS = 5  # topics tried in a document of a mean-field step
# A document that keeps only topics it really uses makes better topics under the collapsed update.
# Under mean-field the same would cost the bound, so only what has vanished leaves.
DEFAULT_MASSES: Mapping[LocalUpdate, float] = {"collapsed": 3.0, "mean-field": 1e-8}
DEFAULT_COLD_EVERY = 4  # laps of collapsed LDA
DEFAULT_START: StartName = "distant"  # better than random documents under both updates
DEFAULT_MOVES: tuple[MoveName, ...] = ("merge", "delete", "birth")
DEFAULT_CRITERION: Criterion = "collapsed"  # finds more topics, which predict better
DEFAULT_LIKELIHOOD: LikelihoodName = "gaussian"
DEFAULT_DOCUMENT_LIKELIHOOD: LikelihoodName = "multinomial"  # where the data have words
DEFAULT_DOC_CONCENTRATION = 0.5  # total over the topics
DEFAULT_WORD_CONCENTRATION = 0.1  # of each word
DEFAULT_TOP_CONCENTRATION = 10.0
DEFAULT_GRADIENT: GradientName = "fisher"
DEFAULT_TREE_TOLERANCE = 0.0005
DEFAULT_EXECUTOR: ExecutorName = "threads"
RESIDENT_PAIRS = 32_000_000  # pairs of document and word; a larger corpus is read from disk

MODEL, LEARNING, EXECUTION = SECTIONS = ("Model", "Learning", "Execution")  # of --help


def _by_model(defaults: Mapping[str, int]) -> str:
    """``20 (lda), 100 (hdp, dp-mixture, mixture)``"""
    models: dict[int, list[str]] = {}
    for model, number in defaults.items():
        models.setdefault(number, []).append(model)
    return ", ".join(f"{number} ({', '.join(names)})" for number, names in models.items())


OPTIONS: tuple[Option, ...] = (
    Option(
        name="model",
        takes=OneOf(get_args(ModelName)),
        default=DEFAULT_MODEL,
        field="model",
        help="Topic models (lda, hdp) give each document several topics. Mixtures (mixture, "
        "dp-mixture) put each vector or document into one component. hdp and dp-mixture learn "
        "the number of topics or components; lda and mixture keep the number that they are given.",
    ),
    Option(
        name="topics",
        takes=counts_from(1),
        default_text=f"{_by_model(DEFAULT_TOPICS)}, {DEFAULT_TRUNCATION} (alternating and "
        "gradient learners), or the number in the run given by --start",
        field="n_topics",
        argument="n_components",
        help="Number of topics or components. hdp and dp-mixture start from it.",
    ),
    Option(
        name="laps",
        takes=counts_from(1),
        default_text=f"{_by_model(DEFAULT_LAPS)}, {GROWTH_LAPS} (accelerated learner, which adds "
        "a component in each lap)",
        field="laps",
        argument="max_iter",
        help="Passes over the corpus at most. All models except lda stop earlier when the bound "
        "and the number of topics have settled.",
    ),
    Option(
        name="seed",
        takes=NATURAL,
        default=0,
        part="run",
        field="seed",
        argument="random_state",
        help="Seed of the random numbers. The same seed gives the same result, byte for byte.",
    ),
    Option(
        name="workers",
        takes=Interval(1, whole=True),
        default=1,
        part="run",
        field="workers",
        argument="n_jobs",
        help="Number of threads, or of the processes that dask starts. It never changes the "
        "result.",
    ),
    Option(
        name="heldout",
        takes=Path,
        part="run",
        field="heldout",
        help="Held-out corpus to score after every lap.",
    ),
    Option(
        name="likelihood",
        takes=OneOf(LIKELIHOODS),
        default=DEFAULT_LIKELIHOOD,
        section=MODEL,
        models=MIXTURES,
        field="likelihood",
        argument="likelihood",
        help="(mixtures) Distribution of each component: multinomial for documents, the others "
        "for vectors.",
    ),
    Option(
        name="variance",
        takes=POSITIVE,
        default_text="the mean variance of the columns; for the alternating and gradient "
        "learners tr C² / tr C, where C is the covariance of the columns",
        section=MODEL,
        models=MIXTURES,
        field="variance",
        argument="variance",
        help="(isotropic-gaussian) Known variance σ² of every component.",
    ),
    Option(
        name="moves",
        takes=SomeOf(move_options, noun="move"),
        default_text=f"{','.join(DEFAULT_MOVES)} (hdp, dp-mixture), none (lda, and other learners)",
        section=MODEL,
        part="moves",
        field="names",
        argument="moves",
        metavar="NAME,NAME|none",
        help="(memoized learner) Moves that change the topics after a lap. For hdp and "
        "dp-mixture: merge, delete and birth, which change their number. For lda: regroup, which "
        "splits all topics and merges them again to the same number.",
    ),
    Option(
        name="criterion",
        takes=OneOf(get_args(Criterion)),
        default_text=f"{DEFAULT_CRITERION} (hdp, lda), bound (dp-mixture)",
        section=MODEL,
        part="moves",
        field="criterion",
        argument="criterion",
        help="What a move must raise to be accepted: bound is the ELBO; collapsed is no bound, "
        "but finds more topics and predicts better.",
    ),
    Option(
        name="alpha",
        takes=POSITIVE,
        default=DEFAULT_DOC_CONCENTRATION,
        section=MODEL,
        models=TOPIC_MODELS,
        part="prior",
        field="doc_concentration",
        argument="doc_concentration",
        help="(lda, hdp) α, the concentration of a document's topics, summed over all topics.",
    ),
    Option(
        name="gamma",
        takes=POSITIVE,
        default=DEFAULT_TOP_CONCENTRATION,
        section=MODEL,
        models=("hdp", *MIXTURES),
        part="prior",
        field="top_concentration",
        argument="top_concentration",
        help="(hdp, mixtures) γ, the concentration of the topics' or components' weights. A "
        "greater γ expects more of them.",
    ),
    Option(
        name="eta",
        takes=POSITIVE,
        default=DEFAULT_WORD_CONCENTRATION,
        section=MODEL,
        part="prior",
        field="word_concentration",
        argument="word_concentration",
        help="(lda, hdp, multinomial mixtures) η, the concentration of each word in a topic or "
        "component.",
    ),
    Option(
        name="learn-hyperparameters",
        takes=bool,
        default=False,
        section=MODEL,
        models=TOPIC_MODELS,
        field="learn_hyperparameters",
        argument="learn_hyperparameters",
        help="(lda, hdp) Also learn η, α and, for hdp, γ from the corpus.",
    ),
    Option(
        name="learner",
        takes=OneOf(LEARNERS),
        default=DEFAULT_LEARNER,
        section=LEARNING,
        field="learner",
        argument="learner",
        help="How batches update the model. memoized, stochastic and full fit every model. "
        "accelerated grows a dp-mixture of vectors from one component, on a kd-tree whose nodes "
        "stand for the vectors in them. alternating and gradient fit point estimates of a "
        "dp-mixture with isotropic-gaussian, and put every vector into one component.",
    ),
    Option(
        name="batches",
        takes=Interval(1, whole=True),
        default_text="by the size of the corpus, at least 10",
        section=LEARNING,
        part="run",
        field="n_batches",
        argument="n_batches",
        help="Number of batches that the corpus is divided into.",
    ),
    Option(
        name="round",
        takes=counts_from(1, "batch"),
        default=1,
        section=LEARNING,
        field="batches_per_round",
        help="Batches that are processed under the same parameters, before one update takes them "
        "all. The workers of a cluster share the batches of a round, so give each worker a few.",
    ),
    Option(
        name="start",
        takes=str,
        default=DEFAULT_START,
        section=LEARNING,
        field="start",
        argument="start",
        help="Start from documents drawn at random (random) or far from each other (distant), or "
        "from the topics of a run folder.",
    ),
    Option(
        name="local-update",
        takes=OneOf(get_args(LocalUpdate)),
        default_text="collapsed (lda, hdp), always mean-field (mixtures)",
        section=LEARNING,
        part="local",
        field="update",
        argument="local_update",
        help="How the topics of a document are found. mean-field always raises the ELBO; "
        "collapsed may not, but predicts better.",
    ),
    Option(
        name="sparsity",
        takes=counts_from(1),
        default_text=f"{DEFAULT_SPARSITY}, or the number of topics if that is smaller",
        section=LEARNING,
        part="local",
        field="sparsity",
        argument="sparsity",
        help="L, the number of topics that a word of a document may use at once. 1 assigns each "
        "word to one topic; the number of topics makes the step dense.",
    ),
    Option(
        name="restarts",
        takes=counts_from(0),
        default_text=f"{DEFAULT_RESTARTS} (lda and hdp with mean-field), 0 (otherwise)",
        section=LEARNING,
        models=TOPIC_MODELS,
        part="local",
        field="restarts",
        argument="restarts",
        help="(mean-field) Restarts to try in each document.",
    ),
    Option(
        name="minimum-mass",
        takes=Interval(0, unit="tokens"),
        default_text="3 (collapsed), next to nothing (mean-field)",
        section=LEARNING,
        models=TOPIC_MODELS,
        part="local",
        field="minimum_mass",
        argument="minimum_mass",
        help="(lda, hdp) Remove a topic from a document where it has fewer tokens than this and "
        "less than 2 % of the document.",
    ),
    Option(
        name="cold-every",
        takes=counts_from(1, "lap"),
        default_text=f"{DEFAULT_COLD_EVERY} (lda with collapsed and the memoized learner), 1 "
        "(otherwise)",
        section=LEARNING,
        field="cold_every",
        argument="cold_every",
        metavar="LAPS",
        help="(memoized learner, without moves) Consider all topics for every document in only "
        "one lap of this many. In the others a document keeps to the topics that it had, which "
        "takes half the time.",
    ),
    Option(
        name="tree-tolerance",
        takes=Interval(0, below_high=True, unit="nats"),
        default=DEFAULT_TREE_TOLERANCE,
        section=LEARNING,
        models=("dp-mixture",),
        field="tree_tolerance",
        argument="tree_tolerance",
        help="(accelerated learner) Stop refining the kd-tree when splitting every node once more "
        "would gain less than this many nats per value. 0 disables the tree.",
    ),
    Option(
        name="gradient",
        takes=OneOf(get_args(GradientName)),
        default=DEFAULT_GRADIENT,
        section=LEARNING,
        models=("dp-mixture",),
        part="gradient",
        field="rule",
        argument="gradient",
        help="(gradient learner) Take plain steps, steps with momentum, or steps divided by the "
        "Fisher information.",
    ),
    Option(
        name="executor",
        takes=OneOf(get_args(ExecutorName)),
        default=DEFAULT_EXECUTOR,
        section=EXECUTION,
        part="run",
        field="executor",
        help="Where local steps run: serial (this process), threads, or dask (the cluster at "
        "--scheduler, or one of --workers processes started on this machine). It never changes "
        "the result.",
    ),
    Option(
        name="scheduler",
        takes=str,
        default_text="$DASK_SCHEDULER_ADDRESS, or else a cluster started on this machine",
        section=EXECUTION,
        part="run",
        field="scheduler",
        metavar="ADDRESS",
        help="Address of the Dask cluster to use, such as tcp://head:8786. It is never read from "
        "a file.",
    ),
    Option(
        name="resident-pairs",
        takes=NATURAL,
        default=RESIDENT_PAIRS,
        section=EXECUTION,
        part="run",
        field="resident_pairs",
        help="Read a corpus from disk in every lap if it has more pairs of document and word than "
        "this, instead of keeping it in memory.",
    ),
    Option(
        name="checkpoint-every",
        takes=NATURAL,
        default_text="as often as takes less than a tenth of the time",
        section=EXECUTION,
        part="run",
        field="checkpoint_every",
        metavar="LAPS",
        help="Save a checkpoint each time this many laps are done, from which `sparsetopics "
        "resume` continues; 0 for never.",
    ),
    Option(
        name="keep-state",
        takes=bool,
        default=False,
        section=EXECUTION,
        part="run",
        field="keep_state",
        help="Keep the last checkpoint when training is done, so that `sparsetopics resume "
        "--laps` can continue.",
    ),
)
OPTION: Mapping[str, Option] = {option.name: option for option in OPTIONS}


def check_values(part: Part, holder: object) -> None:
    """Raise OptionError if a value of one part is refused whatever the others are.

    ``holder`` has the values as attributes: it is the part of ``TrainingOptions``, or ``RunPlan``.
    """
    for option in OPTIONS:
        if option.part == part:
            option.check(getattr(holder, option.field))

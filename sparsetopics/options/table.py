"""The table of all options of training.

``OPTIONS`` has a row for each, and ``HELP`` what ``--help`` says about it. The options of commands,
the keys of ``config.toml``, the parameters of estimators and the checks of single values are made
from them. ``training`` checks what options mean together.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from sparsetopics.options.option import (
    NATURAL,
    SHARE,
    Interval,
    OneOf,
    Option,
    SomeOf,
    WholeNumbers,
    counts_from,
)
from sparsetopics.options.registry import LEARNERS, LIKELIHOODS, move_options

ModelName = Literal["lda", "hdp", "dp-mixture", "mixture"]
LocalUpdate = Literal["mean-field", "collapsed"]
GradientName = Literal["plain", "momentum", "fisher"]
StartName = Literal["random", "distant"]
Criterion = Literal["bound", "collapsed"]
ExecutorName = Literal["serial", "threads", "dask"]
# The names of these are in the registry, which can be extended.
LikelihoodName = str
LearnerName = str
MoveName = str

TOPIC_MODELS: tuple[ModelName, ...] = ("lda", "hdp")
MIXTURES: tuple[ModelName, ...] = ("dp-mixture", "mixture")
WITH_GAMMA: tuple[ModelName, ...] = ("hdp", *MIXTURES)
WITH_MOVES: tuple[ModelName, ...] = ("hdp", "dp-mixture")  # they learn the number of topics

DEFAULT_MODEL: ModelName = "hdp"
DEFAULT_LEARNER: LearnerName = "memoized"
DEFAULT_TOPICS: Mapping[str, int] = {"lda": 100, "hdp": 100, "dp-mixture": 1, "mixture": 10}
DEFAULT_MOST_TOPICS, DEFAULT_FEWEST_TOPICS = 400, 5  # on a topic path
DEFAULT_TRUNCATION = 50  # components of alternating and gradient, which leave some empty
DEFAULT_LAPS: Mapping[str, int] = {"lda": 20, "hdp": 100, "dp-mixture": 100, "mixture": 100}
GRADUAL_LAPS = 10  # of LDA with the memoized learner and the collapsed update
PATH_LAPS = 7  # of the first rung of a topic path: the laps after it go on fitting its topics
LAPS_PER_STEP = 2  # of a topic path, after each merge
FEW_TOPICS = 25  # with fewer, one lap is enough: each topic is in many documents
GROWTH_LAPS = 1000  # the accelerated learner adds a component in each lap
DEFAULT_SPARSITY = 8
DEFAULT_RESTARTS = 5  # topics tried in each document by a mean-field step
# Tokens below which a topic leaves a document. Under the collapsed update, topics become better if
# a document keeps only those that it really uses. Under mean-field that would lower the bound, so
# only topics that have vanished leave.
DEFAULT_MASSES: Mapping[LocalUpdate, float] = {"collapsed": 3.0, "mean-field": 1e-8}
DEFAULT_COLD_EVERY = 3  # laps of collapsed LDA
FEWEST_GRADUAL_LAPS = 7  # of LDA: in fewer laps, topics would not settle after they are merged
DEFAULT_START: StartName = "distant"  # better than random documents under both updates
DEFAULT_MOVES: tuple[MoveName, ...] = ("merge", "delete", "birth")
DEFAULT_CRITERION: Criterion = "collapsed"  # finds more topics, which predict better
DEFAULT_LIKELIHOOD: LikelihoodName = "gaussian"
DEFAULT_DOCUMENT_LIKELIHOOD: LikelihoodName = "multinomial"  # where the data have words
DEFAULT_DOC_CONCENTRATION = 0.5  # total over the topics
DEFAULT_WORD_CONCENTRATION = 0.1  # of each word
DEFAULT_TOP_CONCENTRATION = 10.0
DEFAULT_GRADIENT: GradientName = "fisher"
DEFAULT_TREE_TOLERANCE = 0.005
DEFAULT_EXECUTOR: ExecutorName = "threads"
MOST_WORKERS = 4096
# Beyond these limits the ELBO can overflow, or lose all its digits to rounding.
CONCENTRATION = Interval(1e-9, 1e9)
VARIANCE = Interval(1e-30, 1e30)
PAGE_EXTENSIONS = (".html", ".htm")
NOISE = Interval(1e-6, 1e6)  # σ of ``denoise``, where white is 255
REPRESENTATIVES = Interval(1, 100, whole=True)  # documents of a topic, compared pair by pair
DEFAULT_VALIDATION_SHARE = 0.1  # of the training documents, to score numbers of topics on
MOST_VALIDATION = 5_000  # documents
# Of an HDP that is scored on a validation share to choose its number of topics:
FEWEST_VALIDATED = 300  # documents, with fewer the criterion decides unless a share is given
HDP_VALIDATION = 1_000  # documents in the default share, at most
HDP_MOST_TOPICS = 800  # at the beginning, of a corpus with
HDP_DOCUMENTS = 8  # documents for each; DEFAULT_MOST_TOPICS of a smaller one
LAST_LAPS = 8  # with the chosen number of topics, on all documents
RESIDENT_PAIRS = 32_000_000  # pairs of document and word that are kept in memory

OPTIONS: tuple[Option, ...] = (
    Option("model", OneOf(get_args(ModelName)), DEFAULT_MODEL, "model", None),
    Option("topics", counts_from(1), None, "n_topics", "n_components"),
    Option("laps", counts_from(1), None, "laps", "max_iter"),
    Option("seed", NATURAL, 0, "run.seed", "random_state"),
    Option("workers", Interval(1, MOST_WORKERS, whole=True), 1, "run.workers", "n_jobs"),
    Option("heldout", Path, None, "run.heldout", None),
    Option("likelihood", OneOf(LIKELIHOODS), DEFAULT_LIKELIHOOD, "likelihood", models=MIXTURES),
    Option("variance", VARIANCE, None, "variance", models=MIXTURES),
    Option("moves", SomeOf(move_options, noun="move"), None, "moves.names", "moves", WITH_MOVES),
    Option("criterion", OneOf(get_args(Criterion)), None, "moves.criterion", models=WITH_MOVES),
    Option(
        "validation-share",
        SHARE,
        None,
        "run.validation_share",
        "validation_share",
        models=("hdp",),
    ),
    Option(
        "alpha",
        CONCENTRATION,
        DEFAULT_DOC_CONCENTRATION,
        "prior.doc_concentration",
        models=TOPIC_MODELS,
    ),
    Option(
        "gamma",
        CONCENTRATION,
        DEFAULT_TOP_CONCENTRATION,
        "prior.top_concentration",
        models=WITH_GAMMA,
    ),
    Option("eta", CONCENTRATION, DEFAULT_WORD_CONCENTRATION, "prior.word_concentration"),
    Option("learn-hyperparameters", bool, False, "learn_hyperparameters", models=TOPIC_MODELS),
    Option("learner", OneOf(LEARNERS), DEFAULT_LEARNER, "learner"),
    Option("batches", Interval(1, whole=True), None, "run.n_batches"),
    Option("round", counts_from(1, "batch"), 1, "batches_per_round", None),
    Option("start", str, DEFAULT_START, "start"),
    Option("local-update", OneOf(get_args(LocalUpdate)), None, "local.update", "local_update"),
    Option("sparsity", counts_from(1), None, "local.sparsity"),
    Option("restarts", counts_from(0), None, "local.restarts", models=TOPIC_MODELS),
    Option(
        "minimum-mass",
        Interval(0, below_high=True, unit="tokens"),
        None,
        "local.minimum_mass",
        models=TOPIC_MODELS,
    ),
    Option("cold-every", counts_from(1, "lap"), None, "cold_every"),
    Option(
        "tree-tolerance",
        Interval(0, below_high=True, unit="nats"),
        DEFAULT_TREE_TOLERANCE,
        "tree_tolerance",
        models=("dp-mixture",),
    ),
    Option(
        "gradient",
        OneOf(get_args(GradientName)),
        DEFAULT_GRADIENT,
        "gradient.rule",
        "gradient",
        ("dp-mixture",),
    ),
    Option("executor", OneOf(get_args(ExecutorName)), DEFAULT_EXECUTOR, "run.executor", None),
    Option("scheduler", str, None, "run.scheduler", None),
    Option("resident-pairs", NATURAL, RESIDENT_PAIRS, "run.resident_pairs", None),
    Option("checkpoint-every", NATURAL, None, "run.checkpoint_every", None),
    Option("keep-state", bool, False, "run.keep_state", None),
)
OPTION: Mapping[str, Option] = {option.name: option for option in OPTIONS}
# Options of ``path`` beside those of LDA.
_OF_PATHS = (
    Option("from", counts_from(2), DEFAULT_MOST_TOPICS, "", "n_components"),
    Option("to", counts_from(1), DEFAULT_FEWEST_TOPICS, "", "fewest"),
    Option("rungs", WholeNumbers(), None, "rungs"),
    Option("validation-share", SHARE, DEFAULT_VALIDATION_SHARE, "run.validation_share"),
)
PATH_OPTION: Mapping[str, Option] = {option.name: option for option in _OF_PATHS}
NOT_ON_PATHS = (  # options of LDA that have one value on a topic path, or none
    *("model", "topics", "learner", "local-update", "restarts", "keep-state"),
)


def _by_model(defaults: Mapping[str, int]) -> str:
    """``20 (lda), 100 (hdp, dp-mixture, mixture)``"""
    models: dict[int, list[str]] = {}
    for model, number in defaults.items():
        models.setdefault(number, []).append(model)
    return ", ".join(f"{number} ({', '.join(names)})" for number, names in models.items())


# By section. Commands add the defaults of the table, so only the others are named here.
HELP: Mapping[str, Mapping[str, str]] = {
    "": {  # the first list, of what most people want
        "model": "Topic models (lda, hdp) give each document several topics. Mixtures (mixture, "
        "dp-mixture) put each vector or document into one component. hdp and dp-mixture learn the "
        "number of topics or components; lda and mixture keep the number that they are given.",
        "topics": "Number of topics or components. dp-mixture and hdp start from it, hdp from "
        f"{DEFAULT_MOST_TOPICS} or more where --validation-share chooses their number. lda begins "
        "with up to three times as many and merges them before laps 4 and 5 (memoized learner, "
        f"collapsed update, {FEWEST_GRADUAL_LAPS} laps or more, no --start RUN). Default: "
        f"{_by_model(DEFAULT_TOPICS)}, {DEFAULT_TRUNCATION} (alternating and gradient learners), "
        "or the number in the run given by --start.",
        "laps": "Passes over the corpus at most. All models except lda stop earlier when the bound "
        f"and the number of topics have settled. Default: {GRADUAL_LAPS} (lda with the memoized "
        f"learner and the collapsed update), {_by_model(DEFAULT_LAPS)}, "
        f"{GROWTH_LAPS} (accelerated learner, which adds a component in each lap).",
        "seed": "Seed of the random numbers. The same seed gives the same result, byte for byte.",
        "workers": "Number of threads, or of the processes that dask starts. It never changes the "
        "result.",
        "heldout": "Held-out corpus to score after every lap.",
    },
    "Model": {
        "likelihood": "(mixtures) Distribution of each component: multinomial for documents, the "
        "others for vectors.",
        "variance": "(isotropic-gaussian) Known variance σ² of every component. Default: the mean "
        "variance of the columns; for the alternating and gradient learners tr C² / tr C, where C "
        "is the covariance of the columns.",
        "moves": "(hdp and dp-mixture, memoized learner) Moves that change the number of topics or "
        "components after a lap: merge, delete and birth. Default: "
        f"{','.join(DEFAULT_MOVES)}, or none (other learners).",
        "criterion": "(hdp, dp-mixture) What a move must raise to be accepted: bound is the ELBO; "
        "collapsed, for hdp only, is not a bound, but finds more topics and predicts better. "
        f"Default: {DEFAULT_CRITERION} (hdp), bound (dp-mixture).",
        "validation-share": "(hdp) Share of CORPUS that is kept out of training until the number "
        "of topics is chosen: the smallest that predicts them about as well as the best. "
        f"Default: {DEFAULT_VALIDATION_SHARE:g}, at most {HDP_VALIDATION:,} documents, of a corpus "
        f"of {FEWEST_VALIDATED:,} or more. With 0, a smaller corpus, --moves, --criterion, --laps, "
        "--start RUN, another learner or mean-field, the criterion of the moves decides.",
        "alpha": "(lda, hdp) α, the concentration of a document's topics, summed over all topics.",
        "gamma": "(hdp, mixtures) γ, the concentration of the weights of topics or components. A "
        "greater γ expects more of them.",
        "eta": "(lda, hdp, multinomial mixtures) η, the concentration of each word in a topic or "
        "component.",
        "learn-hyperparameters": "(lda, hdp) Also learn η, α and, for hdp, γ from the corpus.",
    },
    "Learning": {
        "learner": "How batches update the model. memoized, stochastic and full fit every model. "
        "accelerated grows a dp-mixture of vectors from one component, on a kd-tree whose nodes "
        "stand for the vectors in them. alternating and gradient fit point estimates of a "
        "dp-mixture with isotropic-gaussian, and put every vector into one component.",
        "batches": "Number of batches that the corpus is divided into. Default: depends on the "
        "size of the corpus, at least 10.",
        "round": "Batches that are processed under the same parameters, before one update takes "
        "them all. The workers of a cluster share the batches of a round, so give each worker a "
        "few.",
        "start": "Start from documents drawn at random (random) or far from each other (distant), "
        "or, for lda and hdp, from the topics of a run folder. The accelerated learner needs none.",
        "local-update": "How the topics of a document are found. mean-field never lowers the "
        "ELBO; collapsed may, but predicts better. Default: collapsed (lda, hdp), always "
        "mean-field (mixtures).",
        "sparsity": "L, the number of topics that a word of a document may use at once. 1 assigns "
        "each word to one topic; the number of topics makes the step dense. Default: "
        f"{DEFAULT_SPARSITY}, or the number of topics if that is smaller.",
        "restarts": "(mean-field) Restarts to try in each document. Default: "
        f"{DEFAULT_RESTARTS} (lda and hdp with mean-field), 0 (otherwise).",
        "minimum-mass": "(lda, hdp) Remove a topic from a document where it has fewer tokens than "
        "this and less than 2 % of the document. Default: 3 (collapsed), 1 (collapsed, "
        "while lda has more topics than wanted), next to nothing (mean-field).",
        "cold-every": "(memoized learner, without moves) Consider all topics for every document in "
        "only one lap of this many. In the others a document uses only the topics of its last "
        f"visit, which takes half the time. Default: {DEFAULT_COLD_EVERY} (lda with collapsed and "
        "the memoized learner), 1 (otherwise).",
        "tree-tolerance": "(accelerated learner) The most that the kd-tree may cost, in nats per "
        "value, because items of a node share responsibilities. If the tree cannot be fine enough, "
        "training continues on all items. 0 uses all items from the start.",
        "gradient": "(gradient learner) Take plain steps, steps with momentum, or steps divided by "
        "the Fisher information.",
    },
    "Execution": {
        "executor": "Where local steps run: serial (this process), threads, or dask (the cluster "
        "at --scheduler, or one of --workers processes started on this machine). It never changes "
        "the result.",
        "scheduler": "Address of the Dask cluster to use, such as tcp://head:8786. It is never "
        "read from a file. Default: $DASK_SCHEDULER_ADDRESS, or else a cluster started on this "
        "machine.",
        "resident-pairs": "(documents) Read a corpus from disk in every lap if it has more pairs "
        "of document and word than this, instead of keeping it in memory.",
        "checkpoint-every": "Save a checkpoint each time this many laps are done, from which "
        "`sparsetopics resume` continues; 0 for never. Default: whenever writing one takes "
        "less than a tenth of the time since the last.",
        "keep-state": "Keep the last checkpoint when training is done, so that `sparsetopics "
        "resume --laps` can continue.",
    },
}

PATH_HELP: Mapping[str, str] = {
    "from": "The most topics, with which the path begins; at most one for each three documents "
    "to train on.",
    "to": "The fewest topics, with which it ends.",
    "rungs": "Numbers of topics to keep a model of, such as 200,100,50. Default: --from, --to and "
    "the round numbers between them (1, 1.5, 2, 3, 5 and 7 times a power of ten).",
    "validation-share": "Share of CORPUS that is kept out of training to score each rung on, at "
    f"most {MOST_VALIDATION:,} documents. Each rung takes them in before its model is written. 0 "
    "scores nothing and recommends nothing.",
    "laps": "Passes over the corpus at the first rung. Each further step makes "
    f"{LAPS_PER_STEP}, or one with fewer than {FEW_TOPICS} topics. Default: {PATH_LAPS}.",
    "heldout": "Held-out corpus to score each rung on. No document is then kept out of CORPUS.",
}


def check_values(part: str, holder: object) -> None:
    """Raise OptionError if a value of one part is refused whatever the others are.

    ``holder`` has the values as attributes: it is the part of ``TrainingOptions``, or ``RunPlan``.
    """
    for option in (*OPTIONS, *_OF_PATHS):
        if option.part == part and hasattr(holder, option.field):
            option.check(getattr(holder, option.field))

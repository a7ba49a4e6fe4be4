"""The table of all options of training.

The options of commands, the keys of ``config.toml``, the parameters of estimators and the checks of
single values are made from its rows. ``training`` checks what options mean together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from sparsetopics.base.wording import listed
from sparsetopics.options.guide import guide
from sparsetopics.options.ladder import ONE_BY_ONE
from sparsetopics.options.option import (
    NATURAL,
    SHARE,
    Interval,
    OneOf,
    Option,
    SomeOf,
    Table,
    counts_from,
    in_sections,
    whole_numbers,
)
from sparsetopics.options.registry import (
    LEARNERS,
    LIKELIHOODS,
    MODELS,
    models_of,
    models_with,
    move_options,
)

LocalUpdate = Literal["mean-field", "collapsed"]
GradientName = Literal["plain", "momentum", "fisher"]
StartName = Literal["random", "distant"]
Criterion = Literal["bound", "collapsed"]
OwnCounts = Literal["keep", "half", "leave"]
Purpose = Literal["predicting", "reading"]
ExecutorName = Literal["serial", "threads", "dask"]

TRAIN, PATH = "train", "path"  # the commands that have options of this table

DEFAULT_MODEL: str = "hdp"
PATH_MODEL: str = "lda"  # of topic paths
DEFAULT_LEARNER: str = "memoized"
DEFAULT_MOST_TOPICS, DEFAULT_FEWEST_TOPICS = 400, 1  # on a topic path
DEFAULT_TRUNCATION = 50  # components of alternating and gradient, which leave some empty
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
# The share of a document's own contribution that is left out of the counts it is fitted with.
OWN_SHARES: Mapping[OwnCounts | None, float] = {None: 0.0, "keep": 0.0, "half": 0.5, "leave": 1.0}
DEFAULT_OWN_COUNTS: OwnCounts = "half"  # unlike "leave", nowhere predicts worse than "keep"
OWN_LAPS = 4  # the last laps, in which a document's own counts are left out
FEWEST_GRADUAL_LAPS = 7  # of LDA: in fewer laps, topics would not settle after they are merged
DEFAULT_PURPOSE: Purpose = "predicting"
DEFAULT_START: StartName = "distant"  # better than random documents under both updates
DEFAULT_MOVES: tuple[str, ...] = ("merge", "delete", "birth")
DEFAULT_CRITERION: Criterion = "collapsed"  # finds more topics, which predict better
DEFAULT_LIKELIHOOD: str = "gaussian"
DEFAULT_DOC_CONCENTRATION = 0.5  # total over the topics
DEFAULT_WORD_CONCENTRATION = 0.1  # of each word
DEFAULT_TOP_CONCENTRATION = 10.0
LEARNED = "learned"  # a smoothing
DEFAULT_GRADIENT: GradientName = "fisher"
DEFAULT_STEP_SIZE, DEFAULT_MOMENTUM = 0.1, 0.9  # of the gradient learner
DEFAULT_FORGETTING_RATE, DEFAULT_DELAY = 0.55, 1.0  # of the stochastic learner
DEFAULT_TREE_TOLERANCE = 0.005
DEFAULT_EXECUTOR: ExecutorName = "threads"
MOST_WORKERS = 4096
MOST_RUNS = 100  # of a consensus
# Beyond these limits the ELBO can overflow, or lose all its digits to rounding.
CONCENTRATION = Interval(1e-9, 1e9)
VARIANCE = Interval(1e-30, 1e30)
STEP = Interval(0, 1, above_low=True)
PAGE_EXTENSIONS = (".html", ".htm", ".json", ".md")
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
READING_LAPS = 2  # after these, with the number to read
LAPS_FOR: Mapping[Purpose, int] = {"predicting": LAST_LAPS, "reading": LAST_LAPS + READING_LAPS}
RESIDENT_PAIRS = 32_000_000  # pairs of document and word that are kept in memory


def _by_model(numbers: Sequence[int]) -> str:
    """``20 (lda), 100 (hdp, dp-mixture, mixture)``; ``numbers`` has one for each model."""
    models: dict[int, list[str]] = {}
    for model, number in zip(MODELS, numbers, strict=True):
        models.setdefault(number, []).append(model)
    return ", ".join(f"{number} ({', '.join(names)})" for number, names in models.items())


def _for(option: str) -> str:
    """The models that an option is for, in parentheses."""
    return f"({', '.join(models_with(option))})"


# fmt: off
OPTION: Table = in_sections({  # those of the first section are what most people want
    "": (
        Option("model", OneOf(MODELS), DEFAULT_MODEL, "model", None, doors=(TRAIN,),
               everyday=True, help=(
            f"Topic models ({', '.join(models_of(items=False))}) give each document several "
            f"topics. Mixtures ({', '.join(models_of(items=True))}) put each vector or document "
            f"into one component. {listed(models_with('moves'))} learn the number of topics or "
            "components; the others keep the number that they are given.")),
        Option("topics", counts_from(1), None, "n_topics", "n_components", doors=(TRAIN,),
               everyday=True, help=(
            "Number of topics or components. dp-mixture and hdp start from it; if "
            f"--validation-share chooses the number, hdp starts from {DEFAULT_MOST_TOPICS} or more "
            "(from a third of the documents if they are few). lda begins with up to three times as "
            "many and merges them before laps 4 and 5 (memoized "
            f"learner, collapsed update, {FEWEST_GRADUAL_LAPS} laps or more, no --start RUN). "
            f"Default: {_by_model([kind.n_topics for kind in MODELS.values()])}, "
            f"{DEFAULT_TRUNCATION} (alternating and gradient learners), or the number in the run "
            "given by --start.")),
        Option("laps", counts_from(1), None, "laps", "max_iter", everyday=True, help=(
            "Maximum number of passes over the corpus. For hdp, it turns --validation-share off. "
            "Models other than lda stop earlier when the bound and the number of topics have "
            f"settled. Default: {GRADUAL_LAPS} (lda with the memoized learner and the collapsed "
            f"update), {_by_model([kind.laps for kind in MODELS.values()])}, {GROWTH_LAPS} "
            "(accelerated learner, which adds a component in each lap).")),
        Option("seed", NATURAL, 0, "run.seed", "random_state", everyday=True, help=(
            "Seed of the random numbers. The same seed gives the same result, byte for byte.")),
        Option("workers", Interval(1, MOST_WORKERS, whole=True), 1, "run.workers", "n_jobs",
               everyday=True, help=(
            "Number of threads, or of the processes that dask starts. It never changes the "
            "result.")),
        Option("heldout", Path, None, "run.heldout", None, everyday=True, help=(
            "Held-out corpus to score after every lap.")),
    ),
    "Model": (
        Option("likelihood", OneOf(LIKELIHOODS), DEFAULT_LIKELIHOOD, "likelihood",
               everyday=True, help=(
            "(mixtures) Distribution of each component: multinomial for documents, the others for "
            "vectors.")),
        Option("variance", VARIANCE, None, "variance", help=(
            "(isotropic-gaussian) Known variance σ² of every component. Default: the mean variance "
            "of the columns, outliers left out; for the alternating and gradient learners less or "
            "more than that, by the number of directions that items vary in.")),
        Option("moves", SomeOf(move_options, noun="move"), None, "moves.names", "moves",
               everyday=True, metavar="NAME,NAME|none", help=(
            "(hdp and dp-mixture, memoized learner) Moves that change the number of topics or "
            f"components after a lap: merge, delete and birth. Default: {','.join(DEFAULT_MOVES)}, "
            "or none (other learners).")),
        Option("criterion", OneOf(get_args(Criterion)), None, "moves.criterion",
               help=(
            f"{_for('criterion')} What a move must raise to be accepted: bound is the ELBO; "
            "collapsed, for hdp only, is not a bound, but finds more topics and predicts better. "
            f"Default: {DEFAULT_CRITERION} (hdp), bound (dp-mixture).")),
        Option("validation-share", SHARE, None, "run.validation_share", "validation_share",
               help=(
            f"{_for('validation-share')} Share of CORPUS that is kept out of training until "
            "the number of topics is chosen: the smallest that predicts them about as well as the "
            f"best. Default: {DEFAULT_VALIDATION_SHARE:g}, at most {HDP_VALIDATION:,} documents, "
            f"of a corpus of {FEWEST_VALIDATED:,} or more. The criterion of the moves decides "
            "instead if you pass 0, --moves, --criterion, --laps, --start RUN, another learner or "
            "mean-field, or if the corpus is smaller.")),
        Option("for", OneOf(get_args(Purpose)), DEFAULT_PURPOSE, "purpose", doors=(TRAIN,),
               everyday=True, help=(
            f"{_for('for')} End with the number of topics that predicts best (predicting), or with "
            "fewer that are enough to read (reading): the topics are joined by the theme tree and "
            f"fitted in {READING_LAPS} more laps. reading needs --validation-share.")),
        Option("alpha", replace(CONCENTRATION, hint=(
            "It is the sum over all topics, which share it evenly. --learn-hyperparameters learns "
            "it.")), DEFAULT_DOC_CONCENTRATION, "prior.doc_concentration", help=(
            f"{_for('alpha')} α, the concentration of a document's topics, summed over all "
            "topics.")),
        Option("gamma", CONCENTRATION, DEFAULT_TOP_CONCENTRATION, "prior.top_concentration",
               help=(
            "(hdp, mixtures) γ, the concentration of the weights of topics or components. A "
            "greater γ expects more of them.")),
        Option("eta", replace(CONCENTRATION, hint=(
            "All words of all topics share it, so it cannot favour seed words. "
            "--learn-hyperparameters learns it, and `sparsetopics train` can start from the topics "
            "of a run.")), DEFAULT_WORD_CONCENTRATION, "prior.word_concentration", help=(
            "(lda, hdp, multinomial mixtures) η, the concentration of each word in a topic or "
            "component.")),
        Option("smoothing", replace(CONCENTRATION, name=LEARNED), LEARNED, "smoothing",
               metavar=f"{LEARNED}|NUMBER", help=(
            f"{_for('smoothing')} σ, the smoothing of finished topics, which replaces η in "
            "all word probabilities: (tokens of the word + σ) / (all tokens of the topic + σ for "
            "each word). learned chooses the σ that best predicts training documents that are "
            "left out of the topics.")),
        Option("learn-hyperparameters", bool, False, "learn_hyperparameters", help=(
            f"{_for('learn-hyperparameters')} Also learn η, α and, for hdp, γ from the corpus.")),
    ),
    "Learning": (
        Option("runs", Interval(1, MOST_RUNS, whole=True), 1, "n_runs", doors=(TRAIN,),
               everyday=True, help=(
            f"{_for('runs')} Train this many runs, each with a seed of its own, and write "
            "their consensus: each topic is the mean of one topic of each run, fitted in one more "
            "lap. It predicts better than one run and depends less on the seed; five runs are "
            "usually enough. As many runs are trained at once as there are --workers, each in "
            "memory of its own. `sparsetopics topics` says in how many runs a topic was found.")),
        Option("learner", OneOf(LEARNERS), DEFAULT_LEARNER, "learner", doors=(TRAIN,), help=(
            "How batches update the model. memoized, stochastic and full fit every model. "
            "accelerated grows a dp-mixture of vectors from one component, on a kd-tree whose "
            "nodes stand for the vectors in them. alternating and gradient fit point estimates of "
            "a dp-mixture with isotropic-gaussian, and put every vector into one component.")),
        Option("batches", Interval(1, whole=True), None, "run.n_batches", help=(
            "Number of batches that the corpus is divided into. Default: depends on the size of "
            "the corpus, usually at least 10; the gradient learner has at least 64 vectors in "
            "each.")),
        Option("round", counts_from(1, "batch"), 1, "batches_per_round", None, help=(
            "Number of batches to fit with the same parameters before one update from all of "
            "them. The workers of a cluster share the batches of a round, so give each worker a "
            "few.")),
        Option("start", str, DEFAULT_START, "start", everyday=True, help=(
            "Start from documents drawn at random (random) or far from each other (distant), or, "
            "for lda and hdp, from the topics of a run folder. The accelerated learner needs "
            "none.")),
        Option("guide", guide, None, "guide", everyday=True, metavar="FILE.toml", help=(
            f"{_for('guide')} Begin topics with lists of words that you name, from a TOML file "
            "with lines such as guns = ['gun', 'firearm*', 'second amendment']. Training does not "
            "merge topics of two lists.")),
        Option("local-update", OneOf(get_args(LocalUpdate)), None, "local.update", "local_update",
               doors=(TRAIN,), help=(
            "How the topics of a document are found. mean-field raises the document's part of the "
            "ELBO; collapsed may lower it, but predicts better. Default: collapsed (lda, hdp), "
            "always mean-field (mixtures).")),
        Option("sparsity", counts_from(1), None, "local.sparsity", help=(
            "L, the number of topics that a word of a document may use at once. 1 assigns each "
            "word to one topic; with the number of topics, the step is dense. Default: "
            f"{DEFAULT_SPARSITY}, or the number of topics if that is smaller.")),
        Option("restarts", counts_from(0), None, "local.restarts", doors=(TRAIN,), help=(
            f"(mean-field) Restarts to try in each document. Default: {DEFAULT_RESTARTS} (lda and "
            "hdp with mean-field), 0 (otherwise).")),
        Option("minimum-mass", Interval(0, below_high=True, unit="tokens"), None,
               "local.minimum_mass", help=(
            f"{_for('minimum-mass')} Remove a topic from a document where it has fewer "
            "tokens than this and less than 2 % of the document. Default: 3 (collapsed), 1 "
            "(collapsed, while lda has more topics than wanted), next to nothing (mean-field).")),
        Option("cold-every", counts_from(1, "lap"), None, "cold_every", help=(
            "(memoized learner, without moves) Reconsider all topics of a document once in this "
            "many laps. Other laps use those of its last visit and take half the time. Default: "
            f"{DEFAULT_COLD_EVERY} (lda with collapsed, hdp with validation), 1 (otherwise).")),
        Option("own-counts", OneOf(get_args(OwnCounts)), None, "local.own_counts",
               doors=(TRAIN,), help=(
            f"{_for('own-counts')} In the last {OWN_LAPS} laps, leave a document's own words out "
            "of the counts that its topics are found with: all of them (leave), half of them "
            "(half) or none (keep). A topic then needs the words of other documents, so topics "
            "overlap less and usually predict better. half and leave need the memoized learner, "
            "the collapsed update and, for hdp, validation. Default: "
            f"{DEFAULT_OWN_COUNTS} where these are used, otherwise keep.")),
        Option("tree-tolerance", Interval(0, below_high=True, unit="nats"), DEFAULT_TREE_TOLERANCE,
               "tree_tolerance", help=(
            "(accelerated learner) Largest loss that the kd-tree may cause, in nats per value, "
            "because items of a node share responsibilities. If the tree cannot be fine enough, "
            "training continues on all items. 0 uses all items from the start.")),
        Option("gradient", OneOf(get_args(GradientName)), DEFAULT_GRADIENT, "gradient.rule",
               "gradient", help=(
            "(gradient learner) Take plain steps, steps with momentum, or steps divided by the "
            "Fisher information.")),
        Option("step-size", STEP, DEFAULT_STEP_SIZE, "gradient.step_size", help=(
            "(gradient learner) Share of the gradient in each step.")),
        Option("momentum", SHARE, DEFAULT_MOMENTUM, "gradient.momentum", help=(
            "(gradient learner with --gradient momentum) Share of each step that is added to the "
            "next.")),
        Option("forgetting-rate", Interval(0.5, 1), DEFAULT_FORGETTING_RATE,
               "step_sizes.forgetting_rate", doors=(TRAIN,), help=(
            "(stochastic learner) κ: step t replaces the share (t + δ)^−κ of what was learned "
            "before. A greater κ makes later steps smaller.")),
        Option("delay", Interval(0, below_high=True), DEFAULT_DELAY, "step_sizes.delay",
               doors=(TRAIN,), help=(
            "(stochastic learner) δ, which makes the first steps smaller. See --forgetting-rate.")),
        Option("fixed-rate", STEP, None, "step_sizes.fixed_rate", doors=(TRAIN,), help=(
            "(stochastic learner) Share of what was learned before that every step replaces, in "
            "place of --forgetting-rate and --delay.")),
    ),
    "Execution": (
        Option("executor", OneOf(get_args(ExecutorName)), DEFAULT_EXECUTOR, "run.executor", None,
               help=(
            "Where local steps run: serial (this process), threads, or dask (the cluster at "
            "--scheduler, or one of --workers processes started on this machine). It never changes "
            "the result.")),
        Option("scheduler", str, None, "run.scheduler", None, help=(
            "Address of the Dask cluster to use, such as tcp://head:8786. It is never read from a "
            "file. Default: $DASK_SCHEDULER_ADDRESS, or else a cluster started on this machine.")),
        Option("resident-pairs", NATURAL, RESIDENT_PAIRS, "run.resident_pairs", None, help=(
            "(documents) Read a corpus from disk in every lap if it has more pairs of document and "
            "word than this, instead of keeping it in memory.")),
        Option("checkpoint-every", NATURAL, None, "run.checkpoint_every", None, help=(
            "Save a checkpoint each time this many laps are done, from which `sparsetopics resume` "
            "continues; 0 for never. Default: whenever writing one takes less than a tenth of the "
            "time since the last.")),
        Option("keep-state", bool, False, "run.keep_state", None, doors=(TRAIN,), help=(
            "Keep the last checkpoint when training is done, so that `sparsetopics resume --laps` "
            "can continue. With --runs, keep the single runs instead, in state/runs.")),
    ),
})
PATH_OPTION: Table = in_sections({  # options of ``path`` beside those of LDA
    "": (
        Option("from", counts_from(2), DEFAULT_MOST_TOPICS, "", "n_components", everyday=True,
               help=(
            "The most topics, with which the path begins; at most one for each three documents to "
            "train on.")),
        Option("to", counts_from(1), DEFAULT_FEWEST_TOPICS, "", "fewest", everyday=True, help=(
            "The fewest topics, with which it ends.")),
        Option("rungs", whole_numbers, None, "rungs", everyday=True, metavar="K,K,...", help=(
            "Numbers of topics to keep a model of, such as 200,100,50. Default: --from, --to, "
            "the round numbers between them (1, 1.5, 2, 3, 5 and 7 times a power of ten) and all "
            f"numbers below {ONE_BY_ONE}.")),
        Option("validation-share", SHARE, DEFAULT_VALIDATION_SHARE, "run.validation_share",
               everyday=True, help=(
            "Share of CORPUS that is kept out of training to score each rung on, at most "
            f"{MOST_VALIDATION:,} documents. Each rung takes them in before its model is written. "
            "0 scores nothing and recommends nothing.")),
    ),
})
# fmt: on
_WORDED_FOR_PATHS = {
    "start": "Start from documents drawn at random (random) or far from each other (distant).",
    "laps": "Passes over the corpus at the first rung. Each further step makes "
    f"{LAPS_PER_STEP}, or one with fewer than {FEW_TOPICS} topics. Default: {PATH_LAPS}.",
    "heldout": "Held-out corpus to score each rung on. No document is then kept out of CORPUS.",
}
LDA_ON_PATHS: Table = {  # the options of LDA that a topic path has too
    name: replace(row, help=_WORDED_FOR_PATHS.get(name, row.help))
    for name, row in OPTION.items()
    if row.is_at(PATH) and row.is_for(PATH_MODEL)
}

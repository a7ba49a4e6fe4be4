"""What a user decides about training, checked once, before any work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from sparsetopics.options.checks import (
    check_cold,
    check_growth,
    check_name,
    check_points,
    check_round,
    check_size,
    refuse,
)
from sparsetopics.options.registry import (
    DOCUMENT_LIKELIHOODS,
    LEARNERS,
    LIKELIHOODS,
    LearnerKind,
    move_options,
)

ModelName = Literal["lda", "hdp", "dp-mixture", "mixture"]
LikelihoodName = str  # of ``kinds``, as names of learners and moves are
LocalUpdate = Literal["mean-field", "collapsed"]
LearnerName = str
GradientName = Literal["plain", "momentum", "fisher"]
StartName = Literal["random", "distant"]
MoveName = str
Criterion = Literal["bound", "collapsed"]
ExecutorName = Literal["serial", "threads", "dask"]

DEFAULT_SPARSITY = 8
DEFAULT_RESTARTS = 5  # topics tried in a document of a mean-field step
# A document that keeps only topics it really uses makes better topics under the collapsed update;
# under mean-field the same would cost the bound, so only what has vanished leaves.
DEFAULT_MASSES: dict[LocalUpdate, float] = {"collapsed": 3.0, "mean-field": 1e-8}
DEFAULT_COLD_EVERY = 4  # laps of LDA, of which one starts documents cold
DEFAULT_START: StartName = "distant"  # ahead of random documents under both updates
# All but LDA stop when they have settled.
DEFAULT_LAPS: dict[ModelName, int] = {"lda": 20, "hdp": 100, "dp-mixture": 100, "mixture": 100}
DEFAULT_TOPICS: dict[ModelName, int] = {"lda": 100, "hdp": 100, "dp-mixture": 1, "mixture": 10}
RESIDENT_PAIRS = 32_000_000  # of documents and words: a corpus of more is read from disk
DEFAULT_TRUNCATION = 50  # components of the learners of points, which empty some
GROWTH_LAPS = 1000  # of the accelerated learner: one for each component
DEFAULT_TREE_TOLERANCE = 0.0005
MIXTURES: tuple[ModelName, ...] = ("dp-mixture", "mixture")
WITH_MOVES: tuple[ModelName, ...] = ("hdp", "dp-mixture")  # that learn their number of topics
DEFAULT_LIKELIHOOD: LikelihoodName = "gaussian"
DEFAULT_DOCUMENT_LIKELIHOOD: LikelihoodName = "multinomial"  # where data are known to have words
DEFAULT_DOC_CONCENTRATION = 0.5  # total over the topics
DEFAULT_WORD_CONCENTRATION = 0.1  # of each word
DEFAULT_TOP_CONCENTRATION = 10.0
DEFAULT_MOVES: tuple[MoveName, ...] = ("merge", "delete", "birth")
DEFAULT_CRITERION: Criterion = "collapsed"  # finds more topics, and better ones held out


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How a document's topics are found, given the global parameters."""

    update: LocalUpdate = "collapsed"
    sparsity: int | None = None  # L, topics a word type may use; None: 8, or all if fewer
    max_iterations: int = 100
    tolerance: float = 0.05  # tokens
    restarts: int | None = None  # None: the default of the update
    minimum_mass: float | None = None  # tokens; None: the default of the update

    def __post_init__(self) -> None:
        check_name("local update", self.update, get_args(LocalUpdate))
        check_size("sparsity", self.sparsity, 1)
        check_size("local iterations", self.max_iterations, 1)
        if not self.tolerance >= 0:
            refuse("local tolerance", self.tolerance, "0 or more tokens")
        check_size("restarts", self.restarts, 0)
        if self.minimum_mass is not None and not self.minimum_mass >= 0:
            refuse("minimum mass", self.minimum_mass, "0 or more tokens")
        if self.restarts and self.update == "collapsed":
            refuse(
                "restarts",
                f"{self.restarts} with the collapsed update",
                "restarts with the mean-field update only",
                "A restart is judged by the mean-field bound, which the collapsed update does "
                "not follow.",
            )

    @property
    def n_restarts(self) -> int:
        """Restart proposals per document."""
        if self.restarts is not None:
            return self.restarts
        return DEFAULT_RESTARTS if self.update == "mean-field" else 0

    @property
    def pruning_mass(self) -> float:
        """Tokens below which a topic leaves a document, unless they are a fair share of it."""
        return DEFAULT_MASSES[self.update] if self.minimum_mass is None else self.minimum_mass

    def n_slots(self, n_topics: int) -> int:
        """Topics that a word type may use at once, among ``n_topics``."""
        return min(DEFAULT_SPARSITY if self.sparsity is None else self.sparsity, n_topics)


def default_topics(model: ModelName, learner: LearnerName) -> int:
    """The number of topics or components where nobody says any."""
    moves_points = learner in LEARNERS and LEARNERS[learner].at_modes
    return DEFAULT_TRUNCATION if moves_points else DEFAULT_TOPICS[model]


def default_local(model: ModelName, sparsity: int | None = None) -> LocalOptions:
    """The local step of a model of which nothing else is said; that of an item is exact."""
    if model in MIXTURES:
        return LocalOptions("mean-field", sparsity, restarts=0)
    return LocalOptions(sparsity=sparsity)


@dataclass(frozen=True, slots=True)
class TopicPrior:
    """Concentrations of a topic model before any is learned."""

    doc_concentration: float = DEFAULT_DOC_CONCENTRATION  # α, total over the topics
    word_concentration: float = DEFAULT_WORD_CONCENTRATION  # η, per word
    top_concentration: float | None = None  # γ, of the HDP only; None: 10

    def __post_init__(self) -> None:
        values = {
            "alpha": self.doc_concentration,
            "eta": self.word_concentration,
            "gamma": self.gamma,
        }
        for name, value in values.items():
            if not 0 < value < float("inf"):
                refuse(name, value, "a positive number")

    @property
    def gamma(self) -> float:
        given = self.top_concentration
        return DEFAULT_TOP_CONCENTRATION if given is None else given


@dataclass(frozen=True, slots=True)
class StepSizes:
    """Step sizes (delay + t)^(−forgetting_rate) of the stochastic learner, t = 1, 2, …"""

    delay: float = 1.0
    forgetting_rate: float = 0.55

    def __post_init__(self) -> None:
        if not self.delay >= 0:
            refuse("delay", self.delay, "0 or more")
        if not 0.5 < self.forgetting_rate <= 1:
            refuse(
                "forgetting rate",
                self.forgetting_rate,
                "above 0.5 and at most 1",
                "Other step sizes do not converge.",
            )


@dataclass(frozen=True, slots=True)
class GradientOptions:
    """How the gradient learner climbs (Lim 2020)."""

    rule: GradientName = "fisher"
    step_size: float = 0.1
    momentum: float = 0.9  # share of the last step that goes on, of the rule of that name

    def __post_init__(self) -> None:
        check_name("gradient", self.rule, get_args(GradientName))
        if not 0 < self.step_size <= 1:
            refuse("step size", self.step_size, "above 0 and at most 1")
        if not 0 <= self.momentum < 1:
            refuse("momentum", self.momentum, "at least 0 and below 1")


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """Which moves change the number of topics, and what they must raise."""

    names: tuple[MoveName, ...] = DEFAULT_MOVES
    criterion: Criterion | None = None  # None: the default of the model
    verify: bool = False  # recompute everything after each accepted move; slow, for tests

    def __post_init__(self) -> None:
        for name in self.names:
            check_name("moves", name, move_options())
        if len(set(self.names)) < len(self.names):
            refuse("moves", ",".join(self.names), "each move once")
        if self.criterion is None:
            return
        check_name("criterion", self.criterion, get_args(Criterion))
        if not self.names:
            refuse("criterion", f"{self.criterion} without moves", "moves that follow it")


def chosen_moves(
    names: Sequence[MoveName] | None, criterion: Criterion | None = None
) -> MoveOptions | None:
    """The moves a user asks for; None, the default of model and learner, if nothing is asked."""
    if names is None and criterion is None:
        return None
    return MoveOptions(DEFAULT_MOVES if names is None else tuple(names), criterion)


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """One training run of a topic model or a mixture.

    ``n_topics`` is the number of topics of LDA or of components of a finite mixture, and where
    moves start from.
    """

    n_topics: int
    laps: int | None = None  # None: the default of the model
    learner: LearnerName = "memoized"
    local: LocalOptions = LocalOptions()
    prior: TopicPrior = TopicPrior()
    start: StartName | None = None  # None: distant
    step_sizes: StepSizes = StepSizes()
    learn_hyperparameters: bool = False
    model: ModelName = "lda"
    moves: MoveOptions | None = None  # None: all of a memoized HDP or DP mixture, none elsewhere
    likelihood: LikelihoodName | None = None  # of a mixture; None: gaussian
    tree_tolerance: float | None = None  # of the accelerated learner, nats per number; None: 5e-4
    variance: float | None = None  # of isotropic Gaussians; None: made from the data
    gradient: GradientOptions | None = None  # of the gradient learner; None: fisher
    batches_per_round: int = 1  # under the same parameters, before one update takes them all
    cold_every: int | None = None  # laps; None: the default of the model

    @property
    def start_name(self) -> StartName:
        return self.start or DEFAULT_START

    @property
    def n_laps(self) -> int:
        """Laps at most."""
        default = GROWTH_LAPS if self.grows else DEFAULT_LAPS[self.model]
        return default if self.laps is None else self.laps

    @property
    def active_moves(self) -> MoveOptions:
        """The moves that are made, by default or on request."""
        makes_moves = self.model in WITH_MOVES and self.learner_kind.makes_moves
        moves = self.moves or MoveOptions(DEFAULT_MOVES if makes_moves else ())
        if not moves.names or moves.criterion is not None:
            return moves
        return replace(moves, criterion="bound" if self.is_mixture else DEFAULT_CRITERION)

    @property
    def is_mixture(self) -> bool:
        """Of vectors or documents, each in one component; else of documents that mix topics."""
        return self.model in MIXTURES

    @property
    def keeps_better(self) -> bool:
        """Whether a batch keeps its former responsibilities where new ones have a smaller bound.

        The bound says nothing of collapsed ones, and items have the best there are.
        """
        return self.local.update == "mean-field" and not self.is_mixture

    @property
    def at_modes(self) -> bool:
        """Whether parameters are points, not posteriors, and every item has one component."""
        return self.learner_kind.at_modes

    @property
    def grows(self) -> bool:
        """Whether a mixture grows from one component, on a tree of its items."""
        return self.learner_kind.grows

    @property
    def learner_kind(self) -> LearnerKind:
        return LEARNERS[self.learner]

    @property
    def local_step(self) -> LocalOptions:
        """``local``, with the sparsity that the learner needs."""
        return replace(self.local, sparsity=1) if self.at_modes else self.local

    @property
    def laps_per_cold(self) -> int:
        """Of as many laps the first starts documents cold, the others from where they stood.

        By default all do, but for collapsed LDA: a topic that moves bring has to be found in
        documents that have not had it, and mean-field has nothing but cold starts and restarts to
        leave a poor optimum by.
        """
        if self.cold_every is not None:
            return self.cold_every
        stays = self.model == "lda" and self.can_remember
        return DEFAULT_COLD_EVERY if stays and self.local.update == "collapsed" else 1

    @property
    def can_remember(self) -> bool:
        """Whether topics keep their numbers, and the learner knows where documents stood."""
        return self.learner_kind.remembers and not self.active_moves.names and not self.is_mixture

    @property
    def counts_words(self) -> bool:
        """Whether the data are documents."""
        return not self.is_mixture or self.likelihood_name in DOCUMENT_LIKELIHOODS

    @property
    def likelihood_name(self) -> LikelihoodName:
        """Of a mixture."""
        return self.likelihood or DEFAULT_LIKELIHOOD

    def __post_init__(self) -> None:
        check_name("model", self.model, get_args(ModelName))
        check_name("learner", self.learner, LEARNERS)
        if self.start is not None:
            check_name("start", self.start, get_args(StartName))
        check_size("topics", self.n_topics, 1)
        check_size("laps", self.n_laps, 1)
        self._check_kind()
        self._check_moves()
        self._check_sparsity()
        check_growth(self)
        check_points(self)
        check_round(self)
        check_cold(self)
        if self.learn_hyperparameters and not self.learner_kind.knows_all:
            refuse(
                "learn-hyperparameters",
                f"the {self.learner} learner",
                "the memoized or full learner",
                "Learning concentrations needs statistics of the whole collection.",
            )

    def _check_kind(self) -> None:
        if not self.is_mixture:
            if self.likelihood is not None:
                refuse("likelihood", f"{self.likelihood} with {self.model}", "a mixture",
                        "Topics are over words.")  # fmt: skip
            return
        check_name("likelihood", self.likelihood_name, LIKELIHOODS)
        if self.local.update != "mean-field":
            refuse("local update", f"{self.local.update} with a mixture", "mean-field",
                    "Documents alone have topics of their own.")  # fmt: skip
        if self.local.restarts:
            refuse("restarts", f"{self.local.restarts} with a mixture", "none",
                    "The local step of an item is exact.")  # fmt: skip
        if self.active_moves.criterion == "collapsed":
            refuse("criterion", "collapsed with a mixture", "bound",
                    "The collapsed criterion is for words.")  # fmt: skip
        if self.learn_hyperparameters:
            refuse("learn-hyperparameters", "a mixture", "a topic model")

    def _check_sparsity(self) -> None:
        sparsity = self.local.sparsity
        if self.grows:
            return
        if sparsity is None or self.active_moves.names:  # moves change the number of topics
            return
        if sparsity > self.n_topics:
            refuse("sparsity", sparsity, f"at most {self.n_topics}, the number of topics")

    def _check_moves(self) -> None:
        if self.model == "lda" and self.prior.top_concentration is not None:
            refuse("gamma", "LDA", "the HDP", "LDA has no sticks.")
        if not self.active_moves.names:
            return
        names = ",".join(self.active_moves.names)
        keeping = [name for name, keeps_number in move_options().items() if keeps_number]
        kept = [name for name in self.active_moves.names if name in keeping]
        if self.model == "lda" and len(kept) < len(self.active_moves.names):
            wanted = ", ".join(keeping)
            refuse("moves", f"{names} with LDA", wanted, "LDA keeps its number of topics.")
        if self.model in WITH_MOVES and kept:
            refuse("moves", f"{kept[0]} with {self.model}", ", ".join(DEFAULT_MOVES),
                    "It keeps the number of topics.")  # fmt: skip
        if self.model == "mixture":
            refuse("moves", "a finite mixture", "dp-mixture",
                    "A finite mixture keeps its number of components.")  # fmt: skip
        if not self.learner_kind.makes_moves:
            refuse(
                "moves",
                f"the {self.learner} learner",
                "the memoized learner",
                "A move is accepted by the whole-data bound, which only memoized batches keep.",
            )


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where work is done, which never changes what comes out of it."""

    executor: ExecutorName = "threads"
    workers: int = 1  # threads; of dask without a scheduler also processes
    scheduler: str | None = None  # address of a Dask cluster; None: one is started here

    @property
    def threads(self) -> int:
        """That work on one batch."""
        return 1 if self.executor == "dask" else self.workers

    def __post_init__(self) -> None:
        check_name("executor", self.executor, get_args(ExecutorName))
        if self.workers < 1:
            refuse("workers", self.workers, "at least 1")
        if self.executor == "serial" and self.workers > 1:
            refuse("workers", f"{self.workers} with --executor serial", "1")
        if self.scheduler is not None and self.executor != "dask":
            refuse("scheduler", f"{self.scheduler} with --executor {self.executor}",
                    "--executor dask")  # fmt: skip

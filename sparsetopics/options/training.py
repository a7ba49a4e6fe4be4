"""The options of one training run, resolved and checked before any work."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import get_args

from sparsetopics.base.showing import short_repr
from sparsetopics.base.wording import listed
from sparsetopics.options import table
from sparsetopics.options.guide import WordList
from sparsetopics.options.ladder import check_rungs, steps_of
from sparsetopics.options.option import Interval, OneOf, check_values, counts_from, refuse
from sparsetopics.options.registry import (
    DOCUMENT_LIKELIHOODS,
    LEARNERS,
    LIKELIHOODS,
    MODELS,
    LearnerKind,
    ModelKind,
    models_with,
)
from sparsetopics.options.table import OPTION, Criterion, GradientName, LocalUpdate, StartName


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How a document's topics are found, given the global parameters."""

    update: LocalUpdate = "collapsed"
    sparsity: int | None = None  # L, topics that a word may use; None: 8, or all if fewer
    max_iterations: int = 100
    tolerance: float = 0.05  # tokens
    restarts: int | None = None  # None: the default of the update
    minimum_mass: float | None = None  # tokens; None: the default of the update
    own_counts: table.OwnCounts | None = None  # None: kept, or in the last laps the default

    def __post_init__(self) -> None:
        check_values(OPTION, "local", self)
        counts_from(1).check("local iterations", self.max_iterations)
        Interval(0, unit="tokens").check("local tolerance", self.tolerance)
        if self.restarts and self.update == "collapsed":
            hint = "A restart is judged by the mean-field bound."
            refuse("restarts", "needs --local-update mean-field", hint)

    @property
    def n_restarts(self) -> int:
        """Restarts tried in each document."""
        usual = table.DEFAULT_RESTARTS if self.update == "mean-field" else 0
        return usual if self.restarts is None else self.restarts

    @property
    def pruning_mass(self) -> float:
        """Tokens below which a topic leaves a document, unless they are a fair share of it."""
        return table.DEFAULT_MASSES[self.update] if self.minimum_mass is None else self.minimum_mass

    def n_slots(self, n_topics: int) -> int:
        """The number of topics that a word may use at once, among ``n_topics``."""
        return min(table.DEFAULT_SPARSITY if self.sparsity is None else self.sparsity, n_topics)


@dataclass(frozen=True, slots=True)
class TopicPrior:
    """Concentrations of the priors before any is learned."""

    doc_concentration: float = table.DEFAULT_DOC_CONCENTRATION  # α, total over the topics
    word_concentration: float = table.DEFAULT_WORD_CONCENTRATION  # η, of each word
    top_concentration: float | None = None  # γ, of all models but LDA; None: 10

    def __post_init__(self) -> None:
        check_values(OPTION, "prior", self)

    @property
    def gamma(self) -> float:
        """γ, given or by default."""
        return self.top_concentration or table.DEFAULT_TOP_CONCENTRATION


@dataclass(frozen=True, slots=True)
class StepSizes:
    """Step sizes (delay + t)^(−forgetting_rate) of the stochastic learner, t = 1, 2, …

    Hoffman et al. 2013, §2.4. A ``fixed_rate`` is the size of all steps instead.
    """

    delay: float = table.DEFAULT_DELAY
    forgetting_rate: float = table.DEFAULT_FORGETTING_RATE
    fixed_rate: float | None = None

    def __post_init__(self) -> None:
        check_values(OPTION, "step_sizes", self)
        usual = table.DEFAULT_DELAY, table.DEFAULT_FORGETTING_RATE
        if self.fixed_rate is not None and (self.delay, self.forgetting_rate) != usual:
            refuse("fixed-rate", "cannot be combined with --forgetting-rate and --delay")

    def size(self, step: int) -> float:
        """The share of what was learned before that a step replaces, counted from 1."""
        falling: float = (self.delay + step) ** -self.forgetting_rate
        return falling if self.fixed_rate is None else self.fixed_rate


@dataclass(frozen=True, slots=True)
class GradientOptions:
    """How the gradient learner climbs (Lim 2020)."""

    rule: GradientName = table.DEFAULT_GRADIENT
    step_size: float = table.DEFAULT_STEP_SIZE
    momentum: float = table.DEFAULT_MOMENTUM  # share of the last step that is added to the next

    def __post_init__(self) -> None:
        check_values(OPTION, "gradient", self)
        if self.momentum != table.DEFAULT_MOMENTUM and self.rule != "momentum":
            refuse("momentum", f"needs --gradient momentum, but found --gradient {self.rule}")


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """Which moves change the topics after a lap, and what each of them must raise."""

    names: tuple[str, ...] = table.DEFAULT_MOVES
    criterion: Criterion | None = None  # None: the default of the model
    verify: bool = False  # recompute everything after each accepted move; slow, for tests

    def __post_init__(self) -> None:
        check_values(OPTION, "moves", self)
        if self.criterion is not None and not self.names:
            refuse("criterion", "needs --moves that follow it, but --moves is none")


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """One training run of a topic model or a mixture.

    LDA and a finite mixture keep ``n_topics`` topics or components. The other models start from
    that number. On a topic path, ``n_topics`` is the first rung.
    """

    n_topics: int
    laps: int | None = None  # None: the default of the model
    learner: str = table.DEFAULT_LEARNER
    local: LocalOptions = LocalOptions()
    prior: TopicPrior = TopicPrior()
    start: StartName | None = None  # None: distant
    step_sizes: StepSizes = StepSizes()
    learn_hyperparameters: bool = False
    smoothing: float | str = table.LEARNED  # σ of finished topics
    model: str = "lda"
    moves: MoveOptions | None = None  # None: all of a memoized HDP or DP mixture, none elsewhere
    likelihood: str | None = None  # of a mixture; None: gaussian
    tree_tolerance: float | None = None  # of the accelerated learner, nats per value; None: 5e-3
    variance: float | None = None  # of isotropic Gaussians; None: made from the data
    gradient: GradientOptions | None = None  # of the gradient learner; None: fisher
    batches_per_round: int = 1  # processed under the same parameters, before one update
    cold_every: int | None = None  # laps; None: the default of the model
    purpose: table.Purpose = table.DEFAULT_PURPOSE  # of a validated HDP
    # Of a topic path after ``n_topics``; of an HDP, the numbers that validation chooses from.
    lower_rungs: tuple[int, ...] = ()
    guide: tuple[WordList, ...] | None = None  # lists of words that topics begin with
    n_runs: int = 1  # whose consensus is the model

    def __repr__(self) -> str:
        given = [each.name for each in fields(self) if getattr(self, each.name) != each.default]
        return short_repr(self, *given)

    def __post_init__(self) -> None:
        check_values(OPTION, "", self)
        table.PATH_OPTION["rungs"].check(self.rungs)
        if self.start is not None:
            OneOf(get_args(StartName)).check("start", self.start)
        _check_model(self)
        _check_statistics(self)
        _check_sparsity(self)
        _check_growth(self)
        _check_points(self)
        _check_round_and_cold(self)
        _check_path(self)
        if self.n_runs > 1 and not self.learner_kind.remembers:
            refuse("runs", "works only with --learner memoized")

    @property
    def start_name(self) -> StartName:
        """How the first topics are drawn."""
        return self.start or table.DEFAULT_START

    @property
    def rungs(self) -> tuple[int, ...]:
        """The numbers of topics of which a topic path keeps a model; empty without a path."""
        return (self.n_topics, *self.lower_rungs) if self.lower_rungs else ()

    @property
    def path_laps(self) -> tuple[int, ...]:
        """The number of topics in each lap of a topic path after those of the first rung."""
        return tuple(
            number
            for number in steps_of(self.rungs)
            for _ in range(1 if number < table.FEW_TOPICS else table.LAPS_PER_STEP)
        )

    @property
    def last_path_lap(self) -> int:
        """The last lap of a topic path; without one, the last lap at most."""
        return self.first_laps + len(self.path_laps)

    @property
    def n_laps(self) -> int:
        """Laps at most, with those of a topic path and those after it."""
        return self.last_path_lap + (table.LAPS_FOR[self.purpose] if self.is_validated else 0)

    @property
    def is_validated(self) -> bool:
        """Whether documents that are kept out of training choose the number of topics of an HDP."""
        return OPTION["validation-share"].is_for(self.model) and bool(self.lower_rungs)

    @property
    def is_topic_path(self) -> bool:
        """Whether models of several numbers of topics are kept."""
        return bool(self.lower_rungs) and not self.is_validated

    @property
    def may_be_validated(self) -> bool:
        """Whether nothing that was asked for keeps validation from choosing the number."""
        is_usual = self.moves is None and self.laps is None and self.local.update == "collapsed"
        is_for = OPTION["validation-share"].is_for(self.model)
        return is_for and is_usual and self.learner_kind.remembers

    @property
    def makes_moves(self) -> bool:
        """Whether moves follow every lap."""
        return bool(self.active_moves.names) and not self.is_validated

    @property
    def first_laps(self) -> int:
        """Laps at most, with ``n_topics`` topics or on the way to them."""
        if self.laps is not None:
            return self.laps
        if self.lower_rungs:
            return table.PATH_LAPS
        if self._may_start_gradually:
            return table.GRADUAL_LAPS
        return table.GROWTH_LAPS if self.learner_kind.grows else self.model_kind.laps

    @property
    def active_moves(self) -> MoveOptions:
        """The moves that are made, given or by default."""
        has_moves = self.model_kind.learns_number and self.learner_kind.makes_moves
        moves = self.moves or MoveOptions(table.DEFAULT_MOVES if has_moves else ())
        if not moves.names or moves.criterion is not None:
            return moves
        of_items = self.model_kind.of_items
        return replace(moves, criterion="bound" if of_items else table.DEFAULT_CRITERION)

    @property
    def model_kind(self) -> ModelKind:
        """What the registry says of the model."""
        return MODELS[self.model]

    @property
    def keeps_better(self) -> bool:
        """Whether a batch keeps its old responsibilities if their bound is higher.

        The bound does not judge collapsed responsibilities, and those of items are optimal.
        """
        return self.local.update == "mean-field" and not self.model_kind.of_items

    @property
    def keeps_assignments(self) -> bool:
        """Whether the memoized learner keeps responsibilities instead of sums over batches.

        Moves need them, and the word counts of topics are nothing else.
        """
        is_needed = bool(self.active_moves.names) or not self.model_kind.of_items
        return self.learner_kind.makes_moves and is_needed

    @property
    def learner_kind(self) -> LearnerKind:
        """What the registry says of the learner."""
        return LEARNERS[self.learner]

    @property
    def local_step(self) -> LocalOptions:
        """``local``, with the sparsity that the learner needs."""
        return replace(self.local, sparsity=1) if self.learner_kind.at_modes else self.local

    @property
    def own_counts(self) -> table.OwnCounts | None:
        """What the last laps do with own counts; None: they are kept, as by moves and on paths."""
        has_last = self.is_validated or (self._may_start_gradually and not self.lower_rungs)
        return self.local.own_counts or (table.DEFAULT_OWN_COUNTS if has_last else None)

    @property
    def laps_per_cold(self) -> int:
        """The number of laps in which one starts documents cold, the others from where they stood.

        By default every lap is cold, except for collapsed LDA and for an HDP whose number of topics
        documents choose. A topic that a move adds has to be found in documents that have not had
        it, and mean-field leaves a poor optimum only by cold starts and restarts.
        """
        if self.cold_every is not None:
            return self.cold_every
        stays = (self.model_kind.narrows or self.is_validated) and self.can_remember
        return table.DEFAULT_COLD_EVERY if stays and self.local.update == "collapsed" else 1

    @property
    def can_remember(self) -> bool:
        """Whether topics keep their numbers, and the learner keeps the topics of documents."""
        return self.learner_kind.remembers and not self.makes_moves and not self.model_kind.of_items

    @property
    def starts_gradually(self) -> bool:
        """Whether training begins with more topics than wanted, unless it starts from a model."""
        has_laps = self.first_laps >= table.FEWEST_GRADUAL_LAPS
        return self._may_start_gradually and has_laps and self.n_topics > 1

    @property
    def _may_start_gradually(self) -> bool:
        """Whether topics could be merged: the bound may fall, and assignments are kept."""
        return self.model_kind.narrows and self.local.update == "collapsed" and self.can_remember

    @property
    def counts_words(self) -> bool:
        """Whether the data are documents."""
        return not self.model_kind.of_items or self.likelihood_name in DOCUMENT_LIKELIHOODS

    @property
    def likelihood_name(self) -> str:
        """The likelihood of a mixture."""
        return self.likelihood or table.DEFAULT_LIKELIHOOD

    def filled(self) -> TrainingOptions:
        """The same options, without lists of words, and with the defaults of models filled in."""
        return replace(
            self,
            laps=self.n_laps if self.is_validated else self.first_laps,
            lower_rungs=() if self.is_validated else self.lower_rungs,
            moves=self.active_moves if self.model_kind.learns_number else None,
            local=replace(self.local_step, own_counts=self.own_counts),
            likelihood=self.likelihood_name if self.model_kind.of_items else None,
            guide=None,  # which runs keep beside their options
        )


def _check_model(options: TrainingOptions) -> None:
    """Refuse what the model does not have."""
    local, model = options.local, options.model
    asked = {
        "moves": options.active_moves.names,
        "likelihood": options.likelihood,
        "gamma": options.prior.top_concentration,
        "learn-hyperparameters": options.learn_hyperparameters,
    }
    for name, value in asked.items():
        if value:
            OPTION[name].check_model(model)
    if not options.model_kind.of_items:
        return
    if local.update != "mean-field":
        hint = "Each vector or document of a mixture is in one component."
        refuse("local-update", f"must be mean-field with --model {model}", hint)
    if local.restarts:
        refuse("restarts", f"must be 0 with --model {model}, whose local step is exact")
    if options.active_moves.criterion == "collapsed":
        able = listed([name for name in models_with("moves") if not MODELS[name].of_items])
        refuse("criterion", f"must be bound with --model {model}: collapsed is for {able}")


def _check_statistics(options: TrainingOptions) -> None:
    """Refuse what needs statistics that the learner does not keep."""
    if options.active_moves.names and not options.learner_kind.makes_moves:
        hint = "A move is accepted by the whole-data bound, which only memoized batches keep."
        refuse("moves", f"must be none with --learner {options.learner}", hint)
    if options.learn_hyperparameters and not options.learner_kind.knows_all:
        hint = "Concentrations are learned from statistics of the whole collection: take memoized."
        refuse("learn-hyperparameters", f"needs another learner than {options.learner}", hint)


def _check_sparsity(options: TrainingOptions) -> None:
    """Refuse more topics for a word than there are, where their number stays."""
    sparsity = options.local.sparsity
    stays = not options.learner_kind.grows and not options.active_moves.names
    if stays and sparsity is not None and sparsity > options.n_topics:
        refuse("sparsity", f"must be at most --topics, {options.n_topics}, but is {sparsity}")


def _check_growth(options: TrainingOptions) -> None:
    """Refuse what the accelerated learner cannot do, and its options elsewhere."""
    if options.tree_tolerance is not None:
        OPTION["tree-tolerance"].check_learner(options.learner)
    if not options.learner_kind.grows:
        return
    able = [name for name, kind in LIKELIHOODS.items() if kind.grows]
    _check_learner("tree-tolerance", able, options)
    if options.start is not None:
        refuse("start", f"needs another learner than {options.learner}, which draws no documents")
    if options.n_topics != 1:
        hint = f"The {options.learner} learner grows from one component."
        refuse("topics", f"must be 1 with --learner {options.learner}", hint)


def _check_points(options: TrainingOptions) -> None:
    """Refuse what learners and likelihoods of points cannot do, and their options elsewhere."""
    learner = f"--learner {options.learner}"
    if options.gradient is not None:
        OPTION["gradient"].check_learner(options.learner)
    points = [name for name, kind in LIKELIHOODS.items() if kind.at_modes]
    may_be_points = options.model_kind.of_items and options.likelihood_name in points
    if options.variance is not None and not may_be_points:
        hint = "Other likelihoods learn their variances."
        refuse("variance", f"needs a mixture with --likelihood {listed(points, 'or')}", hint)
    if not options.learner_kind.at_modes:
        return
    _check_learner("gradient", points, options)
    if options.local.sparsity not in (None, 1):
        refuse("sparsity", f"must be 1 with {learner}, which gives every item to one component")
    if options.prior.gamma < 1:
        hint = "With a smaller value, sticks have no most probable length."
        refuse("gamma", f"must be at least 1 with {learner}, but is {options.prior.gamma:g}", hint)


def _check_learner(option: str, likelihoods: list[str], options: TrainingOptions) -> None:
    """Refuse a learner unless the model takes its ``option``, and has one of the likelihoods."""
    models = models_with(option)
    if options.model not in models or options.likelihood_name not in likelihoods:
        needs = f"--model {listed(models, 'or')} with --likelihood {listed(likelihoods, 'or')}"
        refuse("learner", f"{options.learner} needs {needs}")


def _check_round_and_cold(options: TrainingOptions) -> None:
    """Refuse rounds and warm laps that the learner or the model cannot have."""
    if options.batches_per_round > 1 and options.learner_kind.takes_all:
        refuse("round", f"must be 1 with --learner {options.learner}: all batches are one round")
    if options.cold_every in (None, 1) or options.can_remember:
        return
    if options.model_kind.of_items:
        refuse("cold-every", f"must be 1 with --model {options.model}: its local step is exact")
    if options.active_moves.names:
        hint = "New topics must be found in documents that have not had them."
        refuse("cold-every", "must be 1 unless --moves is none", hint)
    hint = "Only the memoized learner keeps the topics of documents."
    refuse("cold-every", f"must be 1 with --learner {options.learner}", hint)


def _check_path(options: TrainingOptions) -> None:
    """Refuse a topic path where topics cannot be merged between laps."""
    if not options.lower_rungs:
        return
    check_rungs(options.rungs)
    if not (options._may_start_gradually or options.may_be_validated):
        needs = f"--model {table.PATH_MODEL} with --learner memoized and --local-update collapsed"
        refuse("rungs", f"needs {needs}", "Only there are topics merged between laps.")

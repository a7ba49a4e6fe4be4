"""``TopicPath``: LDA models of many numbers of topics from one training, and which to choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NoReturn

from numpy.typing import ArrayLike

from sparsetopics.base.own_folders import TOPIC_PATH
from sparsetopics.corpora.corpus import AnyCorpus, Corpus
from sparsetopics.estimators.base import naming_arguments
from sparsetopics.estimators.inputs import Data
from sparsetopics.estimators.topics import LDA, TopicEstimator
from sparsetopics.options import table
from sparsetopics.options.option import refuse, shown
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.topic_path_files import Scores, TopicPathFolder, TopicTree, write_topic_path

if TYPE_CHECKING:
    from sparsetopics.inference.course import Model
    from sparsetopics.model.topic_posterior import TopicPosterior
    from sparsetopics.runs.run import AnyRun
    from sparsetopics.runs.run_files import Nested
    from sparsetopics.runs.session import Trained


@dataclass(repr=False, eq=False)
class TopicPath(TopicEstimator):
    """LDA models of many numbers of topics from one training, and which of them to choose.

    Training begins with the most topics and merges them step by step; a model is kept at each rung
    of a ladder. Each is scored on a share of the documents, which it takes in only afterwards. The
    recommended number of topics is the smallest that predicts nearly as well as the best
    (``measures.knee``). ``transform`` and ``score`` use its model.

    All arguments that are not listed are those of ``LDA``. ``fit`` raises OptionError if one is out
    of range or conflicts with another; only the memoized learner and the collapsed update can merge
    topics.

    Args:
        n_components: The most topics, with which the path begins, 400 by default. It begins with
            fewer, and a warning says so, if there are fewer than three documents for each.
        fewest: The fewest topics, with which it ends, 1 by default.
        rungs: The numbers of topics to keep a model of, in falling order, in place of
            ``n_components`` and ``fewest``. None stands for both ends, the round numbers between
            them (1, 1.5, 2, 3, 5 and 7 times a power of ten) and all numbers below 24.
        validation_share: The share of the documents that rungs are scored on, at most 5,000
            documents. 0 scores nothing; the model is then that of the middle rung.
        max_iter: The number of laps at the first rung, 7 by default.

    Attributes:
        rungs_: The numbers of topics of which there is a model, in falling order.
        scores_: For each rung its score, its difference from the best one, and standard errors, in
            nats per token; and what they recommend.
        recommended_: The recommended number of topics; None if nothing was scored.
        to_read_: The number of topics that are enough to read; None if nothing was scored.
        as_good_: The fewest and the most topics that predict as well; None if nothing was scored.
        tree_: Which topic of each rung became part of which topic of the next one.
        models_: The posterior of each rung, by its number of topics.
        n_components_: The number of topics of ``model_``.
    """

    n_components: int = table.DEFAULT_MOST_TOPICS
    _: KW_ONLY
    fewest: int = table.DEFAULT_FEWEST_TOPICS
    rungs: Sequence[int] | None = None
    validation_share: float = table.DEFAULT_VALIDATION_SHARE

    _model_name: ClassVar[str] = "lda"
    _own_arguments: ClassVar[tuple[str, ...]] = ("validation_share",)  # for an HDP in ``train``
    _folder_kind = TOPIC_PATH

    scores_: Scores = field(init=False)
    tree_: TopicTree = field(init=False)
    models_: dict[int, TopicPosterior] = field(init=False)

    def _set_trained(self, found: Trained, corpus: AnyCorpus, seed: int | None) -> None:
        from sparsetopics.runs.data import facts_of
        from sparsetopics.runs.topic_path import described_path

        assert isinstance(corpus, Corpus), "topics are over words"
        self.models_ = models = found.models
        scores = found.kept["number_of_topics"]
        self.scores_, self.tree_ = described_path(scores, found.rungs, models.__getitem__, corpus)
        self.rungs_: tuple[int, ...] = tuple(models)
        self.recommended_: int | None = self.scores_.recommended
        self.to_read_: int | None = self.scores_.to_read
        low, high = self.scores_.as_good_from, self.scores_.as_good_to
        self.as_good_ = None if low is None or high is None else (low, high)
        facts, lists = facts_of(corpus), found.kept.get("guide")
        found = found._replace(kept={"guide": lists} if lists else {})
        self._runs: dict[int, AnyRun] = {}
        for rung in found.rungs:  # with the laps until it was reached
            own = found._replace(model=models[rung.n_topics], trace=found.trace[: rung.laps])
            self._runs[rung.n_topics] = self._made(own, facts, corpus.vocabulary, seed)
        chosen = self.recommended_ or self.rungs_[len(self.rungs_) // 2]
        self._set_run(self._runs[chosen], found.trace)

    def partial_fit(
        self, X: Data, y: ArrayLike | None = None, *, text: str | None = None
    ) -> NoReturn:
        """Refuse with an OptionError: a path needs all documents at once."""
        hint = "Fit an LDA with the number of topics that you choose; it has partial_fit."
        refuse("TopicPath", "has no partial_fit: a path needs all documents at once", hint)

    def model(self, n_components: int | None = None) -> LDA:
        """The model of a rung as a fitted ``LDA``; by default the recommended one.

        Raises UnfittedError before ``fit``, and OptionError if there is no such rung.
        """
        self._check_fitted()
        number = self.n_components_ if n_components is None else n_components
        if number not in self.models_:
            rungs = ", ".join(map(str, self.rungs_))
            refuse("n_components", f"must be one of {rungs}, but is {shown(number)}")
        own = {name: value for name, value in self.get_params().items() if name in _OF_LDA}
        sparsity = None if self.sparsity is None else min(self.sparsity, number)
        model = LDA(**own | {"n_components": number, "sparsity": sparsity})
        model._text, run = self._text, self._runs[number]
        options = model._recorded_options(run.model)
        run = replace(run, settings={**run.settings, "options": options})
        model._set_run(run, run.trace)
        return model

    def _save_to(self, scratch: Path) -> None:
        from sparsetopics.runs.run import NO_THEMES, save_run

        for number, run in self._runs.items():
            folder = scratch / str(number)
            folder.mkdir()
            save_run(folder, replace(run, settings={**run.settings, "themes": NO_THEMES}))
        write_topic_path(scratch, self.scores_, self.tree_)

    def _recorded_options(self, model: Model) -> Nested:
        from sparsetopics.runs.topic_path import rung_record

        first, *lower = self.rungs_
        options = replace(self._options_of_fit(), n_topics=first, lower_rungs=tuple(lower))
        own = rung_record(options, model.n_topics, self.validation_share)
        return {**super()._recorded_options(model), **own}

    def _topic_path(self) -> TopicPathFolder:
        return TopicPathFolder(Path(type(self).__name__), self.scores_, self.tree_)

    @naming_arguments()
    def training_options(self) -> TrainingOptions:
        """The options that ``sparsetopics path`` would have; raises OptionError."""
        from sparsetopics.runs.plan import rungs_of

        table.PATH_OPTION["validation-share"].check(self.validation_share)
        ends = {"from": self.n_components, "to": self.fewest}
        rungs = rungs_of(ends if self.rungs is None else {"rungs": tuple(self.rungs)})
        options = replace(super().training_options(), n_topics=rungs[0])
        return replace(options, lower_rungs=rungs[1:])


_OF_LDA = LDA().get_params().keys() - {"max_iter"}

"""LDA and HDP as estimators with ``fit``, ``transform`` and ``score``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config, check_library_installed

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import ShapeError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.estimators.editing import EditableTopics
from sparsetopics.estimators.fitted import FittedEstimator
from sparsetopics.estimators.inputs import Data, Names, answers_for
from sparsetopics.options import table
from sparsetopics.options.option import OneOf
from sparsetopics.options.registry import MODELS
from sparsetopics.options.table import Criterion, LocalUpdate, OwnCounts, Purpose

if TYPE_CHECKING:
    from sparsetopics.model.topic_posterior import TopicPosterior
    from sparsetopics.runs.topic_path_files import Scores

CONTAINERS = ("default", "pandas", "polars")
Words = Sequence[str]  # of a list; also the name of its parent


@dataclass(repr=False, eq=False)
class TopicEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedEstimator):
    """What LDA and HDP share."""

    _: KW_ONLY
    local_update: LocalUpdate = "collapsed"
    doc_concentration: float = table.DEFAULT_DOC_CONCENTRATION
    word_concentration: float = table.DEFAULT_WORD_CONCENTRATION
    learn_hyperparameters: bool = False
    smoothing: float | str = table.LEARNED
    restarts: int | None = None
    minimum_mass: float | None = None
    cold_every: int | None = None
    guide: str | Path | Mapping[str, Words | Mapping[str, Words | None]] | None = None

    model_: TopicPosterior = field(init=False)

    def transform(self, X: Data) -> FloatArray:
        """Expected topic proportions E[π_d] of each document, (n_docs, n_components_).

        The dense mean-field step computes them. It is deterministic, and each row depends on its
        own document only. The share that an HDP reserves for topics not yet found is left out. A
        row or text without words gets the proportions of the prior. The result is an array, unless
        ``set_output`` says otherwise; a pandas frame has the index of X, or the ids of a corpus.

        Raises UnfittedError before ``fit``, and ShapeError or VocabularyError if the words are
        not those that were fitted.
        """
        from sparsetopics.answers.proportions import shares_of

        documents, prior = self._documents_of(X), self.model_.doc_concentration
        parts = map(shares_of(self.model_, workers=self._n_threads), documents.batches())
        found = answers_for(X, documents, parts, prior / prior.sum())
        if isinstance(X, Corpus) and _get_output_config("transform", self)["dense"] == "pandas":
            pandas = check_library_installed("pandas")
            found = pandas.DataFrame(found, index=list(chain.from_iterable(X.doc_ids())))
        return found

    def score(self, X: Data, y: ArrayLike | None = None) -> float:
        """Document-completion log-likelihood of held-out documents, in nats per token.

        A fifth of each document's word types is predicted from the others (Hughes & Sudderth
        2016, appendix E; Wang et al. 2011). ``y`` is ignored. Raises what ``transform`` raises,
        and ShapeError if no document has two words.
        """
        from sparsetopics.runs.data import completion_score

        documents = self._documents_of(X)
        if not documents.n_docs:
            raise ShapeError("X", "has no count above zero", "Score documents of several words.")
        # The second one is for a baseline, which is not part of the score.
        return completion_score(documents, documents, self._n_threads)(self.model_)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what ``transform`` returns: "default" (an array), "pandas" or "polars".

        None changes nothing. Raises OptionError for any other name. ``transform`` raises
        ImportError if the library is not installed.
        """
        if transform is not None:
            OneOf(CONTAINERS).check("transform", transform)
        super().set_output(transform=transform)
        return self

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Names:
        """Names of the columns of ``transform``, (n_components_,): "lda0", "lda1", …

        Raises UnfittedError before ``fit``, and ShapeError if ``input_features`` are given and are
        not the names of the columns that were fitted, or a different number of them.
        """
        self._check_fitted()
        try:
            names: Names = super().get_feature_names_out(input_features)
        except (TypeError, ValueError) as error:
            problem = "must be the names of the columns that were fitted"
            raise ShapeError("input_features", problem, f"{error}.") from error
        return names

    @property
    def _n_features_out(self) -> int:
        """The number of columns of ``transform``, under the name that scikit-learn reads."""
        return self.n_components_

    def _set_arrays(self) -> None:
        self.components_: FloatArray = self.model_.topic_word_weights
        self.n_docs_: int = self._fitted.settings["corpus"]["n_documents"]


@dataclass(repr=False, eq=False)
class LDA(TopicEstimator, EditableTopics):
    """Latent Dirichlet allocation (Blei, Ng & Jordan 2003) with L-sparse local steps (Hughes &
    Sudderth 2016).

    ``fit`` begins with up to three times as many topics as wanted and merges them before laps 4
    and 5, which finds better topics. This needs the memoized learner, the collapsed update and at
    least 7 laps; otherwise training begins with ``n_components`` topics, as ``partial_fit`` does.

    ``fit`` raises OptionError if an argument is out of range or conflicts with another.

    Args:
        n_components: The number of topics, 100 by default.
        sparsity: L, the number of topics that a word of a document may use. None stands for 8, or
            all topics if there are fewer.
        local_update: "collapsed" (CVB0; Asuncion et al. 2009) or "mean-field".
        learner: "memoized" (Hughes & Sudderth 2013), "stochastic" (Hoffman et al. 2013) or "full".
        max_iter: The number of laps, which are passes over all documents. None stands for 10 with
            the memoized learner and the collapsed update, and for 20 otherwise.
        n_batches: The number of batches in a lap. None chooses it by the size of the corpus.
        forgetting_rate: κ of the learner "stochastic", from 0.5 to 1, 0.55 by default. Step t
            replaces the share (t + δ)^−κ of what was learned before.
        delay: δ of the learner "stochastic", 1 by default.
        fixed_rate: The share that every step of the learner "stochastic" replaces, in place of
            ``forgetting_rate`` and ``delay``.
        doc_concentration: Σ_k α_k, the total over the topics, 0.5 by default.
        word_concentration: η of each word, 0.1 by default.
        learn_hyperparameters: Whether to learn both concentrations.
        smoothing: σ, the smoothing of finished topics, which replaces η in all word probabilities:
            a number, or "learned" from training documents that are left out of the topics.
        start: How the first topics are chosen: from "distant" (the default) or "random" documents.
        restarts: The number of restarts of a mean-field document, 5 by default.
        minimum_mass: A topic leaves a document in which it has fewer tokens than this and less
            than 2 % of them. None stands for 1e-8 if ``local_update`` is "mean-field", else for 3,
            and for 1 while ``fit`` has more than ``n_components`` topics.
        cold_every: In one lap of this many, all topics are considered for every document; in the
            others, those that the document has. None stands for 3 if the memoized learner has
            collapsed documents, else for 1.
        guide: Lists of words that ``fit`` begins topics with: names with their words, such as
            ``{"guns": ["gun*", "weapons"]}``, or the path of a TOML file. A table with ``words``
            may also name the ``parent`` of a list.
        own_counts: Which of a document's own words are left out of the counts that its topics are
            found with, in the last four laps: none ("keep"), half of them ("half") or all
            ("leave"). The last two need the memoized learner and the collapsed update. None stands
            for "half" if these are used, else for "keep".
        n_runs: The number of runs, each with a seed of its own, whose consensus the model is: each
            topic is the mean of one topic of each run, fitted in one more lap. ``topics`` then says
            in how many runs a topic was found. Needs the learner "memoized".
        n_jobs: The number of threads; -1 for one per core. It does not change the result.
        random_state: The seed. None takes a new one every time, and a RandomState draws one.

    Attributes:
        components_: Tokens of each word in each topic plus σ, (n_components_, n_words), topics in
            falling order of weight. Divided by their sums, rows are the probabilities of words.
        n_components_: The number of topics.
        topic_ids_: The ids of the topics, which stay when the model learns on.
        vocabulary_: The words.
        n_features_in_: The number of words.
        feature_names_in_: The words, if X was a data frame.
        n_docs_: The number of documents.
        n_iter_: The number of laps that were made.
        trace_: A list with one entry per lap; bounds are in nats per token.
        model_: The whole posterior; ``model_.smoothing`` is σ.
    """

    n_components: int = MODELS["lda"].n_topics
    _: KW_ONLY
    own_counts: OwnCounts | None = None
    n_runs: int = 1

    _model_name: ClassVar[str] = "lda"


@dataclass(repr=False, eq=False)
class HDP(TopicEstimator, EditableTopics):
    """Hierarchical Dirichlet process topics (Teh et al. 2006), which learn their number.

    ``fit`` begins with 400 to 800 topics, merges them step by step, and scores each number on
    documents that are kept out until the smallest number is chosen that predicts them about as well
    as the best. The last laps are over all documents. With fewer than 300 documents, or if
    ``validation_share`` is 0 or ``moves``, ``criterion`` or ``max_iter`` is given, training starts
    from ``n_components`` topics. It then merges, deletes and adds topics where that raises
    ``criterion``, until the bound and the number have settled or ``max_iter`` laps are done. The
    posterior and its bound are those of Hughes, Kim & Sudderth (2015).

    After ``fit`` it has the attributes of ``LDA``, and those below. All arguments that are not
    listed are those of ``LDA``. ``fit`` raises OptionError if one is out of range or conflicts
    with another.

    Args:
        n_components: The number of topics that training starts from where moves change it, 100 by
            default. Where documents choose the number, as they do by default from 300 documents on,
            a number up to 400 has no effect. For a model of exactly so many topics, use ``LDA``.
        doc_concentration: α, the total over the topics, 0.5 by default.
        top_concentration: γ, 10 by default.
        moves: Some of "merge", "delete" and "birth". None stands for all of them with the memoized
            learner and for none with the others, which keep their number of topics, as
            ``partial_fit`` does.
        criterion: What moves must raise: "collapsed" (the default) or "bound", the ELBO.
        cold_every: As for ``LDA``, but 1 by default, and always 1 with moves.
        guide: As for ``LDA``. It needs documents that choose the number of topics.
        own_counts: As for ``LDA``, but "keep" unless documents are kept out to choose the number.
        n_runs: As for ``LDA``. The number of topics is the median of those of the runs.
        max_iter: The largest number of laps. None stands for 100, or for what the validation needs.
        validation_share: The share of the documents that are kept out until the number of topics
            is chosen. None stands for a tenth, but at most 1,000 documents.
        purpose: "predicting" (the default) ends with the number that predicts best, "reading" with
            fewer topics that are enough to read. The latter needs documents that are kept out.

    Attributes:
        scores_: For each number of topics its score on the documents that were kept out, in nats
            per token; None if none were. ``scores_.recommended`` is the number that predicts best,
            ``scores_.to_read`` the number to read.
        as_good_: The fewest and the most topics that predict as well as the recommended number;
            None if no documents were kept out.
    """

    n_components: int = MODELS["hdp"].n_topics
    _: KW_ONLY
    top_concentration: float = table.DEFAULT_TOP_CONCENTRATION
    moves: Sequence[str] | None = None
    criterion: Criterion | None = None
    validation_share: float | None = None
    purpose: Purpose = table.DEFAULT_PURPOSE
    own_counts: OwnCounts | None = None
    n_runs: int = 1

    _model_name: ClassVar[str] = "hdp"

    @property
    def scores_(self) -> Scores | None:
        return self._run().settings.get("number_of_topics")

    @property
    def as_good_(self) -> tuple[int, int] | None:
        scores = self.scores_
        return None if scores is None else scores.as_good_around(self.n_components_)

"""A trained mixture: the posterior of weights and components, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from sparsetopics.base.batches import FloatArray, IntArray, Rows
from sparsetopics.base.errors import OptionError, RunError
from sparsetopics.base.showing import short_repr
from sparsetopics.model.allocations.mixture import ItemAllocation
from sparsetopics.model.allocations.mixture_weights import DPModes, sharing_of
from sparsetopics.model.array_formats import (
    COMPONENTS,
    N_AXES,
    PRIOR,
    Stored,
    StoredAs,
    StoredReader,
    read_vectors,
    stored_vectors,
)
from sparsetopics.model.item_assignment import BLOCK_ITEMS
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood
from sparsetopics.model.likelihoods.multinomial import DirichletPosterior
from sparsetopics.model.likelihoods.normals import Normals
from sparsetopics.model.likelihoods.scorers import Scorer, log_densities_of_columns, steady
from sparsetopics.model.likelihoods.vector_likelihood import VectorLikelihood
from sparsetopics.options.registry import LIKELIHOODS, imported

# Components and their sums for a batch are of the likelihood's own types.
AnyItemLikelihood = ItemLikelihood[Rows, Any, Any]  # a run folder names it: not known before
AT_MODES = "at_modes"  # stored if parameters are points, left out otherwise
# Components without items are sound: only numbers below zero are refused.
_COUNTS = COMPONENTS._replace(lower=-np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class MixturePosterior:
    """Components of a mixture, in falling order of weight."""

    name: str  # of its kind, in ``registry.MODELS``
    likelihood_name: str
    likelihood: AnyItemLikelihood  # the prior
    mixture: ItemAllocation
    posterior: tuple[FloatArray, ...]  # the NamedTuple of the likelihood: WishartPosterior, ...
    smoothing = None  # only topics have one

    def __repr__(self) -> str:
        return short_repr(self, "name", "likelihood_name", "n_topics", "n_columns")

    @property
    def n_topics(self) -> int:
        """Number of components."""
        return self.mixture.n_topics

    @property
    def n_columns(self) -> int:
        own = self.likelihood
        return own.coordinates.n_columns if isinstance(own, VectorLikelihood) else own.n_columns

    @property
    def n_words(self) -> int | None:
        """Number of words; None for a mixture of vectors."""
        return None if self.likelihood.word_concentration is None else self.n_columns

    @property
    def sizes(self) -> FloatArray:
        """Expected number of training items of each component, (n_topics,)."""
        return self.mixture.counts

    @cached_property
    def weights(self) -> FloatArray:
        """E[w_k], (n_topics,), scaled to sum to one."""
        weights = self.mixture.weights
        shares: FloatArray = weights / weights.sum()
        return shares

    @property
    def mixing_weights(self) -> FloatArray:
        """What the probabilities of components for a new item are proportional to."""
        return self.weights

    @cached_property
    def normals(self) -> Normals:
        """Posterior means of each component's mean and covariance; only for vectors."""
        assert isinstance(self.likelihood, VectorLikelihood), "a mixture of vectors"
        return self.likelihood.normals(self.posterior)

    @property
    def topic_word_weights(self) -> FloatArray:
        """λ, (n_topics, n_words), of which ``topic_word_mean`` is the mean; only for documents."""
        assert isinstance(self.posterior, DirichletPosterior), "a mixture of documents"
        return self.posterior.topic_word_posterior

    @property
    def topic_word_mean(self) -> FloatArray:
        """Posterior mean probability of each word, (n_topics, n_words); only for documents."""
        weights = self.topic_word_weights
        means: FloatArray = weights / weights.sum(axis=1, keepdims=True)
        return means

    def responsibilities(self, values: Rows) -> FloatArray:
        """Probability of each component for each item, dense (n_items, n_topics).

        A row depends on its own item alone.
        """
        shares = np.empty((len(values), self.n_topics))
        for low in range(0, len(values), BLOCK_ITEMS):
            block = slice(low, low + BLOCK_ITEMS)
            logs = self.scorer(values[block]) + self.mixture.expected_log_weights
            logs -= logs.max(axis=1, keepdims=True)
            shares[block] = np.exp(logs)
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def log_densities(self, values: Rows) -> FloatArray:
        """The predictive log density of each item, (n_items,), in nats.

        It is log Σ_k E[w_k] p(x | data of component k), with a component without data for the
        weight that a Dirichlet process leaves to components that are not known (Kurihara, Welling
        & Vlassis 2006, eq. 7).
        """
        known = self.mixture.weights
        weights = np.append(known, max(1.0 - known.sum(), 0.0))
        totals = np.empty(len(values))
        for low in range(0, len(values), BLOCK_ITEMS):
            block = slice(low, low + BLOCK_ITEMS)
            logs = self._predictive(values[block]).astype(np.float64)
            totals[block] = logsumexp(logs, b=weights, axis=1)
        return totals

    @cached_property
    def scorer(self) -> Scorer[Rows]:
        """E[log p(x | component)], prepared once for all batches."""
        likelihood = self.likelihood
        scorer = likelihood.prepare(likelihood.components_of(self.posterior))
        return self._of_columns(steady(scorer))

    @cached_property
    def _predictive(self) -> Scorer[Rows]:
        """log p(x | data of a component), and of one without data, prepared once."""
        likelihood = self.likelihood
        own = likelihood.components_of(self.posterior)
        scorer = likelihood.predictive(own.joined([own, likelihood.zeros(1)]))
        return self._of_columns(scorer)

    def _of_columns(self, scorer: Scorer[Any]) -> Scorer[Any]:  # of the likelihood's own rows
        own = self.likelihood
        if isinstance(own, VectorLikelihood):
            return partial(log_densities_of_columns, own.coordinates, scorer)
        return scorer

    def sample(self, n_items: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Draw items (n_items, n_columns) and the component of each (n_items,)."""
        own = self.likelihood
        assert isinstance(own, VectorLikelihood), "a mixture of vectors"
        values, topics = own.standard_normals(self.posterior).sample(self.weights, n_items, rng)
        return own.coordinates.points_of(values), topics

    def stored(self) -> Stored:
        """What a run folder keeps."""
        form = self.likelihood.stored
        settings: dict[str, str | float | bool] = {
            "model": self.name,
            "likelihood": self.likelihood_name,
            "n_topics": self.n_topics,
            "n_columns": self.n_columns,
            "top_concentration": float(self.mixture.top_concentration),
        }
        for name in form.prior_numbers:
            settings[PRIOR + name] = float(getattr(self.likelihood, name))
        if self.n_words is not None:
            settings["n_words"] = self.n_words
        if isinstance(self.mixture, DPModes):
            settings[AT_MODES] = True
        own = dict(zip(form.posterior._fields, self.posterior, strict=True))
        own |= {PRIOR + name: getattr(self.likelihood, name) for name in form.prior_arrays}
        if isinstance(self.likelihood, VectorLikelihood):
            settings[N_AXES] = self.likelihood.n_columns
            own = stored_vectors(own, form.arrays, self.likelihood.coordinates)
        return Stored(settings, {"component_counts": self.mixture.counts, **own})

    @classmethod
    def from_stored(cls, name: str, reader: StoredReader) -> MixturePosterior:
        """The posterior that ``stored`` described; the reader's error for anything else.

        Raises RunError if the arrays do not make distributions with a density.
        """
        likelihood = reader.settings.get("likelihood")
        if likelihood is None or likelihood not in LIKELIHOODS:
            problem = f"must be one of {', '.join(LIKELIHOODS)}, but is {likelihood!r}"
            raise reader.refuse("likelihood", problem)
        kind = imported(LIKELIHOODS[likelihood].where)
        form: StoredAs = kind.stored
        numbers = reader.numbers(("top_concentration", *(PRIOR + n for n in form.prior_numbers)))
        at_modes = reader.settings.get("at_modes", False)
        found: dict[str, Any] = {**numbers}  # numbers, arrays and coordinates by name
        found[PRIOR + "n_words"] = reader.settings.get("n_words")
        found[PRIOR + AT_MODES] = at_modes
        try:
            has_vectors = issubclass(kind, VectorLikelihood)
            found |= (read_vectors if has_vectors else StoredReader.arrays)(reader, form.arrays)
            (counts,) = reader.arrays({"component_counts": _COUNTS}).values()
            posterior = cls(
                name,
                likelihood,
                kind(**{field.name: found[PRIOR + field.name] for field in fields(kind)}),
                sharing_of(name, at_modes=at_modes)(counts, numbers["top_concentration"]),
                form.posterior._make(found[field] for field in form.posterior._fields),
            )
            posterior._check_densities(str(reader.arrays_file))
        except OptionError as error:
            problem = f"the model is not valid: {str(error).removesuffix('.')}"
            raise RunError(str(reader.arrays_file), problem) from error
        return posterior

    def _check_densities(self, where: str) -> None:
        """RunError or OptionError if a component has no density."""
        counts = self.likelihood.components_of(self.posterior).counts
        if (counts < 0.0).any():  # there is no expected covariance then
            problem = f"components must have at least 0 items, but one has {counts.min():g}"
            raise RunError(where, problem)
        try:
            with np.errstate(over="raise"):
                self._predictive  # noqa: B018 - factors the matrices
        except FloatingPointError as error:
            raise RunError(where, "components are too narrow for float32") from error

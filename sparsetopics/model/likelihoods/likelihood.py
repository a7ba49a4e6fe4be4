"""What training asks of the distribution of data given their topic or component."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Protocol, Self, TypeVar

import numpy as np

from sparsetopics.base.batches import Batch, FloatArray, IntArray, Source
from sparsetopics.model.array_formats import StoredAs
from sparsetopics.model.likelihoods.scorers import Scorer, V_contra
from sparsetopics.model.statistics import C
from sparsetopics.options.training import TrainingOptions

Posterior = tuple[FloatArray, ...]  # a NamedTuple, which ``stored`` names
P_contra = TypeVar("P_contra", contravariant=True)


class Likelihood(Protocol[C, P_contra]):
    """The prior of a component's parameters. No method changes the object.

    The posterior is always the conjugate one, which follows from the prior and ``Components``. So
    components are passed wherever a posterior is meant.
    """

    @property
    def word_concentration(self) -> float | None:
        """η if data are words, else None."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Numbers of a vector, or words of the vocabulary."""

    @abstractmethod
    def zeros(self, n_topics: int) -> C:
        """Components of no data."""

    @abstractmethod
    def log_evidence(self, components: C) -> FloatArray:
        """log M(s_k) in nats, (n_topics,): the evidence of each topic's data."""

    def elbo(self, components: C, posterior: C) -> float:
        """The data's part of the ELBO in nats, for ``components`` under the given posterior."""

    def expected_log_evidence(self, batch: P_contra, posterior: C) -> float:
        """Σ_k E[log p(s_k | φ_k)] of a batch's statistics, in nats; for words and vectors only."""
        raise NotImplementedError(f"{type(self).__name__} has exact local steps alone")

    def merge_gains(self, components: C, pairs: IntArray) -> FloatArray:
        """log M(s_a + s_b) − log M(s_a) − log M(s_b) for ``pairs`` (n_pairs, 2), (n_pairs,)."""

    def learned(self, components: C) -> Self:
        """The likelihood with the prior's concentrations at their optimum, if they are learned."""
        return self


class ItemLikelihood(Likelihood[C, P_contra], Protocol[V_contra, C, P_contra]):
    """A likelihood of items: vectors, or documents that have one component each."""

    stored: ClassVar[StoredAs]  # how run folders store the posterior

    @classmethod
    def for_training(
        cls, sample: V_contra, source: Source[Batch], options: TrainingOptions
    ) -> Self:
        """The prior for training on ``source``, made from a sample of its items."""

    @abstractmethod
    def prepare(self, components: C) -> Scorer[V_contra]:
        """What computes E[log p(x|φ_k)] of items under the posterior of ``components``."""

    def seeding(self, components: C | None = None) -> Self:
        """The likelihood under which seeds are chosen, and items first assigned to them.

        ``components`` are those that the items belong to now.
        """
        return self

    def distant_seeds(self, values: V_contra, n_seeds: int, rng: np.random.Generator) -> IntArray:
        """Positions of at most ``n_seeds`` items that are far from each other, each once."""

    def alone(self, values: V_contra, seeds: IntArray) -> C:
        """Components to start with, each made from one of the items."""

    @abstractmethod
    def posterior(self, components: C) -> Posterior:
        """The posterior's parameters, as a run folder stores them."""

    @abstractmethod
    def components_of(self, posterior: Posterior) -> C:
        """The inverse of ``posterior``."""

    @abstractmethod
    def predictive(self, components: C) -> Scorer[V_contra]:
        """What computes the density of a further item of each component, its data given."""

"""What all likelihoods of vectors share: everything that follows from a few formulas of each."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np

from sparsetopics.base.batches import Batch, FloatArray, IntArray, Source, Vectors
from sparsetopics.base.errors import OptionError
from sparsetopics.base.showing import short_repr
from sparsetopics.execution.executors import Executor
from sparsetopics.model.coordinates import Coordinates
from sparsetopics.model.likelihoods.likelihood import ItemLikelihood, Posterior
from sparsetopics.model.likelihoods.moments import Moments
from sparsetopics.model.likelihoods.normals import Normals
from sparsetopics.model.likelihoods.scorers import NodeScorer, steady
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.model.standard_source import StandardSource
from sparsetopics.options.training import TrainingOptions

PAIRS_AT_ONCE = 256  # pairs of components whose merge is evaluated at once: each needs a matrix
ITEMS_AT_ONCE = 64  # items that become a component each at once
MEAN_PRECISION = 0.01  # items that the prior of means counts for


class VectorLikelihood(ItemLikelihood[Vectors, Moments, Moments]):
    """A conjugate prior of components whose statistics are ``Moments``.

    A subclass is a frozen dataclass of the prior's parameters. It implements the abstract methods,
    of which those of ``ItemLikelihood`` are documented there.
    """

    word_concentration = None  # of documents
    has_steps = True  # values are rounded ones; those of counts are not
    coordinates: Coordinates  # a field of every subclass; items are in them

    def __repr__(self) -> str:
        return short_repr(self, "n_columns", *self.stored.prior_numbers)

    @property
    def n_columns(self) -> int:
        return self.coordinates.n_axes

    def zeros(self, n_topics: int) -> Moments:
        return Moments.zeros(n_topics, self.n_columns)

    @classmethod
    @abstractmethod
    def coordinates_for(cls, values: FloatArray) -> Coordinates:
        """Coordinates in which the likelihood is used, from a sample (n_items, n_columns)."""

    @classmethod
    @abstractmethod
    def in_coordinates(cls, coordinates: Coordinates) -> Self:
        """A weak prior for items in these coordinates."""

    def prepare_nodes(self, moments: Moments) -> NodeScorer:
        """``prepare`` for nodes of a kd-tree; only growth needs it."""
        raise NotImplementedError(f"{type(self).__name__} cannot score nodes of a kd-tree")

    @abstractmethod
    def standard_normals(self, posterior: Posterior) -> Normals:
        """Posterior means of each component's mean and covariance, in ``coordinates``."""

    def normals(self, posterior: Posterior) -> Normals:
        """The mean and covariance of each component, in columns."""
        means, spread = self.standard_normals(posterior)
        own = self.coordinates
        spread = own.variances_of(spread) if spread.ndim == 2 else own.covariances_of(spread)
        return Normals(own.points_of(means), spread)

    @classmethod
    def for_training(cls, sample: Vectors, source: Source[Batch], options: TrainingOptions) -> Self:
        """``in_coordinates`` of the source."""
        return cls.in_coordinates(coordinates_of(source))

    def elbo(self, components: Moments, posterior: Moments) -> float:
        """Σ_k [E log p(x, φ_k) − E log q(φ_k)] of ``components``, in nats.

        q(φ) follows from ``posterior``. Where that is the same object, the sum is Σ_k log M(s_k).
        It is that of items in columns, whatever their coordinates.
        """
        bound = self.log_evidence(posterior).sum()
        bound -= self.coordinates.log_volume * components.counts.sum()
        if components is not posterior:
            bound += self.expected_log_evidence(components.minus(posterior), posterior)
        return float(bound)

    def merge_gains(self, components: Moments, pairs: IntArray) -> FloatArray:
        """log M(s_a + s_b) − log M(s_a) − log M(s_b), (n_pairs,); MEMO13, eq. 12."""
        alone = self.log_evidence(components)
        gains = np.empty(len(pairs))
        for low in range(0, len(pairs), PAIRS_AT_ONCE):
            first, second = pairs[low : low + PAIRS_AT_ONCE].T
            joint = components.take(first).plus(components.take(second))
            together = self.log_evidence(joint)
            gains[low : low + PAIRS_AT_ONCE] = together - alone[first] - alone[second]
        return gains

    def alone(self, values: Vectors, seeds: IntArray | slice) -> Moments:
        """One component for each of ``seeds``, which are positions in ``values``."""
        own = values[seeds]
        starts, topics = np.arange(len(own) + 1), np.arange(len(own), dtype=np.uint32)
        each = Responsibilities(starts, topics, np.ones(len(own), np.float32))
        return self.zeros(len(own)).sum_items(own, each, Executor())

    def distant_seeds(self, values: Vectors, n_seeds: int, rng: np.random.Generator) -> IntArray:
        """Positions of items far from each other; fewer if fewer items differ.

        The distance of an item from a seed is the item's log density under a component of the item
        alone minus that under a component of the seed alone. This is a Bregman divergence; seeds
        are drawn as in k-means++ (Banerjee et al. 2005; Arthur & Vassilvitskii 2007).
        """
        chosen = [int(rng.integers(len(values)))]
        if n_seeds == 1:
            return np.array(chosen)
        own = self._own_log_densities(values)
        nearest = np.full(len(values), np.inf)
        while True:
            seed = self.alone(values, np.array(chosen[-1:]))
            log_densities = steady(self.prepare(seed))(values)[:, 0]
            # Rounding must not give a negative distance, nor the seed itself a positive one. Items
            # like the seed have none either: steady scorers round them as they round the seed.
            nearest = np.minimum(nearest, np.maximum(own - log_densities, 0.0))
            nearest[chosen[-1]] = 0.0
            total = nearest.sum()
            if len(chosen) == n_seeds or total == 0.0:
                return np.array(chosen)
            chosen.append(int(rng.choice(len(values), p=nearest / total)))

    def _own_log_densities(self, values: Vectors) -> FloatArray:
        """The log density of each item under a component made of it alone, (n_items,)."""
        found = np.empty(len(values))
        for low in range(0, len(values), ITEMS_AT_ONCE):
            some = slice(low, low + ITEMS_AT_ONCE)
            scorer = steady(self.prepare(self.alone(values, some)))
            found[some] = np.diag(scorer(values[some]))
        return found


def coordinates_of(source: Source[Batch]) -> Coordinates:
    """The coordinates in which a source reads its items."""
    assert isinstance(source, StandardSource), "items come in the coordinates of a likelihood"
    return source.coordinates


def check_mean_precision(mean_precision: float) -> None:
    """Raise OptionError for a prior of means without a variance."""
    if not mean_precision > 0.0:
        raise OptionError("mean precision", f"must be positive, but is {mean_precision:g}")

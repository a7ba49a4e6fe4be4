"""What the engine asks of the distribution of data given their topic or component."""

from __future__ import annotations

from typing import Any, Protocol, Self

from sparsetopics.batches import FloatArray
from sparsetopics.statistics import Components


class Likelihood(Protocol):
    """The prior of a component's parameters; every method leaves the object as it is.

    The posterior is always the conjugate one that follows from the prior and ``Components``, so
    those stand for it everywhere.
    """

    @property
    def word_concentration(self) -> float | None:
        """η, where data are words."""
        ...

    def zeros(self, n_topics: int) -> Components:
        """Components that have been given nothing."""
        ...

    def log_evidence(self, components: Any) -> FloatArray:
        """log M(s_k), (n_topics,): what was given to each, its parameters integrated out, nats."""
        ...

    def elbo(self, components: Any, posterior: Any) -> float:
        """The data's part of the ELBO in nats, for ``components`` under another ``posterior``."""
        ...

    def expected_log_evidence(self, batch: Any, posterior: Any) -> float:
        """Σ_k E[log p(s_k | φ_k)] of a batch's share of the components, in nats."""
        ...

    def learned(self, components: Any) -> Self:
        """With the prior's own concentrations at their optimum, where there are such."""
        ...

"""What ``model.json`` says of the documents that topics were learned from.

The counts of topics are in the model: λ − η. Learning goes on from them together with sums over all
documents seen, which are stored here, topics in the order of the model.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from msgspec import Meta

from sparsetopics.base.sealed_files import Refusal, Size
from sparsetopics.model.array_formats import LARGEST_NUMBER

if TYPE_CHECKING:  # run folders are read without numba
    from sparsetopics.inference.local_step import Parameters
    from sparsetopics.model.statistics import C, DocumentLengths, DocumentTerms, P, Statistics, T

Amount = Annotated[float, Meta(ge=0.0, le=LARGEST_NUMBER)]
Numbers = tuple[Annotated[float, Meta(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)], ...]


class SeenDocuments(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields of ``DocumentTerms``, and what else learning goes on from."""

    n_docs: Amount
    n_tokens: Amount
    n_steps: Size  # that the stochastic learner made, or would have made
    assignment_entropy: Numbers  # (n_topics,) each
    active_documents: Numbers
    summed_digamma: Numbers
    summed_log_gamma: Numbers
    frozen_slack: Numbers
    totals: Numbers  # (3,)
    # How many documents have which number of tokens, (n_lengths,) each; empty unless an HDP
    # learned α.
    lengths: Numbers = ()
    docs_of_length: Numbers = ()

    @property
    def terms(self) -> DocumentTerms:
        """The sums over documents."""
        from sparsetopics.model.statistics import DocumentTerms

        sums = (np.array(getattr(self, name)) for name in DocumentTerms._fields[2:])
        return DocumentTerms(self.n_docs, self.n_tokens, *sums)

    @property
    def document_lengths(self) -> DocumentLengths | None:
        from sparsetopics.model.statistics import DocumentLengths

        if not self.lengths and not self.docs_of_length:
            return None
        return DocumentLengths(np.array(self.lengths), np.array(self.docs_of_length))

    def check(self, where: Path, n_topics: int, damage: Refusal) -> None:
        """RunError, as ``damage`` words it, for numbers that no documents of ``n_topics`` give."""
        from sparsetopics.model.statistics import DocumentTerms, check_terms

        with damage.reading(f"{where}, seen"):
            check_terms(self.terms, DocumentTerms.zeros(n_topics))
            if (lengths := self.document_lengths) is not None:
                lengths.check()


def seen_in(
    statistics: Statistics[C, T], parameters: Parameters[C, P, T], n_steps: int
) -> SeenDocuments | None:
    """The documents that topics were learned from; None for components of a mixture.

    ``statistics`` and ``parameters`` are those that the model is made from.
    """
    from sparsetopics.inference.topics import falling
    from sparsetopics.model.allocations.hdp import HDPAllocation
    from sparsetopics.model.statistics import DocumentTerms

    allocation, (components, terms) = parameters.allocation, statistics
    if not isinstance(terms, DocumentTerms):
        return None
    sums = [*terms.by_topic[:, falling(components.sizes)], terms.totals]
    if isinstance(allocation, HDPAllocation) and allocation.lengths is not None:
        sums += allocation.lengths
    numbers = (tuple(each.tolist()) for each in sums)
    return SeenDocuments(float(terms.n_docs), float(terms.n_tokens), n_steps, *numbers)

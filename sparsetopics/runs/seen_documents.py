"""What ``model.json`` says of the documents that topics were learned from.

The counts of topics are in the model: λ − η. Learning goes on from them together with sums over all
documents seen, which are stored here, topics in the order of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from sparsetopics.inference.topics import falling
from sparsetopics.model.allocations.allocation import Allocation
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.statistics import (
    C,
    DocumentLengths,
    DocumentTerms,
    Statistics,
    T,
    check_terms,
)
from sparsetopics.runs.run_files import DAMAGE, KeptEntries, SeenDocuments

SUMS = DocumentTerms._fields[2:]


def seen_in(statistics: Statistics[C, T], allocation: Allocation[T], n_steps: int) -> KeptEntries:
    """The entry ``seen`` of a run of topics; nothing for components of a mixture.

    ``statistics`` and ``allocation`` are those that the model is made from.
    """
    components, terms = statistics
    if not isinstance(terms, DocumentTerms):
        return {}
    ordered = terms.with_topics(terms.by_topic[:, falling(components.sizes)])
    seen = SeenDocuments(float(terms.n_docs), float(terms.n_tokens), n_steps, _sums_of(ordered))
    if isinstance(allocation, HDPAllocation) and allocation.lengths is not None:
        tokens, n_docs = (tuple(each.tolist()) for each in allocation.lengths)
        seen.lengths = tokens, n_docs
    return {"seen": seen}


def joined_seen(seen: SeenDocuments, parents: Sequence[Sequence[int]]) -> SeenDocuments:
    """About what would be seen if each topic had been those ``parents`` of it.

    The sums of parents are added up, although a document may use several of them. They decide
    about the weights of an HDP's topics until more documents are seen.
    """
    terms = terms_of(seen)
    by_topic = np.stack([terms.by_topic[:, list(of)].sum(axis=1) for of in parents], axis=1)
    joined = terms.with_topics(by_topic)
    active = np.minimum(joined.active_documents, terms.n_docs)
    return replace(seen, sums=_sums_of(joined._replace(active_documents=active)))


def terms_of(seen: SeenDocuments) -> DocumentTerms:
    """The sums over documents."""
    sums = (np.array(seen.sums.get(name, ())) for name in SUMS)
    return DocumentTerms(seen.n_documents, seen.n_tokens, *sums)


def _sums_of(terms: DocumentTerms) -> dict[str, tuple[float, ...]]:
    return {name: tuple(getattr(terms, name).tolist()) for name in SUMS}


def lengths_of(seen: SeenDocuments) -> DocumentLengths | None:
    """The lengths of documents, if an HDP learned α from them."""
    return None if seen.lengths is None else DocumentLengths(*map(np.array, seen.lengths))


def check_seen(seen: SeenDocuments, where: Path, n_topics: int) -> None:
    """RunError for numbers that no documents give ``n_topics`` topics."""
    with DAMAGE.reading(f"{where}, seen"):
        check_terms(terms_of(seen), DocumentTerms.zeros(n_topics))
        if (lengths := lengths_of(seen)) is not None:
            lengths.check()

"""What ``model.json`` says of the documents that topics were learned from.

The counts of topics are in the model: λ − η. Learning goes on from them together with sums over all
documents seen, which are stored here, topics in the order of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Generic, NamedTuple

import numpy as np
from msgspec.structs import replace

from sparsetopics.inference.local_step import Parameters
from sparsetopics.inference.topics import falling
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.statistics import (
    AnyComponents,
    BatchSums,
    C,
    DocumentLengths,
    DocumentTerms,
    P,
    Statistics,
    T,
    Terms,
    check_terms,
)
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.model.word_counts import PairCounts, WordCounts
from sparsetopics.runs.run_files import DAMAGE, KeptEntries, SeenDocuments

SUMS = DocumentTerms._fields[2:]


class Learned(NamedTuple, Generic[C, P, T]):
    """What a model is made from, and what ``partial_fit`` continues from."""

    statistics: Statistics[C, T]  # of all data seen so far
    prior: Parameters[C, P, T]
    n_steps: int = 0  # made by the stochastic learner, or as many visits of batches
    is_start: bool = False  # no data were seen: the statistics are those of seeds


AnyLearned = Learned[AnyComponents, BatchSums, Terms]  # only the options say of which model


def seen_in(learned: AnyLearned) -> KeptEntries:
    """The entry ``seen`` of a run of topics; nothing for components of a mixture."""
    (components, terms), allocation = learned.statistics, learned.prior.allocation
    if not isinstance(terms, DocumentTerms):
        return {}
    ordered = terms.with_topics(terms.by_topic[:, falling(components.sizes)])
    n_docs, n_tokens = float(terms.n_docs), float(terms.n_tokens)
    seen = SeenDocuments(n_docs, n_tokens, learned.n_steps, _sums_of(ordered))
    if isinstance(allocation, HDPAllocation) and allocation.lengths is not None:
        tokens, documents = (tuple(each.tolist()) for each in allocation.lengths)
        seen.lengths = tokens, documents
    return {"seen": seen}


def learned_in(
    model: TopicPosterior, seen: SeenDocuments
) -> Learned[WordCounts, PairCounts, DocumentTerms]:
    """What a model was learned from, as far as learning goes on from it.

    An estimator that was loaded has nothing else, so one that was fitted uses nothing else.
    """
    allocation: LDAAllocation | HDPAllocation = LDAAllocation(model.doc_concentration)
    if model.sticks is not None:
        allocation = HDPAllocation(model.sticks, lengths_of(seen))
    words = Words(model.n_words, model.word_concentration)
    statistics = Statistics(WordCounts(model.exact_counts.T.copy()), terms_of(seen))
    return Learned(statistics, Parameters(allocation, words), seen.n_steps)


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

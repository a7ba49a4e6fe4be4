"""The local step of a batch of either kind, and the local steps that this process makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sparsetopics.base.batches import IntArray, Source
from sparsetopics.execution.executors import Executor
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.item_step import fit_items
from sparsetopics.inference.local_step import Fitted, Globals, LocalResult
from sparsetopics.model.allocations.allocation import DocumentAllocation, ItemRule
from sparsetopics.model.document_topics import DocumentTopics
from sparsetopics.options.training import LocalOptions


def fit_batch(
    batch: Any,
    current: Globals,
    options: LocalOptions,
    executor: Executor,
    former: DocumentTopics | None = None,
) -> LocalResult:
    """The local step of a batch under the rule of ``current``.

    ``former`` is where documents begin, None for a cold start; the step of an item is exact
    wherever it begins.
    """
    allocation = current.allocation
    if isinstance(allocation, DocumentAllocation):
        return fit_documents(batch, current, options, executor, former)
    assert isinstance(allocation, ItemRule), "a rule is one of documents or of items"
    return fit_items(batch, current, allocation.expected_log_weights, options, executor)


@dataclass(frozen=True, slots=True)
class StepsHere:
    """One batch after the other in this process, each by all workers, when it is asked for."""

    source: Source
    local: LocalOptions
    executor: Executor

    def fit_all(
        self, batch_ids: IntArray, current: Globals, former: Iterable[DocumentTopics | None]
    ) -> Iterator[Fitted]:
        for batch_id, topics in zip(batch_ids.tolist(), former, strict=True):
            documents = self.source.read(batch_id)
            found = fit_batch(documents, current, self.local, self.executor, topics)
            yield Fitted(documents, found)

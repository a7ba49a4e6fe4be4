"""Training that the memory of this machine cannot hold is refused before it starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sparsetopics.base.batches import StoredBatch
from sparsetopics.base.errors import warn_user
from sparsetopics.model.statistics import C
from sparsetopics.options.option import refuse
from sparsetopics.options.training import TrainingOptions

N_TABLES = 2  # of all components: the statistics of all data, and those of the lap under way
BYTES_PER_TOPIC = 256  # of weights, terms of the ELBO and other vectors with a number per topic
BYTES_PER_SLOT = 12  # of a responsibility while a batch is fitted: topic and share
CGROUP_LIMITS = (  # of containers, in version 2 and 1
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def check_room(options: TrainingOptions, component: C, batch: StoredBatch, n_docs: int) -> None:
    """Raise OptionError if the components and one batch need more memory than there is.

    This counts only what every learner needs, so training may still run out of memory. Warns if
    there are more topics than documents or items.

    Args:
        component: The statistics of one component.
        batch: One of the batches.
        n_docs: Documents or items in the collection.
    """
    n_topics = options.n_topics
    assert isinstance(component, tuple), "components are tuples of arrays"
    n_each = sum(field.nbytes for field in component if isinstance(field, np.ndarray))
    n_bytes = n_topics * (N_TABLES * n_each + BYTES_PER_TOPIC)
    n_bytes += len(batch.weights) * options.local_step.n_slots(n_topics) * BYTES_PER_SLOT
    limit = min(_limits(), default=n_bytes)
    if n_bytes > limit:
        needed = f"need {n_bytes / 1e9:,.1f} GB, but this machine has {limit / 1e9:,.1f} GB"
        hint = "Use fewer topics or components, or more --batches."
        refuse("topics", f"the tables of {n_topics:,} and one batch {needed} of memory", hint)
    if n_topics > n_docs:
        noun = "documents" if options.counts_words else "items"
        warn_user(f"There are more topics or components ({n_topics:,}) than {noun} ({n_docs:,}).")


def _limits() -> Iterator[int]:
    """The sizes in bytes of everything that bounds this process's memory."""
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in CGROUP_LIMITS:
        text = path.read_text().strip() if path.exists() else "max"
        if text.isdecimal():
            yield int(text)

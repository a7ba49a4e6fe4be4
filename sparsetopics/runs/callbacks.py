"""Whom training tells how it goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class OnLap(Protocol):
    """Called after every lap, in its order, by the thread that trains, which waits.

    ``entry`` is the lap's entry of ``trace_`` and ``trace.jsonl``: ``lap`` (from 1), ``seconds``
    since training began, ``elbo_per_token`` (nats; per item of a mixture of vectors),
    ``n_topics``, moves ``…_proposed`` and ``…_accepted``, and more; None where a number does not
    apply. It is to be read only. What is raised ends the training: ``fit`` raises it, and leaves an
    estimator as it was.
    """

    def __call__(self, entry: Mapping[str, Any], /) -> object: ...

"""Progress of an ingest on stderr: a moving line in a terminal, else a plain line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sparsetopics.corpora.ingest import Progress
    from sparsetopics.corpora.ingest_vectors import VectorProgress

    OnProgress = Callable[[Progress | VectorProgress], None]

_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def showing_progress(*, quiet: bool) -> Iterator[OnProgress]:
    """Yield what ``ingest`` is to call as it goes on."""
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _spinner() as on_progress:
            yield on_progress
    else:
        yield _occasional_lines()


@contextmanager
def _spinner() -> Iterator[OnProgress]:
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda progress: status.update(str(progress))


def _occasional_lines() -> OnProgress:
    last = time.monotonic()

    def on_progress(progress: Progress | VectorProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            click.echo(str(progress), err=True)

    return on_progress

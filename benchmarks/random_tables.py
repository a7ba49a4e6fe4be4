"""Check that random tables, written by several libraries, come back equal or are refused.

    python benchmarks/random_tables.py --cases 5000 --seed 0

Libraries that are not installed are left out. For each writer, the first table that comes back
changed is shrunk and printed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import hypothesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from worlds.random_tables import ENCODINGS, WRITERS, Rows, Writer, fault, tables


def n_tried(writer: Writer, extension: str, n_cases: int, seed: int) -> int:
    """The number of tables that came back equal; AssertionError for one that did not."""
    n_done = 0

    @hypothesis.seed(seed)
    @settings(
        max_examples=n_cases, deadline=None, database=None, suppress_health_check=[*HealthCheck]
    )
    @given(table=tables(), encoding=st.sampled_from(ENCODINGS))
    def each(table: tuple[dict[str, str], Rows], encoding: str) -> None:
        nonlocal n_done
        assert fault(*table, writer, extension, encoding) == ""
        n_done += 1

    each()
    return n_done


@click.command()
@click.option("--cases", "n_cases", default=5_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(n_cases: int, seed: int) -> None:
    """Try the cases, the same number for each writer."""
    n_faulty = 0
    for writer, extension in WRITERS:
        try:
            n_done = n_tried(writer, extension, n_cases // len(WRITERS), seed)
            print(f"{writer.__name__} ({extension}): {n_done:,} tables came back")
        except AssertionError as error:
            n_faulty += 1
            print(f"{writer.__name__} ({extension}): {error}", *getattr(error, "__notes__", ()))
    sys.exit(n_faulty > 0)


if __name__ == "__main__":
    main()

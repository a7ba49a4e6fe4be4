"""``sparsetopics repair``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsetopics.cli.parameter_types import NEW_PATH
from sparsetopics.cli.printing import show
from sparsetopics.cli.shared_options import json_option

if TYPE_CHECKING:
    from sparsetopics.runs.resume import Repaired


@click.command()
@click.argument("output", type=NEW_PATH)
@json_option()
def command(output: Path, as_json: bool) -> None:
    """Complete or remove what an interrupted command left at OUTPUT, a folder or file.

    If the new output was complete when the command was killed, it is moved into place. If not, it
    is removed, and the old output stays as it was. Interrupted training or ingest is kept, and the
    command to continue it is printed.

    \b
    Example:
        sparsetopics repair corpus
    """
    from sparsetopics.runs.resume import repair

    found = repair(output)
    show({"path": str(output), **found._asdict()}, _lines(output, found), as_json=as_json)


def _lines(output: Path, found: Repaired) -> Iterator[str]:
    if found.was_completed:
        yield f"{output}: completed."
    elif found.was_cleared:
        yield f"{output}: removed what an interrupted command left."
    if found.continued_by:
        yield f"{output}: interrupted work is kept; continue it with {found.continued_by}."
    elif not found.was_completed and not found.was_cleared:
        yield f"{output}: nothing to repair."

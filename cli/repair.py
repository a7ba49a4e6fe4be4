"""``sparsetopics repair``."""

from __future__ import annotations

from pathlib import Path

import click

from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NEW_PATH
from sparsetopics.cli.printing import show


@click.command()
@click.argument("output", type=NEW_PATH)
@shared.json_option()
def command(output: Path) -> None:
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
    lines = []
    if found.was_completed:
        lines.append(f"{output}: completed.")
    elif found.was_cleared:
        lines.append(f"{output}: removed what an interrupted command left.")
    if found.continued_by:
        how = f"continue it with {found.continued_by}"
        lines.append(f"{output}: interrupted work is kept; {how}.")
    elif not lines:
        lines.append(f"{output}: nothing to repair.")
    show({"path": str(output), **found._asdict()}, lines)

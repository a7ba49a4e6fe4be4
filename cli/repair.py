"""``sparsetopics repair``."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
    if as_json:
        click.echo(json.dumps({"path": str(output), **found._asdict()}))
        return
    if found.was_completed:
        click.echo(f"{output}: completed.")
    elif found.was_cleared:
        click.echo(f"{output}: removed what an interrupted command left.")
    if found.continued_by:
        click.echo(f"{output}: interrupted work is kept; continue it with {found.continued_by}.")
    elif not found.was_completed and not found.was_cleared:
        click.echo(f"{output}: nothing to repair.")

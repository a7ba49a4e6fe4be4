"""``sparsetopics resume``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import click

from sparsetopics.cli.named_path import NAMED_PATH
from sparsetopics.cli.workplace_options import scheduler_option
from sparsetopics.options.training import ExecutorName


@click.command()
@click.argument("run", type=NAMED_PATH)
@click.option(
    "--laps",
    type=click.IntRange(min=1),
    help="Train to so many laps in all. Fewer than are kept already: write the run as it stands. "
    "Default: as many as `train` was asked for.",
)
@click.option(
    "--workers",
    type=int,
    help="Threads; never changes the result. Default: as many as `train` had.",
)
@click.option(
    "--executor",
    type=click.Choice(get_args(ExecutorName)),
    help="Who makes the local steps, as for `train`. Default: as it was.",
)
@scheduler_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    run: Path,
    laps: int | None,
    workers: int | None,
    executor: ExecutorName | None,
    scheduler: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Go on with training that was interrupted, from the last lap that RUN has kept.

    The run is then what it would have been without the interruption, byte by byte but for times.
    With --laps a run that was trained with --keep-state goes on after its end, too.

    \b
    Example:
        sparsetopics resume run
        sparsetopics resume run --laps 200
    """
    from sparsetopics.cli.train import outcome
    from sparsetopics.cli.train_progress import show_progress
    from sparsetopics.runs.resume import resume_run

    resumed = resume_run(
        run,
        laps=laps,
        workers=workers,
        executor=executor,
        scheduler=scheduler,
        watch=lambda options: show_progress(options, quiet=quiet),
    )
    result, options = resumed
    if as_json:
        click.echo(json.dumps(result._asdict() | {"run": str(run)}))
    elif options is None:
        click.echo(f"Nothing is left to do: {run} was finished after {result.laps} laps.")
    else:
        click.echo(f"{outcome(result, options)} Wrote {run}.")

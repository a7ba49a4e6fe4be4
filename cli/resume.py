"""``sparsetopics resume``."""

from __future__ import annotations

from pathlib import Path

import click

from sparsetopics.base.wording import quantity
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH
from sparsetopics.cli.printing import show
from sparsetopics.options.table import OPTION, ExecutorName


@click.command(cls=shared.TableCommand)
@click.argument("run", type=NAMED_PATH)
@shared.row_option(
    OPTION["laps"],
    "Stop when this many laps are done, counting those before the interruption. If the "
    "checkpoint already has more, write the run as it is. Default: as for the original command.",
)
@shared.row_option(
    OPTION["workers"],
    "Number of threads, or of the processes that dask starts. It never changes the result. "
    "Default: as for the original command.",
)
@shared.row_option(
    OPTION["executor"],
    "Where local steps run, as for `train`. Default: as for the original command.",
)
@shared.row_option(OPTION["scheduler"])
@shared.json_option()
def command(
    run: Path,
    laps: int | None,
    workers: int | None,
    executor: ExecutorName | None,
    scheduler: str | None,
) -> None:
    """Continue interrupted training from the last checkpoint in RUN, a run or a topic path.

    Except for times, the result is the same, byte for byte, as without the interruption. A run
    that was trained with --keep-state can also be continued after its end, with --laps.

    \b
    Example:
        sparsetopics resume run
        sparsetopics resume run --laps 200
    """
    from sparsetopics.cli.path import path_lines, path_record
    from sparsetopics.cli.train import outcome, settled
    from sparsetopics.cli.train_progress import show_progress
    from sparsetopics.runs.resume import resume_run
    from sparsetopics.runs.topic_path_files import is_topic_path, load_topic_path

    result, options, has_settled = resume_run(
        run,
        laps=laps,
        workers=workers,
        executor=executor,
        scheduler=scheduler,
        watch=show_progress,
    )
    if is_topic_path(run):
        found = load_topic_path(run)
        done = [f"Nothing is left to do: {run} is finished."] if options is None else []
        show(path_record(found), [*path_lines(found), *done])
        return
    made = quantity(result.laps, "lap")
    if options is None:
        line = f"Nothing is left to do: {run} was finished after {made}."
    elif has_settled:
        why = f"{settled(options)} after {made}"
        line = f"No lap was made: {why}. The model in {run} stays as it was."
    else:
        line = f"{outcome(result, options, run)} Wrote {run}."
    show(result._asdict() | {"run": str(run)}, [line])

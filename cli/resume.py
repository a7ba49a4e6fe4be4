"""``sparsetopics resume``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from sparsetopics.base.wording import quantity
from sparsetopics.cli.parameter_types import NAMED_PATH
from sparsetopics.cli.printing import show
from sparsetopics.cli.shared_options import TableCommand, json_option, row_option
from sparsetopics.options.option import Value, made
from sparsetopics.options.table import OPTION

AS_BEFORE = "Default: as for the original command."


@click.command(cls=TableCommand)
@click.argument("run", type=NAMED_PATH)
@row_option(
    OPTION["laps"],
    "Stop when this many laps are done, counting those before the interruption. If the "
    f"checkpoint already has more, write the run as it is. {AS_BEFORE}",
)
@row_option(OPTION["workers"], f"{OPTION['workers'].help} {AS_BEFORE}")
@row_option(OPTION["executor"], f"Where local steps run, as for `train`. {AS_BEFORE}")
@row_option(OPTION["scheduler"])
@json_option()
def command(run: Path, as_json: bool, **values: Value | None) -> None:
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

    resume = partial(resume_run, run, watch=show_progress)
    result, options, has_settled = made(resume, values)
    if is_topic_path(run):
        found = load_topic_path(run)
        done = [f"Nothing is left to do: {run} is finished."] if options is None else []
        show(path_record(found), [*path_lines(found), *done], as_json=as_json)
        return
    n_laps = quantity(result.laps, "lap")
    if options is None:
        line = f"Nothing is left to do: {run} was finished after {n_laps}."
    elif has_settled:
        why = f"{settled(options)} after {n_laps}"
        line = f"No lap was made: {why}. The model in {run} stays as it was."
    else:
        line = f"{outcome(result, options, run)} Wrote {run}."
    show(result._asdict() | {"run": str(run)}, [line], as_json=as_json)

"""``sparsetopics train``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsetopics.cli.config_file import config_option
from sparsetopics.cli.help_sections import command_with
from sparsetopics.cli.named_path import NAMED_PATH
from sparsetopics.cli.train_options import (
    HELP_SECTIONS,
    CourseChoices,
    ModelChoices,
    course_options,
    model_options,
)

if TYPE_CHECKING:
    from sparsetopics.options.training import TrainingOptions
    from sparsetopics.runs.plan import RunPlan
    from sparsetopics.runs.train import RunResult


@click.command(cls=command_with(HELP_SECTIONS))
@click.argument("corpus", type=NAMED_PATH)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Run folder to write.")
@click.option("--overwrite/--no-overwrite", help="Replace the run folder if it exists.")
@config_option
@model_options
@course_options
@click.option("--quiet/--no-quiet", help="Show no progress.")
@click.option("--json/--no-json", "as_json", help="Print JSON.")
def command(
    corpus: Path,
    out: Path,
    overwrite: bool,
    choices: ModelChoices,
    course: CourseChoices,
    quiet: bool,
    as_json: bool,
) -> None:
    """Learn topics from CORPUS and write them to a run folder.

    By default an HDP, which finds out how many topics there are from wherever it starts: topics
    merge, vanish and are born where that raises the criterion, until neither their number nor the
    bound changes. If training is interrupted, ``sparsetopics resume`` goes on with it.

    A line for each lap tells the seconds since the beginning, the ELBO, which training raises, the
    criterion, which decides about moves, the held-out score, all three in nats per token or item,
    and the number K of topics.

    \b
    Example:
        sparsetopics train corpus --out run
        sparsetopics train corpus --topics 200 --moves merge,delete --out run
        sparsetopics train corpus --heldout heldout --keep-state --out run
        sparsetopics train corpus --model lda --topics 50 --workers 2 --out run
        sparsetopics train corpus --config run/config.toml --seed 1 --out again
        sparsetopics train vectors --model dp-mixture --likelihood zero-mean-gaussian --out run
        sparsetopics train vectors --model dp-mixture --learner accelerated --out run
        sparsetopics train corpus --model dp-mixture --likelihood multinomial --out run
        sparsetopics train vectors --model dp-mixture --likelihood isotropic-gaussian \\
            --learner gradient --gradient momentum --topics 50 --out run
    """
    from sparsetopics.cli.train_progress import show_progress
    from sparsetopics.runs.train import train_run

    plan = course.plan(corpus, out, choices, overwrite=overwrite)
    _tell_of_idle_workers(plan, quiet)
    with show_progress(plan.options, quiet=quiet) as hooks:
        result = train_run(plan, hooks)
    if as_json:
        click.echo(json.dumps(result._asdict() | {"run": str(out)}))
    else:
        click.echo(f"{outcome(result, plan.options)} Wrote {out}.")


def _tell_of_idle_workers(plan: RunPlan, quiet: bool) -> None:
    """On stderr, where processes are started that would have nothing to do."""
    options = plan.options
    n_batches = options.batches_per_round
    is_short = not options.learner_kind.takes_all and n_batches < plan.workers
    if plan.executor == "dask" and is_short and not quiet:
        click.echo(
            f"--round {n_batches}: no more than {n_batches} of {plan.workers} workers work at a "
            f"time. --round {4 * plan.workers} would let all of them, but learns something else.",
            err=True,
        )


def outcome(result: RunResult, options: TrainingOptions) -> str:
    """What was trained, for how long, and why it ended."""
    things = "components" if options.is_mixture else "topics"
    datum = "token" if options.counts_words else "item"
    name = result.model if options.is_mixture else result.model.upper()
    trained = (
        f"Trained {result.n_topics:,} {things} ({name}) in {result.laps} laps and "
        f"{result.seconds:.1f} s; ELBO {result.elbo_per_token:.4f} nats per {datum}."
    )
    if options.model == "lda":
        return trained
    settled = result.laps < options.n_laps
    ending = f"Bound and number of {things} have settled." if settled else "All laps are used up."
    return f"{trained} {ending}"

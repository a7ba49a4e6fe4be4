"""``sparsetopics train``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsetopics.base.wording import quantity
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.config_file import config_option
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH
from sparsetopics.cli.printing import say, show
from sparsetopics.options.option import Value
from sparsetopics.options.table import OPTION

if TYPE_CHECKING:
    from sparsetopics.options.training import TrainingOptions
    from sparsetopics.runs.plan import RunPlan
    from sparsetopics.runs.train import RunResult


@click.command(cls=shared.TableCommand)
@click.argument("corpus", type=NAMED_PATH)
@click.option("--out", type=NEW_PATH, required=True, help="Run folder to write.")
@shared.overwrite_option("Replace the run folder if it exists.", with_no=True)
@config_option('local-update = "collapsed"', ", such as config.toml in a run folder")
@shared.add_options(map(shared.row_option, OPTION.values()))
@shared.json_option(with_no=True)
def command(corpus: Path, out: Path, overwrite: bool, **values: Value | None) -> None:
    """Learn topics from CORPUS and write them to a run folder.

    The default model is an HDP, which learns the number of topics. It begins with many, merges
    them step by step, and scores each number on documents that are kept out of training until the
    smallest number that predicts them about as well as the best is chosen. Its topics are then
    fitted on all documents. With fewer than 300 documents, and with --moves, topics are merged,
    deleted and born where that raises the criterion. If training is interrupted, `sparsetopics
    resume` continues it.

    One line for each lap shows the seconds since the start, the ELBO (which training raises), the
    criterion (which decides about moves), the held-out score and the number of topics, K. The
    ELBO, the criterion and the score are in nats per token, or per item for vectors.

    \b
    Example:
        sparsetopics train corpus --out run
        sparsetopics train corpus --topics 200 --moves merge,delete --out run
        sparsetopics train corpus --heldout heldout --out run
        sparsetopics train corpus --model lda --topics 50 --workers 2 --out run
        sparsetopics train corpus --config run/config.toml --seed 1 --out again
        sparsetopics train vectors --model dp-mixture --likelihood zero-mean-gaussian --out run
        sparsetopics train vectors --model dp-mixture --learner accelerated --out run
        sparsetopics train corpus --model dp-mixture --likelihood multinomial --out run
        sparsetopics train vectors --model dp-mixture --likelihood isotropic-gaussian \\
            --learner gradient --gradient momentum --topics 50 --out run
    """
    from sparsetopics.cli.train_progress import show_progress
    from sparsetopics.runs.plan import plan_run
    from sparsetopics.runs.train import train_run

    given = {name: values[row.key] for name, row in OPTION.items() if shared.is_given(row.key)}
    plan = plan_run(corpus, out, given, overwrite=overwrite)
    _warn_of_idle_workers(plan)
    with show_progress(plan.options) as hooks:
        result = train_run(plan, hooks)
    line = f"{outcome(result, plan.options, out)} Wrote {out}."
    show(result._asdict() | {"run": str(out)}, [line])


def _warn_of_idle_workers(plan: RunPlan) -> None:
    """Warn on stderr if a round has fewer batches than there are processes."""
    options = plan.options
    n_batches = options.batches_per_round
    is_short = not options.learner_kind.takes_all and n_batches < plan.workers
    if plan.executor == "dask" and is_short:
        say(
            f"--round {n_batches}: only {n_batches} of {quantity(plan.workers, 'worker')} can work "
            f"at a time. With --round {4 * plan.workers} all of them can, but the result is "
            "different."
        )


def outcome(result: RunResult, options: TrainingOptions, run: Path) -> str:
    """What was trained and is now in ``run``, for how long, and why training ended."""
    kind, datum = options.model_kind, "token" if options.counts_words else "item"
    n_used, laps = result.active_topics, quantity(result.laps, "lap")
    if result.n_runs > 1:
        laps = f"{result.n_runs:,} runs"
    used = "" if n_used == result.n_topics else f", {n_used:,} of them in use"
    bound = f"ELBO {result.elbo_per_token:.4f} nats per {datum}.{result.sureness}"
    if result.recommended and result.to_read:
        return f"{_to_read(result, kind.title, used, laps, run)} {bound} {result.advice}"
    number = f"{quantity(result.n_topics, kind.noun)} ({kind.title}){used and f'{used},'}"
    trained = f"Trained {number} in {laps} and {result.seconds:.1f} s; {bound}"
    if kind.narrows or result.n_runs > 1:
        return trained
    if result.laps < options.n_laps:
        return f"{trained} T{settled(options)[1:]}."
    return f"{trained} All laps are done."


def _to_read(result: RunResult, title: str, used: str, laps: str, run: Path) -> str:
    """How many topics there are to read and to predict, where documents chose the number."""
    n_read, n_best = result.to_read or 0, result.recommended or 0
    best = quantity(n_best, "topic")
    took = f"{laps}, {result.seconds:.1f} s."
    if n_read == n_best:
        return f"{best} to read and to predict ({title}){used}; {took}"
    if n_read == result.n_topics:
        read = quantity(n_read, "topic")
        return f"{read} to read ({title}){used}, of {n_best:,} that predict best; {took}"
    read = f"{quantity(n_read, 'theme')} to read, of {best} that predict best"
    shown = f"`sparsetopics topics {run} --themes {n_read}` prints them."
    return f"{read} ({title}){used}; {took} {shown}"


def settled(options: TrainingOptions) -> str:
    """Why training ended before its last lap."""
    return f"the bound and the number of {options.model_kind.noun}s have settled"

"""``sparsetopics path``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsetopics.base.wording import quantity
from sparsetopics.cli.config_file import config_option
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, TEXT
from sparsetopics.cli.printing import score_lines, show
from sparsetopics.cli.shared_options import add_options, command_with, is_given, table_option
from sparsetopics.options.option import Value, refuse
from sparsetopics.options.table import (
    HELP,
    NOT_ON_PATHS,
    OPTION,
    OPTIONS,
    PATH_HELP,
    PATH_OPTION,
)

if TYPE_CHECKING:
    from sparsetopics.base.sealed_files import Json
    from sparsetopics.runs.topic_path_files import RungScore, TopicPathFolder

MODEL = "lda"
SHARED = [each.name for each in OPTIONS if each.is_for(MODEL) and each.name not in NOT_ON_PATHS]
SECTIONS = {
    title: [OPTION[name].key for name in texts if name in SHARED]
    for title, texts in HELP.items()
    if title
}


def _numbers(ctx: click.Context, param: click.Parameter, text: str | None) -> Value | None:
    """``200,100`` as two numbers."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        refuse("rungs", f"must be whole numbers such as 200,100,50, but is {text!r}")
    return tuple(map(int, parts))


def _only_lda(ctx: click.Context, param: click.Parameter, model: str | None) -> None:
    """Refuse every other model: config files of runs name theirs."""
    if model not in (None, MODEL):
        hint = "An HDP learns its number of topics: `train --model hdp --start DIR/50`."
        refuse("model", f"must be {MODEL} on a topic path, but is {model}", hint)


@click.command(cls=command_with(SECTIONS))
@click.pass_context
@click.argument("corpus", type=NAMED_PATH)
@click.option("--out", type=NEW_PATH, required=True, help="Folder to write the runs to.")
@click.option("--overwrite/--no-overwrite", help="Replace the folder if it exists.")
@config_option
@add_options(table_option(name, PATH_HELP[name], keeps_default=True) for name in ("from", "to"))
@click.option("--rungs", type=TEXT, metavar="K,K,...", callback=_numbers, help=PATH_HELP["rungs"])
@table_option("validation-share", PATH_HELP["validation-share"], keeps_default=True)
@click.option(
    "--model",
    type=TEXT,
    expose_value=False,
    callback=_only_lda,
    help="Only lda, which is the default.",
)
@add_options(table_option(name, PATH_HELP.get(name, "")) for name in SHARED)
@click.option("--quiet/--no-quiet", help="Show no progress.")
@click.option("--json/--no-json", "as_json", help="Print JSON.")
def command(
    ctx: click.Context,
    corpus: Path,
    out: Path,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
    **values: Value | None,
) -> None:
    """Train LDA with many topics, merge them step by step, and keep a model of each number.

    The folder gets a run for each number of topics, named after that number, such as 50. Every
    command reads it like any other run. The topics of each are those of the one before, merged
    where their words are most alike and fitted again.

    Each run is scored on documents that its topics have not seen: a part of CORPUS, or those of
    --heldout. The recommended number of topics is the smallest that loses at most one standard
    error or 0.005 nats to the best, on a curve through the scores. Those that lose at most two
    standard errors or 0.015 nats count as predicting equally well.

    `sparsetopics report` shows the scores and the tree of topics. `sparsetopics resume` continues
    a path that was interrupted. All models are LDA; an HDP learns its number of topics itself.

    \b
    Example:
        sparsetopics path corpus --out path
        sparsetopics path corpus --from 200 --to 10 --heldout heldout --out path
        sparsetopics path corpus --rungs 100,80,60,50,40 --out closer
        sparsetopics topics path/50
        sparsetopics report path --out path.html
    """
    from sparsetopics.cli.train_progress import show_progress
    from sparsetopics.runs.plan import plan_topic_path
    from sparsetopics.runs.topic_path_files import load_topic_path
    from sparsetopics.runs.train import train_run

    options = (*PATH_OPTION.values(), *(OPTION[name] for name in SHARED))
    given = {each.name: values[each.key] for each in options if is_given(ctx, each.key)}
    plan = plan_topic_path(corpus, out, given, overwrite=overwrite)
    with show_progress(plan.options, quiet=quiet) as hooks:
        train_run(plan, hooks)
    found = load_topic_path(out)
    show(path_record(found), path_lines(found), as_json=as_json)


def path_record(found: TopicPathFolder) -> dict[str, Json]:
    """What ``--json`` prints of a path."""
    import msgspec

    record = msgspec.to_builtins(found.scores)
    for rung in record["rungs"]:
        rung["run"] = str(found.run(rung["n_topics"]))
    return {"path": str(found.folder), **record}


def path_lines(found: TopicPathFolder) -> Iterator[str]:
    """The scores of a path as a table, and what they recommend."""
    scores = found.scores
    if scores.recommended is not None:
        names = [str(found.run(rung.n_topics)) for rung in scores.rungs]
        records = [_row(rung) for rung in scores.rungs]
        yield from score_lines(names, ["LDA"] * len(names), records)
        yield ""
        yield f"Scored on {scores.scored_on}."
        yield scores.advice
        if scores.recommended == scores.rungs[0].n_topics:
            yield "It is the largest rung, so more topics may predict better."
    yield f"{found.folder} has {quantity(len(scores.rungs), 'run')}."


def _row(rung: RungScore) -> dict[str, str | float | None]:
    return {
        "n_topics": rung.n_topics,
        "log_likelihood_per_token": rung.log_likelihood_per_token,
        "paired_difference": rung.difference_from_best,
        "paired_standard_error": rung.difference_standard_error,
        "laps": rung.laps,
    }

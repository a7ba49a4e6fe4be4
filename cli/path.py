"""``sparsetopics path``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsetopics.base.wording import quantity
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.config_file import config_option
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, TEXT
from sparsetopics.cli.printing import score_lines, show
from sparsetopics.options.option import Value, refuse
from sparsetopics.options.table import LDA_ON_PATHS, PATH_MODEL, PATH_OPTION

if TYPE_CHECKING:
    from sparsetopics.base.sealed_files import Json
    from sparsetopics.runs.topic_path_files import TopicPathFolder

WIDTH = 100  # characters of the table
ROWS = {**PATH_OPTION, **LDA_ON_PATHS}


def _only_lda(ctx: click.Context, param: click.Parameter, model: str | None) -> None:
    """Refuse every other model: config files of runs name theirs."""
    if model not in (None, PATH_MODEL):
        hint = "An HDP learns its number of topics: `train --model hdp --start DIR/50`."
        refuse("model", f"must be {PATH_MODEL} on a topic path, but is {model}", hint)


@click.command(cls=shared.TableCommand)
@click.argument("corpus", type=NAMED_PATH)
@click.option("--out", type=NEW_PATH, required=True, help="Folder to write the runs to.")
@shared.overwrite_option("Replace the folder if it exists.", with_no=True)
@config_option("sparsity = 8", ", such as config.toml in the folder of another path")
@shared.add_options(map(shared.row_option, PATH_OPTION.values()))
@click.option(
    "--model",
    type=TEXT,
    expose_value=False,
    callback=_only_lda,
    help="Only lda, which is the default.",
)
@shared.add_options(map(shared.row_option, LDA_ON_PATHS.values()))
@shared.json_option(with_no=True)
def command(corpus: Path, out: Path, overwrite: bool, **values: Value | None) -> None:
    """Train LDA with many topics, merge them step by step, and keep a model of each number.

    The folder gets a run for each number of topics, named after that number, such as 50. Every
    command reads it like any other run. The topics of each are those of the one before, merged
    where their words are most alike and fitted again.

    Each run is scored on documents that its topics have not seen: a part of CORPUS, or those of
    --heldout. The recommended number of topics is the smallest that loses at most 0.005 nats to the
    best, on a curve through the scores. Those that lose at most two standard errors or 0.015 nats
    count as predicting equally well. The number to read is the one nearest to where the scores
    reach four fifths of what the recommended number gains over no topics.

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

    given = {name: values[row.key] for name, row in ROWS.items() if shared.is_given(row.key)}
    plan = plan_topic_path(corpus, out, given, overwrite=overwrite)
    with show_progress(plan.options) as hooks:
        train_run(plan, hooks)
    found = load_topic_path(out)
    show(path_record(found), path_lines(found))


def path_record(found: TopicPathFolder) -> dict[str, Json]:
    """What ``--json`` prints of a path."""
    import msgspec

    record = msgspec.to_builtins(found.scores)
    for rung in record["rungs"]:
        rung["run"] = str(found.run(rung["n_topics"]))
    return {"path": str(found.folder), **record}


def path_lines(found: TopicPathFolder) -> Iterator[str]:
    """The scores of a path as a table, and what they recommend."""
    import msgspec

    scores = found.scores
    if scores.recommended is not None:
        names = [str(rung.n_topics) for rung in scores.rungs]
        hidden = {"n_topics": None, "standard_error": None}
        if not any(rung.empty_topics for rung in scores.rungs):
            hidden["empty_topics"] = None
        records = [msgspec.to_builtins(rung) | hidden for rung in scores.rungs]
        yield from score_lines(names, [], records, WIDTH)
        yield ""
        yield f"Scored on {scores.scored_on}."
        yield f"{scores.advice} {scores.limits}".rstrip()
    first = found.run(scores.to_read or scores.rungs[0].n_topics)
    yield f"{found.folder} has {quantity(len(scores.rungs), 'run')}, such as {first}."

"""``sparsetopics compare``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from sparsetopics.cli.shared_options import (
    NAMED_PATH,
    NEW_PATH,
    held_out_share_option,
    seed_option,
    show,
    table_option,
    threads_option,
)
from sparsetopics.options.option import Value

if TYPE_CHECKING:
    from sparsetopics.evaluation.comparison.compare import Comparison


@click.command()
@click.argument("corpus", type=NAMED_PATH)
@click.option(
    "--models",
    required=True,
    metavar="MODEL[:TOPICS],...",
    help="Models to compare: lda, hdp, dp-mixture or mixture, each with an optional number of "
    "topics or components, which it keeps or starts from.",
)
@click.option(
    "--out", type=NEW_PATH, required=True, help="Folder to write the runs and the page to."
)
@click.option("--overwrite", is_flag=True, help="Replace what is in the folder.")
@click.option(
    "--heldout",
    type=NAMED_PATH,
    help="Held-out corpus to score the models on. Default: a part of CORPUS that no model is "
    "trained on.",
)
@held_out_share_option("Share of CORPUS to hold out, without --heldout.")
@table_option("laps")
@table_option("sparsity")
@table_option(
    "likelihood",
    "(mixtures) Distribution of each component, as for `train`. Default: multinomial for "
    "documents, gaussian for vectors.",
)
@click.option(
    "--every-lap", is_flag=True, help="Score after every lap too, to show curves in the page."
)
@seed_option("Seed of the division, the training and the scores.", 2**63 - 1)
@threads_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(models: str, quiet: bool, as_json: bool, **values: Value | None) -> None:
    """Train several models on CORPUS, score them on the same held-out data, and write a page
    that compares them.

    The folder gets a run for each model, named after it (lda-50), and report.html. Without
    --heldout it also gets the two parts of CORPUS, train and heldout.

    All models have the same --laps, --sparsity and --likelihood. Topic models are scored by
    document completion, and mixtures by the density of whole documents or items, as `sparsetopics
    evaluate` does; the two kinds of scores are in separate tables. If a comparison is
    interrupted, its finished runs stay, and `sparsetopics resume` continues the unfinished one.

    \b
    Example:
        sparsetopics compare news --models lda:50,lda:100,hdp --out comparison
        sparsetopics compare digits --models mixture:20,dp-mixture --laps 30 --out comparison
    """
    from sparsetopics.cli.train_progress import show_progress
    from sparsetopics.evaluation.comparison.compare import (
        ComparisonHooks,
        ComparisonPlan,
        compare_models,
        parse_models,
    )

    make_plan: Callable[..., ComparisonPlan] = ComparisonPlan  # its fields are the options
    plan = make_plan(models=parse_models(models), **values)
    hooks = ComparisonHooks(
        say=lambda step: None if quiet else click.echo(step, err=True),
        progress=lambda options: show_progress(options, quiet=quiet),
    )
    made = compare_models(plan, hooks)
    record = {"report": str(made.report), "models": [each.as_dict() for each in made.models]}
    show(record, _lines(made), as_json=as_json)


def _lines(made: Comparison) -> Iterator[str]:
    """A table for each kind of models."""
    from sparsetopics.cli.score_table import score_lines

    for kind in {type(each.card): None for each in made.models}:
        alike = [each for each in made.models if isinstance(each.card, kind)]
        names = ["model", *(each.name for each in alike)]
        lines = score_lines([each.as_dict() for each in alike])
        for name, line in zip(names, lines, strict=True):
            yield f"{name.ljust(max(map(len, names)))}  {line}"
    yield f"Wrote {made.report}."

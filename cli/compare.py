"""``sparsetopics compare``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from sparsetopics.base.wording import listed
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, TEXT
from sparsetopics.cli.printing import say, score_lines, show
from sparsetopics.cli.shared_options import (
    TableCommand,
    held_out_share_option,
    is_given,
    json_option,
    overwrite_option,
    row_option,
    seed_option,
    threads_option,
)
from sparsetopics.options.option import Value, made, refuse
from sparsetopics.options.registry import MODELS
from sparsetopics.options.table import OPTION

if TYPE_CHECKING:
    from sparsetopics.evaluation.comparison.compare import ComparedModel


@click.command(cls=TableCommand)
@click.argument("corpus", type=NAMED_PATH)
@click.option(
    "--models",
    type=TEXT,
    required=True,
    metavar="MODEL[:TOPICS],...",
    help=f"Models to compare: {listed(list(MODELS), 'or')}, each with an optional number of topics "
    "or components, which it keeps or starts from.",
)
@click.option(
    "--out", type=NEW_PATH, required=True, help="Folder to write the runs and the page to."
)
@overwrite_option("Replace what is in the folder.")
@click.option(
    "--heldout",
    type=NAMED_PATH,
    help="Held-out corpus to score the models on. Default: a part of CORPUS that no model is "
    "trained on.",
)
@held_out_share_option("Share of CORPUS to hold out, without --heldout.")
@row_option(OPTION["laps"])
@row_option(OPTION["sparsity"])
@row_option(
    OPTION["likelihood"],
    "(mixtures) Distribution of each component, as for `train`. Default: multinomial for "
    "documents, gaussian for vectors.",
)
@click.option(
    "--every-lap", is_flag=True, help="Score after every lap too, to show curves in the page."
)
@seed_option("Seed of the division, the training and the scores.", 2**63 - 1)
@threads_option
@json_option("Print JSON instead of a table.")
def command(models: str, as_json: bool, **values: Value | None) -> None:
    """Train several models on CORPUS, score them on the same held-out data, and write a page
    that compares them.

    The folder gets a run for each model, named after it (hdp-50), and report.html. To choose a
    number of topics for LDA, use `sparsetopics path`, which is faster and shows more.
    Without --heldout, the folder also gets the two parts of CORPUS, train and heldout.

    All models have the same --laps, --sparsity and --likelihood. Topic models are scored by
    document completion, and mixtures by the density of whole documents or items, as `sparsetopics
    evaluate` does; the two kinds of scores are in separate tables. Below each table are the
    differences from its best model on the same documents or items, with their standard errors. If
    a comparison is interrupted, its finished runs stay, and `sparsetopics resume` continues the
    unfinished one.

    \b
    Example:
        sparsetopics compare news --models lda:50,hdp --out comparison
        sparsetopics compare digits --models mixture:20,dp-mixture --laps 30 --out comparison
    """
    if is_given("share") and is_given("heldout"):
        refuse("held-out-share", "cannot be combined with --heldout")
    from sparsetopics.cli.train_progress import show_progress
    from sparsetopics.evaluation.comparison.compare import (
        REPORT,
        ComparisonPlan,
        compare_models,
        kinds_of,
        parse_models,
    )

    plan = made(ComparisonPlan, {"models": parse_models(models), **values})
    compared = compare_models(plan, say, show_progress)
    page = plan.out / REPORT
    record = {"report": str(page), "models": [each.as_dict() for each in compared]}
    tables = [line for alike in kinds_of(compared) for line in _table(alike)]
    show(record, [*tables, f"Wrote {page}."], as_json=as_json)


def _table(alike: Sequence[ComparedModel]) -> Iterator[str]:
    """The scores of models of one kind, and by how much each is worse than the best one."""
    from sparsetopics.evaluation.scoring.mixture_scores import MixtureCard

    names, kinds = [each.name for each in alike], [each.card.kind for each in alike]
    scores = [each._replace(difference=None).as_dict() for each in alike]
    yield from score_lines(names, kinds, scores)
    yield ""
    worse = [(each.name, each.difference) for each in alike if each.difference is not None]
    if not worse:
        return
    best = next(each for each in alike if each.difference is None)
    unit = "item" if isinstance(best.card, MixtureCard) else "token"
    yield f"Paired differences from {best.name}, in nats per {unit}, and their standard errors:"
    width = max(len(name) for name, _ in worse)
    for name, (mean, error) in worse:
        yield f"  {name.ljust(width)}  {mean:.4f} ± {error:.4f}"
    yield ""

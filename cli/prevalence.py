"""``sparsetopics prevalence``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsetopics.base.showing import shortened
from sparsetopics.base.wording import printable, quantity, without_middle
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH
from sparsetopics.cli.printing import aligned, lines_of_columns, room_beside, say, short_names, show
from sparsetopics.cli.shared_options import (
    TableCommand,
    grouping_options,
    json_option,
    number_option,
    overwrite_option,
    shown_topics_options,
    spreadsheet_option,
    workplace_options,
)
from sparsetopics.options.option import counts_from
from sparsetopics.options.workplace import Workplace

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from sparsetopics.answers.prevalence import Labels, Prevalence
    from sparsetopics.corpora.grouping import Grouping

TOPIC, HEAD = 20, 14  # characters of a topic's name where there is no room for more; of a group's
PRINTED_GROUPS = 60
PRINTED_DIFFERENCES = 20
SMALLEST_P_VALUE = 1e-300  # smaller ones may be rounded to zero


@click.command(cls=TableCommand)
@click.argument("run", type=NAMED_PATH)
@click.argument("corpus", type=NAMED_PATH)
@grouping_options
@click.option(
    "--differences",
    is_flag=True,
    help="Compare groups, with p-values. With --over alone, each period is compared with the one "
    "before; with both, groups of the same period are compared.",
)
@number_option(
    "--words",
    counts_from(0),
    5,
    "Largest number of words to list for each topic and group.",
    "n_words",
)
@shown_topics_options
@click.option("--out", type=NEW_PATH, help="Write the table: .parquet, .csv, .jsonl or .arrow.")
@spreadsheet_option(".csv", "texts")
@overwrite_option("Replace the file if it exists.")
@workplace_options
@json_option("Print JSON instead of a table.")
def command(
    run: Path,
    corpus: Path,
    by: str | None,
    over: str | None,
    differences: bool,
    n_words: int,
    names: Path | None,
    n_themes: int | None,
    out: Path | None,
    spreadsheet_safe: bool,
    overwrite: bool,
    where: Workplace,
    as_json: bool,
) -> None:
    """Print how much of each topic of RUN there is in groups of the documents of CORPUS.

    Fields are `label` and those that CORPUS keeps (see `ingest --keep`).

    A group's share of a topic is the mean over its documents, whatever their length. Its standard
    error counts both how documents differ and what their words leave uncertain. The table that is
    printed has the shares in percent, each with its standard error. --json and --out also have 95 %
    intervals, the numbers of documents, and the words of the topic that the group uses more than
    other groups do.

    Shares are estimated from the words of all documents of a group together. That avoids the bias
    of the proportions that `infer` writes, whose averages therefore differ.

    With --differences, p-values are adjusted for the number of comparisons (Holm): if you report
    only those below 0.05, the chance of even one false difference is at most 5 %.

    \b
    Example:
        sparsetopics prevalence run corpus --by label
        sparsetopics prevalence run corpus --by section --differences
        sparsetopics prevalence run corpus --by section --over date:month --out months.csv
    """
    from sparsetopics.answers.prevalence import grouped_documents
    from sparsetopics.answers.table_files import table_output, write_output
    from sparsetopics.answers.themes import opened
    from sparsetopics.answers.topic_names import labels_of
    from sparsetopics.corpora.grouping import Grouping
    from sparsetopics.execution.executors import open_broadcast_map
    from sparsetopics.runs.run import SWAPPED, refuse_run

    grouping = Grouping.parse(by, over)
    if differences:
        grouping.check_comparable()
    inputs = [run, corpus]
    output = table_output(out, inputs, overwrite=overwrite, spreadsheet_safe=spreadsheet_safe)
    refuse_run(corpus, SWAPPED)
    with open_broadcast_map(where) as broadcast:
        trained = opened(run, names, n_themes)
        documents = trained.documents_at(where.seen_from_there(corpus))
        groups = grouped_documents(
            trained.model, documents, trained.words.shown, grouping,
            workers=where.threads, broadcast=broadcast,
        )  # fmt: skip
    found = groups.prevalence(n_words)
    labels = labels_of(trained)
    table = found.differences(labels) if differences else found.table(labels)
    if found.n_left_out:
        say(f"Left out: {quantity(found.n_left_out, 'document')} without a value to group by.")
    if output is not None:
        write_output(output, table.schema, [table], spreadsheet_safe=spreadsheet_safe)
        record = {"path": str(out), "n_rows": table.num_rows}
        show(record, [f"Wrote {quantity(table.num_rows, 'row')} to {out}."], as_json=as_json)
        return
    lines = _difference_lines(table, grouping) if differences else _lines(found, labels)
    show(table.to_pylist() if as_json else None, lines, as_json=as_json)


# --- what is printed ------------------------------------------------------------------------------
def _lines(found: Prevalence, labels: Labels) -> list[str]:
    """Topics by groups: shares and their errors in percent."""
    shown = range(min(len(found.groups), PRINTED_GROUPS))
    means = found.means
    heads = [found.grouping.named(*found.groups[group]) or "all" for group in shown]
    columns = []
    for head, group in zip(short_names(heads, HEAD), shown, strict=True):
        pairs = zip(means.mean[group], means.standard_error[group], strict=True)
        cells = [_cell(100 * mean, 100 * error) for mean, error in pairs]
        columns.append(aligned([head, *cells, f"{means.n_documents[group]:,}"], ">"))
    width = len(str(found.topics[-1]))
    names = {k: _short(labels[k][1], columns, width) for k in found.topics}
    topics = [f"{topic:>{width}} {name}" for topic, name in names.items()]
    lines = lines_of_columns(["% of documents", *topics, "documents"], columns)
    if n_more := len(found.groups) - len(shown):
        lines.append(f"Left out {quantity(n_more, 'group')}; --out writes all of them.")
    return lines


def _short(name: str, columns: Sequence[list[str]], width: int) -> str:
    """The topic's name, shortened to fit beside the columns; its number is ``width`` wide."""
    return shortened(printable(name), max(TOPIC, room_beside(columns) - width - 1))


def _cell(mean: float, error: float) -> str:
    return f"{mean:.1f} ±{error:.1f}" if error == error else f"{mean:.1f}"  # NaN: one document


def _difference_lines(table: pa.Table, grouping: Grouping) -> list[str]:
    """The comparisons with the smallest p-values; of equal ones, the largest differences."""
    from pyarrow.compute import abs as absolute
    from pyarrow.compute import negate

    size = negate(absolute(table["difference"]))
    keys = [(name, "ascending") for name in ("adjusted_p_value", "p_value", "size")]
    best = table.append_column("size", size).sort_by(keys).slice(0, PRINTED_DIFFERENCES)
    rows = best.to_pylist()
    sides = []
    for title, prefix in (("group", ""), ("other group", "other_")):
        groups = (
            grouping.named(row.get(f"{prefix}group"), row.get(f"{prefix}from")) for row in rows
        )
        sides.append(aligned([title, *(without_middle(group, HEAD) for group in groups)]))
    difference, error, p_value = (  # NaN: not known
        best[name].to_numpy() for name in ("difference", "standard_error", "adjusted_p_value")
    )
    numbers = [
        ["difference, %", *map(_cell, 100 * difference, 100 * error)],
        ["p, Holm", *map(_p_value, p_value)],
    ]
    columns = [*sides, *(aligned(cells, ">") for cells in numbers)]
    width = max((len(str(row["topic"])) for row in rows), default=0)
    names = (f"{row['topic']:>{width}} {_short(row['name'], columns, width)}" for row in rows)
    lines = lines_of_columns(["topic", *names], columns)
    if n_more := table.num_rows - len(rows):
        what = quantity(n_more, "comparison")
        lines.append(f"Left out {what} with larger p-values; --out writes all of them.")
    return lines


def _p_value(value: float) -> str:
    return f"<{SMALLEST_P_VALUE:g}" if value < SMALLEST_P_VALUE else f"{value:.1g}"

"""``sparsetopics prevalence``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sparsetopics.base.showing import shortened
from sparsetopics.base.wording import decimals, printable, quantity, without_middle
from sparsetopics.cli import printing
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH
from sparsetopics.cli.printing import aligned, lines_of_columns, room_beside, say, short_names, show
from sparsetopics.options.option import counts_from, refuse
from sparsetopics.options.workplace import Workplace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from sparsetopics.answers.compared import Effects
    from sparsetopics.answers.prevalence import Labels, Prevalence

TOPIC, HEAD = 20, 14  # characters of a topic's name where there is no room for more; of a group's
PRINTED_GROUPS = 60
PRINTED_DIFFERENCES = 20
MOST_DECIMALS = 6  # a smaller error is one of rounding
SMALLEST_P_VALUE = 1e-300  # smaller ones may be rounded to zero


@click.command(cls=shared.TableCommand)
@click.argument("run", type=NAMED_PATH)
@click.argument("corpus", type=NAMED_PATH)
@shared.grouping_options
@shared.formula_option("Fields on which shares depend, instead of groups: '~ section * s(year)'.")
@click.option(
    "--differences",
    is_flag=True,
    help="Compare groups, with p-values. With --over alone, each period is compared with the one "
    "before; with both, groups of the same period are compared. With --formula, print its "
    "coefficients.",
)
@click.option(
    "--correlations",
    "pairs",
    is_flag=True,
    help="Print how the shares of topics correlate over documents, instead of shares.",
)
@shared.topics_option()
@shared.other_runs_option()
@shared.number_option(
    "--words",
    counts_from(0),
    5,
    "(--json and --out) Largest number of words to list for each topic and group.",
    "n_words",
)
@shared.shown_topics_options
@click.option("--out", type=NEW_PATH, help="Write the table: .parquet, .csv, .jsonl or .arrow.")
@shared.spreadsheet_option(".csv", "texts")
@shared.overwrite_option("Replace the file if it exists.")
@shared.workplace_options
@shared.json_option("Print JSON instead of a table.")
def command(
    run: Path,
    corpus: Path,
    by: str | None,
    over: str | None,
    formula: str | None,
    differences: bool,
    pairs: bool,
    topics: tuple[str, ...],
    runs: Path | None,
    n_words: int,
    names: Path | None,
    n_themes: int | None,
    out: Path | None,
    spreadsheet_safe: bool,
    overwrite: bool,
    where: Workplace,
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

    With --formula, shares depend on the fields that it names, by least squares. `+` adds fields,
    `*` also lets one change the effect of the other, s(FIELD) is a smooth curve, and C(FIELD) takes
    numbers as names. The table has the shares at the values of each field, if all documents had
    them and kept the other fields. This needs formulaic: pip install 'sparsetopics[formulas]'.

    Errors take topics as known. If these were learned from the same documents, errors are too
    small; --runs makes them larger.

    With --differences, p-values are adjusted for the number of comparisons (Holm): if you report
    only those below 0.05, the chance of even one false difference is at most 5 %. With --topic,
    these are the comparisons of the topics that it names.

    \b
    Example:
        sparsetopics prevalence run corpus --by label
        sparsetopics prevalence run corpus --by section --differences
        sparsetopics prevalence run corpus --by section --topic 0 --topic 2
        sparsetopics prevalence run corpus --by section --over date:month --out months.csv
        sparsetopics prevalence run corpus --formula '~ section * s(date)'
    """
    from sparsetopics.answers.compared import compared_shares, topic_correlations
    from sparsetopics.answers.table_files import table_output, write_output
    from sparsetopics.answers.themes import opened
    from sparsetopics.answers.topic_names import labels_of
    from sparsetopics.execution.executors import open_crew
    from sparsetopics.runs.run import SWAPPED, refuse_run, runs_in

    if pairs and any((by, over, formula, differences, topics, runs)):
        refuse("correlations", "are those of all topics, without groups or other runs")
    if shared.is_given("n_words") and (pairs or formula or differences):
        refuse("words", "is for the shares of groups")
    shared.check_needs({"overwrite": "out"})
    output = table_output(
        out, [run, corpus], overwrite=overwrite, spreadsheet_safe=spreadsheet_safe
    )
    refuse_run(corpus, SWAPPED)
    with open_crew(where) as crew:
        trained = opened(run, names, n_themes)
        documents = trained.documents_at(where.seen_from_there(corpus))
        labels = labels_of(trained)
        if pairs:
            table = topic_correlations(trained, documents, labels, crew)
            lines = _pair_lines(table)
        else:
            found = compared_shares(
                trained, documents, by, over, formula, topics=topics, n_words=n_words,
                differences=differences, others=[] if runs is None else runs_in(runs), crew=crew,
            )  # fmt: skip
            table = found.differences(labels) if differences else found.table(labels)
            lines = _difference_lines(table, found) if differences else _lines(found, labels)
            if found.n_left_out:
                purpose = "to group by" if formula is None else "for the formula"
                left_out = quantity(found.n_left_out, "document")
                say(f"Left out: {left_out} without a value {purpose}.")
            if runs is None:
                say(shared.KNOWN_TOPICS + shared.SEE_RUNS * (n_themes is None))
    if output is not None:
        write_output(output, table.schema, [table], spreadsheet_safe=spreadsheet_safe)
        record = {"path": str(out), "n_rows": table.num_rows}
        show(record, [f"Wrote {quantity(table.num_rows, 'row')} to {out}."])
        return
    show(table.to_pylist() if printing.is_json() else None, lines)


# --- what is printed ------------------------------------------------------------------------------
def _lines(found: Prevalence | Effects, labels: Labels) -> list[str]:
    """Topics by groups or values of fields: shares and their errors in percent."""
    from sparsetopics.answers.prevalence import Prevalence

    heads, estimates = found.heads[:PRINTED_GROUPS], found.estimates
    sizes = found.n_documents if isinstance(found, Prevalence) else []
    columns = []
    for number, head in enumerate(short_names(heads, HEAD)):
        pairs = zip(estimates.value[number], estimates.standard_error[number], strict=True)
        cells = [_cell(100 * mean, 100 * error) for mean, error in pairs]
        columns.append(
            aligned([head, *cells, *(f"{n:,}" for n in sizes[number : number + 1])], ">")
        )
    topics = found.topics.tolist()
    named = _named(topics, [labels[topic][1] for topic in topics], columns)
    lines = lines_of_columns(["% of documents", *named, *["documents"] * bool(sizes)], columns)
    if n_more := len(found.heads) - len(heads):
        lines.append(f"Left out {quantity(n_more, 'column')}; --out writes all of them.")
    return lines


def _named(topics: Sequence[int], names: Sequence[str], columns: Sequence[list[str]]) -> list[str]:
    """The number of each topic and its name, shortened to fit beside the columns."""
    width = max((len(str(topic)) for topic in topics), default=0)
    room = max(TOPIC, room_beside(columns) - width - 1)
    pairs = zip(topics, names, strict=True)
    return [f"{topic:>{width}} {shortened(printable(name), room)}" for topic, name in pairs]


def _cell(mean: float, error: float, digits: int = 1) -> str:
    known = f" ±{error:.{digits}f}" if error == error else ""  # NaN: one document
    return f"{mean:.{digits}f}{known}"


def _precise(value: float, error: float) -> str:
    """A number with as many decimals as its error allows."""
    return _cell(value, error, max(1, min(decimals(error, 1), MOST_DECIMALS)))


def _difference_lines(table: pa.Table, found: Prevalence | Effects) -> list[str]:
    """The comparisons with the smallest p-values; of equal ones, the largest differences."""
    from pyarrow.compute import abs as absolute

    from sparsetopics.answers.prevalence import Prevalence

    sized = table.append_column("size", absolute(table["difference"]))
    rising = [(name, "ascending") for name in ("adjusted_p_value", "p_value")]
    best = sized.sort_by([*rising, ("size", "descending")]).slice(0, PRINTED_DIFFERENCES)
    rows, sides = best.to_pylist(), {}
    if isinstance(found, Prevalence):
        for title, prefix in (("group", ""), ("other group", "other_")):
            pairs = ((row.get(f"{prefix}group"), row.get(f"{prefix}from")) for row in rows)
            groups = (found.grouping.named(*pair) for pair in pairs)
            sides[title] = [without_middle(group, HEAD) for group in groups]
    else:
        sides["term"] = [row["term"] for row in rows]
    difference, error, p_value = (  # NaN: not known
        best[name].to_numpy() for name in ("difference", "standard_error", "adjusted_p_value")
    )
    numbers = {
        "difference, %": [*map(_precise, 100 * difference, 100 * error)],
        "p, Holm": [*map(_p_value, p_value)],
    }
    more = f"{quantity(table.num_rows - len(rows), 'comparison')} with larger p-values"
    return _row_lines(best, sides, numbers, more, table.num_rows)


def _pair_lines(table: pa.Table) -> list[str]:
    """The pairs of topics that occur together most."""
    best = table.sort_by([("correlation", "descending")]).slice(0, PRINTED_DIFFERENCES)
    rows = best.to_pylist()
    others = (f"{row['other_topic']} {shortened(row['other_name'], TOPIC)}" for row in rows)
    values, errors = best["correlation"].to_numpy(), best["standard_error"].to_numpy()
    numbers = {"correlation": [*map(_precise, values, errors)]}
    more = f"{quantity(table.num_rows - len(rows), 'pair')} with smaller correlations"
    return _row_lines(best, {"with": [*others]}, numbers, more, table.num_rows)


def _row_lines(
    best: pa.Table,
    sides: Mapping[str, list[str]],
    numbers: Mapping[str, list[str]],
    more: str,
    n_rows: int,
) -> list[str]:
    """Topics, what they are compared by, and numbers."""
    columns = [aligned([title, *cells]) for title, cells in sides.items()]
    columns += [aligned([title, *cells], ">") for title, cells in numbers.items()]
    named = _named(best["topic"].to_pylist(), best["name"].to_pylist(), columns)
    lines = lines_of_columns(["topic", *named], columns)
    is_more = n_rows > len(named)
    return [*lines, f"Left out {more}; --out writes all of them."] if is_more else lines


def _p_value(value: float) -> str:
    return f"<{SMALLEST_P_VALUE:g}" if value < SMALLEST_P_VALUE else f"{value:.1g}"

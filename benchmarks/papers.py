"""Measure the figures and tables of four papers and a talk again, one after the other.

    python benchmarks/papers.py                         list them
    python benchmarks/papers.py all --quick             three CPU minutes
    python benchmarks/papers.py memo13-figure-2 sga20-figure-2
    python benchmarks/papers.py all --keep              in results/papers-FIGURE.json

Rows are printed as they are measured, as JSON, and stored in a file of ``--folder`` for each
figure. A figure whose file is there is not measured again, and its rows are printed from there: to
continue after an interruption, repeat the command; to measure a figure anew, delete its file. One
thread is used, and seconds are those of the CPU. ``--keep`` sums up the rows of each figure, with
means, the least and the most over seeds. Standard output has rows alone; the rest is on standard
error.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported

import click
from paper_figures import accelerated, gradient, hdp, memoized, sparse
from paper_figures.figure import Figure, Row, Setting
from results import keep

FIGURES: dict[str, Figure] = {
    **memoized.FIGURES,
    **hdp.FIGURES,
    **gradient.FIGURES,
    **sparse.FIGURES,
    **accelerated.FIGURES,
}


def measure(name: str, setting: Setting) -> list[Row]:
    """Print and return the rows of a figure, and store them once all are there."""
    suffix = ".quick.jsonl" if setting.is_quick else ".jsonl"
    path = setting.folder / f"{name}{suffix}"
    click.echo(f"{name}, the paper's claim: {FIGURES[name].claim}", err=True)
    if path.exists():
        click.echo(f"{name}: read from {path}; delete it to measure anew.", err=True)
        click.echo(path.read_text(), nl=False)
        return [json.loads(line) for line in path.read_text().splitlines()]
    click.echo(f"{name}: before the first row, kernels may be compiled for minutes.", err=True)
    lines, began = [], time.process_time()
    for row in rows_of(name, setting):
        lines.append(json.dumps({"figure": name, **row}))
        click.echo(lines[-1])
    click.echo(f"{name}: {time.process_time() - began:.0f} CPU s", err=True)
    part = path.with_suffix(".part")
    part.write_text("".join(f"{line}\n" for line in lines))
    part.replace(path)
    return [json.loads(line) for line in lines]


def rows_of(name: str, setting: Setting) -> Iterator[Row]:
    """The rows of a figure as they are measured; click.ClickException if its data are missing."""
    try:
        yield from FIGURES[name].rows(setting)
    except FileNotFoundError as error:
        problem = f"{name}: {error.filename} is missing. docs/papers.md says where data come from."
        raise click.ClickException(problem) from error


def check(name: str) -> None:
    """click.UsageError if there is no such figure."""
    if name not in FIGURES:
        near = get_close_matches(name, FIGURES, n=1)
        hint = f"Did you mean {near[0]}?" if near else "Run the command without names to list them."
        raise click.UsageError(f"{name}: no such figure. {hint}")


@click.command()
@click.argument("names", nargs=-1, metavar="FIGURE…")
@click.option("--quick", is_flag=True, help="Measure fewer items, seeds and numbers.")
@click.option(
    "--shared",
    type=click.Path(path_type=Path),
    default=Path("../shared"),
    show_default=True,
    help="The folder of data and scripts that docs/papers.md describes.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("bench-data/papers"),
    show_default=True,
    help="Where rows and prepared data are stored.",
)
@click.option("--keep", "is_kept", is_flag=True, help="Write results/papers-FIGURE.json.")
def main(names: tuple[str, ...], quick: bool, shared: Path, folder: Path, is_kept: bool) -> None:
    """Measure FIGURE… again, or all of them; without a name, list them."""
    if not names:
        click.echo(f"{'figure':<22}the paper's claim")
        for name, figure in FIGURES.items():
            click.echo(f"{name:<22}{figure.claim}")
        return
    wanted = list(FIGURES) if names == ("all",) else list(names)
    for name in wanted:
        check(name)
    if quick and is_kept:
        raise click.UsageError("--keep needs all items and seeds, so --quick is not possible.")
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        rows = measure(name, Setting(quick, shared.resolve(), folder.resolve()))
        if is_kept:
            keep(f"papers-{name}", FIGURES[name].summed_up(rows), ("scikit-learn",))


if __name__ == "__main__":
    main()

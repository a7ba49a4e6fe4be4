"""``sparsetopics report``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from sparsetopics.cli.named_path import NAMED_PATH
from sparsetopics.cli.workplace_options import threads_option


@click.command()
@click.argument("runs", metavar="RUN...", type=NAMED_PATH, nargs=-1, required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="HTML page to write.")
@click.option(
    "--corpus",
    type=NAMED_PATH,
    help="Take example documents or items from here, and count word co-occurrence for NPMI. "
    "Default: the page does without.",
)
@click.option("--overwrite", is_flag=True, help="Replace the page if it exists.")
@threads_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    runs: tuple[Path, ...],
    out: Path,
    corpus: Path | None,
    overwrite: bool,
    workers: int,
    as_json: bool,
) -> None:
    """Write a page about RUN, for people who did not train it; several stand side by side.

    One self-contained file that asks nothing of a network: what was trained on what, how training
    went, topics with their words, weights and a map of which are alike; with a corpus also their
    coherence and the documents that show them best. Of mixtures of vectors it shows the
    components: sizes, covariances, patches if they are of image patches, and the nearest items.

    `sparsetopics evaluate --report` makes the same page with held-out scores.

    \b
    Example:
        sparsetopics report run --corpus train --out run.html
        sparsetopics report run-50 run-100 --out both.html
    """
    from sparsetopics.evaluation.report.report import write_run_report

    write_run_report(out, runs, corpus, overwrite=overwrite, workers=workers)
    click.echo(json.dumps({"path": str(out)}) if as_json else f"Wrote {out}.")

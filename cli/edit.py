"""``sparsetopics edit``."""

from __future__ import annotations

from pathlib import Path

import click

from sparsetopics.base.wording import quantity
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, TEXT
from sparsetopics.cli.printing import show
from sparsetopics.cli.shared_options import (
    json_option,
    names_option,
    overwrite_option,
    quiet_option,
    row_option,
    threads_option,
)
from sparsetopics.options.option import refuse
from sparsetopics.options.table import OPTION


@click.command()
@click.argument("run", type=NAMED_PATH)
@click.option("--out", type=NEW_PATH, required=True, help="Run folder to write.")
@click.option(
    "--merge", type=TEXT, multiple=True, metavar="ID,ID",
    help="Make one topic of these. It keeps the id and the name of the heaviest.",
)  # fmt: skip
@click.option(
    "--split", type=TEXT, multiple=True, metavar="ID",
    help="Make two topics of one, by the documents of --corpus. The heavier one keeps the id.",
)  # fmt: skip
@click.option(
    "--drop", type=TEXT, multiple=True, metavar="ID",
    help="Remove a topic. A lap over --corpus gives its words to the others.",
)  # fmt: skip
@click.option(
    "--rename", type=TEXT, multiple=True, metavar="ID=NAME", help="Name a topic.",
)  # fmt: skip
@names_option
@click.option(
    "--namer", type=TEXT, metavar="MODULE:FUNCTION",
    help="Python function that makes a name for each topic of its best words, the words that set "
    "it apart, three documents of --corpus, and the name of its theme or None. A topic keeps its "
    "name if the function fails or takes more than a minute.",
)  # fmt: skip
@click.option(
    "--edits", "record", type=NAMED_PATH, metavar="FILE.toml",
    help="Do again what this file says, such as the edits.toml of a run that was edited.",
)  # fmt: skip
@click.option("--corpus", type=NAMED_PATH, help="Documents for --split, --drop, --laps, --namer.")
@row_option(
    OPTION["laps"],
    "Passes over --corpus after the edits, which give each word to the topics that explain it "
    "best. Default: 1 with --split or --drop, otherwise none.",
)
@click.option(
    "--heldout", type=NAMED_PATH,
    help="Corpus to score before and after the edits, as `sparsetopics evaluate` does.",
)  # fmt: skip
@overwrite_option("Replace the run folder if it exists.")
@threads_option
@quiet_option()
@json_option()
def command(
    run: Path,
    out: Path,
    merge: tuple[str, ...],
    split: tuple[str, ...],
    drop: tuple[str, ...],
    rename: tuple[str, ...],
    names: Path | None,
    namer: str | None,
    record: Path | None,
    corpus: Path | None,
    laps: int | None,
    heldout: Path | None,
    overwrite: bool,
    workers: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write RUN with edited topics to a new run folder; RUN stays as it is.

    Topics are named by their ids, as `sparsetopics topics` prints them. Edits are made in this
    order: merge, split, drop, laps, names. Counts of merged topics add up, so --merge and
    --rename need no documents. Each of the options for edits can be repeated.

    OUT also gets a file edits.toml with what was done. As ids stay when a run learns on, --edits
    can do the same to the run of another night.

    \b
    Example:
        sparsetopics edit run --rename bcdfghjk=Crime --out named
        sparsetopics edit run --merge bcdfghjk,mnpqrstv --out merged
        sparsetopics edit run --split bcdfghjk --corpus train --heldout test --out split
        sparsetopics edit tuesday --edits merged/edits.toml --out tuesday-merged
    """
    from sparsetopics.answers.editing import Edits, edit_run, read_edits
    from sparsetopics.cli.train_progress import show_progress

    groups = tuple(tuple(group.split(",")) for group in merge)
    edits = Edits(groups, split, drop, laps, dict(map(_name_of, rename)))
    if record is not None:
        if edits != Edits():
            refuse("edits", "cannot be combined with other edits", "Write them into the file.")
        edits = read_edits(record)
    found = edit_run(
        run, out, edits,
        names=names, namer=namer, corpus=corpus, heldout=heldout, overwrite=overwrite,
        workers=workers, watch=lambda options: show_progress(options, quiet=quiet),
    )  # fmt: skip
    lines = [f"Wrote {out} with {quantity(found.n_topics, 'topic')}."]
    if found.before is not None:
        change = f"{found.before:.4f} before, {found.after:.4f} after"
        lines.insert(0, f"Held-out score, nats per token: {change}.")
    scores = {"heldout_before": found.before, "heldout_after": found.after}
    show({"run": str(out), "n_topics": found.n_topics, **scores}, lines, as_json=as_json)


def _name_of(given: str) -> tuple[str, str]:
    topic, is_named, name = given.partition("=")
    if not is_named:
        refuse("rename", f"must be ID=NAME, but is {given}")
    return topic, name

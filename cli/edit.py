"""``sparsetopics edit``."""

from __future__ import annotations

from pathlib import Path

import click

from sparsetopics.base.outputs import output_folder, written
from sparsetopics.base.own_folders import RUN
from sparsetopics.base.wording import quantity
from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.parameter_types import NAMED_PATH, NEW_PATH, TEXT, NumberType
from sparsetopics.cli.printing import show
from sparsetopics.corpora.text.tokenizer_functions import load_function
from sparsetopics.options.option import counts_from, refuse
from sparsetopics.options.table import OPTION
from sparsetopics.options.training import TrainingOptions


def _edit_option(name: str, metavar: str, text: str) -> shared.Decorator:
    return click.option(f"--{name}", type=TEXT, multiple=True, metavar=metavar, help=text)


@click.command()
@click.argument("run", type=NAMED_PATH)
@click.option("--out", type=NEW_PATH, required=True, help="Run folder to write.")
@_edit_option("merge", "ID,ID", "Make one topic of these, with the id of the heaviest.")
@click.option(
    "--themes",
    type=NumberType(counts_from(1)),
    metavar="N",
    help="Make N topics of all, by joining those whose words are alike.",
)
@_edit_option("drop", "ID", "Remove a topic. A lap gives its words to the others.")
@_edit_option("split", "ID", "Make two topics of one. The part closer to it keeps id and name.")
@_edit_option("rename", "ID=NAME", "Give a topic a name.")
@shared.names_option
@click.option("--namer", type=TEXT, metavar="MODULE:FUNCTION", help="Function that names topics.")
@click.option("--edits", "record", type=NAMED_PATH, help="Repeat the edits in this file.")
@click.option("--corpus", type=NAMED_PATH, help="Documents for --drop, --split, --laps, --namer.")
@shared.row_option(
    OPTION["laps"], "Passes over --corpus. Default: 1 with --drop or --split, else none."
)
@click.option("--heldout", type=NAMED_PATH, help="Corpus to score before and after the edits.")
@shared.overwrite_option("Replace the run folder if it exists.")
@shared.threads_option
@shared.json_option()
def command(
    run: Path,
    out: Path,
    merge: tuple[str, ...],
    themes: int | None,
    drop: tuple[str, ...],
    split: tuple[str, ...],
    rename: tuple[str, ...],
    names: Path | None,
    namer: str | None,
    record: Path | None,
    corpus: Path | None,
    laps: int | None,
    heldout: Path | None,
    overwrite: bool,
    workers: int,
) -> None:
    """Write RUN with edited topics to a new run folder; RUN stays as it is.

    Give topics by their ids or numbers, as `sparsetopics topics` prints them. Edits are always made
    in this order: merge, themes, drop, split, laps, names. Each of the options for edits can be
    repeated.

    Counts of merged topics add up, so --merge, --themes and --rename need no documents. A merged
    topic has the name of the heaviest of them that was given one. With --themes, the topics of a
    theme become one, with the id of the heaviest of them and the name of the theme. A topic is
    split by the documents that use it. Each lap reassigns all words, also those of dropped topics.
    Its documents replace those that the topics were learned from, so give the training corpus.

    The function of --namer gets the best words of a topic, words that set it apart, three documents
    of --corpus, and the name of its theme or None. It returns a name. A topic keeps its name if the
    function fails or takes more than a minute.

    OUT also gets a file edits.toml with what was done. --edits repeats it on a later version of the
    run, in which topics have the same ids.

    \b
    Example:
        sparsetopics edit run --rename bcdfghjk=Crime --out named
        sparsetopics edit run --merge bcdfghjk,mnpqrstv --out merged
        sparsetopics edit run --themes 20 --laps 2 --corpus train --out twenty
        sparsetopics edit run --split bcdfghjk --corpus train --heldout test --out split
        sparsetopics edit tuesday --edits merged/edits.toml --out tuesday-merged
    """
    from sparsetopics.answers.edit_records import Edits, read_edits
    from sparsetopics.answers.editing import edited
    from sparsetopics.answers.namers import named_by
    from sparsetopics.answers.topic_names import with_names, with_names_of
    from sparsetopics.cli.train_progress import show_progress
    from sparsetopics.model.topic_posterior import TopicPosterior
    from sparsetopics.runs.data import completion_score
    from sparsetopics.runs.run import AnyRun, load_run, save_run

    output = output_folder(
        out, RUN, overwrite=overwrite, inputs=[run, corpus, heldout, names, record]
    )
    groups = tuple(tuple(map(str.strip, group.split(","))) for group in merge)
    edits = Edits(groups, themes, drop, split, laps, dict(map(_named, rename)))
    if record is not None and edits != Edits():
        refuse("edits", "cannot be combined with other edits", "Write them into the file.")
    if record is not None:
        edits = read_edits(record)
    if edits == Edits() and names is None and namer is None:
        refuse("edit", "there is nothing to do", "Give --merge, --rename or another edit.")
    call = None if namer is None else load_function(namer, "namer", "from words to a name")
    trained = load_run(run, TopicPosterior)
    edits = edits.by_ids(trained)
    documents = None if corpus is None else trained.documents_at(corpus)
    scored = None if heldout is None else trained.documents_at(heldout)
    with show_progress(TrainingOptions(1)) as hooks:
        found: AnyRun = edited(trained, edits, documents, workers, hooks)
    if names is not None:
        found = with_names_of(found, names)
    if call is not None:
        found = named_by(found, call, documents, workers, hooks.say)
    found = with_names(found, edits.rename)
    lines = [f"Wrote {out} with {quantity(found.model.n_topics, 'topic')}."]
    before = after = None
    if scored is not None:
        before, after = map(completion_score(scored, scored, workers), (trained.model, found.model))
        lines.insert(0, f"Held-out score, nats per token: {before:.4f} before, {after:.4f} after.")
    with written(output) as scratch:
        save_run(scratch, found)
        edits.with_names_of(found, trained).write(scratch)
    told = {"run": str(out), "n_topics": found.model.n_topics}
    show(told | {"heldout_before": before, "heldout_after": after}, lines)


def _named(given: str) -> tuple[str, str]:
    topic, is_named, name = given.partition("=")
    if not is_named:
        refuse("rename", f"must be ID=NAME, but is {given}")
    return topic, name

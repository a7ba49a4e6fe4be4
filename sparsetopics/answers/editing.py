"""Edits that people make to the topics of a run: join, divide, drop and name them.

What was done is a record by the ids of topics, so that it can be done again to the run of another
night.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from sparsetopics.answers.namers import NAMER_TAKES, named_by
from sparsetopics.answers.topic_names import place_of, with_names, with_names_of
from sparsetopics.base.errors import OptionError
from sparsetopics.base.outputs import output_folder, written
from sparsetopics.base.own_folders import RUN
from sparsetopics.base.safe_reading import read_toml
from sparsetopics.base.sealed_files import PositiveSize, Refusal, decoded
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.tokenizer_functions import load_function
from sparsetopics.inference.topic_edits import Edited, with_joined_topics, without_topic
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.option import refuse
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.data import completion_score, facts_of
from sparsetopics.runs.plan import toml
from sparsetopics.runs.relearning import relearned, relearning_options, split_topic
from sparsetopics.runs.run import (
    TopicRun,
    load_run,
    option_record,
    recorded_options,
    refuse_run,
    run_in_memory,
    save_run,
)
from sparsetopics.runs.run_files import EDITS_FILE, Provenance
from sparsetopics.runs.seen_documents import joined_seen
from sparsetopics.runs.topic_identity import inherited

HEAD = "# Edits of topics, for `sparsetopics edit RUN --edits edits.toml --out RUN2`\n"
Watch = Callable[[TrainingOptions], AbstractContextManager[RunHooks]]
_UNREADABLE = Refusal(OptionError, "Write it as `sparsetopics edit` does")


class Edits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do, in the order of the fields. Topics have numbers or ids; records have ids."""

    merge: tuple[tuple[str | int, ...], ...] = ()  # groups, each of which becomes a topic
    split: tuple[str | int, ...] = ()  # each becomes two
    drop: tuple[str | int, ...] = ()
    laps: PositiveSize | None = None  # over the corpus; None: one if topics are split or dropped
    rename: Mapping[str | int, str] = {}
    named_by: Mapping[str, str] = {}  # the functions that made some of these names

    def by_ids(self, run: TopicRun) -> Edits:
        """The same edits by the ids of a run; OptionError for topics that are not there."""

        def ids(option: str, topics: Sequence[str | int]) -> tuple[str, ...]:
            return tuple(run.topics[place_of(run, topic, option)].id for topic in topics)

        return Edits(
            tuple(ids("merge", group) for group in self.merge),
            ids("split", self.split),
            ids("drop", self.drop),
            self.laps or (1 if self.split or self.drop else None),
            self.rename,
            self.named_by,
        )

    def with_names_of(self, after: TopicRun, before: TopicRun) -> Edits:
        """The same edits with all names that topics have now and had not before."""
        known = {(topic.id, topic.name, topic.named_by) for topic in before.topics}
        new = [
            topic for topic in after.topics if (topic.id, topic.name, topic.named_by) not in known
        ]
        names = {topic.id: topic.name for topic in new if topic.name is not None}
        functions = {topic.id: topic.named_by for topic in new if topic.named_by is not None}
        return msgspec.structs.replace(self, rename=names, named_by=functions)

    def write(self, folder: Path) -> None:
        """Write the record into the folder of a run."""
        lists = {"merge": self.merge, "split": self.split, "drop": self.drop}
        lines = [f"{name} = {_listed(value)}\n" for name, value in lists.items() if value]
        lines += [f"laps = {self.laps}\n"] if self.laps else []
        for table, values in (("rename", self.rename), ("named_by", self.named_by)):
            lines += [f"\n[{table}]\n"] if values else []
            lines += [f"{topic} = {toml(value)}\n" for topic, value in values.items()]
        text = "".join([HEAD, *lines])
        (folder / EDITS_FILE).write_text(text, encoding="utf-8", newline="\n")


def read_edits(path: Path) -> Edits:
    """Read a record of edits; OptionError for anything else."""
    return decoded(read_toml(path), Edits, path, _UNREADABLE)


def _listed(value: object) -> str:  # a string or nested tuples of them
    return f"[{', '.join(map(_listed, value))}]" if isinstance(value, tuple) else toml(str(value))


def edited(
    run: TopicRun,
    edits: Edits,
    corpus: Corpus | None = None,
    *,
    workers: int = 1,
    hooks: RunHooks = RunHooks(),  # noqa: B008 - immutable
) -> TopicRun:
    """Return a run with edited topics, which are not named yet; ``run`` stays as it is.

    Topics that are joined add up their counts, and have the identity of the heaviest of them. Of
    the two parts of a topic, the heavier one keeps its identity. ``laps`` over the ``corpus`` then
    give each word to the topics that explain it best. Same bits for any number of ``workers``.
    Raises OptionError for edits that cannot be made, and if a corpus is needed.
    """
    if corpus is None and edits.laps:
        refuse("corpus", "is needed to split or drop topics and for laps", "Name the documents.")
    for group in edits.merge:
        if len(set(group)) < 2:
            refuse("merge", "must name two or more different topics, as in --merge ID,ID")
    found, trace, seed = run, list(run.trace), run.settings.get("seed")
    if edits.merge:
        groups = [[place_of(run, topic, "merge") for topic in group] for group in edits.merge]
        found = _taken(run, with_joined_topics(run.model, groups))
    options = recorded_options(run)
    for topic in edits.split:
        assert corpus is not None, "it was checked above"
        parts = split_topic(
            found.model, place_of(found, topic, "split"), corpus, options,
            seed=seed, workers=workers, hooks=hooks,
        )  # fmt: skip
        found = _taken(found, parts)
    for topic in edits.drop:
        found = _taken(found, without_topic(found.model, place_of(found, topic, "drop")))
    if corpus is not None and edits.laps:
        made = relearned(
            found.model, corpus, options, edits.laps, seed=seed, workers=workers, hooks=hooks
        )
        assert isinstance(made.model, TopicPosterior), "it started from one"
        provenance: Provenance = {
            **msgspec.convert(found.settings, Provenance),
            **made.kept,
            "corpus": facts_of(corpus),
        }
        provenance["topics"] = found.carried(made.model)
        found = replace(found, model=made.model)
        trace += [entry | {"lap": run.n_laps + n} for n, entry in enumerate(made.trace, start=1)]
    elif found is run:
        return run
    else:
        provenance = msgspec.convert(found.settings, Provenance)
    provenance.pop("number_of_topics", None)  # which edits have changed
    own = replace(options, n_topics=found.model.n_topics, lower_rungs=())
    provenance["options"] = {**provenance.get("options", {}), **option_record(own)}
    result = run_in_memory(str(run.path), found.model, run.vocabulary, provenance, trace)
    topics = result.of(TopicPosterior)
    assert topics is not None, "edits keep the kind of model"
    return topics


def _taken(run: TopicRun, edited: Edited) -> TopicRun:
    """The run with an edited model, whose topics take the identities of those they come from."""
    model, parents = edited
    settings = run.with_topics(inherited(run.topics, parents, model)).settings
    if "seen" in settings:
        settings["seen"] = joined_seen(settings["seen"], parents)
    return replace(run, model=model, settings=settings)


class EditedRun(NamedTuple):
    """What became of a run."""

    n_topics: int
    edits: Edits
    before: float | None  # held-out log-likelihood, nats per token; None without documents
    after: float | None


def edit_run(
    path: Path,
    out: Path,
    edits: Edits,
    *,
    names: Path | None = None,
    namer: str | None = None,
    corpus: Path | None = None,
    heldout: Path | None = None,
    overwrite: bool = False,
    workers: int = 1,
    watch: Watch = lambda options: nullcontext(RunHooks()),
) -> EditedRun:
    """Write the run at ``path`` with edited topics to ``out``, and a record of the edits.

    ``names``, a file or another run, and ``namer``, a MODULE:FUNCTION, name topics after all other
    edits but ``rename``. ``watch`` makes hooks that show the progress. Raises OutputError,
    RunError, VocabularyError or ShapeError, and OptionError for edits that cannot be made.
    """
    output = output_folder(out, RUN, overwrite=overwrite, inputs=[path, corpus, heldout])
    call = None if namer is None else load_function(namer, "namer", NAMER_TAKES)
    run = load_run(path, TopicPosterior)
    edits = edits.by_ids(run)
    documents, scored = (
        None if folder is None else _documents(run, folder) for folder in (corpus, heldout)
    )
    options = relearning_options(run.model, recorded_options(run), edits.laps or 1)
    with watch(options) as hooks:
        found = edited(run, edits, documents, workers=workers, hooks=hooks)
        if names is not None:
            found = with_names_of(found, names)
        if call is not None and namer is not None:
            found = named_by(found, call, namer, documents, workers=workers, say=hooks.say)
        found = with_names(found, edits.rename)
    edits = edits.with_names_of(found, run)
    if edits == Edits():
        refuse("edit", "nothing is to be done", "Give --merge, --split, --drop or --rename.")
    score = None if scored is None else completion_score(scored, scored, workers)
    scores = (None if score is None else score(each.model) for each in (run, found))
    with written(output) as scratch:
        save_run(
            scratch,
            found.model,
            found.vocabulary,
            msgspec.convert(found.settings, Provenance),
            found.trace,
        )
        edits.write(scratch)
    return EditedRun(found.model.n_topics, edits, *scores)


def _documents(run: TopicRun, folder: Path) -> Corpus:
    """The documents of a corpus that the run can be applied to."""
    refuse_run(folder)
    corpus = Corpus.open(folder)
    run.check_corpus(corpus, str(folder))
    return corpus

"""The plan of a training run, and the two files of its folder that hold it.

``plan.json`` has all that ``resume`` needs to continue. ``config.toml`` has what ``train --config``
needs to learn the same again. Each of its keys is an option of ``train`` as it is typed, without
the dashes in front. As in model.json, topics, laps, likelihood and moves have the defaults of the
model where the user gave none. Other defaults, which follow from the data or from other options,
are left out, and so is everything that does not decide about the model: threads, held-out
documents, checkpoints.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import get_args

import msgspec

from sparsetopics.base.errors import RunError, warn_user
from sparsetopics.base.sealed_files import decoded, file_sha256, read_sealed, write_sealed
from sparsetopics.base.wording import listed
from sparsetopics.corpora.batching import count_validation
from sparsetopics.corpora.store.manifest import FILE_NAME as MANIFEST
from sparsetopics.inference.gradual_start import DOCUMENTS_PER_TOPIC
from sparsetopics.options import table
from sparsetopics.options.guide import WordList
from sparsetopics.options.ladder import check_rungs, close_rungs, default_rungs
from sparsetopics.options.option import NO_NAMES, Given, Value, check_values, fields_by_part, refuse
from sparsetopics.options.resolve import resolve, values_of
from sparsetopics.options.table import OPTION, PATH_OPTION, ExecutorName, StartName
from sparsetopics.options.training import TrainingOptions
from sparsetopics.options.workplace import Workplace
from sparsetopics.runs.run_files import ARRAYS_FILE, PLAN_VERSION, STATE_DAMAGE

CONFIG_HEAD = "# Options of a training run: sparsetopics {} CORPUS --config config.toml --out {}\n"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One training run on disk."""

    corpus: Path
    out: Path
    options: TrainingOptions
    n_batches: int | None = None
    resident_pairs: int = table.RESIDENT_PAIRS
    seed: int = 0
    workers: int = 1
    executor: ExecutorName = table.DEFAULT_EXECUTOR
    scheduler: str | None = None
    heldout: Path | None = None
    # Of the corpus, to score the rungs of a topic path or an HDP on; None: what suits the corpus
    validation_share: float | None = None
    start_run: Path | None = None
    first_start: Path | None = None  # the ``start_run`` of a training that was resumed since
    start_topics: bool = False  # take the number of topics from ``start_run``
    overwrite: bool = False
    checkpoint_every: int | None = None  # laps; 0: never, None: as often as costs little
    keep_state: bool = False  # when training is done
    base: Path = Path()  # where relative paths start
    identity: str = field(default_factory=lambda: secrets.token_hex(16), compare=False)

    def __post_init__(self) -> None:
        check_values(OPTION, "run", self)

    @property
    def workplace(self) -> Workplace:
        """Where training is done; raises OptionError where it cannot be."""
        if self.executor == "dask" and self.options.learner_kind.grows:
            learner = self.options.learner
            refuse("executor", f"must be threads with --learner {learner}: its batch is one tree")
        return Workplace(self.executor, self.workers, self.scheduler)

    @property
    def rung_names(self) -> list[str]:
        """The names of the runs in the folder of a topic path."""
        return [str(rung) for rung in self.options.rungs] if self.options.is_topic_path else []

    @property
    def inputs(self) -> list[Path]:
        """The corpora and the run that are read."""
        given = (self.corpus, self.heldout, self.start_run)
        return [self.at(path) for path in given if path is not None]

    @property
    def tie(self) -> str:
        """A digest of everything that determines the result of training.

        It ties a checkpoint to its plan. The number of laps and where they run are left out, since
        they may change on resuming.
        """
        options = replace(self.options, laps=None)
        batches = self.n_batches, self.resident_pairs
        decisive = (options, *batches, self.seed, self.identity, self.validation_share)
        text = json.dumps(msgspec.to_builtins(decisive))  # ASCII, even if a name is not
        return hashlib.sha256(text.encode()).hexdigest()

    def at(self, path: Path) -> Path:
        """The place of ``path``, wherever this process runs."""
        return self.base / path


def plan_run(corpus: Path, out: Path, given: Given, *, overwrite: bool = False) -> RunPlan:
    """The plan of a run with the options that a user gives, by the names of the table.

    Raises OptionError as ``resolve`` does.
    """
    said = {name: value for name, value in given.items() if value is not None}
    start_run = None
    if said.get("start") not in (None, *get_args(StartName)):
        start_run = Path(str(said.pop("start")))
    options = resolve(str(said.get("model", table.DEFAULT_MODEL)), said)
    if start_run is not None and "guide" in said:
        refuse("guide", "cannot be combined with --start RUN, whose topics training begins with")
    if start_run is not None and options.n_runs > 1:
        refuse("runs", "cannot be combined with --start RUN, from which all runs would begin")
    if said.get("validation-share") and (start_run is not None or not options.may_be_validated):
        found = "--start RUN" if start_run is not None else "--moves, --criterion or --laps"
        needs = f"needs the memoized learner and the collapsed update, without {found}"
        refuse("validation-share", needs, "Otherwise the criterion of the moves decides.")
    make: Callable[..., RunPlan] = RunPlan
    start = {"start_run": start_run, "start_topics": "topics" not in said}
    own = fields_by_part(OPTION, said)["run"]
    return make(corpus, out, options, overwrite=overwrite, **start, **own)


def plan_topic_path(corpus: Path, out: Path, given: Given, *, overwrite: bool = False) -> RunPlan:
    """The plan of a topic path with the options that a user gives, by the names of the table.

    Raises OptionError as ``plan_run`` does, and for rungs that do not go together.
    """
    said = {name: value for name, value in given.items() if value is not None}
    if "rungs" in said and not said.keys().isdisjoint(("from", "to")):
        refuse("rungs", "cannot be combined with --from or --to", "The largest rung is the first.")
    if said.get("validation-share") and "heldout" in said:
        refuse("validation-share", "cannot be combined with --heldout, which is scored instead")
    start = said.get("start")
    if start is not None and start not in get_args(StartName):
        names = listed(get_args(StartName), "or")
        refuse("start", f"must be {names} on a topic path, but is {start}")
    rungs = rungs_of(said)
    usual = 0.0 if "heldout" in said else table.DEFAULT_VALIDATION_SHARE
    share = PATH_OPTION["validation-share"].check(said.get("validation-share", usual))
    given = {name: value for name, value in said.items() if name not in PATH_OPTION}
    given = {"model": table.PATH_MODEL, "topics": rungs[0], **given}
    plan = plan_run(corpus, out, given, overwrite=overwrite)
    options = replace(plan.options, lower_rungs=rungs[1:])
    return replace(plan, options=options, validation_share=share)


def with_validation(
    options: TrainingOptions, share: float | None, n_docs: int
) -> tuple[TrainingOptions, float]:
    """The options of training on a corpus of ``n_docs``, and the share that validates an HDP.

    ``share`` is what the user gave. The share is 0 without validation. Raises OptionError for a
    share that leaves too few documents, and for an HDP without validation that should leave out own
    counts, since its last laps are not known beforehand.
    """
    if options.lower_rungs:
        return options, share or 0.0
    is_few = share is None and n_docs < table.FEWEST_VALIDATED
    if share == 0.0 or is_few or not options.may_be_validated:
        if table.OWN_SHARES[options.local.own_counts] and options.model_kind.learns_number:
            hint = "They do with --validation-share, without --moves, --laps and --start RUN."
            refuse("own-counts", "must be keep where documents do not choose the number", hint)
        if options.purpose == "reading":
            needs = "reading needs documents that are kept out of training to choose the number"
            hint = (
                f"Pass --validation-share if there are fewer than {table.FEWEST_VALIDATED}, and "
                "leave out --moves, --criterion, --laps and --start RUN."
            )
            refuse("for", needs, hint)
        return options, 0.0
    share = share or min(table.DEFAULT_VALIDATION_SHARE, table.HDP_VALIDATION / n_docs)
    return validated(options, n_docs - count_validation(n_docs, share)), share


def validated(options: TrainingOptions, n_docs: int) -> TrainingOptions:
    """The options of an HDP whose number of topics is validated, trained on ``n_docs``.

    It begins with many topics, whatever number was given: none that it lacks can be chosen.
    """
    usual = max(n_docs // table.HDP_DOCUMENTS, table.DEFAULT_MOST_TOPICS)
    usual = max(options.n_topics, min(usual, table.HDP_MOST_TOPICS))
    most = min(usual, n_docs // DOCUMENTS_PER_TOPIC)
    rungs = close_rungs(most, table.DEFAULT_FEWEST_TOPICS)
    if len(rungs) < 2:
        refuse("validation-share", f"leaves {n_docs:,} documents to train on, which are too few")
    return replace(options, n_topics=rungs[0], lower_rungs=rungs[1:])


def lowered(options: TrainingOptions, share: float | None, n_docs: int) -> TrainingOptions:
    """The options of a topic path on a corpus of ``n_docs``, ``share`` of which are kept out.

    Like an HDP, it begins with a topic for each three documents at most. Warns if that is fewer
    than were asked for. Raises OptionError if no two rungs are left. Other training stays as it is.
    """
    n_docs -= count_validation(n_docs, share) if share else 0
    most = n_docs // DOCUMENTS_PER_TOPIC
    if options.is_validated or not options.lower_rungs or options.n_topics <= most:
        return options
    rungs = (most, *(rung for rung in options.lower_rungs if rung < most))
    why = f"each topic needs {DOCUMENTS_PER_TOPIC} of the {n_docs:,} documents to train on"
    if len(rungs) < 2:
        refuse("rungs", f"must be at least two numbers up to {most:,}: {why}")
    numbers = f"{most:,} topics, not with {options.n_topics:,}"
    warn_user(f"The path begins with {numbers}: {why}.")
    return replace(options, n_topics=most, lower_rungs=rungs[1:])


def rungs_of(said: Mapping[str, Value]) -> tuple[int, ...]:
    """The rungs that options ask for, in falling order; OptionError for wrong values."""
    if "rungs" not in said:
        usual = {"from": table.DEFAULT_MOST_TOPICS, "to": table.DEFAULT_FEWEST_TOPICS}
        ends = (PATH_OPTION[name].check(said.get(name, end)) for name, end in usual.items())
        return default_rungs(*ends)
    rungs: tuple[int, ...] = PATH_OPTION["rungs"].check(said["rungs"])
    check_rungs(rungs)
    return rungs


class Fingerprints(msgspec.Struct, omit_defaults=True):
    """SHA-256 of one file in each folder that a run reads."""

    corpus: str
    heldout: str | None = None
    start_run: str | None = None

    @classmethod
    def of(cls, plan: RunPlan) -> Fingerprints:
        """Those of the data as they are now."""
        heldout, start = plan.heldout, plan.start_run
        return cls(
            file_sha256(plan.at(plan.corpus) / MANIFEST),
            None if heldout is None else file_sha256(plan.at(heldout) / MANIFEST),
            None if start is None else file_sha256(plan.at(start) / ARRAYS_FILE),
        )


class PlanRecord(msgspec.Struct):
    """What ``plan.json`` holds."""

    finished: bool
    plan: RunPlan
    fingerprints: Fingerprints
    extends: bool = False  # the run that is in the folder, whose topics keep their ids

    def check_data(self, plan: RunPlan) -> None:
        """RunError if the data that ``plan`` reads are others than when training began."""
        for name, found in msgspec.structs.asdict(Fingerprints.of(plan)).items():
            if found not in (None, getattr(self.fingerprints, name)):
                problem = "the data have changed since training began"
                raise RunError(str(plan.at(getattr(plan, name))), problem, "Train again.")


def write_plan(path: Path, record: PlanRecord) -> None:
    """Write ``plan.json``.

    The scheduler is left out, so that a plan cannot lead its reader to a stranger's scheduler.
    """
    plan = replace(record.plan, base=record.plan.base.absolute())
    content = msgspec.to_builtins(msgspec.structs.replace(record, plan=plan), enc_hook=str)
    del content["plan"]["scheduler"]
    write_sealed(path, {"format_version": PLAN_VERSION, **content}, indent=2)


def read_plan(path: Path) -> PlanRecord:
    """Read ``plan.json``; RunError if it is damaged or has other entries than ``write_plan``."""
    content = read_sealed(path, PLAN_VERSION, STATE_DAMAGE)
    names = content.get("plan")
    strangers = sorted(set(names) ^ STORED) if isinstance(names, dict) else []
    if strangers:
        problem = "the entry is missing, or does not belong in a plan"
        raise STATE_DAMAGE.of(f"{path}, plan.{strangers[0]}", problem)
    return decoded(content, PlanRecord, str(path), STATE_DAMAGE)


STORED = {each.name for each in fields(RunPlan)} - {"scheduler"}


def write_config(path: Path, plan: RunPlan) -> None:
    """Write what decides about the result of ``plan``, except the corpus, as TOML."""
    lines = [f"{key} = {toml(value)}\n" for key, value in run_config(plan).items()]
    if guide := plan.options.guide:
        lines.append(f"guide = {{{', '.join(map(_toml_of_list, guide))}}}\n")
    # The name of a file may hold bytes that are no text, which TOML may not.
    command = ("path", "PATH") if plan.options.is_topic_path else ("train", "RUN")
    text = CONFIG_HEAD.format(*command) + "".join(lines)
    path.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def run_config(plan: RunPlan) -> dict[str, Value]:
    """The options that decide about the result, by their names; paths are absolute."""
    start = plan.start_run or plan.first_start
    course: dict[str, Value | None] = {
        "start": plan.options.start if start is None else str(plan.at(start).absolute()),
        "batches": plan.n_batches,
        "resident-pairs": plan.resident_pairs if plan.options.counts_words else None,
        "seed": plan.seed,
    }
    values = values_of(plan.options) | course
    if plan.options.is_validated:
        decided = ("topics", "laps", "moves", "criterion")
        values = {name: value for name, value in values.items() if name not in decided}
        values |= {"topics": plan.options.n_topics, "validation-share": plan.validation_share}
    if plan.options.is_topic_path:
        values = {name: value for name, value in values.items() if OPTION[name].is_at(table.PATH)}
        share = {"validation-share": plan.validation_share} if plan.heldout is None else {}
        values |= {"rungs": plan.options.rungs, **share}
    return {name: value for name, value in values.items() if value is not None}


def toml(value: Value) -> str:
    """A value as TOML."""
    if isinstance(value, tuple):
        value = ",".join(map(str, value)) or NO_NAMES
    if isinstance(value, str):  # strings of JSON are strings of TOML, but for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _toml_of_list(each: WordList) -> str:
    parent = f", parent = {toml(each.parent)}" if each.parent else ""
    return f"{toml(each.name)} = {{words = [{', '.join(map(toml, each.words))}]{parent}}}"

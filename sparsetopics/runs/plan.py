"""What a training run was asked to be, and how its folder tells that to whoever goes on with it."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import msgspec

from sparsetopics.base.errors import OptionError, RunError
from sparsetopics.base.sealed_files import decoded, file_sha256
from sparsetopics.corpora.store.manifest import FILE_NAME as MANIFEST
from sparsetopics.options.checks import refuse
from sparsetopics.options.training import RESIDENT_PAIRS, ExecutorName, TrainingOptions, Workplace
from sparsetopics.runs.run_files import ARRAYS_FILE, PLAN_VERSION, STATE_DAMAGE


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One training run on disk."""

    corpus: Path
    out: Path
    options: TrainingOptions
    n_batches: int | None = None
    resident_pairs: int = RESIDENT_PAIRS
    seed: int = 0
    workers: int = 1
    executor: ExecutorName = "threads"
    scheduler: str | None = None
    heldout: Path | None = None
    start_run: Path | None = None
    first_start: Path | None = None  # the ``start_run`` of a training that has gone on since
    start_topics: bool = False  # as many topics as ``start_run`` has, whatever the options say
    overwrite: bool = False
    checkpoint_every: int | None = None  # laps; 0: never, None: as often as costs little
    keep_state: bool = False  # when training is done
    base: Path = Path()  # where relative paths start
    identity: str = field(default_factory=lambda: secrets.token_hex(16), compare=False)

    def __post_init__(self) -> None:
        for name, value, least in (
            ("batches", self.n_batches, 1),
            ("resident-pairs", self.resident_pairs, 0),
            ("seed", self.seed, 0),
            ("workers", self.workers, 1),
            ("checkpoint-every", self.checkpoint_every, 0),
        ):
            if value is not None and value < least:
                refuse(name, value, f"{least} or more")

    @property
    def workplace(self) -> Workplace:
        """Where training is done; OptionError where it cannot be."""
        if self.executor == "dask" and self.options.grows:
            raise OptionError(
                "executor",
                found=f"dask with the {self.options.learner} learner",
                wanted="threads",
                hint="Its only batch is a tree.",
            )
        return Workplace(self.executor, self.workers, self.scheduler)

    @property
    def inputs(self) -> list[Path]:
        """The corpora and the run that are read."""
        given = (self.corpus, self.heldout, self.start_run)
        return [self.at(path) for path in given if path is not None]

    @property
    def tie(self) -> str:
        """A digest of everything that determines the result of training; ties checkpoint to plan.

        The number of laps and where they run are left out, since they may change on resuming.
        """
        options = replace(self.options, laps=None)
        decisive = [options, self.n_batches, self.resident_pairs, self.seed, self.identity]
        text = json.dumps(msgspec.to_builtins(decisive))  # ASCII, even if a name is not
        return hashlib.sha256(text.encode()).hexdigest()

    def at(self, path: Path) -> Path:
        """Where ``path`` is, wherever this process runs."""
        return self.base / path


class Fingerprints(msgspec.Struct):
    """SHA-256 of one file in each folder that a run reads."""

    corpus: str
    heldout: str | None = None
    start_run: str | None = None


class PlanRecord(msgspec.Struct):
    """What ``plan.json`` holds."""

    finished: bool
    plan: RunPlan
    fingerprints: Fingerprints


def plan_record(plan: RunPlan, *, finished: bool = False) -> dict[str, Any]:
    """The plan as JSON, with fingerprints of all that it reads.

    The scheduler is left out, so that a plan cannot lead its reader to a stranger's scheduler.
    """
    given = msgspec.to_builtins(replace(plan, base=plan.base.absolute()), enc_hook=str)
    return {
        "format_version": PLAN_VERSION,
        "finished": finished,
        "plan": {name: given[name] for name in STORED},
        "fingerprints": _fingerprints(plan),
    }


def plan_of(record: Mapping[str, Any], path: Path) -> RunPlan:
    """The plan again, to train into its folder wherever that is now; RunError if damaged."""
    names = record.get("plan")
    strangers = sorted(set(names) ^ STORED) if isinstance(names, dict) else []
    if strangers:
        where = f"{path}, plan.{strangers[0]}"
        raise STATE_DAMAGE.of(where, found="an entry too many or none", wanted="a whole plan")
    return decoded(record, PlanRecord, str(path), STATE_DAMAGE).plan


def check_data(plan: RunPlan, record: Mapping[str, Any]) -> None:
    """RunError if the data are others than when training began."""
    before = record["fingerprints"]
    for name, fingerprint in _fingerprints(plan).items():
        if before.get(name) != fingerprint:
            path = plan.at(getattr(plan, name))
            wanted = "what the run was trained on so far"
            raise RunError(str(path), found="other data", wanted=wanted, hint="Train anew.")


STORED = {each.name for each in fields(RunPlan)} - {"scheduler"}


def _fingerprints(plan: RunPlan) -> dict[str, str]:
    files = {
        "corpus": plan.at(plan.corpus) / MANIFEST,
        "heldout": None if plan.heldout is None else plan.at(plan.heldout) / MANIFEST,
        "start_run": None if plan.start_run is None else plan.at(plan.start_run) / ARRAYS_FILE,
    }
    return {name: file_sha256(path) for name, path in files.items() if path is not None}

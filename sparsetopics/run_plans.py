"""What a training run was asked to be, and how its folder tells that to whoever goes on with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sparsetopics.checkpoints import FORMAT_VERSION, check_version, decode, encode
from sparsetopics.corpora.manifest import FILE_NAME as MANIFEST
from sparsetopics.corpora.manifest import file_sha256
from sparsetopics.errors import OptionError, RunError
from sparsetopics.memo import Memo
from sparsetopics.options import RESIDENT_PAIRS, ExecutorName, TrainingOptions, Workplace
from sparsetopics.run_files import ARRAYS_FILE, check_entries


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

    def at(self, path: Path) -> Path:
        """Where ``path`` is, wherever this process runs."""
        return self.base / path


def plan_record(plan: RunPlan, *, finished: bool = False) -> dict[str, Any]:
    """The plan as JSON, with fingerprints of all that it reads."""
    given = {field.name: getattr(plan, field.name) for field in fields(plan)}
    given["base"] = plan.base.absolute()
    return {
        "format_version": FORMAT_VERSION,
        "finished": finished,
        "plan": encode(given, {}),
        "fingerprints": _fingerprints(plan),
    }


def plan_of(record: Mapping[str, Any], path: Path) -> RunPlan:
    """The plan again, to train into its folder wherever that is now; RunError if damaged."""
    check_version(path, record)
    check_entries(path, record, {"plan": dict, "finished": bool, "fingerprints": dict})
    try:
        return RunPlan(**decode(record["plan"], {}, Memo(path.parent)))
    except (TypeError, KeyError, ValueError, IndexError, AttributeError, StopIteration) as error:
        found = f"a damaged plan ({error})"
        raise RunError(str(path), found=found, wanted="what training wrote") from error


def check_data(plan: RunPlan, record: Mapping[str, Any]) -> None:
    """RunError if the data are others than when training began."""
    before = record["fingerprints"]
    for name, fingerprint in _fingerprints(plan).items():
        if before.get(name) != fingerprint:
            path = plan.at(getattr(plan, name))
            wanted = "what the run was trained on so far"
            raise RunError(str(path), found="other data", wanted=wanted, hint="Train anew.")


def _fingerprints(plan: RunPlan) -> dict[str, str]:
    files = {
        "corpus": plan.at(plan.corpus) / MANIFEST,
        "heldout": None if plan.heldout is None else plan.at(plan.heldout) / MANIFEST,
        "start_run": None if plan.start_run is None else plan.at(plan.start_run) / ARRAYS_FILE,
    }
    return {name: file_sha256(path) for name, path in files.items() if path is not None}

"""Many cases of many readers in a process of its own, which is replaced when it dies or hangs."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fuzz.all_subjects import sandbox_of
from fuzz.cases import WAITING, Outcome, Sandbox
from fuzz.limits import MEMORY, forbid_writing_outside, free_memory, limit_memory, peak_memory

COLUMNS = ("done", "refused", "accepted", "crashes", "milliseconds", "is_running")
PATIENCE = 2 * WAITING  # before a process that makes no progress is killed
AT_ONCE = 50  # cases that share a limit of memory
MOST_CRASHES = 100  # of a reader, before it is left alone


class Campaign(NamedTuple):
    """What is to be tried."""

    reader: str
    n_cases: int
    seed: int
    kept: Path  # folder for what crashes

    @property
    def row_file(self) -> Path:
        return self.kept / f"row-{self.reader}.bin"

    def row(self) -> np.memmap:
        """How it stands, in ``COLUMNS``, shared by this process and the one that tries."""
        mode = "r+" if self.row_file.exists() else "w+"
        return np.memmap(self.row_file, np.int64, mode, shape=(len(COLUMNS),))


def watch(campaign: Campaign, command: Sequence[str]) -> np.ndarray:
    """Have processes started by ``command`` run all cases; the row as it is in the end."""
    campaign.row_file.unlink(missing_ok=True)
    row = campaign.row()
    while row[0] < campaign.n_cases:
        with subprocess.Popen(command) as process:
            seen, since = -1, time.monotonic()
            while process.poll() is None:
                time.sleep(0.2)
                if row[0] != seen or not row[5]:  # or the reader is being prepared
                    seen, since = int(row[0]), time.monotonic()
                elif time.monotonic() - since > PATIENCE:
                    process.kill()
        if process.returncode and not row[5]:
            _judge_end(campaign, int(row[0]), process.returncode)
    return np.array(row)


def _judge_end(campaign: Campaign, n_done: int, status: int) -> None:
    """What it means that a process ended with ``status`` while no case ran."""
    if n_done < campaign.n_cases:
        raise SystemExit(f"{campaign.reader}: the process that fuzzes does not start: {status}")
    # Arrow's threads may abort a process that exits; that says nothing about the reader
    said = f"{campaign.reader}: the process ended with {status} after its last case"
    print(said, file=sys.stderr, flush=True)


def work(campaign: Campaign) -> None:
    """Run the cases that are left, in this process."""
    room = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=room) as scratch:
        tempfile.tempdir = scratch
        forbid_writing_outside(Path(scratch), campaign.kept)
        free_memory()
        row = campaign.row()
        _run(campaign, _warm(campaign.reader, Path(scratch), campaign.seed), row)
        free_memory()  # libraries that tidy up at the exit need some
        said = f"{campaign.reader}: {row[0]:,} cases, {row[3]} crashes"
        print(said, file=sys.stderr, flush=True)


def _warm(reader: str, scratch: Path, seed: int) -> Sandbox:
    """What is loaded or compiled late is so now, before memory is measured."""
    (scratch / reader).mkdir()
    sandbox = sandbox_of(reader, scratch / reader, seed)
    sandbox.subject.read(sandbox.folder)
    sandbox.subject.read_rarely(sandbox.folder)
    return sandbox


def _run(campaign: Campaign, sandbox: Sandbox, row: np.ndarray) -> None:
    if row[5]:  # the process before this one died of it
        _count(campaign, sandbox, row, Outcome("the process died, or was killed as it hung"))
    for tried in count():
        if row[0] >= campaign.n_cases:
            break
        if tried % AT_ONCE == 0:
            limit_memory()  # anew: Arrow's zstd leaks some address space with every error
        row[5] = 1
        began = time.monotonic()
        outcome = sandbox.run(int(row[0]))
        row[4] += round(1000 * (time.monotonic() - began))
        if not outcome.crash and peak_memory() > MEMORY:
            outcome = Outcome(f"{peak_memory():,} bytes of memory")
        _count(campaign, sandbox, row, outcome)


def _count(campaign: Campaign, sandbox: Sandbox, row: np.ndarray, outcome: Outcome) -> None:
    number = int(row[0])
    if outcome.crash:
        case = sandbox.case(number)
        name = f"{sandbox.name}-{campaign.seed}-{number}-{Path(case.file).name}"
        (campaign.kept / name).write_bytes(case.data)
        print(f"{sandbox.name}, case {number}: {outcome.crash}", file=sys.stderr, flush=True)
    row[0], row[5] = number + 1, 0
    row[3 if outcome.crash else 1 if outcome.is_refused else 2] += 1
    if row[3] >= MOST_CRASHES:
        row[0] = campaign.n_cases

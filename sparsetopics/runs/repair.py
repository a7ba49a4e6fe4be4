"""Completing or clearing what a killed command left at its output."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sparsetopics.base.errors import OutputError
from sparsetopics.base.staging import refusing
from sparsetopics.base.transactions import APPEND_FOLDER, JOB, STATE_FOLDER, Workspace
from sparsetopics.runs.training_folder import clear_finished, is_training


class Repaired(NamedTuple):
    """What was done about an output."""

    was_completed: bool  # it was committed and is now in place
    was_cleared: bool  # an unfinished output was removed
    continued_by: str  # the command that continues kept work, or ""


def repair(path: Path) -> Repaired:
    """Move committed output at ``path`` into place, and clear uncommitted output.

    Interrupted training or ingest stays, since a command can continue it.
    Raises OutputError if nothing is at ``path``, if another process works there, or if the disk
    refuses.
    """
    beside, state = Workspace.beside(path), Workspace.inside(path, STATE_FOLDER)
    append = Workspace.inside(path, APPEND_FOLDER)
    with refusing(path):
        left = [workspace for workspace in (beside, append, state) if workspace.is_left]
        if not left and not path.exists():
            wanted = "an output, or what a command left beside it"
            raise OutputError(str(path), found="nothing", wanted=wanted)
        was_pending = any(workspace.is_pending for workspace in left)
        beside.settle()
        append.settle()
        state.finish()
    if is_training(path):
        with refusing(path), state.held("trains there"):
            pass
    else:
        clear_finished(path)
    continued_by = ""
    if (beside.folder / JOB).exists():
        continued_by = "the same `sparsetopics ingest`"
    elif is_training(path):
        continued_by = f"`sparsetopics resume {path}`"
    was_cleared = any(not workspace.folder.exists() for workspace in left)
    return Repaired(was_pending, was_cleared and not was_pending, continued_by)

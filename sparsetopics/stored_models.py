"""Which kind of model a run folder holds."""

from __future__ import annotations

from pathlib import Path

from sparsetopics.options import MIXTURES
from sparsetopics.run_files import SETTINGS_FILE, load_settings
from sparsetopics.runs import MODEL_NAMES, check_folder


def is_mixture_run(path: Path) -> bool:
    """Whether the run at ``path`` is a mixture; RunError if it is no run at all."""
    check_folder(path)
    settings = load_settings(path / SETTINGS_FILE, (*MODEL_NAMES, *MIXTURES))
    return settings["model"] in MIXTURES

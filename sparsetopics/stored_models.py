"""Run folders of any kind of model."""

from __future__ import annotations

from pathlib import Path

from sparsetopics.mixture_runs import MixtureRun, load_mixture_run
from sparsetopics.options import MIXTURES
from sparsetopics.run_files import SETTINGS_FILE, load_settings
from sparsetopics.runs import MODEL_NAMES, Run, check_folder, load_run


def load_any_run(path: Path) -> Run | MixtureRun:
    """Read a run folder; RunError names the first thing that is missing or damaged."""
    return load_mixture_run(path) if is_mixture_run(path) else load_run(path)


def is_mixture_run(path: Path) -> bool:
    """Whether the run at ``path`` is a mixture; RunError if it is no run at all."""
    check_folder(path)
    settings = load_settings(path / SETTINGS_FILE, (*MODEL_NAMES, *MIXTURES))
    return settings["model"] in MIXTURES

"""Recognize the folders that sparsetopics has made, and may therefore replace."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from sparsetopics.base.outputs import FolderKind
from sparsetopics.base.safe_reading import parse_json, read_small
from sparsetopics.base.staging import stranger_in
from sparsetopics.base.transactions import APPEND_FOLDER, STATE_FOLDER, Workspace

_CORPUS_FILES = re.compile(
    r"manifest\.json|(vocabulary|candidates)\.parquet|projection\.safetensors"
    r"|(shard|texts|fields)-\d{5,}\.parquet"
)
_RUN_FILES = re.compile(
    r"model\.(json|safetensors)|themes\.json|trace\.jsonl|(config|edits)\.toml"
    r"|vocabulary\.parquet"
)
_PATH_FILES = re.compile(r"(path|tree)\.json|config\.toml")
_PLAN = f"{STATE_FOLDER}/plan.json"
_BEFORE_AFTER = "-before-after.png"


def is_sparsetopics_json(path: Path) -> bool:
    """Whether a regular file is JSON that commands write: an object with a format version."""
    try:
        content = parse_json(read_small(path))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "format_version" in content


def _folder_of(
    noun: str,
    known: re.Pattern[str],
    records: Sequence[str],
    workspace: str,
    numbered: FolderKind | None = None,
) -> FolderKind:
    """Folders of files with known names, including one of ``records``, and perhaps a workspace.

    ``numbered`` is the kind of the folders in them whose names are numbers.
    """

    def is_own(path: Path) -> bool:
        if path.name == workspace:
            return path.is_dir() and not Workspace(path).strangers
        if numbered is not None and path.name.isdecimal():
            return numbered.matches(path)
        return path.is_file() and bool(known.fullmatch(path.name))

    def stranger(folder: Path) -> str:
        record = next((name for name in records if (folder / name).exists()), records[-1])
        if not is_sparsetopics_json(folder / record):
            return f"a folder that is not {noun}"
        return _other_than(folder, noun, is_own)

    return FolderKind(noun, stranger)


def _other_than(folder: Path, noun: str, is_own: Callable[[Path], bool]) -> str:
    """Describe what does not belong in the folder, or return ""."""
    for path in sorted(folder.iterdir()):
        if not is_own(path):
            return f"{path.name}, which is not part of {noun}"
    link = stranger_in(folder)
    return f"the link or device {link}" if link else ""


CORPUS = _folder_of("a corpus folder", _CORPUS_FILES, ["manifest.json"], APPEND_FOLDER)
RUN = _folder_of("a run folder", _RUN_FILES, ["model.json"], STATE_FOLDER)
TOPIC_PATH = _folder_of("a topic path", _PATH_FILES, ["path.json", _PLAN], STATE_FOLDER, RUN)


def _stranger_of_quickstart(folder: Path) -> str:
    kinds = {"run": RUN, "corpus": CORPUS, "train": CORPUS, "heldout": CORPUS}

    def is_own(path: Path) -> bool:
        kind = kinds.get(path.name)
        return kind.matches(path) if kind else path.name == "report.html" and path.is_file()

    if not RUN.matches(folder / "run"):
        return "a folder that quickstart did not make"
    return _other_than(folder, "an output of quickstart", is_own)


def _stranger_of_denoised(folder: Path) -> str:
    def is_own(path: Path) -> bool:
        """Each image must have a picture of before and after beside it, and the reverse."""
        if path.is_dir():
            return any(path.iterdir())
        other = path.name.removesuffix(_BEFORE_AFTER) + ".png"
        if not path.name.endswith(_BEFORE_AFTER):
            other = f"{path.stem}{_BEFORE_AFTER}"
        return path.suffix == ".png" and path.with_name(other).is_file()

    places = (Path(parent) for parent, *_ in os.walk(folder))
    strangers = (_other_than(place, "an output of denoise", is_own) for place in places)
    return next(filter(None, strangers), "")


def own_folder_around(path: Path) -> Path | None:
    """The nearest corpus, run or topic path in whose folder ``path`` lies, finished or not."""
    records = ("manifest.json", "model.json", "path.json", _PLAN)
    own = (p for p in path.parents if any(is_sparsetopics_json(p / name) for name in records))
    return next(own, None)


QUICKSTART = FolderKind("an output of quickstart", _stranger_of_quickstart)
DENOISED = FolderKind("an output of denoise", _stranger_of_denoised)

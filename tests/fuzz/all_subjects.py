"""Every reader and loader by name."""

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz import corpus_subjects, document_subjects, resume_subjects, run_subjects, vector_subjects
from fuzz.cases import Sandbox
from fuzz.subject import Subject

SUBJECTS: Mapping[str, Callable[[Path], Subject]] = {
    **document_subjects.SUBJECTS,
    **vector_subjects.SUBJECTS,
    **corpus_subjects.SUBJECTS,
    **run_subjects.SUBJECTS,
    **resume_subjects.SUBJECTS,
}


def sandbox_of(name: str, folder: Path, seed: int) -> Sandbox:
    """A sandbox in ``folder``, which is empty."""
    with TemporaryDirectory() as scratch:
        return Sandbox(name, SUBJECTS[name](Path(scratch)), folder, seed)

"""What is written appears as a whole or not at all, and a disk that refuses is told in one line."""

import errno

import pytest

from sparsetopics.errors import OutputError
from sparsetopics.staging import staged_file, staged_folder

FULL = OSError(errno.ENOSPC, "No space left on device")
TOLD = r"^[^\n]*out: found No space left on device[^\n]*$"


def fail_half_way(staged, out):
    with staged(out, overwrite=False) as scratch:
        half = scratch / "a" if scratch.is_dir() else scratch
        half.write_text("half")
        raise FULL


@pytest.mark.parametrize("staged", [staged_file, staged_folder])
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, staged):
    with pytest.raises(OutputError, match=TOLD):
        fail_half_way(staged, tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_from_the_start(tmp_path, monkeypatch):
    def refuse(**_):
        raise FULL

    monkeypatch.setattr("sparsetopics.staging.tempfile.mkdtemp", refuse)

    with pytest.raises(OutputError, match=TOLD):
        fail_half_way(staged_folder, tmp_path / "out")

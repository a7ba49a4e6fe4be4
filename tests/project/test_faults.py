"""``benchmarks/faults.py`` counts the faults that commands do not meet as they should."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from forked_commands import Ended
from write_kills import faults_in

ROOT = Path(__file__).parents[2]
ERROR = "Error: out: cannot write here.\n"
WARNING = "Warning: topics get new ids.\n"


@pytest.mark.parametrize(
    ("status", "said", "is_fault"),
    [
        (0, "", False),
        (0, WARNING, False),
        (1, ERROR, False),
        (1, WARNING + ERROR, False),
        (1, "", True),
        (1, ERROR * 2, True),
        (1, ERROR + WARNING, True),
        (1, "Traceback (most recent call last):\n" + ERROR, True),
        (0, "a.py:3: RuntimeWarning: overflow encountered\n", True),
        (0, ERROR, True),
        (70, ERROR, True),
        (-9, "", True),
    ],
)
def test_a_refusal_is_one_line(status, said, is_fault):
    ended = Ended(status, "", said, seconds=0.0, peak=0, events=[])

    assert bool(list(faults_in(ended, (0, 1)))) == is_fault


def test_faults_of_a_command_are_counted(tmp_path):
    script = ROOT / "benchmarks" / "faults.py"
    if not script.is_file():
        pytest.skip("needs benchmarks/, which the source archive leaves out")
    folders = (ROOT, ROOT / "tests", script.parent)
    places = [*map(str, folders), os.environ.get("PYTHONPATH", "")]

    found = subprocess.run(
        [sys.executable, str(script), "--commands=corpus info", "--flips=4", "--forgeries=4",
         f"--folder={tmp_path}"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip

    assert found.returncode == 0, found.stdout + found.stderr
    assert "corpus info: failed 0, flips 8, flips_failed 0" in found.stdout
    assert list(tmp_path.iterdir()) == []

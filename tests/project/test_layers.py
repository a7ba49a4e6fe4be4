"""The contracts in pyproject.toml hold, and a violation of them is found."""

import os
import shutil
import subprocess
import sys

import pytest

from code_sizes import FOLDERS, ROOT

pytest.importorskip("importlinter", reason="needs import-linter, which the extra lint installs")
if not (ROOT / "pyproject.toml").exists():
    pytest.skip("needs pyproject.toml", allow_module_level=True)


IF_CHECKED = "if TYPE_CHECKING:\n    {}"
IN_FUNCTION = "def f():\n    {}"


def check_layers(tree):
    command = "import sys; from importlinter.cli import lint_imports_command as c; c(sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", command, "--no-cache"],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def tree(tmp_path):
    """A copy of the library that a test may change."""
    for folder in FOLDERS:
        only_sources = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=only_sources)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold():
    checked = check_layers(ROOT)

    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("file", "line", "start"),
    [
        ("sparsetopics/base/errors.py", "from sparsetopics.options import training", "{}"),
        ("sparsetopics/inference/laps.py", "from sparsetopics.corpora import corpus", IN_FUNCTION),
        ("corpora/batching.py", "from sparsetopics.model import statistics", IF_CHECKED),
        ("corpora/sources/sources.py", "from sparsetopics.corpora.text import tokenizer", "{}"),
        ("evaluation/report/report.py", "from sparsetopics.evaluation import evaluate", "{}"),
    ],
)
def test_an_import_from_above_is_found(tree, file, line, start):
    with (tree / file).open("a") as stream:
        stream.write("\n" + start.format(line) + "\n")

    checked = check_layers(tree)

    assert checked.returncode == 1, checked.stderr
    assert "BROKEN" in checked.stdout


def test_a_circle_of_modules_is_found(tree):
    for name, other in (("one", "two"), ("two", "one")):
        (tree / "cli" / f"{name}.py").write_text(f"from sparsetopics.cli import {other}\n")

    checked = check_layers(tree)

    assert checked.returncode == 1, checked.stderr
    assert "cli" in checked.stdout.partition("No cycles are allowed")[2]


def test_a_new_folder_needs_a_place(tree):
    (tree / "sparsetopics" / "attic").mkdir()
    (tree / "sparsetopics" / "attic" / "__init__.py").touch()

    assert "attic" in check_layers(tree).stdout

"""Where compiled kernels are kept, and what is said where they cannot be."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import pytest

import sparsetopics
from code_sizes import source_files
from sparsetopics.base import kernel_cache
from sparsetopics.base.errors import OutputError, SparsetopicsWarning
from sparsetopics.base.kernel_cache import choose_cache_folder
from sparsetopics.cli import warmup

SAID = (
    "Compiled kernels are kept in a temporary folder until this process ends, because no other "
    "folder for them can be written to. Set NUMBA_CACHE_DIR to a folder that you can write to."
)
FOLDERS_OF_KERNELS = ("kernels", "corpora/text", "corpora/readers")


@pytest.fixture
def nothing_chosen(monkeypatch):
    """What is chosen is forgotten after the test, in which nothing is chosen yet."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", "anything")  # or it would not be put back
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr(numba.config, "CACHE_DIR", numba.config.CACHE_DIR)


@pytest.fixture
def module(nothing_chosen, monkeypatch, tmp_path):
    """A file with kernels, beside which nothing can be written, for root neither."""
    (tmp_path / "__pycache__").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return str(tmp_path / "kernels.py")


def test_kernels_of_a_read_only_installation_go_to_the_users_cache(module, tmp_path):
    choose_cache_folder(module)

    chosen = os.environ["NUMBA_CACHE_DIR"]
    assert chosen.startswith(str(tmp_path / "cache" / "sparsetopics"))
    assert os.path.isdir(chosen)
    assert chosen == numba.config.CACHE_DIR


def test_without_a_home_kernels_go_to_a_private_temporary_folder(module, tmp_path):
    (tmp_path / "cache").touch()

    with pytest.warns(SparsetopicsWarning) as said:
        choose_cache_folder(module)
    choose_cache_folder(module)  # says nothing more

    assert [str(each.message) for each in said] == [SAID]
    assert os.stat(os.environ["NUMBA_CACHE_DIR"]).st_mode & 0o077 == 0


def test_kernels_in_a_folder_that_cannot_be_written_are_read(module, monkeypatch, tmp_path):
    (tmp_path / "cache").touch()
    compiled = tmp_path / "chosen" / "kernels_1"
    compiled.mkdir(parents=True)
    for name in ("step-1.py311.nbi", "step-1.py311.1.nbc", "else.txt"):
        (compiled / name).write_text(name)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    monkeypatch.setattr(kernel_cache, "_is_writable", lambda folder: False)

    with pytest.warns(SparsetopicsWarning):
        choose_cache_folder(module)

    copied = {path.name: path.read_text() for path in Path(numba.config.CACHE_DIR).glob("*/*")}
    assert copied == {name: name for name in ("step-1.py311.nbi", "step-1.py311.1.nbc")}
    assert compiled.name in os.listdir(numba.config.CACHE_DIR)


def test_without_any_folder_that_is_an_error(module, monkeypatch, tmp_path):
    (tmp_path / "cache").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "cache"))

    with pytest.raises(OutputError, match="compiled kernels: no folder for them was found"):
        choose_cache_folder(module)


def test_a_folder_the_user_chose_stays(module, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))

    choose_cache_folder(module)

    assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path / "chosen")


def test_a_folder_that_cannot_be_written_does_not(module, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", module + "/below/a/file")
    Path(module).touch()

    choose_cache_folder(module)

    assert os.environ["NUMBA_CACHE_DIR"].startswith(str(tmp_path / "cache"))


@pytest.mark.usefixtures("nothing_chosen")
def test_a_writable_installation_keeps_its_kernels_beside_the_sources(tmp_path):
    choose_cache_folder(str(tmp_path / "kernels.py"))

    assert "NUMBA_CACHE_DIR" not in os.environ


@pytest.mark.usefixtures("nothing_chosen")
def test_kernels_beside_the_sources_are_found(monkeypatch, tmp_path):
    monkeypatch.setattr(warmup, "__file__", str(tmp_path / "cli" / "warmup.py"))
    assert not warmup.kernels_are_kept()

    compiled = tmp_path / "kernels" / "__pycache__"
    compiled.mkdir(parents=True)
    (compiled / "documents.step-1.py311.nbi").touch()

    assert warmup.kernels_are_kept()


# --- the settings of numba in the current folder, which may be a stranger's -----------------------
SETTINGS = """
import sparsetopics.kernels.documents
import numba, os, yaml
numba.njit(lambda: 1)()  # reads the settings again
print(os.path.basename(numba.config.CACHE_DIR), numba.config.DISABLE_JIT, yaml.safe_load("a: 1"))
"""


@pytest.mark.parametrize("before", ["", "import numba", "import yaml"])
def test_numba_takes_no_settings_from_the_current_folder(tmp_path, before):
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: ./kern\ndisable_jit: 1\n")
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}

    done = run(environment, "-c", before + SETTINGS, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, " 0 {'a': 1}\n"), done.stderr


def test_numba_is_imported_in_one_place():
    imports = re.compile(r"^\s*(import|from) numba\b", re.MULTILINE)
    importers = [path.name for path in source_files() if imports.search(path.read_text())]

    assert importers == ["kernel_cache.py"]


# --- as a user meets it ---------------------------------------------------------------------------
@pytest.fixture
def read_only(tmp_path):
    """The environment of a user who can write neither the installation nor a home."""
    installed = tmp_path / "installed" / "sparsetopics"
    source = Path(sparsetopics.__file__).parent
    shutil.copytree(source, installed, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in FOLDERS_OF_KERNELS:
        (installed / folder / "__pycache__").touch()
    (tmp_path / "file").touch()
    (tmp_path / "temporary").mkdir()
    nowhere = str(tmp_path / "file" / "below")
    environment = os.environ | {
        "PYTHONPATH": str(installed.parent),
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": nowhere,
        "XDG_CACHE_HOME": nowhere,
        "NUMBA_CACHE_DIR": nowhere,
        "TMPDIR": str(tmp_path / "temporary"),
    }
    yield environment
    assert list((tmp_path / "temporary").iterdir()) == []


def run(environment, *words, cwd=None):
    return subprocess.run(
        [sys.executable, *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        cwd=cwd,
    )


def test_commands_run_where_nothing_can_be_written(run_folder, read_only):
    done = run(read_only, "-m", "sparsetopics.cli", "topics", run_folder)

    assert (done.returncode, done.stderr) == (0, f"Warning: {SAID}\n")
    assert done.stdout.startswith("topic ")


def test_warmup_says_what_is_in_vain(read_only):
    del read_only["NUMBA_CACHE_DIR"]  # nor has this user chosen a folder
    code = (
        "from sparsetopics.cli import main, warmup\n"
        "warmup.STEPS = {'nothing': ()}\n"
        "main.main(['warmup'])\n"
    )
    done = run(read_only, "-c", code)

    assert (done.returncode, done.stderr) == (0, f"Warning: {SAID}\n1 of 1: nothing\n")


def test_python_runs_where_nothing_can_be_written(run_folder, read_only):
    code = "import sys, sparsetopics; print(sparsetopics.load(sys.argv[1]).n_components)"
    done = run(read_only, "-c", code, run_folder)

    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr
    assert done.stderr.count(SAID) == 1

"""How tests share the processors."""

import os
import subprocess
import sys

import pytest

import sparsetopics
from processes import AT_COLLECTION, ROOT, KernelCompiler, n_workers, wait_for_kernels


@pytest.mark.parametrize("folder", [ROOT, ROOT / "tests"])
def test_children_import_what_the_tests_import(folder):
    """In the checkout too, whose sources are not those that are installed."""
    done = subprocess.run(
        [sys.executable, "-c", "import sparsetopics; print(sparsetopics.__file__)"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )

    assert os.path.realpath(done.stdout.strip()) == os.path.realpath(sparsetopics.__file__)


def test_a_single_file_has_no_workers():
    assert n_workers([f"{__file__}::test_a", f"{__file__}::test_b"]) == 0
    assert n_workers([__file__, str(ROOT / "tests" / "project" / "test_docs.py")]) >= 1
    assert n_workers([str(ROOT / "tests")]) >= 1


@pytest.mark.parametrize("status", [0, 3])
def test_workers_wait_until_kernels_are_compiled_or_cannot_be(tmp_path, status):
    command = ["sh", "-c", f"sleep 0.2; touch {tmp_path / 'compiled'}; exit {status}"]
    compiler = KernelCompiler(command)

    wait_for_kernels(compiler.lock)

    assert (tmp_path / "compiled").exists()
    compiler.stop()
    assert not compiler.lock.exists()


def test_who_stops_early_leaves_no_process(tmp_path):
    compiler = KernelCompiler(["sleep", "1000"])

    compiler.stop()

    assert compiler.process.poll() is not None


def test_no_module_of_tests_uses_a_kernel_when_it_is_imported(request):
    """Every worker would compile it, beside the process that compiles the kernels for all."""
    assert request.config.stash[AT_COLLECTION] == set()

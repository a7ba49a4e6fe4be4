"""Which tests reach a function, and whether they notice that it has changed.

Tests run once in this process and kernels are loaded on the way; each mutant is then a fork of it,
in which an import hook gives the changed source. No file is written.
"""

import ast
import importlib.util
import os
import resource
import signal
import sys
import threading
import time
from collections import defaultdict
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
QUIET = [
    "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml"), "--quiet", "--numprocesses=0",
    "-p", "no:cacheprovider",
]  # fmt: skip
PATIENCE = 3.0  # times the seconds of computing that the tests took, and
GRACE = 20.0  # seconds more: after that a mutant counts as noticed
STANDSTILL = 600.0  # seconds by the clock, of what computes nothing
MEMORY = 16 << 30  # bytes: what would take more fails


class Reached(NamedTuple):
    """What tests did when nothing was changed."""

    seconds: dict[str, float]  # of computing, of each test
    by_line: dict[tuple[str, int], set[str]]  # file, first line of a function: tests or test files


class Recorder:
    """A plugin of pytest that notes which test calls which function of some files."""

    def __init__(self, files: list[str]) -> None:
        self.files = frozenset(files)
        self.reached = Reached({}, defaultdict(set))
        self.current, self.began = "", 0.0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code.co_filename in self.files:
            self.reached.by_line[code.co_filename, code.co_firstlineno].add(self.current)

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        self.current = collector.nodeid.split("::")[0]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.current = nodeid.split("::")[0]  # a fixture may serve all tests of the file
        self.began = time.process_time()

    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self.current = item.nodeid

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.reached.seconds[nodeid] = time.process_time() - self.began


def reach(tests: list[str], files: list[str]) -> Reached:
    """Run ``tests``, which must pass, and say which of them reach what in ``files``."""
    recorder = Recorder(files)
    threading.settrace(recorder)  # type: ignore[arg-type]
    sys.settrace(recorder)  # type: ignore[arg-type]
    try:
        code = pytest.main([*QUIET, *tests], plugins=[recorder])
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
    if code != 0:
        raise SystemExit("tests fail without a mutant: mend them first")
    _forget_modules()
    return recorder.reached


def _forget_modules() -> None:
    """Of this checkout, but for the kernels: their compiled functions stay."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        is_kept = name.startswith(("sparsetopics._", "mutation", "__main__"))
        if file.startswith(str(ROOT)) and not is_kept:
            del sys.modules[name]


def tests_of(reached: Reached, path: Path, line: int) -> list[str]:
    """Tests that reach the function around ``line``; if there is none, those of the module."""
    first, last = _function_around(path.read_text(), line)
    names = set()
    for (file, start), found in reached.by_line.items():
        if file == str(path) and first <= start <= last:
            names |= found
    return [test for test in reached.seconds if test in names or test.split("::")[0] in names]


def _function_around(source: str, line: int) -> tuple[int, int]:
    """First and last line of the outermost function that has ``line``, or of everything."""
    for node in ast.walk(ast.parse(source)):  # the outermost come first
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
            first = min(part.lineno for part in (node, *node.decorator_list))
            if first <= line <= node.end_lineno:
                return first, node.end_lineno
    return 0, len(source)


class MutantLoader(SourceFileLoader):
    """Loads what a module would be."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self.source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source, self.path, "exec")


class MutantFinder:
    """Finds one module before anyone else does."""

    def __init__(self, name: str, path: str, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        loader = MutantLoader(name, self.path, self.source)
        return importlib.util.spec_from_file_location(name, self.path, loader=loader)


class Chosen:
    """A plugin of pytest that runs some tests, the fastest first."""

    def __init__(self, tests: list[str]) -> None:
        self.place = {test: i for i, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.place),
            key=lambda item: self.place[item.nodeid],
        )


def order(tests: list[str], seconds: dict[str, float], most: float, first: str) -> list[list[str]]:
    """Tests by file: ``first`` and then the fastest files, up to ``most`` seconds in all."""
    by_file = defaultdict(list)
    for test in sorted(tests, key=lambda test: seconds[test]):
        by_file[test.split("::")[0]].append(test)
    cost = {file: sum(seconds[test] for test in of_file) for file, of_file in by_file.items()}
    chosen, left = [], most
    for file in sorted(by_file, key=lambda file: (Path(file).stem != first, cost[file])):
        affordable = []
        for test in by_file[file]:
            if seconds[test] <= left:
                affordable.append(test)
                left -= seconds[test]
        chosen.append(affordable)
    return [tests for tests in chosen if tests]


def is_noticed(finder: MutantFinder, files: list[list[str]], seconds: float) -> bool:
    """Whether a test fails, or does not end, with the module changed."""
    child = os.fork()
    if child == 0:
        _run(finder, files, round(PATIENCE * seconds + GRACE))
    end = time.monotonic() + STANDSTILL
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status != 0
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def _run(finder: MutantFinder, files: list[list[str]], most_seconds: int) -> None:
    """In a child, which ends here."""
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (most_seconds, most_seconds))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        sys.meta_path.insert(0, finder)
        for tests in files:
            path = str(ROOT / tests[0].split("::")[0])
            code = int(pytest.main([*QUIET, "-x", path], plugins=[Chosen(tests)]))
            if code != 0:
                break
    finally:
        os._exit(code)

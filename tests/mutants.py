"""Test the tests: change the code in one place and see whether a test fails.

Install cosmic-ray (``pip install cosmic-ray``), then run, for example,
``python tests/mutants.py sparsetopics/model/statistics.py --sample 60``. Survivors and a table of
modules go to stdout, progress to stderr. No file is changed.
"""

import argparse
import os
import random
import sys
from pathlib import Path
from typing import NamedTuple

from mutation.mutators import Mutant, all_mutants
from mutation.trials import ROOT, MutantFinder, Reached, is_noticed, order, reach, tests_of

TESTS = (  # of the engine, without whole runs: they would hide what is not specified
    "assignments", "birth", "bounds", "cull", "delete", "document_counts", "hdp", "hyperparameters",
    "item_evidence", "ledger", "merge", "mixture_allocations", "modes", "mover", "mover_records",
    "nested", "pair_kernels", "phase", "reorder", "rival", "spread", "statistics",
    "sticks", "summary_kernels", "trimming", "verify", "word_evidence",
)  # fmt: skip


class Row(NamedTuple):
    """What became of a module's mutants."""

    module: str
    n_mutants: int
    n_tried: int
    n_killed: int


def main() -> int:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of many threads a fork has one
    sys.path.insert(0, str(ROOT))  # this checkout, whatever is installed
    given = arguments()
    tests = [str(path) for n in given.tests for path in (ROOT / "tests").rglob(f"test_{n}.py")]
    modules = [path.resolve() for path in given.modules]
    reached = reach(tests, [str(path) for path in modules])
    rows = [try_module(path, reached, given) for path in modules]
    print(f"\n{'module':<44}{'mutants':>8}{'tried':>8}{'killed':>8}{'score':>8}")
    for name, *cells in [
        *rows,
        Row("all", *map(sum, zip(*(row[1:] for row in rows), strict=True))),
    ]:
        n_tried, n_killed = cells[1:]
        counts = "".join(f"{cell:>8}" for cell in cells)
        print(f"{name:<44}{counts}{n_killed / max(n_tried, 1):>8.0%}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="+", type=Path, help="modules of plain Python, no kernels")
    parser.add_argument("--sample", type=int, default=60, help="random mutants of each module")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample")
    parser.add_argument("--line", type=int, action="append", help="only mutants of this line")
    parser.add_argument(
        "--tests", nargs="+", default=TESTS, help="tests to run, such as: bounds statistics"
    )
    parser.add_argument(
        "--seconds", type=float, default=15.0, help="time for the tests of a mutant"
    )
    return parser.parse_args()


def try_module(path: Path, reached: Reached, given: argparse.Namespace) -> Row:
    """All mutants of the sample, one after the other."""
    mutants = all_mutants(path.read_text())
    chosen = [mutant for mutant in mutants if given.line is None or mutant.line in given.line]
    chosen = sorted(random.Random(given.seed).sample(chosen, min(given.sample, len(chosen))))
    place, n_killed = path.relative_to(ROOT), 0
    for i, mutant in enumerate(chosen):
        if is_killed(path, mutant, reached, given.seconds):
            n_killed += 1
        else:
            print(f"{place}:{mutant.line}: {mutant.change}", flush=True)
        print(f"{place}: {i + 1} of {len(chosen)}", end="\r", file=sys.stderr)
    print(file=sys.stderr)
    return Row(str(place), len(mutants), len(chosen), n_killed)


def is_killed(path: Path, mutant: Mutant, reached: Reached, most: float) -> bool:
    """Whether tests that reach the change, up to ``most`` seconds of them, notice it."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    tests = tests_of(reached, path, mutant.line)
    files = order(tests, reached.seconds, most, f"test_{path.stem}")
    if not files:
        return False
    seconds = sum(reached.seconds[test] for of_file in files for test in of_file)
    return is_noticed(MutantFinder(module, str(path), mutant.source), files, seconds)


if __name__ == "__main__":
    sys.exit(main())

"""Fuzz every reader and loader: ``python tests/fuzz_all.py --cases 10000``.

The table goes to stdout and progress to stderr. The inputs that crash are kept in ``--keep``.
Reader, seed and number determine a case: ``--only NUMBER`` runs one again and shows its traceback.
"""

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp

THREADS = {  # without which address space says little about memory
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "ARROW_IO_THREADS": "1",
}


def main() -> int:
    os.environ.update(THREADS)  # read when the libraries are loaded
    from fuzz.all_subjects import SUBJECTS
    from fuzz.campaign import Campaign, watch, work

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="number of cases for each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", action="append", choices=tuple(SUBJECTS))
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count(), help="number of processes at a time"
    )
    parser.add_argument("--keep", type=Path, help="folder for inputs that crash")
    parser.add_argument("--only", type=int, help="number of one case to run again")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    kept = (given.keep or Path(mkdtemp(prefix="fuzz-crashes-"))).absolute()
    kept.mkdir(parents=True, exist_ok=True)
    readers = given.reader or tuple(SUBJECTS)
    if given.only is not None:
        return run_again(readers[0], given.seed, given.only)
    campaigns = [Campaign(reader, given.cases, given.seed, kept) for reader in readers]
    if given.worker:
        work(campaigns[0])
        return 0

    def tried(campaign: Campaign) -> list[int]:
        command = [sys.executable, __file__, "--worker", "--cases", str(given.cases), "--seed",
                   str(given.seed), "--keep", str(kept), "--reader", campaign.reader]  # fmt: skip
        return watch(campaign, command).tolist()

    with ThreadPoolExecutor(given.processes) as threads:
        table = list(threads.map(tried, campaigns))
    print(f"{'reader':<18}{'cases':>9}{'refused':>9}{'accepted':>9}{'crashes':>9}{'seconds':>9}")
    for name, (_, *counts, milliseconds, _) in zip(readers, table, strict=True):
        cells = (sum(counts), *counts, milliseconds // 1000)
        print(f"{name:<18}" + "".join(f"{cell:>9}" for cell in cells))
    n_crashes = sum(row[3] for row in table)
    print(f"{n_crashes} crashes" + (f", kept in {kept}" if n_crashes else ""))
    return 1 if n_crashes else 0


def run_again(reader: str, seed: int, number: int) -> int:
    """One case, whose error is raised."""
    from tempfile import TemporaryDirectory

    from fuzz.all_subjects import sandbox_of

    with TemporaryDirectory() as scratch:
        sandbox = sandbox_of(reader, Path(scratch), seed)
        case = sandbox.case(number)
        (sandbox.folder / case.file).write_bytes(case.data)
        if case.is_sealed:
            sandbox.subject.seal(sandbox.folder)
        print(f"{case.file}: {case.data[:2000]!r}", file=sys.stderr)
        sandbox.subject.read(sandbox.folder)
        sandbox.subject.read_rarely(sandbox.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Try the lowest versions that pyproject.toml allows, and the archives that would be published.

An archive of the sources is built, a wheel from it, and the wheel is installed with exactly the
lowest version of everything that pyproject.toml names. Then quickstart and most tests run, where
only the wheel and the archive are at hand.
"""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from collections.abc import Iterable

from two_commands import ROOT, try_command

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
BOUND = re.compile(r"([\w-]+(?:\[[\w,]+\])?)>=([\d.]+)")
APART = ("lint",)  # import-linter needs a newer rich
# Tests of our own arithmetic and of killed processes, which take half the time of all.
LEFT_OUT = (
    *("*kernels", "dask*", "expanding_files", "fuzz", "lost_scheduler", "outputs", "scikit_learn"),
    *("same_bits_on_processors", "swapped_files", "unfinished", "validated_number", "warmup"),
)
WARNINGS = (
    "ignore::pyparsing.warnings.PyparsingDeprecationWarning",  # matplotlib before 3.10.7
    "ignore:You are using a Python version:FutureWarning",  # google-api-core, for gcsfs
)
COMMAND = """\
pip install --quiet {build}
python -c 'from setuptools.build_meta import build_sdist; build_sdist("../dist")'
pip wheel --quiet --no-deps --no-build-isolation --wheel-dir ../dist ../dist/*.tar.gz
pip install --quiet --no-compile ../dist/*.whl {pins}
mkdocs build --quiet --strict --site-dir ../site
cd .. && rm -r sparsetopics && mkdir elsewhere && (cd elsewhere && sparsetopics quickstart)
tar --extract --file dist/*.tar.gz && cd sparsetopics-*/ && pytest {options}
"""


def pinned(requirements: Iterable[str]) -> list[str]:
    """The requirements at their lowest versions. Raises ValueError for one without a version."""
    pins = []
    for requirement in requirements:
        found = BOUND.fullmatch(requirement)
        if found is None:
            raise ValueError(f"pyproject.toml: write {requirement!r} as name>=version")
        pins.append("==".join(found.groups()))
    return sorted(set(pins))


def command() -> str:
    """The commands of bash that try the lowest versions."""
    extras = [each for name, extra in EXTRAS.items() if name not in APART for each in extra]
    options = [f"--ignore-glob=*/test_{name}.py" for name in LEFT_OUT]
    options += [word for warning in WARNINGS for word in ("-W", warning)]
    return COMMAND.format(
        build=shlex.join(pinned(PYPROJECT["build-system"]["requires"])),
        pins=shlex.join(pinned([*PROJECT["dependencies"], *extras])),
        options=shlex.join(options),
    )


def main() -> int:
    here = ">={}.{}".format(*sys.version_info)
    if here != PROJECT["requires-python"]:
        print(f"skipped: needs the lowest Python, but this is {here[2:]}", file=sys.stderr)
        return 0
    return 0 if try_command(command()) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Run the commands under "Two commands" in README.md, as a newcomer would.

Each gets a copy of this tree (all that git does not ignore) in a folder that nobody else may enter,
its own Python environment, an empty home and cold caches. The only environment variables passed on
are those needed to find programs and to reach a package index. Status 1 if a command fails.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECTION = "## Two commands\n"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
KEPT = re.compile(r"PATH|LANG|LC_.*|CI|PIP_(?!CACHE_DIR).*|SSL_CERT_.*|\w+_PROXY", re.IGNORECASE)


def commands(readme: str) -> list[str]:
    """The blocks of shell in the section. Raises ValueError unless there are two."""
    _, _, rest = readme.partition(SECTION)
    section, *_ = rest.split("\n## ")
    found = BLOCK.findall(section)
    if len(found) != 2:
        raise ValueError(f"README.md: found {len(found)} blocks of sh under {SECTION.strip()!r}")
    return found


def copy_tree(target: Path) -> None:
    """Copy the tree like a fresh clone, with uncommitted changes; links stay links."""
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    anywhere = [line.rstrip("/") for line in ignored if not line.startswith("/")]
    at_the_top = [line.strip("/") for line in ignored if line.startswith("/")]

    def leave_out(folder: str, names: list[str]) -> set[str]:
        patterns = [".git", *anywhere, *(at_the_top if Path(folder) == ROOT else [])]
        return shutil.ignore_patterns(*patterns)(folder, names)

    shutil.copytree(ROOT, target, symlinks=True, ignore=leave_out, dirs_exist_ok=True)


def run(command: str, place: Path) -> None:
    """Run one command in its own copy of the tree and environment, made in ``place``."""
    for name in ("home", "tmp", "sparsetopics"):
        (place / name).mkdir(parents=True)
    copy_tree(place / "sparsetopics")
    (place / "sparsetopics").chmod(0o700)  # like a checkout in /root
    venv.create(place / "env", with_pip=True, symlinks=True)
    kept = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
    variables = kept | {
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        "PATH": f"{place / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        check=True,
        cwd=place / "sparsetopics",
        env=variables,
        stdin=subprocess.DEVNULL,
    )


def try_command(command: str) -> bool:
    """Whether a command succeeds; print it and how long it took."""
    print(f"$ {command.strip()}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="two-commands-") as place:
        try:
            run(command, Path(place))
        except subprocess.CalledProcessError as failed:
            print(f"status {failed.returncode}: {command.strip()}", file=sys.stderr)
            return False
    print(f"({time.monotonic() - began:.0f} s)", flush=True)
    return True


def main() -> int:
    found = commands((ROOT / "README.md").read_text(encoding="utf-8"))
    return 0 if all(map(try_command, found)) else 1


if __name__ == "__main__":
    sys.exit(main())

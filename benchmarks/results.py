"""Keep what benchmarks measure in files, and write figures from there into the documentation.

    python benchmarks/results.py          # write tables anew, and check the figures in sentences

A benchmark keeps its figures with ``keep`` in ``results/NAME.json``: rows of columns, with the
command, the commit, the date, the machine and the versions that they were measured with. Pages take
figures from there in two ways. A table below the first of these comments is written from the file;
each column is named with its number of decimals, or with % for a share, and may have a title. The
second comment says where the number before it comes from.

    <!-- table NAME score:4 cpu:1=CPU seconds diversity:% -->
    … takes 4.4 s <!-- NAME ROW cpu --> …

``tests/project/test_results.py`` checks that pages and files agree.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(__file__).resolve().parent / "results"
PACKAGES = ("sparsetopics", "numpy", "numba")
TABLE = re.compile(
    r"^<!-- table (?P<name>[\w-]+) (?P<columns>.+?) -->\n(?P<body>(?:\|.*\n)*)", re.M
)
COLUMN = re.compile(r"(?P<key>[\w/]+):(?P<form>\d|%)(?:=(?P<title>(?:(?! [\w/]+:[\d%]).)+))?")
CITED = re.compile(
    r"(?P<number>[−-]?\d[\d,]*(?:\.\d+)?)(?P<unit>[^\d<\n]*)"
    r"<!-- (?P<name>[\w-]+) (?P<row>\S+) (?P<column>\S+) -->"
)
NAMES = {
    "20news": "20 Newsgroups", "acl": "ACL abstracts", "bertopic": "BERTopic",
    "count-vectorizer": "CountVectorizer in a process", "dblp": "DBLP titles",
    "fit-transform": "its fit_transform alone", "hdp": "HDP", "kos": "KOS", "lda": "LDA",
    "m10": "M10", "nips": "NIPS", "now": "drawn collections", "reddit": "Reddit",
    "reddit1m": "Reddit", "reuters": "Reuters",
}  # fmt: skip
# Figures that must have a source: numbers with decimals, and shares.
FIGURE = re.compile(r"\d\.\d|\d\s?%")

Cell = float | str | None
Rows = Mapping[str, Mapping[str, Cell]]


class Result(NamedTuple):
    """What a benchmark has measured."""

    command: str
    commit: str
    date: str
    machine: str
    versions: dict[str, str]
    rows: dict[str, dict[str, Cell]]


def keep(name: str, rows: Rows, packages: Sequence[str] = ()) -> None:
    """Write ``results/NAME.json``; ``packages`` are others whose versions matter.

    Changes of other results and of pages do not count as changes of the commit.
    """
    script, *arguments = sys.argv
    changes = _git("status", "--short", "--", ".", ":!benchmarks/results", ":!*.md")
    result = Result(
        " ".join(["python", f"benchmarks/{Path(script).name}", *without_places(arguments)]),
        (_git("rev-parse", "--short=8", "HEAD") or "unknown") + (" and changes" if changes else ""),
        date.today().isoformat(),
        f"{_processor()}, {os.cpu_count()} cores",
        {package: version(package) for package in (*PACKAGES, *packages)},
        {row: dict(cells) for row, cells in rows.items()},
    )
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(result._asdict(), indent=1, ensure_ascii=False)
    (FOLDER / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


def report(name: str, rows: Rows, is_kept: bool, packages: Sequence[str] = ()) -> None:
    """Print a line for each row, and keep the rows if this is asked for."""
    for row, cells in rows.items():
        texts = (
            f"{key} {f'{cell:,.4f}' if isinstance(cell, float) else cell}"
            for key, cell in cells.items()
            if cell is not None
        )
        print(f"{row}: {', '.join(texts)}")
    if is_kept:
        keep(name, rows, packages)


def without_places(arguments: Sequence[str]) -> list[str]:
    """Arguments without absolute paths after an option, and with names for other such paths."""
    kept: list[str] = []
    for argument in arguments:
        if not os.path.isabs(argument):
            kept.append(argument)
        elif kept and kept[-1].startswith("--"):
            kept.pop()
        else:
            kept.append(Path(argument).name)
    return kept


def over_runs(runs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Means of numbers over runs, with the smallest and the largest: cpu, cpu_least, cpu_most."""
    row: dict[str, float] = {}
    for key in runs[0]:
        values = [float(run[key]) for run in runs if isinstance(run[key], int | float)]
        if len(values) == len(runs):
            row |= {key: sum(values) / len(values)}
            row |= {f"{key}_least": min(values), f"{key}_most": max(values)}
    return row


def read(name: str) -> Result:
    return Result(**json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def _git(*arguments: str) -> str:
    """What git prints; nothing where the project is a copy without its history."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def _processor() -> str:
    """The model of the processor, as Linux names it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def pages() -> list[Path]:
    """The pages that may take figures from files."""
    return [
        ROOT / "README.md",
        ROOT / "benchmarks/RESULTS.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def shown(value: Cell, form: str) -> str:
    """A cell as a table shows it: with ``form`` decimals, or as a percentage."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    text = f"{100 * value:.0f} %" if form == "%" else f"{value:,.{form}f}"
    return text.replace("-", "−")


def table_of(name: str, columns: str) -> str:
    """A table as Markdown, with a row for each row of the file."""
    named = [
        (each["key"], each["form"], each["title"] or each["key"])
        for each in COLUMN.finditer(columns)
    ]
    lines = [["", *(title for *_, title in named)], ["---"] * (len(named) + 1)]
    for row, cells in read(name).rows.items():
        label = ", ".join(NAMES.get(part, part) for part in row.split("/"))
        lines.append([label, *(shown(cells.get(key), form) for key, form, _ in named)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def with_tables(text: str) -> str:
    """A page with its tables written anew."""

    def written(found: re.Match[str]) -> str:
        comment = found[0].splitlines()[0]
        return f"{comment}\n{table_of(found['name'], found['columns'])}"

    return TABLE.sub(written, text)


def wrong_figures(text: str) -> Iterator[str]:
    """What is wrong with the figures that sentences of a page take from files."""
    for found in CITED.finditer(text):
        try:
            value = read(found["name"]).rows[found["row"]][found["column"]]
        except (OSError, KeyError):
            yield f"{found[0]}: no such figure"
            continue
        number, decimals = found["number"], len(found["number"].partition(".")[2])
        if isinstance(value, str | None):
            yield f"{found[0]}: the file has {value}"
            continue
        value *= 100 if found["unit"].lstrip().startswith("%") else 1
        printed = float(number.replace("−", "-").replace(",", ""))
        if abs(printed - value) > 0.5000001 * 10**-decimals:
            yield f"{found[0]}: the file has {shown(value, str(decimals))}"


def figures_without_source(text: str) -> Iterator[str]:
    """Lines with figures that come from no file; code and tables from files are left out."""
    text = re.sub(r"```.*?```", "", TABLE.sub("", text), flags=re.S)
    text = re.sub(r"`[^`]*`", "", CITED.sub("", text))
    for line in re.sub(r"<!--.*?-->", "", text, flags=re.S).splitlines():
        if FIGURE.search(line) and not line.startswith("    "):
            yield line


def main() -> None:
    """Write all tables anew, and name figures that do not agree with their files."""
    n_wrong = 0
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (new := with_tables(text)) != text:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: tables written anew")
        for problem in wrong_figures(new):
            n_wrong += 1
            print(f"{page.relative_to(ROOT)}: {problem}")
    sys.exit(n_wrong > 0)


if __name__ == "__main__":
    main()

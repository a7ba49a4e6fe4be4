"""How long the files and functions of the library are: ``python tests/code_sizes.py``.

A file counts all its lines. The body of a function is its lines without signature and docstring,
with blank ones and comments; a function within another counts by itself and as lines of the other.
Functions of no body but ``...``, as Protocols have, are not counted. The links in ``sparsetopics/``
lead to folders of the top level, whose files are counted there, once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parent.parent
FOLDERS = ("sparsetopics", "corpora", "evaluation", "cli")
N_LARGEST = 5  # of each kind, that are named

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Size(NamedTuple):
    """The lines of a file or of a function's body."""

    name: str
    n_lines: int


class Spread(NamedTuple):
    """What many sizes come to."""

    n_sizes: int
    median: float
    p95: float  # 95 % have as many lines at most
    largest: list[Size]  # falling

    @classmethod
    def of(cls, sizes: Sequence[Size]) -> Spread:
        lines = [size.n_lines for size in sizes]
        median, p95 = np.percentile(lines, (50, 95))
        falling = sorted(sizes, key=lambda size: (-size.n_lines, size.name))
        return cls(len(lines), float(median), float(p95), falling[:N_LARGEST])


def source_files(root: Path = ROOT) -> list[Path]:
    """Every Python file of the library, once; ``rglob`` does not follow the links."""
    return sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py"))


def file_sizes(paths: Sequence[Path], root: Path = ROOT) -> list[Size]:
    """Lines of each file."""
    return [Size(_name(path, root), len(_text(path).splitlines())) for path in paths]


def body_sizes(paths: Sequence[Path], root: Path = ROOT) -> list[Size]:
    """Lines of each function's body."""
    return [
        Size(f"{_name(path, root)}:{function.lineno} {function.name}", n_lines)
        for path in paths
        for function in _functions(ast.parse(_text(path)))
        if (n_lines := body_lines(function)) > 0
    ]


def body_lines(function: Function) -> int:
    """Lines of the body without the docstring; 0 where nothing but ``...`` is left."""
    last_before = function.body[0].lineno - 1
    statements = function.body
    if ast.get_docstring(function, clean=False) is not None:
        last_before = statements[0].end_lineno or 0
        statements = statements[1:]
    if not statements or all(_is_ellipsis(statement) for statement in statements):
        return 0
    return (function.end_lineno or 0) - last_before


def _is_ellipsis(statement: ast.stmt) -> bool:
    constant = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(constant, ast.Constant) and constant.value is ...


def _functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _print_table() -> None:
    paths = source_files()
    print(f"{'lines of':<20}{'count':>7}{'median':>8}{'p95':>7}{'largest':>9}")
    for what, sizes in (("files", file_sizes(paths)), ("function bodies", body_sizes(paths))):
        spread = Spread.of(sizes)
        most = spread.largest[0].n_lines
        print(f"{what:<20}{spread.n_sizes:>7}{spread.median:>8g}{spread.p95:>7g}{most:>9}")
        for size in spread.largest:
            print(f"    {size.n_lines:>4}  {size.name}")


if __name__ == "__main__":
    _print_table()

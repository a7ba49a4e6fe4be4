"""Print the sizes of the code and the places that escape its types: ``python tests/code_sizes.py``.

Sizes: a file counts all its lines. The body of a function is its lines without signature and
docstring, but with blank lines and comments. A nested function counts by itself and as part of the
outer one. Functions whose body is only ``...``, as in Protocols, are not counted. Code lines are
those that hold more than a comment or a docstring.

Types: the type checker cannot see through ``Any``, ``object`` in an annotation or a bound, calls
of ``cast``, or ``type: ignore``. Each of them is counted. A name that stands for ``Any`` alone,
such as ``Loose = Any``, counts as ``Any`` wherever it is used.

The links in ``sparsetopics/`` lead to folders of the top level; their files are counted there,
once.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parent.parent
FOLDERS = ("sparsetopics", "corpora", "evaluation", "cli")
N_LARGEST = 5  # files and functions that the table names
SHORT = 60  # lines; a file below needs a reason to stand alone

Function = ast.FunctionDef | ast.AsyncFunctionDef
NO_CODE = frozenset(
    (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
)
TYPE_IGNORE = re.compile(r"#\s*type:\s*ignore")


class Size(NamedTuple):
    """The lines of a file or of a function's body."""

    name: str
    n_lines: int


class Distribution(NamedTuple):
    """The distribution of many sizes."""

    n_sizes: int
    median: float
    p95: float
    largest: list[Size]  # falling

    @classmethod
    def of(cls, sizes: Sequence[Size]) -> Distribution:
        lines = [size.n_lines for size in sizes]
        median, p95 = np.percentile(lines, (50, 95))
        falling = sorted(sizes, key=lambda size: (-size.n_lines, size.name))
        return cls(len(lines), float(median), float(p95), falling[:N_LARGEST])


class Escapes(NamedTuple):
    """How often code escapes the type checker."""

    n_any: int
    n_unexplained: int  # lines that use Any and have no comment
    n_casts: int
    n_objects: int
    n_ignores: int


def source_files(root: Path = ROOT) -> list[Path]:
    """Every Python file of the library, once; ``rglob`` does not follow the links."""
    return sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py"))


def entries(root: Path = ROOT) -> list[str]:
    """Names of files and folders directly under ``sparsetopics/``."""
    return sorted(path.name for path in (root / FOLDERS[0]).iterdir() if path.name != "__pycache__")


def short_files(paths: Sequence[Path], root: Path = ROOT) -> list[str]:
    """Files of fewer than ``SHORT`` lines; an ``__init__.py`` may be short."""
    return [
        size.name
        for size in file_sizes(paths, root)
        if size.n_lines < SHORT and not size.name.endswith("/__init__.py")
    ]


def n_classes(text: str) -> int:
    """The number of classes, nested ones included."""
    return sum(isinstance(node, ast.ClassDef) for node in ast.walk(ast.parse(text)))


def code_lines(text: str) -> int:
    """Lines that hold code: no blank lines, no comments, no docstrings."""
    prose: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        has_docstring = isinstance(node, ast.Module | ast.ClassDef | Function)
        if has_docstring and ast.get_docstring(node, clean=False) is not None:
            prose.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - prose)


def escapes(texts: Sequence[str]) -> Escapes:
    """Count what escapes the type checker in the files with these texts."""
    files = [list(ast.walk(ast.parse(text))) for text in texts]
    loose = _names_for_any(files)
    places = [_lines_that_read(nodes, loose) for nodes in files]
    return Escapes(
        n_any=sum(map(len, places)),
        n_unexplained=sum(
            "#" not in text.splitlines()[line - 1]
            for text, lines in zip(texts, places, strict=True)
            for line in set(lines)
        ),
        n_casts=sum(
            isinstance(node, ast.Call) and _named(node.func) == "cast"
            for nodes in files
            for node in nodes
        ),
        n_objects=sum(map(_loose_objects, files)),
        n_ignores=sum(len(TYPE_IGNORE.findall(text)) for text in texts),
    )


def _lines_that_read(nodes: Sequence[ast.AST], names: set[str]) -> list[int]:
    """The line of each use of ``names``, except where a name is bound."""
    return [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and _named(node) in names
    ]


def _named(node: ast.AST | None) -> str:
    """``Any`` for ``Any`` and for ``typing.Any``; "" for other kinds of nodes."""
    if isinstance(node, ast.Attribute):
        is_typing = isinstance(node.value, ast.Name) and node.value.id == "typing"
        return node.attr if is_typing else ""
    return node.id if isinstance(node, ast.Name) else ""


def _names_for_any(files: Sequence[Sequence[ast.AST]]) -> set[str]:
    """``Any`` and its aliases, and aliases of those."""
    names = {"Any"}
    while True:
        found = {name for nodes in files for node in nodes for name in _bound(node, names)}
        if found <= names:
            return names
        names |= found


def _bound(node: ast.AST, names: set[str]) -> list[str]:
    """The names that a statement makes stand for one of ``names``."""
    if isinstance(node, ast.ImportFrom):
        return [alias.asname for alias in node.names if alias.asname and alias.name in names]
    if isinstance(node, ast.Assign) and _named(node.value) in names:
        return [_named(target) for target in node.targets]
    if isinstance(node, ast.AnnAssign) and _named(node.value) in names:
        return [_named(node.target)]
    return []


def _loose_objects(nodes: Sequence[ast.AST]) -> int:
    """Uses of ``object`` other than calls and attributes such as ``object.__setattr__``."""
    strict = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    strict |= {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return sum(isinstance(n, ast.Name) and n.id == "object" and id(n) not in strict for n in nodes)


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
    """Lines of the body without the docstring; 0 if only ``...`` is left."""
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


def _print_tables() -> None:
    paths = source_files()
    texts = [_text(path) for path in paths]
    print(f"{'lines of':<20}{'count':>7}{'median':>8}{'p95':>7}{'largest':>9}")
    for what, sizes in (("files", file_sizes(paths)), ("function bodies", body_sizes(paths))):
        found = Distribution.of(sizes)
        most = found.largest[0].n_lines
        print(f"{what:<20}{found.n_sizes:>7}{found.median:>8g}{found.p95:>7g}{most:>9}")
        for size in found.largest:
            print(f"    {size.n_lines:>4}  {size.name}")
    print()
    short = short_files(paths)
    print(f"{len(entries()):>7,}  entries under {FOLDERS[0]}/")
    print(f"{len(short):>7,}  files under {SHORT} lines")
    print(f"{sum(map(code_lines, texts)):>7,}  lines of code")
    for name, number in escapes(texts)._asdict().items():
        print(f"{number:>7,}  {name.removeprefix('n_')}")


if __name__ == "__main__":
    _print_tables()

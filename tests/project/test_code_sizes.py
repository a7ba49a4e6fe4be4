"""Files and functions stay as short as CONTRIBUTING.md promises."""

import ast

import pytest

from code_sizes import (
    FOLDERS,
    ROOT,
    Distribution,
    Escapes,
    Size,
    body_lines,
    body_sizes,
    code_lines,
    entries,
    escapes,
    file_sizes,
    n_classes,
    short_files,
    source_files,
)

PATHS = source_files()
TEXTS = [path.read_text(encoding="utf-8") for path in PATHS]


def _described(sizes):
    return f"{sizes.median:g} median, {sizes.p95:g} p95, largest {sizes.largest}"


def test_files_are_short():
    sizes = Distribution.of(file_sizes(PATHS))

    assert sizes.median <= 180, _described(sizes)
    assert sizes.largest[0].n_lines <= 450, _described(sizes)


def test_few_files_are_fragments():
    assert len(short_files(PATHS)) <= 15, short_files(PATHS)


def test_function_bodies_are_short():
    sizes = Distribution.of(body_sizes(PATHS))

    assert sizes.median <= 9, _described(sizes)
    assert sizes.p95 <= 35, _described(sizes)
    assert sizes.largest[0].n_lines <= 60, _described(sizes)


def test_the_package_has_few_entries():
    assert len(entries()) <= 15, entries()


@pytest.mark.parametrize(
    ("count", "noun", "most"), [(code_lines, "lines of code", 35_739), (n_classes, "classes", 407)]
)
def test_there_is_not_more_code_than_needed(count, noun, most):
    """Whoever needs more raises the number here by what is added, and says why in the commit."""
    found = sum(map(count, TEXTS))

    assert found <= most, f"{found} {noun}: take out {found - most}, or raise the number here"


def test_little_escapes_the_type_checker():
    found = escapes(TEXTS)

    assert found.n_any <= 57
    assert found.n_unexplained == 0
    assert found.n_casts <= 12
    assert found.n_objects <= 20
    assert found.n_ignores <= 6


def test_each_file_is_counted_once():
    assert len({path.resolve() for path in PATHS}) == len(PATHS)
    assert {path.relative_to(ROOT).parts[0] for path in PATHS} == set(FOLDERS)


@pytest.mark.parametrize(
    ("text", "n_lines"),
    [
        ("def f(a,\n      b):\n    return a", 1),
        ('def f():\n    """Of\n\n    three."""\n    a = 1\n\n    # why\n    return a', 4),
        ('def f():\n    """One."""\n    return 1', 1),
        ("def f():\n    def g():\n        return 1\n    return g", 3),
        ('def f():\n    """Of a Protocol."""\n    ...', 0),
        ("def f(): ...", 0),
        ('def f():\n    """Says only this."""', 0),
        ("def f(): return 1", 1),
    ],
)
def test_a_body_is_what_follows_signature_and_docstring(text, n_lines):
    assert body_lines(ast.parse(text).body[0]) == n_lines


def test_a_distribution_names_the_largest_first():
    sizes = Distribution.of([Size("a", 1), Size("b", 9), Size("c", 3)])

    assert [size.name for size in sizes.largest] == ["b", "c", "a"]
    assert (sizes.n_sizes, sizes.median) == (3, 3)


def test_short_files_are_named(tmp_path):
    folder = tmp_path / "cli"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "short.py").write_text(59 * "a = 1\n")
    (folder / "long.py").write_text(60 * "a = 1\n")

    assert short_files(source_files(tmp_path), tmp_path) == ["cli/short.py"]


@pytest.mark.parametrize(
    ("text", "n_lines"),
    [
        ("a = 1\n\n# why\nb = 2  # also\n", 2),
        ('"""Of a module."""\na = 1', 1),
        ('class A:\n    """Of two\n    lines."""\n\n    b: int', 2),
        ('def f():\n    """Says this."""\n    return """not\n    this"""', 3),
        ("f(\n    1,\n)", 3),
    ],
)
def test_code_lines_are_neither_blank_nor_prose(text, n_lines):
    assert code_lines(text) == n_lines


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["def f(a: Any) -> dict[str, Any]: ..."], Escapes(2, 1, 0, 0, 0)),
        (["def f(a: typing.Any): ...  # why"], Escapes(1, 0, 0, 0, 0)),
        (["Loose = Any  # why", "a: Loose\nb: Loose  # why"], Escapes(3, 1, 0, 0, 0)),
        (["Loose: TypeAlias = Any  # why", "More = Loose  # why"], Escapes(2, 0, 0, 0, 0)),
        (["from typing import Any as A\na: A"], Escapes(1, 1, 0, 0, 0)),
        (["from typing import Any\n'Any'"], Escapes(0, 0, 0, 0, 0)),
        (["a = cast(int, b)\nc = typing.cast(int, b)\ncolumn.cast(b)"], Escapes(0, 0, 2, 0, 0)),
        (["def f(a: object, b: list[object]): ..."], Escapes(0, 0, 0, 2, 0)),
        (["a = object()\nobject.__setattr__(a, 'b', 1)"], Escapes(0, 0, 0, 0, 0)),
        (["a = b  # type: ignore[misc]"], Escapes(0, 0, 0, 0, 1)),
    ],
)
def test_escapes_are_counted(texts, found):
    assert escapes(texts) == found

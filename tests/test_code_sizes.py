"""Files and functions stay as short as CONTRIBUTING.md promises."""

import ast

import pytest

from code_sizes import FOLDERS, ROOT, Size, Spread, body_lines, body_sizes, file_sizes, source_files

PATHS = source_files()


def _told(spread):
    return f"{spread.median:g} median, {spread.p95:g} p95, largest {spread.largest}"


def test_files_are_short():
    spread = Spread.of(file_sizes(PATHS))

    assert spread.median <= 180, _told(spread)
    assert spread.largest[0].n_lines <= 450, _told(spread)


def test_function_bodies_are_short():
    spread = Spread.of(body_sizes(PATHS))

    assert spread.median <= 9, _told(spread)
    assert spread.p95 <= 35, _told(spread)
    assert spread.largest[0].n_lines <= 60, _told(spread)


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


def test_the_spread_names_the_largest_first():
    spread = Spread.of([Size("a", 1), Size("b", 9), Size("c", 3)])

    assert [size.name for size in spread.largest] == ["b", "c", "a"]
    assert (spread.n_sizes, spread.median) == (3, 3)

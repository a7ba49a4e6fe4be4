"""ARCHITECTURE.md names modules and classes that exist, in its walk and in its table of places."""

import importlib
import re
from functools import reduce

import pytest

from code_sizes import FOLDERS, ROOT, source_files

PAGE = ROOT / "ARCHITECTURE.md"
if not PAGE.exists():
    pytest.skip("needs ARCHITECTURE.md", allow_module_level=True)
SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
NAMED = ("A batch in ten steps", "Where to add things")
NAME = re.compile(r"`([A-Za-z_]\w*(?:\.\w+)+)`")  # module.name or module.class.name
NO_NAMES = (".py", ".json", ".md")


def modules_called(name):
    """``package.module`` of every file whose path ends in ``folder.module`` or ``module``."""
    for path in source_files():
        parts = path.relative_to(ROOT).with_suffix("").parts
        whole = ".".join(parts if parts[0] == FOLDERS[0] else (FOLDERS[0], *parts))
        if f".{whole}".endswith(f".{name}"):
            yield whole


def is_there(name):
    parts = name.removeprefix("cli.").split(".")
    for n_modules in (1, 2):  # the name of a module, or of its folder and the module
        for found in modules_called(".".join(parts[:n_modules])):
            try:
                reduce(getattr, parts[n_modules:], importlib.import_module(found))
            except AttributeError:
                continue
            return True
    return False


def names_of(section):
    (text,) = (each for each in SECTIONS if each.startswith(section))
    return sorted({name for name in NAME.findall(text) if not name.endswith(NO_NAMES)})


@pytest.mark.parametrize("section", NAMED)
def test_every_name_is_there(section):
    names = names_of(section)

    assert len(names) > 10
    assert [name for name in names if not is_there(name)] == []


def test_a_name_that_is_not_there_is_noticed():
    assert is_there("laps.Laps.run")
    assert not is_there("laps.Laps.walk")
    assert not is_there("footsteps.walk")


def strangers(text):
    """Names of functions, classes and constants that neither the library nor toys have."""
    files = [*source_files(), *(ROOT / "tests" / "toys").glob("*.py")]
    known = {word for path in files for word in re.findall(r"\w+", path.read_text())}
    return sorted(set(re.findall(r"`(_?[A-Za-z]\w+)`", text)) - known)


def test_every_function_of_the_places_is_there():
    places = [each for each in SECTIONS if each.startswith("Where to ")]

    assert len(places) == 2
    assert strangers("`_merge_round` and `_merged_long_ago`") == ["_merged_long_ago"]
    assert strangers("".join(places)) == []


def test_every_path_of_the_places_is_there():
    (places,) = (each for each in SECTIONS if each.startswith("Where to add"))
    paths = re.findall(r"`((?:\w+/)+[\w.-]*)`", places)

    assert len(paths) >= 12
    homes = (ROOT, ROOT / FOLDERS[0])
    assert [path for path in paths if not any((home / path).exists() for home in homes)] == []

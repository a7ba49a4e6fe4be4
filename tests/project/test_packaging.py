"""The wheel's shape: one top-level name, and every folder of ours in it."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]


def folder_of(package):
    """Where the sources of a package are, in its parent's folder unless it has one of its own."""
    own = SETUPTOOLS["package-dir"].get(package)
    if own is not None:
        return ROOT / own
    parent, _, name = package.rpartition(".")
    return folder_of(parent) / name


def test_every_package_folder_is_listed():
    mapped = {ROOT / folder for folder in SETUPTOOLS["package-dir"].values()}
    folders = {
        init.parent
        for root in mapped
        for init in root.rglob("__init__.py")
        if not any(parent.is_symlink() for parent in init.parents)
    }
    assert {folder_of(name) for name in SETUPTOOLS["packages"]} == folders


def test_only_one_name_reaches_site_packages():
    assert {name.split(".")[0] for name in SETUPTOOLS["packages"]} == {"sparsetopics"}


def test_every_data_file_is_listed():
    suffixes = {".py", ".pyc", ".nbi", ".nbc"}
    for name, folder in SETUPTOOLS["package-dir"].items():
        patterns = SETUPTOOLS["package-data"].get(name, [])
        for file in (ROOT / folder).iterdir():
            if file.is_file() and file.suffix not in suffixes:
                assert any(file.match(pattern) for pattern in patterns), file


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")

    assert f"\nversion: {PYPROJECT['project']['version']}\n" in citation
    assert f"\nlicense: {PYPROJECT['project']['license']}\n" in citation
    assert citation.count("  - type: ") == 8  # five that it implements, three for defaults


def test_the_changelog_has_this_version_with_the_day_of_its_release():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    day = citation.partition("\ndate-released: ")[2][:10]

    assert f"\n## {PYPROJECT['project']['version']} ({day})\n" in changelog

"""What ``.ci/run`` runs is what the README says."""

import importlib.util
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "two_commands.py"
if not SCRIPT.is_file():
    pytest.skip("needs .ci/, which the source archive leaves out", allow_module_level=True)


@pytest.fixture(scope="module")
def two_commands():
    spec = importlib.util.spec_from_file_location("two_commands", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_has_two_that_install_and_do_something(two_commands):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    first, second = two_commands.commands(readme)

    assert first == "pip install . && sparsetopics quickstart\n"
    assert second == 'pip install ".[test]" && pytest\n'
    assert two_commands.commands(readme.replace("quickstart", "warmup"))[0] != first


def test_other_sections_and_languages_are_left_alone(two_commands):
    section = "## Two commands\n\n```sh\na\n```\n\n```python\nb\n```\n\n```sh\nc\nd\n```\n"
    others = "```sh\ne\n```\n"

    assert two_commands.commands(f"{others}{section}## More\n{others}") == ["a\n", "c\nd\n"]
    with pytest.raises(ValueError, match="found 0 blocks of sh"):
        two_commands.commands(f"## More\n{others}")


def test_what_git_ignores_is_not_copied(two_commands, tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    for name in ("docs/a.md", "env/bin/python", "build/lib/a.py", ".git/index", "a.pyc", "runs/a"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).touch()
    (tree / "package" / "runs").mkdir(parents=True)
    (tree / "link").symlink_to("docs")
    shutil.copy(ROOT / ".gitignore", tree)
    monkeypatch.setattr(two_commands, "ROOT", tree)

    two_commands.copy_tree(tmp_path / "copy")

    copied = {path.name for path in (tmp_path / "copy").iterdir()}
    assert copied == {"docs", "link", ".gitignore", "package"}
    assert (tmp_path / "copy" / "package" / "runs").is_dir()  # ignored at the top alone
    assert (tmp_path / "copy" / "link").is_symlink()


def test_a_command_has_an_empty_home_and_a_checkout_that_is_closed(
    two_commands, tmp_path, monkeypatch
):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(two_commands, "copy_tree", lambda target: None)
    monkeypatch.setattr(two_commands.venv, "create", lambda folder, **how: None)

    two_commands.run("env > seen; ls -A ~ > home", tmp_path / "place")

    assert (tmp_path / "place" / "sparsetopics").stat().st_mode & 0o077 == 0
    seen = (tmp_path / "place" / "sparsetopics" / "seen").read_text()
    assert "NUMBA_CACHE_DIR" not in seen
    assert "PYTHONPATH" not in seen
    assert f"PATH={tmp_path / 'place' / 'env' / 'bin'}:" in seen
    assert (tmp_path / "place" / "sparsetopics" / "home").read_text() == ""

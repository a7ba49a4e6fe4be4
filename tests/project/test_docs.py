"""The tutorials run as they stand, and no page names an option that is not there."""

import csv
import doctest
import inspect
import pkgutil
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import sparsetopics
from sparsetopics.base import errors
from sparsetopics.base.errors import OptionError
from sparsetopics.cli.main import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
if not DOCS.is_dir():
    pytest.skip("needs docs/, which the source archive leaves out", allow_module_level=True)
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "README.md"]
N_STORIES = 120  # of 300, to be quick
BLOCK = re.compile(r"(<!-- not tested: .*? -->\n)?```(sh|python)\n(.*?)```", re.DOTALL)


def blocks(page):
    """Language and text of the blocks of a page that can be run."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(language, text) for untested, language, text in found if not untested]


def commands(shell):
    """Arguments of every ``sparsetopics`` that a block calls, its continued lines joined."""
    lines = [shlex.split(line, comments=True) for line in shell.replace("\\\n", " ").splitlines()]
    return [line[1:] for line in lines if line[:1] == ["sparsetopics"]]


def shorten(path, n_lines):
    """Keep the first lines of a file."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:n_lines]), encoding="utf-8")


def check_options(command, arguments):
    """Raise a click error unless the command has these options and choices."""
    if isinstance(command, click.Group):
        sub = command.get_command(click.Context(command), arguments[0])
        assert sub is not None, arguments[0]
        check_options(sub, arguments[1:])
        return
    context = click.Context(command)
    values, _, _ = command.make_parser(context).parse_args(arguments)
    for option in command.params:
        if isinstance(option.type, click.Choice) and isinstance(values.get(option.name), str):
            option.type.convert(values[option.name], option, context)


def run_page(page, collection):
    """Run a page in the current folder, where it writes ``collection``; return its commands."""
    ran = []
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, page.name, "exec"), {})
            if not ran:
                shorten(Path(collection), N_STORIES)
            continue
        for arguments in commands(text):
            result = CliRunner().invoke(main, arguments)
            assert result.exit_code == 0, (arguments, result.output)
            ran.append(arguments[0])
    return set(ran)


def test_the_tutorial_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    ran = run_page(DOCS / "tutorial.md", "posts.jsonl")

    assert {"ingest", "corpus", "train", "topics", "evaluate", "report", "infer"} <= ran
    assert {"export", "resume"} <= ran
    for name in ("scores.html", "run.html", "proportions.parquet", "newer.parquet"):
        assert (tmp_path / name).stat().st_size > 0


def test_the_tutorial_of_sections_and_dates_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    ran = run_page(DOCS / "sections-and-dates.md", "articles.csv")

    assert ran == {"ingest", "train", "report", "prevalence", "plot", "export", "edit"}
    with (tmp_path / "months.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    groups = {(row["group"], row["from"]) for row in rows}
    months = ("2001-10-01", "2001-11-01")  # of the first stories
    assert groups == {(section, month) for section in ("home", "abroad") for month in months}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_pages_exist(page):
    for language, text in blocks(page):
        for arguments in commands(text) if language == "sh" else ():
            check_options(main, arguments)
    for text in re.findall(r"`(sparsetopics\s[a-z][^`]*)`", page.read_text(encoding="utf-8")):
        (arguments,) = commands(" ".join(text.split()))
        check_options(main, arguments)


def test_a_wrong_option_would_be_noticed():
    with pytest.raises(click.UsageError):
        check_options(main, ["train", "corpus", "--no-such-option"])
    with pytest.raises(OptionError, match=r"--model: must be one of .*, but is 'lsa'"):
        check_options(main, ["train", "corpus", "--model", "lsa"])


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        assert f" {page.relative_to(DOCS).as_posix()}" in navigation


def documented_api():
    """What the API page takes from docstrings: a name, or a name and members of it."""
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    for name, members in re.findall(r"::: ([\w.]+)(?:\n.*\n\s+members: \[(.*?)\])?", page):
        thing = pkgutil.resolve_name(name)
        if thing is errors:
            own = [each for each in vars(errors).values() if inspect.getmodule(each) is errors]
            members = ", ".join(each.__name__ for each in own)
        yield name, thing
        for member in members.split(", ") if members else ():
            if not member.startswith("_"):
                yield f"{name}.{member}", inspect.getattr_static(thing, member)


def test_every_public_name_is_on_the_api_page_and_has_a_docstring():
    documented = dict(documented_api())
    public = {getattr(sparsetopics, name) for name in sparsetopics.__all__}
    assert public <= {thing for thing in documented.values() if callable(thing)}
    for name, thing in documented.items():
        thing = getattr(thing, "__func__", thing)  # of a classmethod
        assert thing.__doc__, name


def test_the_session_in_the_readme_is_true():
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert tried >= 7
    assert failed == 0

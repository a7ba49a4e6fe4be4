"""No command, option, format or public name is lost: ``public_surface.txt`` lists them.

After an intended change, write the list again: python tests/project/test_public_surface.py
"""

import inspect
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

import click

import sparsetopics
from sparsetopics.answers.exports import CORPUS_TARGETS, PATH_TARGETS, RUN_TARGETS
from sparsetopics.cli.main import COMMANDS, main
from sparsetopics.cli.parameter_types import NumberType
from sparsetopics.corpora.readers.formats import FORMATS, VECTOR_FORMATS
from sparsetopics.corpora.sources.byte_stream import PACKED_SUFFIXES
from sparsetopics.options.registry import LEARNERS, LIKELIHOODS, MODELS, move_options

ANEW = "python tests/project/test_public_surface.py"
LIST = Path(__file__).parents[1] / "public_surface.txt"


def surface() -> Iterator[str]:
    """A line for each thing that users can name."""
    yield from command_lines(main, "sparsetopics")
    for name, entry in FORMATS.items():
        yield f"format of documents: {name} {' '.join(entry.suffixes)}".rstrip()
    for name, entry in VECTOR_FORMATS.items():
        yield f"format of vectors: {name} {' '.join(entry.suffixes)}".rstrip()
    yield f"packed files: {' '.join(PACKED_SUFFIXES)}"
    yield f"exports of a run: {' '.join(RUN_TARGETS)}"
    yield f"exports of a topic path: {' '.join(PATH_TARGETS)}"
    yield f"exports of a corpus: {' '.join(CORPUS_TARGETS)}"
    yield from (f"model: {name}" for name in MODELS)
    yield from (f"likelihood: {name}" for name in LIKELIHOODS)
    yield from (f"learner: {name}" for name in LEARNERS)
    yield from (f"move: {name}" for name in sorted(move_options()))
    for name in sparsetopics.__all__:
        public = getattr(sparsetopics, name)
        yield f"sparsetopics.{name}{parameters(public)}"
        for method in methods(public) if inspect.isclass(public) else ():
            yield f"sparsetopics.{name}.{method}"


def command_lines(command: click.Command, path: str) -> Iterator[str]:
    """A command, its parameters, and the same of the commands in it."""
    yield path
    for param in command.params:
        names = [*param.opts, *param.secondary_opts]
        said = f"{path} {' '.join(names)}: {kind(param.type)}"
        default = param.to_info_dict()["default"]
        for note, applies in {
            f"default {default}": default is not None and not callable(default),
            "required": param.required,
            "more than once": getattr(param, "multiple", False) or param.nargs == -1,
            "hidden": getattr(param, "hidden", False),
        }.items():
            said += f", {note}" if applies else ""
        yield said
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from command_lines(found, f"{path} {name}")


def kind(found: click.ParamType) -> str:
    """The type of a parameter, with its choices or bounds."""
    if isinstance(found, click.Choice):
        return f"one of {' '.join(map(str, found.choices))}"
    if isinstance(found, NumberType):
        bounds = [found.interval.low, found.interval.high]
        has_bounds = any(map(isfinite, bounds)) and not found.interval.or_count
        return f"{found.name} range {' to '.join(map(said, bounds))}" if has_bounds else found.name
    return found.name


def said(bound: float) -> str:
    return f"{bound:g}" if isfinite(bound) else "any"


def parameters(public: object) -> str:
    """What a class or a function is called with."""
    assert callable(public)
    listed = inspect.signature(public).parameters.values()
    return f"({', '.join(sorted(each.name for each in listed))})"


def methods(public: type) -> list[str]:
    """The public names of a class, except those that differ with versions of its foreign bases."""
    foreign = {*dir(AttributeError()), "get_metadata_routing"}
    if hasattr(public, "get_params"):
        foreign |= inspect.signature(public).parameters.keys()
    names = [name for name in dir(public) if name not in foreign]
    return [name for name in names if not name.startswith("_") and not name.endswith("_request")]


def defaults() -> Iterator[str]:
    """What the parameters of estimators are if nobody says."""
    for name in sparsetopics.__all__:
        public = getattr(sparsetopics, name)
        if hasattr(public, "get_params"):
            for key, value in sorted(public().get_params().items()):
                yield f"sparsetopics.{name}({key}={value!r})"


def text() -> str:
    """The whole list."""
    return "".join(f"{line}\n" for line in [*surface(), *defaults()])


def test_nothing_on_the_list_is_lost():
    lost = set(LIST.read_text(encoding="utf-8").splitlines()) - set(text().splitlines())

    assert not lost, f"if this is intended, run {ANEW}"


def test_every_command_option_and_format_is_on_the_list():
    """Methods may be more, since scikit-learn adds others in each version."""
    found = {line for line in text().splitlines() if not line.startswith("sparsetopics.")}

    assert {f"sparsetopics {name}" for name in COMMANDS} < found
    new = found - set(LIST.read_text(encoding="utf-8").splitlines())
    assert not new, f"run {ANEW}"


if __name__ == "__main__":
    LIST.write_text(text(), encoding="utf-8")

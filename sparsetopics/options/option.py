"""What an option is: its names, the values that it takes, its default, its help, and who has it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from functools import lru_cache
from math import inf, isnan
from numbers import Integral, Real
from os import PathLike, fsencode, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from sparsetopics.base.errors import OptionError
from sparsetopics.base.wording import listed
from sparsetopics.options.registry import learners_with, models_with

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

NO_NAMES = "none"  # what a user types for an empty list of names
MOST = 2**31 - 1  # kernels count in 32 bits
LONGEST_VALUE = 60  # characters of a value in a message
_QUOTED = re.compile(r'^"((?:[^"]|"")*)"')
_LISTED = re.compile(r',(\s*"(?:[^"]|"")*"[^,]*|[^,]*)')

TokenizerFunction = Callable[[str], Iterable[str]]
Tokenizer = str | TokenizerFunction | None  # a function, or its MODULE:NAME
_Plain = str | int | float | bool | tuple[str, ...] | tuple[int, ...] | frozenset[str] | Path
Value = _Plain | TokenizerFunction
Given = Mapping[str, Value | None]  # by name; None stands for the default
T = TypeVar("T")
V = TypeVar("V")


def refuse(option: str, problem: str, hint: str = "") -> NoReturn:
    """Raise OptionError; ``problem`` and ``hint`` name other options as ``--name``."""
    raise OptionError(option, problem, hint)


def shown(value: object) -> str:  # whatever users' Python code passes
    """A value as messages show it: short, and numbers of numpy as others."""
    try:
        if isinstance(value, Integral) and not isinstance(value, bool):
            text = f"{int(value):,}"
        else:
            text = str(value) if isinstance(value, Real) else repr(value)
    except Exception:  # any class may define it, and may do so badly
        if isinstance(value, int):  # Python prints none of more than 4,300 digits
            return "a number of thousands of digits"
        text = f"an object of type {type(value).__name__}"
    if "\n" in text:  # a table
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def check_type(
    name: str,
    value: object,  # whatever users' Python code passes
    kinds: type | tuple[type, ...],
    noun: str,
    hint: str = "",
) -> None:
    """Raise OptionError unless an argument is of one of the ``kinds``, which ``noun`` describes."""
    if not isinstance(value, kinds):
        refuse(name, f"must be {noun}, but is {shown(value)}", hint)


def check_strings(name: str, values: Sequence[str] | Set[str]) -> None:
    """Raise OptionError unless an argument is a list or a set of strings that UTF-8 can hold."""
    if isinstance(values, str) or not isinstance(values, Sequence | Set):
        refuse(name, f"must be a list of strings, but is {shown(values)}")
    for value in values:
        check_type(name, value, str, "a list of strings only")
        if value.encode(errors="replace").decode() != value:
            refuse(name, f"holds {shown(value)}, which has half of a surrogate pair")


@lru_cache(maxsize=100)
def names_in(text: str) -> tuple[str, ...]:
    """The names in a list such as ``title,"Smith, John"``: quotes enclose a name with commas."""
    parts = (part.strip() for part in _LISTED.findall(f",{text}"))
    return tuple(_QUOTED.sub(lambda found: found[1].replace('""', '"'), part) for part in parts)


def quoted(option: str, names: Sequence[str] | Sequence[int]) -> str:
    """The list of names that ``names_in`` reads; OptionError unless all are strings."""
    SomeOf(None, "field").check(option, names)
    return ",".join('"{}"'.format(str(name).replace('"', '""')) for name in names)


def path_of(name: str, value: str | PathLike[str]) -> Path:
    """The path that an argument gives; raises OptionError if it is none."""
    check_type(name, value, (str, PathLike), "a path")
    text = fspath(value)
    check_type(name, text, str, "a path of text")  # other objects may give bytes
    try:
        is_path = bool(text) and b"\0" not in fsencode(text)
    except UnicodeEncodeError:  # half of a surrogate pair
        is_path = False
    if not is_path:
        refuse(name, f"must be a path, but is {shown(text)}")
    return Path(text)


def check_extension(name: str, path: Path, extensions: Sequence[str]) -> None:
    """Raise OptionError unless the file to write ends in one of the ``extensions``."""
    if path.suffix.lower() not in extensions:
        refuse(name, f"must end in {listed(extensions, 'or')}, but is {path.name}")


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers that an option takes, from ``low`` to ``high``, both included by default."""

    low: float
    high: float = inf
    above_low: bool = False  # ``low`` itself is not included
    below_high: bool = False  # nor is ``high``
    whole: bool = False
    unit: str = ""
    or_count: bool = False  # whole numbers are none of the interval, but counts from 1
    name: str = ""  # a word that is taken, too
    hint: str = ""  # what to use instead, for values that are no number although one is needed

    def __contains__(self, value: float) -> bool:
        """Whether ``value`` lies in the interval; NaN lies in none."""
        if self.or_count and isinstance(value, int):
            return value >= 1
        is_high_enough = value > self.low if self.above_low else value >= self.low
        return is_high_enough and (value < self.high if self.below_high else value <= self.high)

    def check(self, name: str, value: object, hint: str = "") -> int | float | str:
        """Return a number of the interval as one of Python, or the name; OptionError for others."""
        if self.name and isinstance(value, str) and value == self.name:
            return self.name
        number = self.number(value)
        if number is None:
            noun = "a whole number" if self.whole else "a number"
            noun = "a share such as 0.5 or a count such as 5" if self.or_count else noun
            noun = f"{self.name} or {noun}" if self.name else noun
            refuse(name, f"must be {noun}, but is {shown(value)}", hint or self.hint)
        if number not in self:
            refuse(name, f"must be {self._expected(number)}, but is {shown(value)}", hint)
        return number

    def number(self, value: object) -> int | float | None:  # see ``check``
        """``value`` as a number of Python, which may be infinite; None if it is none, or NaN."""
        if not isinstance(value, Integral if self.whole else Real) or isinstance(value, bool):
            return None
        if isinstance(value, Integral) and (self.whole or self.or_count):
            return int(value)
        try:
            number = float(value)
        except OverflowError:  # of whole numbers and fractions
            return -inf if value < 0 else inf
        return None if isnan(number) else number

    def parsed(self, text: str) -> int | float:
        """The number that a user types; ValueError if it is none."""
        return int(text) if self.whole or (self.or_count and "." not in text) else float(text)

    def _expected(self, value: float) -> str:
        """``at least 1 batch``, ``from 1 to 9``, ``above 0 and below 1``.

        Limits of the machine are named only where they are met.
        """
        if self.or_count:
            return f"from {self.low:.1f} to {self.high:.1f} or a whole number"
        low = f"{self.low:,}" if self.whole else f"{self.low:g}"
        bounds = [f"{'above' if self.above_low else 'at least'} {low} {self.unit}".rstrip()]
        if self.high < MOST or (self.high < inf and value > self.high):
            high = f"{self.high:,}" if self.whole else f"{self.high:g}"
            if not (self.above_low or self.below_high):
                return f"from {low} to {high} {self.unit}".rstrip()
            bounds.append(f"{'below' if self.below_high else 'at most'} {high}")
        elif value == inf:
            bounds.append("finite")
        return " and ".join(bounds)


SHARE = Interval(0, 1, below_high=True)
NATURAL = Interval(0, whole=True)  # of any size
SHARE_OR_COUNT = Interval(0, 1, or_count=True)  # of documents: 0.5 is a share, 5 a count


def counts_from(least: int, unit: str = "") -> Interval:
    """Whole numbers from ``least`` up to the largest that kernels can count."""
    return Interval(least, MOST, whole=True, unit=unit)


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several names."""

    names: Collection[str]

    def check(self, option: str, found: object) -> str:
        """Return one of the names; OptionError for all others."""
        if isinstance(found, str) and found in self.names:
            return found
        near = get_close_matches(found.lower(), self.names, n=1) if isinstance(found, str) else []
        hint = f"Did you mean {near[0]}?" if near else ""
        refuse(option, f"must be one of {', '.join(self.names)}, but is {shown(found)}", hint)


@dataclass(frozen=True, slots=True)
class SomeOf:
    """Any number of several names, each once; of any names, without ``names``."""

    names: Callable[[], Collection[str]] | None
    noun: str
    repeated: bool = False  # whether the option may be given several times

    def check(self, option: str, found: object) -> tuple[str, ...]:
        """Return several of the names, each once; OptionError for all else."""
        if isinstance(found, str) or not isinstance(found, Sequence | Set):
            refuse(option, f"must be a list of names, but is {shown(found)}")
        names = list(found)
        check_strings(option, names)
        if self.names is not None:
            for name in names:
                OneOf(self.names()).check(option, name)
        if len(set(names)) < len(names):
            refuse(option, f"names a {self.noun} twice: {', '.join(names)}")
        return tuple(map(str, names))


def whole_numbers(option: str, found: object) -> tuple[int, ...]:
    """Return several whole numbers from 1 as a tuple; OptionError for all else."""
    if isinstance(found, str) or not isinstance(found, Sequence):
        refuse(option, f"must be a list of whole numbers, but is {shown(found)}")
    return tuple(int(counts_from(1).check(option, number)) for number in found)


# Gets the name and a value; returns it as options have it, or raises OptionError.
Check = Callable[..., Any]  # Any: as for ``Option.check``
# A flag, a text and a path are as Python has them; a set holds texts in no order.
Kind = Interval | OneOf | SomeOf | Check | type[bool | str | Path | frozenset[str]]
_OF_PYTHON: Mapping[type, tuple[type | tuple[type, ...], str]] = {
    bool: (bool, "true or false"),
    str: (str, "a string"),
    Path: (Path, "a path"),
    frozenset: ((Sequence, Set), "a list of strings"),
}


@dataclass(frozen=True, slots=True)
class Option:
    """One option: a row of a table.

    Attributes:
        name: As on the command line and in config files, without the dashes in front.
        takes: The values that it takes.
        default: The value that stands where nothing is given; None if that depends on others.
        place: The field that holds it: of ``TrainingOptions`` or the options of ingest, as ``laps``
            or ``prior.doc_concentration``; of ``RunPlan``, as ``run.seed``.
        argument: Its name as a parameter of the estimators; "" if that is ``field``, None if they
            have no such parameter. For options of ingest, its name in Python; "" for ``key``.
        only_for: The kinds of corpora that an option of ingest is for. The registry says which
            models an option of training is for.
        needs: The option without which it means nothing; "" if there is none.
        doors: The commands and functions that have it; empty if all that the table is for do.
        everyday: Whether ``--help`` lists it, or only ``--help-all``.
        metavar: What ``--help`` calls the value; None for the name of its type.
        help: What it does. Commands add the default, unless it is None.
        section: The part of the list of options where ``--help`` has it.
    """

    name: str
    takes: Kind
    default: Value | None
    place: str
    argument: str | None = ""
    only_for: tuple[str, ...] = ()
    needs: str = ""
    doors: tuple[str, ...] = ()
    everyday: bool = False
    metavar: str | None = None
    help: str = ""
    section: str = ""

    @property
    def key(self) -> str:
        """The name as Python allows it."""
        return self.name.replace("-", "_")

    @property
    def part(self) -> str:
        """The part of the options that has it; "" if it is in none."""
        return self.place.rpartition(".")[0]

    @property
    def field(self) -> str:
        """Its name in that part."""
        return self.place.rpartition(".")[2]

    def is_at(self, door: str) -> bool:
        """Whether a command or a function has it."""
        return not self.doors or door in self.doors

    def is_for(self, kind: str) -> bool:
        """Whether the option means anything for a model or a kind of corpora."""
        return kind in (self.only_for or models_with(self.name))

    def check_model(self, model: str) -> None:
        """Raise OptionError if the option means nothing for a model."""
        if not self.is_for(model):
            refuse(self.name, f"is for {listed(models_with(self.name))}, not for --model {model}")

    def check_learner(self, learner: str) -> None:
        """Raise OptionError if the option is one of other learners."""
        able = learners_with(self.name)
        if learner not in able:
            problem = f"needs --learner {listed(able, 'or')}, but found --learner {learner}"
            refuse(self.name, problem)

    def check(self, value: Any) -> Any:  # whatever users' code passes, and what the option takes
        """Return a value, whatever the others are, as options have it: plain numbers, names as a
        tuple. None stays None. Raises OptionError for a value that the option does not take."""
        if value is None:
            return None
        if isinstance(self.takes, Interval | OneOf | SomeOf):
            return self.takes.check(self.name, value)
        if not isinstance(self.takes, type):
            return self.takes(self.name, value)
        check_type(self.name, value, *_OF_PYTHON[self.takes])
        if self.takes is frozenset:
            check_strings(self.name, value)
            return frozenset(map(str, value))
        return value


Table = Mapping[str, Option]  # by name


def in_sections(sections: Mapping[str, Sequence[Option]]) -> Table:
    """The table of all rows, each with the title of its section; "" is the first one."""
    rows = (replace(row, section=title) for title, rows in sections.items() for row in rows)
    return {row.name: row for row in rows}


def check_values(table: Table, part: str, holder: DataclassInstance) -> None:
    """Raise OptionError if a value of one part is refused whatever the others are."""
    own = {field.name: field.default for field in fields(holder)}
    for option in table.values():
        if option.part == part and option.field in own:
            value = getattr(holder, option.field)
            option.check(value)
            if value is None and own[option.field] not in (None, MISSING):
                refuse(option.name, "must not be None")


def taken(table: Table, given: Given) -> dict[str, Value]:
    """The values that are not None, checked and as options have them.

    Raises OptionError for a wrong value, and for an option without the one that it needs.
    """
    said = {name: table[name].check(value) for name, value in given.items() if value is not None}
    for name, value in said.items():
        needed = table[name].needs
        if needed and value is not False and not said.get(needed):
            refuse(name, f"needs --{needed}")
    return said


def made(kind: Callable[..., T], fields: Mapping[str, V]) -> T:
    """A part of the options. The part checks the values, whose types mypy does not know here."""
    return kind(**fields)


def fields_by_part(table: Table, said: Mapping[str, Value]) -> dict[str, dict[str, Value]]:
    """Values by name as the fields of each part of the options."""
    parts: dict[str, dict[str, Value]] = {option.part: {} for option in table.values()}
    for name, value in said.items():
        parts[table[name].part][table[name].field] = value
    return parts

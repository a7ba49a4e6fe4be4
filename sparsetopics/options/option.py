"""What an option of training is: its names, the values that it takes, and its default."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, NoReturn

from sparsetopics.base.errors import OptionError

NO_NAMES = "none"  # what a user types for an empty list of names
MOST = 2**31 - 1  # kernels count in 32 bits

Value = str | int | float | bool | tuple[str, ...] | Path
Given = Mapping[str, Value | None]  # by name; None stands for the default


def refuse(option: str, found: str | float | None, wanted: str, hint: str = "") -> NoReturn:
    """Raise OptionError, which says what was found and what is wanted."""
    raise OptionError(option, found=str(found), wanted=wanted, hint=hint)


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers that an option takes, from ``low`` to ``high``, both included by default."""

    low: float
    high: float = inf
    above_low: bool = False  # ``low`` itself is not included
    below_high: bool = False  # nor is ``high``
    whole: bool = False
    unit: str = ""

    def __contains__(self, value: float) -> bool:
        """Whether ``value`` lies in the interval; NaN lies in none."""
        is_high_enough = value > self.low if self.above_low else value >= self.low
        return is_high_enough and (value < self.high if self.below_high else value <= self.high)

    def check(self, name: str, value: float | None, hint: str = "") -> None:
        """Raise OptionError for a number outside the interval."""
        if value is not None and value not in self:
            refuse(name, value, f"{self._wanted(value)} {self.unit}".rstrip(), hint)

    def _wanted(self, found: float) -> str:
        if self.whole and found > self.high:
            return f"at most {self.high:,}"
        if self.low == 0 and self.high in (inf, MOST):
            return "a positive number" if self.above_low else "0 or more"
        lowest = f"{'above' if self.above_low else 'at least'} {self.low:g}"
        if self.high in (inf, MOST):
            return lowest
        return f"{lowest} and {'below' if self.below_high else 'at most'} {self.high:g}"


POSITIVE = Interval(0, above_low=True, below_high=True)
SHARE = Interval(0, 1, below_high=True)
NATURAL = Interval(0, whole=True)  # of any size


def counts_from(least: int, unit: str = "") -> Interval:
    """Whole numbers from ``least`` up to the largest that kernels can count."""
    return Interval(least, MOST, whole=True, unit=unit)


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several names."""

    names: Collection[str]

    def check(self, option: str, found: str | None) -> None:
        """Raise OptionError for any other name."""
        if found is not None and found not in self.names:
            refuse(option, found, f"one of {', '.join(self.names)}")


@dataclass(frozen=True, slots=True)
class SomeOf:
    """Any number of several names, each once."""

    names: Callable[[], Collection[str]]
    noun: str

    def check(self, option: str, found: tuple[str, ...] | None) -> None:
        """Raise OptionError for other names and for a name that is given twice."""
        for name in found or ():
            OneOf(self.names()).check(option, name)
        if found is not None and len(set(found)) < len(found):
            refuse(option, ",".join(found), f"each {self.noun} once")


# A flag, a text and a path are as Python has them.
Kind = Interval | OneOf | SomeOf | type[bool] | type[str] | type[Path]


@dataclass(frozen=True, slots=True)
class Option:
    """One option of training.

    Attributes:
        name: As on the command line and in config files, without the dashes in front.
        takes: The values that it takes.
        default: The value that stands where nothing is given; None if that depends on the model
            or on other options.
        place: Where ``TrainingOptions`` has it, as ``prior.doc_concentration``, or ``RunPlan``, as
            ``run.seed``.
        argument: Its name as a parameter of the estimators; "" if that is ``field``, None if they
            have no such parameter.
        models: The models that it is for; empty if it is for all.
    """

    name: str
    takes: Kind
    default: Value | None
    place: str
    argument: str | None = ""
    models: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The name as Python allows it."""
        return self.name.replace("-", "_")

    @property
    def part(self) -> str:
        """The part of the options that has it; "" for ``TrainingOptions`` itself."""
        return self.place.rpartition(".")[0]

    @property
    def field(self) -> str:
        """Its name in that part."""
        return self.place.rpartition(".")[2]

    def is_for(self, model: str) -> bool:
        """Whether the option means anything for a model."""
        return not self.models or model in self.models

    def check(self, value: Any) -> None:  # users' own Python code may pass any type
        """Raise OptionError for a value that the option does not take, whatever the others are."""
        if isinstance(self.takes, Interval | OneOf | SomeOf):
            self.takes.check(self.name, value)

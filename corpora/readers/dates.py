"""Dates as people write them: forms that can be read in only one way, and formats that users give.

Names of months and days are English, whatever the locale is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from itertools import product, takewhile

import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.options.option import refuse, shown

DATE = pa.timestamp("us")
#: How dates are written if no format is given. ``UTC`` is for corpora made by versions that read
#: ISO 8601 only and moved times to UTC.
PLAIN, UTC = "plain", "utc"
EXCEL = "excel"  # it counts a 29 February 1900, so only later days have these numbers
_EPOCHS: Mapping[str, tuple[datetime, timedelta, range]] = {  # zero, unit, and the numbers allowed
    "epoch": (datetime(1970, 1, 1), timedelta(seconds=1), range(-(2**35), 2**35)),
    "epoch-ms": (datetime(1970, 1, 1), timedelta(milliseconds=1), range(-(2**45), 2**45)),
    EXCEL: (datetime(1899, 12, 30), timedelta(days=1), range(61, 2_958_466)),
}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<b>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY = r"(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\.?"
_OFFSET = r"(?:z|utc|gmt|[+-]\d\d(?::?\d\d)?)"
_HALF_DAY = r"(?P<p>[ap])\.?m\.?"
_DIRECTIVES = {
    **{name: rf"(?P<{name}>\d{{1,2}})" for name in "mdHMS"},
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d\d)",
    "I": r"(?P<H>\d{1,2})",
    "f": r"(?P<f>\d{1,9})",
    "p": _HALF_DAY,
    "z": _OFFSET,
    "Z": "[a-z]{1,5}",
    "%": "%",
    **dict.fromkeys("bB", _MONTH),
    **dict.fromkeys("aA", _WEEKDAY),
}
_TIME = rf"(?P<H>\d{{1,2}}):(?P<M>\d\d)(?::(?P<S>\d\d)(?:\.(?P<f>\d+))?)?(?: ?{_HALF_DAY})?"
_LATER = rf"(?:(?:[t ]|, ?){_TIME}(?: ?{_OFFSET})?)?"
_YEAR, _DAY = _DIRECTIVES["Y"], r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
# A year in front or the name of a month leaves no doubt about the day.
_CLEAR = [
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?:[-/](?P<m>\d{{1,2}}))?",
        rf"{_YEAR}([-/.])(?P<m>\d{{1,2}})\2(?P<d>\d{{1,2}}){_LATER}",
        r"(?P<Y>\d{4})(?P<m>\d\d)(?P<d>\d\d)T(?P<H>\d\d)(?P<M>\d\d)(?:(?P<S>\d\d)Z?)?",
        rf"(?:{_WEEKDAY},? )?{_DAY}[-/. ]+{_MONTH}[-/,. ]+{_YEAR}{_LATER}",
        rf"(?:{_WEEKDAY},? )?{_MONTH}[- ]{_DAY},? {_YEAR}{_LATER}",
        rf"{_MONTH}[-, ]+{_YEAR}",
        rf"{_WEEKDAY},? {_MONTH} +{_DAY} {_TIME}(?: {_OFFSET})? {_YEAR}",
    )
]
_DECIMAL = r"-?[0-9]+(\.[0-9]*)?"
_CLOCK = r"[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
_ISO = rf"^[0-9]{{4}}(-[0-9]{{2}}(-[0-9]{{2}}({_CLOCK})?)?)?$"
_ORDERS = (("%d", "%m", "%Y"), ("%m", "%d", "%Y"), ("%d", "%m", "%y"), ("%m", "%d", "%y"))
_DAYS = [
    *(mark.join(parts) for parts in (*_ORDERS, ("%y", "%m", "%d")) for mark in "/.-"),
    *("%Y%m%d", "%d%m%Y", "%m%d%Y", "%m/%Y", "%d %b %y", "%d-%b-%y"),
]
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# Formats to propose, each with the pattern that values must match for it.
PROPOSED: Mapping[str, re.Pattern[str]] = {
    **{day + time: re.compile("") for day, time in product(_DAYS, _TIMES)},
    "%Y%m%d%H%M%S": re.compile(""),
    "epoch": re.compile(r"[1-4][0-9]{9}(\.[0-9]+)?$"),
    "epoch-ms": re.compile(r"[1-4][0-9]{12}(\.0)?$"),
    EXCEL: re.compile(r"[1-7][0-9]{4}(\.[0-9]+)?$"),
}


def as_dates(values: pa.StringArray, how: str) -> pa.TimestampArray:
    """Strings as dates and times, null for null; ArrowInvalid if one of them is not a date.

    ``how`` is ``PLAIN``, ``UTC`` or a format. The day is the one that is written, whatever the
    offset is, except for ``UTC``. A year or a month becomes its first day.
    """
    if how in (PLAIN, UTC):
        is_iso = pc.match_substring_regex(values, _ISO)
        is_year = pc.invert(pc.starts_with(values, "0000"))  # the calendar has no year 0
        if pc.all(pc.and_(is_iso, is_year), min_count=0).as_py():
            return _of_iso(values, in_utc=how == UTC)
        if how == UTC:
            raise pa.ArrowInvalid("no date")
    encoded = values.dictionary_encode()
    found = (read_date(value, how) for value in encoded.dictionary.to_pylist())
    dates = list(takewhile(bool, found))  # all of them, unless one is none
    if len(dates) < len(encoded.dictionary):
        raise pa.ArrowInvalid("no date")
    return pa.array(dates, DATE).take(encoded.indices)


def _of_iso(values: pa.StringArray, *, in_utc: bool) -> pa.TimestampArray:
    for pattern, whole in (
        (r"^([0-9]{4})$", r"\1-01"),
        (r"^([0-9]{4}-[0-9]{2})$", r"\1-01"),
        (r"^([0-9-]{10})$", r"\1T00:00"),
        (r"(\.[0-9]{6})[0-9]+", r"\1"),  # microseconds
        (r"([T ][0-9:.]+)$", r"\1Z") if in_utc else (r"([T ][0-9:.]+)(Z|[+-][0-9:]+)$", r"\1"),
    ):
        values = pc.replace_substring_regex(values, pattern, whole)
    return values.cast(pa.timestamp("us", "UTC")).cast(DATE) if in_utc else values.cast(DATE)


def read_date(value: str, how: str) -> datetime | None:
    """The date that a value stands for; None if it is not a date."""
    try:
        if how in _EPOCHS:
            zero, unit, allowed = _EPOCHS[how]
            number = float(value) if re.fullmatch(_DECIMAL, value) else math.nan
            return zero + number * unit if allowed[0] <= number <= allowed[-1] else None
        forms = _CLEAR if how == PLAIN else [_pattern(how)]
        value = re.sub(r"^(\d+)\.0$", r"\1", value)  # as tables of floats write 20240531
        matches = (form.fullmatch(value) for form in forms)
        parts = next((found.groupdict("") for found in matches if found), None)
        return None if parts is None else _date_of(parts)
    except (ValueError, OverflowError):
        return None


def _date_of(parts: Mapping[str, str]) -> datetime:
    """The date with these parts; ValueError if the calendar or the clock has none."""
    year, half = parts.get("Y"), parts.get("p", "").lower()
    if not year:  # two digits, in the century that POSIX gives them
        year = ("20" if parts["y"] < "69" else "19") + parts["y"]
    name = parts.get("b", "")[:3].lower()
    month = _MONTHS.index(name) + 1 if name else int(parts.get("m") or 1)
    hour = int(parts.get("H") or 0)
    if half:
        hour = [12, *range(1, 12)].index(hour) + 12 * (half == "p")
    clock = hour, int(parts.get("M") or 0), int(parts.get("S") or 0)
    microsecond = int(parts.get("f", "").ljust(6, "0")[:6])
    return datetime(int(year), month, int(parts.get("d") or 1), *clock, microsecond)


@cache
def _pattern(how: str) -> re.Pattern[str]:
    """A format of ``strptime`` as an expression; KeyError or re.error if it is not one."""
    spaced = re.sub(r"(\\?\s)+", r"\\s+", re.escape(how))  # which escapes some spaces
    pattern = re.sub("%(.?)", lambda part: _DIRECTIVES[part[1]], spaced)
    if re.search("%[YymdHIMSf]%[YymdHIMSf]", how):  # otherwise 1112024 would be two dates
        pattern = pattern.replace(r"\d{1,2}", r"\d\d")
    return re.compile(pattern, re.ASCII | re.IGNORECASE)


def check_format(option: str, how: str) -> None:
    """OptionError unless ``how`` is a format that tells a day, a month or a year."""
    if how in (PLAIN, UTC, *_EPOCHS):
        return
    hint = f"Use {', '.join(_EPOCHS)} or parts such as %d %m %Y %H %M %S %B %y %I %p %z."
    try:
        parts = set(_pattern(how).groupindex)
    except (KeyError, re.error):
        refuse(option, f"{shown(how)} has an unknown or repeated part", hint)
    if len(parts & {"Y", "y"}) != 1 or len(parts & {"m", "b"}) not in (int("d" in parts), 1):
        refuse(option, f"{shown(how)} must have one year, and one month if it has a day", hint)
    if ("p" in parts) != ("%I" in how):
        refuse(option, f"{shown(how)} needs both %I and %p, or %H", hint)


def are_proposed(values: pa.StringArray, how: str) -> bool:
    """Whether one of the ``PROPOSED`` formats reads all the values as dates."""
    form = PROPOSED[how]
    return all(form.match(value) and read_date(value, how) for value in values.to_pylist())

"""Records of edits of topics, by their ids, to be made again to the run of another night."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

import msgspec

from sparsetopics.answers.topic_names import check_name, is_theme, place_of
from sparsetopics.base.errors import OptionError
from sparsetopics.base.safe_reading import read_toml
from sparsetopics.base.sealed_files import PositiveSize, Refusal, decoded
from sparsetopics.options.option import refuse
from sparsetopics.options.table import OPTION
from sparsetopics.runs.plan import toml
from sparsetopics.runs.run import AnyRun
from sparsetopics.runs.run_files import EDITS_FILE
from sparsetopics.runs.topic_identity import THEME

HEAD = "# Edits of topics, for `sparsetopics edit RUN --edits edits.toml --out RUN2`\n"


class Edits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do, in the order of the fields. Topics have numbers or ids; records have ids."""

    merge: tuple[tuple[str | int, ...], ...] = ()  # groups, each of which becomes a topic
    themes: PositiveSize | None = None  # the number of topics to make of all
    drop: tuple[str | int, ...] = ()
    split: tuple[str | int, ...] = ()  # each becomes two
    laps: PositiveSize | None = None  # over the corpus; None: one if topics are split or dropped
    rename: Mapping[str | int, str] = {}

    def by_ids(self, run: AnyRun) -> Edits:
        """The same edits by the ids of a run; OptionError for topics that are not there."""

        def ids(option: str, topics: Iterable[str | int]) -> tuple[str, ...]:
            may_be_theme = option == "rename"
            places = (place_of(run, topic, option, or_theme=may_be_theme) for topic in topics)
            found = tuple(run.topics[place].id for place in places)
            for topic in lost.intersection(found):
                refuse(option, f"topic {topic} is dropped, or merged into a heavier one")
            return found

        lost, order = set[str](), [topic.id for topic in run.topics]
        merge = tuple(ids("merge", group) for group in self.merge)
        merged = [*chain(*merge)]
        if len(set(merged)) < len(merged) or any(len(group) < 2 for group in merge):
            refuse("merge", "must name two or more different topics, each once")
        lost.update(*(sorted(group, key=order.index)[1:] for group in merge))
        drop = ids("drop", self.drop)
        lost.update(drop)
        split, names = ids("split", self.split), dict[str | int, str]()
        for topic, name in self.rename.items():
            check_name("rename", name)
            own = ids("rename", [topic])[0]
            # A theme becomes a topic with --themes
            names[THEME + own if is_theme(run, topic) and not self.themes else own] = name
        OPTION["laps"].check(self.laps)
        laps = self.laps or (1 if split or drop else None)
        if self.themes and (drop or split):
            refuse("themes", "cannot be combined with --drop or --split", "Edit the new run again.")
        return Edits(merge, self.themes, drop, split, laps, names)

    def with_names_of(self, after: AnyRun, before: AnyRun) -> Edits:
        """The same edits with all names that topics have now and had not before."""
        old, new = _names_in(before), _names_in(after)
        names = {topic: name for topic, name in new.items() if old.get(topic) != name}
        return msgspec.structs.replace(self, rename=names)

    def write(self, folder: Path) -> None:
        """Write the record into the folder of a run."""
        lists = {name: getattr(self, name) for name in self.__struct_fields__ if name != "rename"}
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in lists.items() if value]
        names = [f"{topic} = {toml(name)}\n" for topic, name in self.rename.items()]
        text = "".join([HEAD, *lines, *(["\n[rename]\n"] if names else []), *names])
        (folder / EDITS_FILE).write_text(text, encoding="utf-8", newline="\n")


def _names_in(run: AnyRun) -> dict[str, str]:
    """The names of topics and themes that a run keeps, by their ids."""
    topics = {topic.id: topic.name for topic in run.topics}
    topics |= {THEME + topic.id: topic.theme_name for topic in run.topics}
    return {topic: name for topic, name in topics.items() if name is not None}


def read_edits(path: Path) -> Edits:
    """Read a record of edits; OptionError for anything else, as for topics without ids."""
    refusal = Refusal(OptionError, "Write it as `sparsetopics edit` does")
    edits = decoded(read_toml(path), Edits, path, refusal)
    for topic in (*chain(*edits.merge), *edits.drop, *edits.split, *edits.rename):
        if not isinstance(topic, str) or topic.isdecimal():
            refuse(str(path), f"topics must have ids, but {topic} is a number")
    return edits

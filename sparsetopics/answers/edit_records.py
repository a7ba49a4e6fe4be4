"""Records of edits of topics, by their ids, to be made again to the run of another night."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from sparsetopics.answers.topic_names import place_of
from sparsetopics.base.errors import OptionError
from sparsetopics.base.safe_reading import read_toml
from sparsetopics.base.sealed_files import PositiveSize, Refusal, decoded
from sparsetopics.options.option import refuse
from sparsetopics.options.table import OPTION
from sparsetopics.runs.plan import toml
from sparsetopics.runs.run import AnyRun
from sparsetopics.runs.run_files import EDITS_FILE

HEAD = "# Edits of topics, for `sparsetopics edit RUN --edits edits.toml --out RUN2`\n"


class Edits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do, in the order of the fields. Topics have numbers or ids; records have ids."""

    merge: tuple[tuple[str | int, ...], ...] = ()  # groups, each of which becomes a topic
    drop: tuple[str | int, ...] = ()
    split: tuple[str | int, ...] = ()  # each becomes two
    laps: PositiveSize | None = None  # over the corpus; None: one if topics are split or dropped
    rename: Mapping[str | int, str] = {}

    def by_ids(self, run: AnyRun) -> Edits:
        """The same edits by the ids of a run; OptionError for topics that are not there."""

        def ids(option: str, topics: Sequence[str | int]) -> tuple[str, ...]:
            return tuple(run.topics[place_of(run, topic, option)].id for topic in topics)

        merge = tuple(ids("merge", group) for group in self.merge)
        split, drop = ids("split", self.split), ids("drop", self.drop)
        merged = [topic for group in merge for topic in group]
        if len(set(merged)) < len(merged) or any(len(group) < 2 for group in merge):
            refuse("merge", "must name two or more different topics, each once, as in ID,ID")
        OPTION["laps"].check(self.laps)
        return Edits(merge, drop, split, self.laps or (1 if split or drop else None), self.rename)

    def with_names_of(self, after: AnyRun, before: AnyRun) -> Edits:
        """The same edits with all names that topics have now and had not before."""
        old = {(topic.id, topic.name) for topic in before.topics}
        new = [topic for topic in after.topics if topic.name and (topic.id, topic.name) not in old]
        names = {topic.id: topic.name or "" for topic in new}
        return msgspec.structs.replace(self, rename=names)

    def write(self, folder: Path) -> None:
        """Write the record into the folder of a run."""
        lists = {"merge": self.merge, "drop": self.drop, "split": self.split, "laps": self.laps}
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in lists.items() if value]
        names = [f"{topic} = {toml(name)}\n" for topic, name in self.rename.items()]
        text = "".join([HEAD, *lines, "\n[rename]\n", *names])
        (folder / EDITS_FILE).write_text(text, encoding="utf-8", newline="\n")


def read_edits(path: Path) -> Edits:
    """Read a record of edits; OptionError for anything else."""
    refusal = Refusal(OptionError, "Write it as `sparsetopics edit` does")
    return decoded(read_toml(path), Edits, path, refusal)

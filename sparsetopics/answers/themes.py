"""Themes: the topics of a run, joined to fewer by its tree, as a model of their own.

The counts of a theme are the sum of those of its topics. A theme has the id of its heaviest topic
after ``theme-``, and a name of its own, which that topic keeps.
"""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from sparsetopics.answers.editing import with_joined_themes
from sparsetopics.answers.topic_names import with_names_of
from sparsetopics.runs.run import AnyRun, TopicRun, load_run
from sparsetopics.runs.topic_identity import THEME

ONE_OF_PATH = "A path has a run for each number of topics: name one of them."


def opened(path: Path, names: Path | None = None, n_themes: int | None = None) -> AnyRun:
    """Read a run, with its themes instead of its topics, and with the names in a file or a run.

    Raises RunError, what ``with_names_of`` raises, and what ``themed`` raises.
    """
    run = load_run(path)
    if n_themes is not None:
        run = themed(run, n_themes)
    return run if names is None else with_names_of(run, names)


def themed(run: AnyRun, n_themes: int) -> TopicRun:
    """Return a run whose topics are the ``n_themes`` themes of ``run``.

    Raises OptionError for a mixture, and if there are fewer topics.
    """
    found = with_joined_themes(run, n_themes)
    return found.with_topics(
        [replace(topic, id=THEME + topic.id.removeprefix(THEME)) for topic in found.topics]
    )

"""Themes: the topics of a run, joined to fewer by its tree, as a model of their own.

The counts of a theme are the sum of those of its topics. A theme has the id of its heaviest topic
after ``theme-``, and a name of its own, which that topic keeps.
"""

from __future__ import annotations

from dataclasses import replace as with_fields
from pathlib import Path

from msgspec.structs import replace

from sparsetopics.answers.editing import with_joined_themes
from sparsetopics.answers.topic_names import labels_of, with_names_of
from sparsetopics.measures.knee import MOST_THEMES
from sparsetopics.model.statistics import in_use
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import AnyRun, TopicRun, load_run
from sparsetopics.runs.topic_identity import THEME
from sparsetopics.runs.topic_path_files import Scores

MANY_TOPICS = 40  # in use; of more, themes are shown first
USUAL_THEMES = 12  # of a model with more topics, if no number was found to be enough to read
ONE_OF_PATH = "A path has a run for each number of topics: name one of them."


def opened(path: Path, names: Path | None = None, n_themes: int | None = None) -> AnyRun:
    """Read a run, with the names in a file or a run, and its themes instead of its topics.

    Themes have no trace: the bound in it is that of the topics. Raises RunError, what
    ``with_names_of`` raises, and what ``themed`` raises.
    """
    run = load_run(path)
    if names is not None:
        run = with_names_of(run, names)
    return run if n_themes is None else with_fields(themed(run, n_themes), trace=())


def themed(run: AnyRun, n_themes: int) -> TopicRun:
    """Return a run whose topics are the ``n_themes`` themes of ``run``.

    Raises OptionError for a mixture, and if there are fewer topics.
    """
    return as_themes(with_joined_themes(run, n_themes))


def as_themes(run: TopicRun) -> TopicRun:
    """The run with ids of themes in place of those of their heaviest topics."""
    return run.with_topics(
        [replace(topic, id=THEME + topic.id.removeprefix(THEME)) for topic in run.topics]
    )


def themes_to_read(run: AnyRun) -> TopicRun | None:
    """The themes of a run that are shown before its topics, if these are many.

    Their number is the number to read, which only validated HDPs have. None for other runs.
    """
    scores, n_used = run.settings.get("number_of_topics"), in_use(run.model.sizes).sum()
    if n_used <= MANY_TOPICS or not (scores and scores.to_read) or scores.to_read >= n_used:
        return None
    return themed(run, scores.to_read)


def n_page_themes(scores: Scores | None) -> int:
    """The number of themes with which a page begins, for a model with more topics."""
    return min((scores and scores.to_read) or USUAL_THEMES, MOST_THEMES)


def page_themes(run: AnyRun) -> TopicRun | None:
    """The themes with which a page begins; None for a mixture, and for so few topics that they are
    the themes."""
    if run.of(TopicPosterior) is None or run.model.n_topics <= MOST_THEMES:
        return None
    return themed(run, n_page_themes(run.settings.get("number_of_topics")))


def names_of_themes(themes: TopicRun | None) -> dict[str, str]:
    """The names of themes, by the ids of all topics in them; empty without any."""
    named = zip(themes.topics, labels_of(themes), strict=True) if themes else ()
    return {
        each: name
        for topic, (_, name) in named
        for each in (topic.id.removeprefix(THEME), *topic.former_ids)
    }

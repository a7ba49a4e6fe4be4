"""Themes: the topics of a run, joined to fewer by its tree, as a model of their own.

The counts of a theme are the sum of those of its topics. A theme has the id of its heaviest topic
after ``theme-``, and a name of its own, which that topic keeps.
"""

from __future__ import annotations

from dataclasses import replace as with_fields
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from sparsetopics.answers.editing import joined_to_themes, with_joined_themes
from sparsetopics.answers.topic_names import labels_of, with_names_of
from sparsetopics.measures.knee import MOST_THEMES
from sparsetopics.model.statistics import in_use
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import AnyRun, TopicRun, load_run
from sparsetopics.runs.topic_identity import THEME
from sparsetopics.runs.topic_path_files import TopicPathFolder, TopicTree

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
    return _as_themes(with_joined_themes(run, n_themes))


def _as_themes(run: TopicRun) -> TopicRun:
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


def page_themes(run: AnyRun, topic_path: TopicPathFolder | None = None) -> AnyRun:
    """The themes with which a page begins: at most 24.

    They are the topics themselves if these are few, or components of a mixture. Otherwise there is
    the number to read, if that is known, or twelve. Those of a topic path are the topics of one of
    its smaller runs.
    """
    topics, n_topics = run.of(TopicPosterior), run.model.n_topics
    if topics is None or n_topics <= MOST_THEMES:
        return run
    scores = topic_path.scores if topic_path else run.settings.get("number_of_topics")
    n_themes = min((scores and scores.to_read) or USUAL_THEMES, MOST_THEMES)
    if topic_path is None:
        return themed(run, n_themes)
    sizes = [rung.n_topics for rung in topic_path.tree.rungs if rung.n_topics <= n_topics]
    n_themes = next((size for size in sizes if size <= n_themes), sizes[-1])
    groups = themes_of_path(topic_path.tree, n_topics, n_themes)
    return _as_themes(joined_to_themes(topics, np.array(groups)))


def themes_of_path(tree: TopicTree, n_topics: int, n_themes: int) -> list[int]:
    """Return the topic of the rung with ``n_themes`` that each of ``n_topics`` became part of."""
    sizes = [rung.n_topics for rung in tree.rungs]
    themes = list(range(n_topics))
    for rung in tree.rungs[sizes.index(n_topics) : sizes.index(n_themes)]:
        themes = [rung.topics[theme].parent or 0 for theme in themes]
    return themes


def places_in_themes(themes: AnyRun) -> dict[str, int]:
    """The place of the theme that each topic is in, by the ids of topics."""
    former = {each: place for place, topic in enumerate(themes.topics) for each in topic.former_ids}
    return former | {topic.id.removeprefix(THEME): n for n, topic in enumerate(themes.topics)}


def names_of_themes(themes: AnyRun) -> dict[str, str]:
    """The names of themes, by the ids of all topics in them."""
    labels = labels_of(themes)
    return {topic: labels[place][1] for topic, place in places_in_themes(themes).items()}

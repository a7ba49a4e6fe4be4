"""What a page shows first: themes made of topics, their colours and the tree above them."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from sparsetopics.answers.representatives import RepresentativeDocument
from sparsetopics.answers.themes import USUAL_THEMES, page_themes, places_in_themes
from sparsetopics.answers.topic_names import with_names
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.evaluation.report.model_subjects import mixture_subject, topic_subject
from sparsetopics.evaluation.report.overview import overview
from sparsetopics.evaluation.scoring.fixed_topics import read_topics
from sparsetopics.measures.knee import MOST_THEMES
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run, run_in_memory
from sparsetopics.runs.topic_path_files import (
    RungScore,
    Scores,
    TopicPathFolder,
    TopicTree,
    TreeRung,
    TreeTopic,
)

N_TOPICS, N_WORDS = 30, 50


def run_of(n_topics=N_TOPICS, n_empty=0, to_read=None):
    """Topics of words of their own, the last of them empty."""
    rng = np.random.default_rng(0)
    counts = np.round(rng.gamma(0.2, 50.0, (n_topics, N_WORDS)))
    counts = counts[np.argsort(-counts.sum(axis=1), kind="stable")]
    counts[n_topics - n_empty :] = 0.0
    frequency = np.maximum(counts.sum(axis=0), 1.0).astype(np.int64)
    words = tuple(f"word{number}" for number in range(N_WORDS))
    vocabulary = Vocabulary(words, np.minimum(frequency, 50), frequency)
    model = TopicPosterior("lda", counts + 0.1, np.full(n_topics, 0.1), 0.1)
    settings = {"corpus": {"n_documents": 50}, "options": {}, "seed": 0}
    run = run_in_memory("run", model, vocabulary, settings, [])
    if to_read is None:
        return run
    best = (n_topics, n_topics, n_topics)
    scores = Scores((RungScore(n_topics, 1),), "documents", 9, 9.0, *best, to_read)
    return replace(run, settings={**run.settings, "number_of_topics": scores})


def path_of(sizes=(40, 30, 20, 10, 5), to_read=12):
    """A path on which the last topics of a rung become part of the first ones of the next."""

    def rung(size, fewer):
        parents = [None if fewer is None else topic % fewer for topic in range(size)]
        topics = [TreeTopic(1 / size, f"name {n}", ("a", "b"), (), parents[n]) for n in range(size)]
        return TreeRung(size, tuple(topics))

    tree = TopicTree(tuple(rung(*pair) for pair in pairwise([*sizes, None])))
    scores = Scores(tuple(RungScore(size, 1) for size in sizes), "x", 9, 9.0, 30, 30, 40, to_read)
    return TopicPathFolder(Path("path"), scores, tree)


def found_for(run, topic_path=None, examples=None):
    return overview(run, topic_path, examples or [()] * run.model.n_topics)


def places_of(run, themes):
    """The theme that each topic is in."""
    places = places_in_themes(themes)
    return np.array([places[topic.id] for topic in run.topics])


@pytest.mark.parametrize("n_topics", [1, 2, MOST_THEMES])
def test_few_topics_are_the_themes(n_topics):
    run = run_of(n_topics)

    themes, found = page_themes(run), found_for(run)

    assert themes is run
    assert places_of(run, themes).tolist() == list(range(n_topics))
    assert found.noun == "topics"
    assert [each.topics for each in found.themes] == [[topic] for topic in range(n_topics)]
    assert (found.tree is None) == (n_topics == 1)


@pytest.mark.parametrize(
    ("to_read", "n_themes"), [(None, USUAL_THEMES), (7, 7), (24, 24), (28, MOST_THEMES)]
)
def test_many_topics_are_joined_to_the_number_to_read_or_to_twelve(to_read, n_themes):
    run = run_of(to_read=to_read)

    themes, found = page_themes(run), found_for(run)

    assert themes.model.n_topics == len(found.themes) == n_themes
    assert (found.noun, found.tree.cut) == ("themes", n_themes)
    assert dict(found.tree.marks) == ({"to read": to_read, "to predict": 30} if to_read else {})


@pytest.mark.parametrize("topic_path", [None, path_of()], ids=["model", "path"])
@pytest.mark.parametrize("n_empty", [0, 4])
def test_counts_of_a_theme_are_the_sums_of_those_of_its_topics(topic_path, n_empty):
    run = run_of(n_empty=n_empty)

    themes = page_themes(run, topic_path)

    sums, places = np.zeros_like(themes.model.exact_counts), places_of(run, themes)
    np.add.at(sums, places, run.model.exact_counts)
    np.testing.assert_allclose(themes.model.exact_counts, sums, atol=1e-9)
    assert (np.diff(sums.sum(axis=1)) <= 0).all()  # the heaviest first
    assert sorted(set(places.tolist())) == list(range(themes.model.n_topics))


@pytest.mark.parametrize(
    ("sizes", "to_read", "n_themes"),
    [
        ((40, 30, 20, 10, 5), 12, 10),  # the next smaller rung
        ((40, 30, 20, 10, 5), 20, 20),
        ((40, 30, 20, 10, 5), None, 10),
        ((40, 30, 20, 10, 5), 3, 5),  # there are no fewer
        ((30, 25), 12, 25),
        ((30,), None, 30),
    ],
)
def test_themes_of_a_path_are_topics_of_a_rung(sizes, to_read, n_themes):
    topic_path = path_of(sizes, to_read)

    run = run_of()
    themes, found = (make(run, topic_path) for make in (page_themes, found_for))

    assert themes.model.n_topics == len(found.themes) == found.tree.cut == n_themes
    assert found.tree.marks.get("to read") == to_read
    groups = np.arange(30)
    for fewer in [size for size in sizes if n_themes <= size < 30]:
        groups %= fewer
    together = groups[:, None] == groups
    places = places_of(run, themes)
    np.testing.assert_array_equal(places[:, None] == places, together)


def test_themes_without_data_are_left_out():
    few, many = found_for(run_of(10, n_empty=3)), found_for(run_of(n_empty=29))

    assert [each.topic for each in few.themes] == list(range(7))
    assert len(few.colours) == 10  # empty topics are in the list of topics
    assert 0 in many.themes[0].topics
    assert len(many.themes) == 1


def test_a_theme_has_the_colour_the_id_and_the_example_of_its_heaviest_topic():
    run = run_of(to_read=5)
    examples = [
        [RepresentativeDocument(str(topic), None, None, 1.0, 9.0, [], None)]
        for topic in range(N_TOPICS)
    ]

    found = found_for(run, examples=examples)

    weights = run.model.weights
    for theme in found.themes:
        assert theme.topic == max(theme.topics, key=lambda topic: weights[topic])
        assert theme.row.id == f"theme-{run.topics[theme.topic].id}"
        assert theme.example is examples[theme.topic][0]
        assert theme.row.weight == pytest.approx(weights[theme.topics].sum(), abs=1e-3)
    assert sorted(topic for theme in found.themes for topic in theme.topics) == list(range(30))


@pytest.mark.parametrize("topic_path", [None, path_of()], ids=["model", "path"])
def test_topics_of_a_theme_share_a_colour_and_themes_have_the_order_of_the_tree(topic_path):
    run = run_of(to_read=10)

    found = found_for(run, topic_path)

    assert len(found.colours) == N_TOPICS
    assert sorted(set(found.colours)) == list(range(10))
    for theme in found.themes:
        assert {found.colours[topic] for topic in theme.topics} == {found.colours[theme.topic]}
    assert sorted(found.tree.order) == list(range(N_TOPICS))
    along_the_tree = [found.colours[topic] for topic in found.tree.order]
    assert along_the_tree == sorted(along_the_tree)


def test_given_names_are_those_of_the_tree_and_of_themes_that_are_topics():
    run = run_of(5)
    run = with_names(run, {run.topics[2].id: "Crime"})

    found = found_for(run)

    assert [each.row.name for each in found.themes].index("Crime") == 2
    assert [each.name for each in found.tree.branches if each.topic == 2] == ["Crime"]


def test_components_and_topics_of_a_matrix_have_no_tree(
    document_mixture_folder, model, vocabulary, tmp_path
):
    np.save(tmp_path / "matrix.npy", model.topic_word_mean)

    mixture = mixture_subject(load_run(document_mixture_folder)).overview
    matrix = topic_subject(read_topics(tmp_path / "matrix.npy", vocabulary)).overview

    assert (mixture.noun, matrix.noun) == ("components", "topics")
    for found in (mixture, matrix):
        assert found.tree is None
        assert [each.topics for each in found.themes] == [[0], [1], [2], [3]]
        assert list(found.colours) == [0, 1, 2, 3]

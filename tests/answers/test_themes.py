"""Themes as topics: sums of counts, nested cuts, ids and names of their own."""

import tomllib
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sparsetopics.answers.edit_records import Edits
from sparsetopics.answers.editing import with_joined_themes
from sparsetopics.answers.exports.exporting import export_run
from sparsetopics.answers.themes import opened, themed
from sparsetopics.answers.topic_names import labels_of, topic_rows, with_names
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.runs.run import load_run, run_in_memory, save_run
from worlds.hdp_worlds import draw_sticks

N_TOPICS, N_WORDS, ETA = 24, 60, 0.1
WORDS = Vocabulary(
    tuple(f"word{n:02}" for n in range(N_WORDS)), np.full(N_WORDS, 9), np.full(N_WORDS, 50)
)


def drawn_model(name="lda"):
    """Topics near six distributions of words, in falling order of weight."""
    rng = np.random.default_rng(5)
    bases = rng.dirichlet(np.full(N_WORDS, 0.1), 6)[rng.integers(0, 6, N_TOPICS)]
    own = rng.dirichlet(np.full(N_WORDS, 0.1), N_TOPICS)
    sizes = rng.integers(50, 2_000, (N_TOPICS, 1))
    counts = np.round(sizes * (0.7 * bases + 0.3 * own) * 64) / 64
    counts = counts[np.argsort(-counts.sum(axis=1), kind="stable")]
    alpha, sticks = rng.gamma(2.0, 0.05, N_TOPICS), None
    if name == "hdp":
        sticks = draw_sticks(rng, N_TOPICS)
        alpha = sticks.doc_concentration * sticks.global_topic_weights
    return TopicPosterior(name, counts + ETA, alpha, ETA, sticks, smoothing=0.03)


def written(folder, model, topics=()):
    """The run of a model, after its folder was written and read."""
    folder.mkdir(exist_ok=True)
    facts = {"corpus": {"n_documents": 60}, "seed": 7}
    save_run(
        folder,
        run_in_memory(
            "run", model, WORDS, facts | ({"topics": tuple(topics)} if topics else {}), []
        ),
    )
    return load_run(folder, TopicPosterior)


@pytest.fixture(params=["lda", "hdp"])
def run(request, tmp_path):
    return written(tmp_path / "run", drawn_model(request.param))


def members_of(run, themes):
    """The places of the topics of each theme, by the ids that the theme keeps."""
    places = {topic.id: place for place, topic in enumerate(run.topics)}
    return [
        sorted(places[each] for each in (theme.id.removeprefix("theme-"), *theme.former_ids))
        for theme in themes.topics
    ]


# --- counts ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_themes", [1, 2, 9, 10, 23, N_TOPICS])
def test_counts_of_themes_are_sums_of_those_of_their_topics(run, n_themes):
    old = run.model

    found = themed(run, n_themes)

    members = members_of(run, found)
    assert found.model.n_topics == len(members) == n_themes
    assert sorted(k for own in members for k in own) == [*range(N_TOPICS)]
    for theme, own in enumerate(members):
        summed = sum(old.exact_counts[k] for k in own)
        np.testing.assert_array_equal(found.model.exact_counts[theme], summed)
        alpha = old.doc_concentration[own].sum()
        np.testing.assert_allclose(found.model.doc_concentration[theme], alpha, rtol=1e-9)
    assert (np.diff(found.model.exact_counts.sum(axis=1)) <= 0).all()
    assert (found.model.smoothing, found.model.name) == (old.smoothing, old.name)


def test_each_cut_divides_themes_of_the_cut_above_it(run):
    cuts = [members_of(run, themed(run, n)) for n in range(1, N_TOPICS + 1)]

    for coarse, fine in pairwise(cuts):
        divided = [own for own in coarse if own not in fine]
        assert len(divided) == 1
        parts = [own for own in fine if set(own) <= set(divided[0])]
        assert len(parts) == 2
        assert sorted(parts[0] + parts[1]) == divided[0]


def test_themes_of_themes_are_themes(run):
    twelve = themed(run, 12)

    three = themed(twelve, 3)

    assert three.model.n_topics == 3
    assert {topic.id for topic in three.topics} <= {topic.id for topic in twelve.topics}
    assert three.model.exact_counts.sum() == run.model.exact_counts.sum()


# --- ids and names --------------------------------------------------------------------------------
def test_a_theme_has_the_id_of_its_heaviest_topic_and_not_its_name(run):
    run = with_names(run, {0: "Of a topic"})

    found = themed(run, 6)

    for theme, own in zip(found.topics, members_of(run, found), strict=True):
        assert theme.id == f"theme-{run.topics[own[0]].id}"
    assert all(topic.name is None for topic in found.topics)
    assert run.topics[0].name == "Of a topic"


def test_the_name_of_a_theme_is_kept_apart_from_that_of_the_topic(run):
    own = run.topics[2].id
    named = with_names(run, {f"theme-{own}": "A theme", own: "A topic"})

    topic = named.topics[2]
    assert (topic.name, topic.theme_name) == ("A topic", "A theme")
    assert labels_of(named)[2] == (own, "A topic")
    (theme,) = [each for each in themed(named, N_TOPICS).topics if each.id == f"theme-{own}"]
    assert (theme.name, theme.theme_name) == ("A theme", None)
    joined = with_joined_themes(named, N_TOPICS)
    assert dict(labels_of(joined))[own] == "A theme"


def test_a_name_from_a_theme_has_the_words_of_the_theme_and_no_namer(run):
    first = themed(run, 3).topics[0].id.removeprefix("theme-")
    run = with_names(run, {first: "Made"}, named_by="mine:name")
    run = with_names(run, {f"theme-{first}": "A theme"})

    joined = with_joined_themes(run, 3)

    (topic,) = [each for each in joined.topics if each.id == first]
    assert (topic.name, topic.named_by) == ("A theme", None)
    assert topic.words == with_names(joined, {first: "A theme"}).topics[0].words
    assert all(each.words == () for each in joined.topics if each.id != first)


@pytest.mark.parametrize("form", ['{own} = "{name}"', '{own} = {{name = "{name}"}}'])
def test_a_file_names_themes_by_their_ids(run, tmp_path, form):
    first, file = run.topics[0].id, tmp_path / "names.toml"
    file.write_text(form.format(own=f"theme-{first}", name="A theme") + "\n")

    of_topics, of_themes = opened(run.path, file), opened(run.path, file, 4)

    assert (of_topics.topics[0].name, of_topics.topics[0].theme_name) == (None, "A theme")
    assert dict(labels_of(of_themes))[f"theme-{first}"] == "A theme"
    assert dict(labels_of(themed(of_topics, 4)))[f"theme-{first}"] == "A theme"


def test_exported_names_of_themes_name_them_again(run, tmp_path):
    first, file = run.topics[0].id, tmp_path / "names.toml"
    written(run.path, run.model, with_names(run, {f"theme-{first}": "A theme"}).topics)

    export_run(run.path, "names", file, n_themes=5)

    ids = [topic.id for topic in themed(run, 5).topics]
    content = tomllib.loads(file.read_text())
    assert list(content) == ids
    assert content[f"theme-{first}"]["name"] == "A theme"
    plain = written(tmp_path / "plain", run.model)
    names = dict(labels_of(opened(plain.path, file, 5)))
    assert names == {own: entry["name"] for own, entry in content.items()}
    kept = opened(plain.path, file).topics
    assert {f"theme-{topic.id}": topic.theme_name for topic in kept if topic.theme_name} == names
    assert all(topic.name is None for topic in kept)


def test_rows_of_themes_have_their_own_words(run):
    found = themed(run, 3)

    rows = topic_rows(found, 5)

    assert [row.id for row in rows] == [topic.id for topic in found.topics]
    np.testing.assert_allclose([row.weight for row in rows], found.model.weights)
    for row, counts in zip(rows, found.model.exact_counts, strict=True):
        best = np.argsort(-counts, kind="stable")[:5]
        assert [word for word, _ in row.words] == [WORDS.words[k] for k in best]


# --- refusals -------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_themes", [0, -1, 1.5, "2", N_TOPICS + 1])
def test_other_numbers_are_refused(run, n_themes):
    with pytest.raises(OptionError, match=r"themes: must be "):
        themed(run, n_themes)


def test_a_mixture_has_no_themes(document_mixture_folder):
    with pytest.raises(
        OptionError, match=r"themes: needs the topics of LDA or an HDP, but .* is a"
    ):
        opened(document_mixture_folder, n_themes=2)


def test_where_topics_are_wanted_the_id_of_a_theme_is_refused(run):
    theme = f"theme-{run.topics[0].id}"

    for edits in (Edits(drop=(theme,)), Edits(split=(theme,)), Edits(merge=((theme, 1),))):
        with pytest.raises(OptionError, match=f"there is no topic '{theme}'"):
            edits.by_ids(run)


def test_a_cut_leaves_the_run_as_it_is(run):
    before, topics = replace(run), run.topics

    themed(run, 2)

    assert run.model is before.model
    assert run.topics == topics
    assert len(run.themes()) == N_TOPICS - 1

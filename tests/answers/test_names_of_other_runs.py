"""Names of another run: every one goes to the right topic, or to none with a warning."""

import re
import warnings

import numpy as np
import pytest

from sparsetopics.answers.exports.exporting import export_run
from sparsetopics.answers.themes import opened
from sparsetopics.answers.topic_names import with_names
from sparsetopics.base.errors import OptionError, RunError, SparsetopicsWarning
from sparsetopics.model.topic_posterior import TopicPosterior
from worlds.clumped_mixtures import draw_clumps, mixture_of, write_mixture
from worlds.learned_again import N_TOPICS, WORDS, draw_pair, write_model

N_NAMED = 4


@pytest.fixture
def written(tmp_path):
    """Write both runs of a pair, and name some topics of the old one, by their numbers."""

    def write(pair, named):
        old = write_model(tmp_path / "old", pair.old)
        topics = with_names(old, {topic: name_of(topic) for topic in named}).topics
        write_model(tmp_path / "old", pair.old, topics=topics)
        write_model(tmp_path / "new", pair.new)

    return write


def name_of(topic):
    return f"Name {topic}"


def named_in(folder, source):
    """Numbers of old topics by the place that has their name, and what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            topics = opened(folder, source).topics
        except OptionError as error:
            return {}, str(error)
    pairs = ((topic.name, place) for place, topic in enumerate(topics))
    found = {name: place for name, place in pairs if name and name.startswith("Name ")}
    return found, " ".join(str(each.message) for each in caught)


def lines_of(path, topics):
    """The lines of a file of names about some topics."""
    names = [f'"{name_of(topic)}"' for topic in topics]
    return "\n".join(
        line for line in path.read_text().split("\n") if any(name in line for name in names)
    )


@pytest.mark.parametrize("first", range(0, 50, 25))
def test_names_go_to_the_right_topic_or_to_none(written, tmp_path, first):
    """By the whole distributions of another run, by the words of all of its topics, of those that
    have been named, and of one."""
    n_right = n_named = 0
    for seed in range(first, first + 25):
        pair, rng = draw_pair(seed), np.random.default_rng(seed)
        named = sorted({*rng.choice(N_TOPICS, N_NAMED, replace=False).tolist(), *pair.lost})
        written(pair, named)
        export_run(tmp_path / "old", "names", tmp_path / "all.toml", overwrite=True)
        one = (pair.lost or named)[:1]
        (tmp_path / "some.toml").write_text(lines_of(tmp_path / "all.toml", named))
        (tmp_path / "one.toml").write_text(lines_of(tmp_path / "all.toml", one))
        ways = {"old": named, "all.toml": named, "some.toml": named, "one.toml": one}
        for way, expected in ways.items():
            found, said = named_in(tmp_path / "new", tmp_path / way)
            for topic in expected:
                place, where = found.pop(name_of(topic), None), f"seed {seed}, {way}, topic {topic}"
                assert place in (None, pair.places[topic]), where
                assert (place is None) == (f"'{name_of(topic)}'" in said), where
                n_right += place is not None
                n_named += pair.places[topic] >= 0
            assert not found, f"seed {seed}, {way}"

    assert n_right > 0.99 * n_named


@pytest.mark.parametrize("seed", [0, 10, 20])
def test_topics_that_were_lost_are_among_the_pairs(seed):
    """Otherwise the test above would not see that a neighbour is taken for one."""
    assert len(draw_pair(seed).lost) == 1


def test_words_that_one_run_lacks_are_no_hindrance(tmp_path):
    """Half of the words come in another order, and each run has words of its own."""
    pair = draw_pair(1)
    old = write_model(tmp_path / "old", pair.old)
    topics = with_names(old, {3: "Cats", 8: "Dogs"}).topics
    write_model(tmp_path / "old", pair.old, topics=topics)
    order = np.random.default_rng(0).permutation(len(WORDS))
    counts = np.hstack((pair.new.topic_word_posterior[:, order], np.full((N_TOPICS, 9), 0.5)))
    words = (*(WORDS[place] for place in order), *(f"new{number}" for number in range(9)))
    write_model(tmp_path / "new", TopicPosterior("lda", counts, np.full(20, 0.1), 0.1), words)

    for source in ("old", "names.toml"):
        if source == "names.toml":
            export_run(tmp_path / "old", "names", tmp_path / source)
        names = [topic.name for topic in opened(tmp_path / "new", tmp_path / source).topics]
        assert (names[pair.places[3]], names[pair.places[8]]) == ("Cats", "Dogs")


def test_a_run_with_no_word_in_common_is_refused_with_the_names(written, tmp_path):
    written(draw_pair(1), [3, 5])
    words = tuple(word.upper() for word in WORDS)
    write_model(tmp_path / "new", draw_pair(1).new, words)

    said = re.escape(f"no topic of {tmp_path / 'new'} is like 'Name 3' and 'Name 5'")
    with pytest.raises(OptionError, match=said):
        opened(tmp_path / "new", tmp_path / "old")


def test_names_that_fit_no_topic_are_listed_once_others_do(written, tmp_path):
    pair = draw_pair(10)
    (lost,) = pair.lost
    kept = (lost + 7) % N_TOPICS
    written(pair, [lost, kept])

    with pytest.warns(SparsetopicsWarning, match=rf"is like '{name_of(lost)}'\. These names are"):
        topics = opened(tmp_path / "new", tmp_path / "old").topics

    assert [topic.name for topic in topics if topic.name] == [name_of(kept)]
    assert topics[pair.places[kept]].name == name_of(kept)


def test_topics_that_are_equally_similar_get_no_name(written, tmp_path):
    """Two topics of the new run are the parts of one that was divided into equals."""
    pair = draw_pair(1)
    written(pair, [4])
    twice = np.vstack((pair.old.topic_word_posterior, pair.old.topic_word_posterior[4]))
    write_model(tmp_path / "new", TopicPosterior("lda", twice, np.full(21, 0.1), 0.1))
    export_run(tmp_path / "old", "names", tmp_path / "all.toml")
    (tmp_path / "one.toml").write_text(lines_of(tmp_path / "all.toml", [4]))

    for source in ("old", "one.toml"):
        with pytest.raises(OptionError, match="is like 'Name 4'"):
            opened(tmp_path / "new", tmp_path / source)


def test_the_same_id_means_the_same_topic_whatever_its_words(written, tmp_path):
    """And no other name is put in its place, however similar."""
    pair = draw_pair(1)
    written(pair, [4, 6])
    old, new = (opened(tmp_path / name) for name in ("old", "new"))
    place = pair.places[4]
    topics = [*new.topics]
    topics[place] = topics[place].__class__(old.topics[6].id)
    write_model(tmp_path / "new", pair.new, topics=tuple(topics))
    export_run(tmp_path / "old", "names", tmp_path / "all.toml")
    (tmp_path / "two.toml").write_text(lines_of(tmp_path / "all.toml", [4, 6]))

    for source in ("old", "two.toml"):
        with pytest.warns(SparsetopicsWarning, match=r"is like 'Name 4'\. These"):
            found = opened(tmp_path / "new", tmp_path / source).topics
        assert [topic.name for topic in found if topic.name] == ["Name 6"]
        assert found[place].name == "Name 6"


def test_a_name_keeps_who_gave_it_and_its_words(tmp_path):
    pair = draw_pair(1)
    old = write_model(tmp_path / "old", pair.old)
    topics = with_names(old, {2: "Cats"}, named_by="my_namer:name").topics
    write_model(tmp_path / "old", pair.old, topics=topics)
    new = write_model(tmp_path / "new", pair.new)

    found = opened(tmp_path / "new", tmp_path / "old").topics[pair.places[2]]

    assert (found.name, found.named_by) == ("Cats", "my_namer:name")
    assert found.words == topics[2].words
    assert found.id == new.topics[pair.places[2]].id


def test_a_run_without_given_names_has_none_to_take(written, tmp_path):
    written(draw_pair(1), [])

    with pytest.raises(OptionError, match=r"names: no topic of .*old was given a name"):
        opened(tmp_path / "new", tmp_path / "old")


def test_a_mixture_of_vectors_neither_has_nor_takes_names(written, tmp_path):
    written(draw_pair(1), [2])
    write_mixture(tmp_path / "vectors", mixture_of(draw_clumps(0), "gaussian"))

    export_run(tmp_path / "old", "names", tmp_path / "by-id.toml")
    (tmp_path / "one.toml").write_text('bbbbbbbb = "Cats"')

    for names in ("old", "by-id.toml", "one.toml"):
        with pytest.raises(RunError, match="expected a run that was trained with documents"):
            opened(tmp_path / "vectors", tmp_path / names)
    with pytest.raises(OptionError, match="was given a name"):
        opened(tmp_path / "new", tmp_path / "vectors")


@pytest.mark.parametrize(
    ("words", "is_found"),
    [
        (lambda own: own[::-1], True),  # their order means nothing
        (lambda own: own[:7], True),
        (lambda own: [*own[:9], "nowhere"], True),
        (lambda own: own[:5], False),
        (lambda own: [own[0]] * 10, False),
        (lambda own: [*own[:5], *[f"nowhere{n}" for n in range(5)]], False),
        (lambda own: [word.upper() for word in own], False),
        (lambda own: [], False),
        (lambda own: [*WORDS], False),
    ],
)
def test_a_person_may_edit_the_words(tmp_path, words, is_found):
    run = write_model(tmp_path / "run", draw_pair(1).new)
    own = list(with_names(run, {3: "Cats"}).topics[3].words)
    (tmp_path / "names.toml").write_text(f'bbbbbbbb = {{name = "Cats", words = {words(own)}}}')

    if is_found:
        topics = opened(tmp_path / "run", tmp_path / "names.toml").topics
        assert [place for place, topic in enumerate(topics) if topic.name] == [3]
    else:
        with pytest.raises(OptionError, match="is like 'Cats'"):
            opened(tmp_path / "run", tmp_path / "names.toml")

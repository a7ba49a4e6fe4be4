"""Topics that are joined, divided, dropped and learned again: exact counts, and the same bits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sparsetopics.answers import editing
from sparsetopics.answers.editing import (
    relearned,
    split_topic,
    with_divided_topic,
    with_joined_topics,
    without_topic,
)
from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import LocalOptions, MoveOptions, TrainingOptions
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.run import load_run, option_record, recorded_options, run_in_memory, save_run
from sparsetopics.runs.session import warm_options
from worlds.hdp_worlds import draw_sticks

SEEDS = st.integers(0, 2**32 - 1)
ETA, ONE = 0.1, 2**20
LDA, HDP = "lda", "hdp"


def model_of(counts, name=LDA, rng=None, eta=ETA):
    """A model with these counts, (n_topics, n_words), and weights drawn by ``rng``."""
    rng = np.random.default_rng(0) if rng is None else rng
    counts = counts[np.argsort(-counts.sum(axis=1), kind="stable")]
    alpha, sticks = rng.gamma(1.0, 0.2, len(counts)) + 1e-3, None
    if name == HDP:
        sticks = draw_sticks(rng, len(counts))
        alpha = sticks.doc_concentration * sticks.global_topic_weights
    return TopicPosterior(name, counts + eta, alpha, eta, sticks, smoothing=0.03)


def draw(seed, name=LDA):
    """A drawn model and its exact counts, some in thousandths and some in millions of tokens."""
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(2, 8)), int(rng.integers(1, 12))
    scale = 10.0 ** rng.integers(-3, 7, shape)
    counts = np.round(rng.gamma(0.5, 1.0, shape) * scale * ONE) / ONE
    counts += np.eye(*shape)  # no topic is empty
    counts = counts[np.argsort(-counts.sum(axis=1), kind="stable")]
    return model_of(counts, name, rng, rng.choice([0.01, 0.1, 1 / 3, 50.0])), counts, rng


def run_of(model, options=None, seed=0):
    """A run of the model in memory."""
    options = options or TrainingOptions(model.n_topics, model=model.name)
    facts = {"corpus": {}, "options": option_record(options), "seed": seed}
    return run_in_memory("run", model, None, facts, [])


def parents_in(before, after, split=None):
    """The topics of one run that each topic of another comes from; new ones come from ``split``."""
    places = {topic.id: place for place, topic in enumerate(before.topics)}
    return [
        sorted(places.get(each, split) for each in (topic.id, *topic.former_ids))
        for topic in after.topics
    ]


def checked(model, edited, parents):
    """The exact counts of an edited model, after all that holds for each edit."""
    counts = edited.exact_counts
    assert (counts * ONE == np.round(counts * ONE)).all()
    assert (np.diff(counts.sum(axis=1)) <= 0).all()
    assert len(parents) == edited.n_topics == len(edited.doc_concentration)
    assert edited.smoothing == model.smoothing
    assert edited.topic_word_posterior.tobytes() == (counts + model.word_concentration).tobytes()
    whole, left = model.doc_concentration.sum(), edited.doc_concentration.sum()
    np.testing.assert_allclose(left, whole, rtol=1e-12)
    return counts


@given(SEEDS)
def test_counts_come_back_from_the_posterior(seed):
    model, counts, _ = draw(seed)

    np.testing.assert_array_equal(model.exact_counts, counts)


def test_counts_that_are_no_multiples_stay():
    counts = np.random.default_rng(0).gamma(0.3, 2.0, (4, 30))
    model = model_of(counts)

    found = model.exact_counts

    expected = np.maximum(model.topic_word_posterior - ETA, 0.0)
    off = np.abs(expected * ONE - np.round(expected * ONE)) > 1e-3
    assert off.mean() > 0.9
    np.testing.assert_array_equal(found[off], expected[off])


@given(SEEDS, st.sampled_from([LDA, HDP]))
def test_joined_topics_have_the_sum_of_their_counts(seed, name):
    model, counts, rng = draw(seed, name)
    group_of = rng.integers(0, 3, model.n_topics)
    groups = [np.flatnonzero(group_of == g)[::-1].tolist() for g in (1, 2)]

    run = run_of(model)
    found = with_joined_topics(run, list(filter(len, groups)))
    edited, parents = found.model, parents_in(run, found)

    expected = {tuple(sorted(group)) for group in groups if group}
    expected |= {(topic,) for topic in np.flatnonzero(group_of == 0)}
    assert sorted(map(tuple, parents)) == sorted(expected)
    found = checked(model, edited, parents)
    for topic, own in enumerate(parents):
        np.testing.assert_array_equal(found[topic], sum(counts[old] for old in own))
        alpha = sum(model.doc_concentration[old] for old in own)
        np.testing.assert_allclose(edited.doc_concentration[topic], alpha, rtol=1e-9)
    if name == HDP:
        new_topics = np.array([next(n for n, p in enumerate(parents) if k in p)
                               for k in range(model.n_topics)])  # fmt: skip
        twin = HDPAllocation(model.sticks).joined(new_topics, len(parents)).sticks
        np.testing.assert_allclose(edited.sticks.means, twin.means, rtol=1e-9)
        np.testing.assert_array_equal(edited.sticks.concentrations, twin.concentrations)


@given(SEEDS, st.sampled_from([LDA, HDP]))
def test_divided_topics_add_up_and_join_again(seed, name):
    model, counts, rng = draw(seed, name)
    topic, shares = int(rng.integers(model.n_topics)), rng.uniform(0.3, 0.7, model.n_words)

    run = run_of(model)
    divided = with_divided_topic(run, topic, shares)
    edited, parents = divided.model, parents_in(run, divided, topic)

    found = checked(model, edited, parents)
    children = [n for n, parent in enumerate(parents) if parent == [topic]]
    assert len(children) == 2
    assert sorted(p for (p,) in parents) == sorted([*range(model.n_topics), topic])
    np.testing.assert_array_equal(found[children].sum(axis=0), counts[topic])
    parts = np.abs(found[children] - (shares * counts[topic])[None, :]).max(axis=1)
    assert parts.min() <= 1 / ONE
    alpha = edited.doc_concentration[children]
    np.testing.assert_allclose(alpha, model.doc_concentration[topic] / 2, rtol=1e-9)
    again = with_joined_topics(divided, [children]).model
    np.testing.assert_array_equal(again.topic_word_posterior, model.topic_word_posterior)
    np.testing.assert_allclose(again.doc_concentration, model.doc_concentration, rtol=1e-9)


@given(SEEDS, st.sampled_from([LDA, HDP]))
def test_a_dropped_topic_takes_its_counts_with_it(seed, name):
    model, counts, rng = draw(seed, name)
    topic = int(rng.integers(model.n_topics))
    kept = np.delete(np.arange(model.n_topics), topic)

    run = run_of(model)
    left = without_topic(run, topic)
    edited, parents = left.model, parents_in(run, left)

    assert parents == [[number] for number in kept]
    np.testing.assert_array_equal(checked(model, edited, parents), counts[kept])
    ratio = edited.doc_concentration / model.doc_concentration[kept]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
    if name == HDP:
        twin = HDPAllocation(model.sticks).restricted(kept).sticks
        np.testing.assert_allclose(edited.sticks.means, twin.means, rtol=1e-9)


def test_what_cannot_be_edited_is_refused():
    run = run_of(model_of(np.array([[8.0, 2.0], [4.0, 1.0]])))
    with pytest.raises(OptionError, match="split: topic 0 cannot be divided"):
        with_divided_topic(run, 0, np.ones(2))
    with pytest.raises(OptionError, match="drop: topic 0 is the only topic"):
        without_topic(without_topic(run, 1), 0)


# --- with documents -------------------------------------------------------------------------------
def collection(seed, n_topics=6, n_words=200, n_docs=300, n_tokens=70):
    """Documents drawn from LDA, and the tokens of each word in each topic."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.05), n_topics)
    lengths, mixes = rng.poisson(n_tokens, n_docs), rng.dirichlet(np.full(n_topics, 0.1), n_docs)
    of_topics = map(rng.multinomial, lengths, mixes)
    tokens = np.array([[*map(rng.multinomial, numbers, topics)] for numbers in of_topics])
    words = [f"word{number}" for number in range(n_words)]
    corpus = Corpus.from_csr(csr_array(tokens.sum(axis=1)), words)
    return corpus, tokens.sum(axis=0).astype(np.float64)


def options_of(name, n_topics=6):
    return TrainingOptions(n_topics, model=name)


def probabilities(counts):
    return (counts + 0.05) / (counts + 0.05).sum(axis=1, keepdims=True)


def similarity(one, other):
    """1 − Jensen–Shannon divergence in bits, of two distributions of words."""
    middle = (one + other) / 2
    return 1 - 0.5 * sum((part * np.log2(part / middle)).sum() for part in (one, other))


def halves_found(seed, name):
    """How similar two true topics are to their likes after they were joined and split."""
    corpus, counts = collection(seed)
    counts = counts[np.argsort(-counts.sum(axis=1), kind="stable")]
    pair = sorted(np.random.default_rng(seed).choice(len(counts), 2, replace=False).tolist())
    run = run_of(model_of(counts, name), options_of(name), seed)
    joined = with_joined_topics(run, [pair])
    both = parents_in(run, joined).index(pair)
    parted = split_topic(joined, both, corpus, 1)
    learned = relearned(parted, parted, corpus, 1, 1, RunHooks())
    model, of_learned = learned.model, parents_in(joined, learned, both)
    children = [n for n, parents in enumerate(of_learned) if set(parents) == {both}]
    assert len(children) == 2
    true = probabilities(counts[pair])
    found = model.topic_word_mean[children]
    return [max(similarity(topic, own) for own in found) for topic in true]


@pytest.mark.parametrize("name", [LDA, HDP])
def test_a_split_finds_the_two_topics_that_were_joined(name):
    found = np.array([halves_found(seed, name) for seed in range(5)])

    assert found.min() >= 0.95, found


def same(left, right):
    sticks = left.sticks is None or all(
        np.asarray(a).tobytes() == np.asarray(b).tobytes()
        for a, b in zip(left.sticks, right.sticks, strict=True)
    )
    return (
        sticks
        and left.topic_word_posterior.tobytes() == right.topic_word_posterior.tobytes()
        and left.doc_concentration.tobytes() == right.doc_concentration.tobytes()
        and left.smoothing == right.smoothing
    )


@pytest.mark.parametrize("name", [LDA, HDP])
def test_a_replay_gives_the_same_bits_for_any_workers_and_places(tmp_path, name):
    corpus, counts = collection(1)
    corpus.save(tmp_path / "corpus")
    stored, start = Corpus.open(tmp_path / "corpus"), run_of(model_of(counts, name), seed=3)

    def edited(data, workers):
        parted = split_topic(start, 2, data, workers)
        found = relearned(parted, parted, data, 2, workers, RunHooks())
        return parted, found, [{**entry, "seconds": 0} for entry in found.trace]

    first = edited(corpus, 1)
    for other in (edited(corpus, 3), edited(stored, 2)):
        for one, another in zip(first[:2], other[:2], strict=True):
            assert same(one.model, another.model)
            assert one.topics == another.topics
        assert first[2] == other[2]


def test_a_split_uses_the_documents_with_most_of_the_topic(monkeypatch):
    corpus, counts = collection(2)
    run, seen = run_of(model_of(counts)), []
    train = editing.train

    def watched(source, *rest):
        seen.append([source.read(batch) for batch in range(source.n_batches)])
        return train(source, *rest)

    monkeypatch.setattr(editing, "train", watched)
    split_topic(run, 0, corpus, 1)
    monkeypatch.setattr(editing, "SAMPLE_DOCUMENTS", 30)
    split_topic(run, 0, corpus, 1)

    lengths = [
        np.sort(np.concatenate([np.add.reduceat(b.word_counts, b.indptr[:-1]) for b in batches]))
        for batches in seen
    ]
    assert len(lengths[1]) == 30 < len(lengths[0])
    np.testing.assert_allclose(lengths[1], lengths[0][-30:])


def test_a_split_without_enough_documents_is_refused():
    corpus, counts = collection(0, n_docs=40)
    empty = model_of(np.vstack([counts, np.zeros_like(counts[:1])]))
    with pytest.raises(OptionError, match="split: fewer than 4 documents use topic 6"):
        split_topic(run_of(empty), 6, corpus, 1)


@pytest.mark.parametrize("name", [LDA, HDP])
def test_laps_keep_the_number_of_topics_and_tell_where_they_went(name):
    corpus, counts = collection(3)
    usual = replace(options_of(name), local=LocalOptions(sparsity=6))
    run = without_topic(run_of(model_of(counts, name), usual), 1)
    model, heard = run.model, []

    learned = relearned(run, run, corpus, 8, 1, RunHooks(on_lap=heard.append))
    found, trace = learned.model, learned.trace

    assert found.n_topics == 5
    assert [entry["n_topics"] for entry in trace] == [5] * len(trace)
    assert 1 < len(trace) <= 8
    assert heard == [{**entry, "lap": entry["lap"] - 1} for entry in trace]
    assert learned.settings["options"]["local"]["sparsity"] == 5
    assert found.exact_counts.sum() == corpus.n_tokens  # the words of the dropped topic too
    order = [old for (old,) in parents_in(run, learned)]
    for topic, old in enumerate(order):
        likeness = [similarity(found.topic_word_mean[topic], own) for own in model.topic_word_mean]
        assert np.argmax(likeness) == old


def test_options_of_a_run_make_laps_alone(tmp_path, model, hdp, vocabulary):
    moving = TrainingOptions(9, model=HDP, local=LocalOptions(sparsity=7, own_counts="half"))
    options = warm_options(hdp, recorded_options(run_of(hdp, moving)), 3)
    assert (options.n_topics, options.laps, options.active_moves.names) == (4, 3, ())
    assert (options.local.sparsity, options.local.own_counts) == (4, None)
    prior = options.prior
    assert (prior.top_concentration, prior.doc_concentration) == (5.0, 0.5)
    learned = replace(model, word_concentration=0.07)
    prior = warm_options(learned, recorded_options(run_of(learned)), 1).prior
    assert (prior.doc_concentration, prior.word_concentration) == (0.5, 0.07)

    given = replace(moving, n_topics=4, moves=MoveOptions(("merge",)))
    facts = {"corpus": {"n_documents": 60}, "options": option_record(given), "seed": 7}
    save_run(tmp_path, run_in_memory("run", hdp, vocabulary, facts, []))
    assert option_record(recorded_options(load_run(tmp_path))) == option_record(given)

"""A run for a corpus that has grown: what stays, what is new, and what people are told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from sparsetopics import HDP, LDA, Corpus
from sparsetopics.answers.editing import with_new_topics
from sparsetopics.answers.new_documents import topic_shares, used_shares
from sparsetopics.answers.proportions import shares_of
from sparsetopics.answers.quick_topics import QuickTopics
from sparsetopics.answers.updating import updated
from sparsetopics.base.errors import CorpusError, VocabularyError
from sparsetopics.corpora.lookup import documents_at
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.run import option_record, run_in_memory
from worlds.hdp_worlds import draw_sticks
from worlds.streams import N_THEMES, around_event, corpora_of, draw_stream

SEEDS = st.integers(0, 2**32 - 1)
SIZES = {"n_first": 400, "n_nights": 22, "n_each": 80}
ETA, ONE = 0.1, 2**20


def first_run(name, corpus, seed):
    """A run of the first collection, in memory."""
    made = LDA(10, max_iter=10, random_state=seed)
    if name == "hdp":
        made = HDP(20, max_iter=12, random_state=seed)
    return made.fit(corpus)._run()


def nights_of(name, kind, seed, n_before=1, n_after=3):
    """Runs and what is news, for each night around the event; and the themes of the documents."""
    stream = around_event(draw_stream(kind, seed, **SIZES), n_before, n_after)
    corpus, *grown = corpora_of(stream)
    runs, news = [first_run(name, corpus, seed)], []
    for corpus in grown:
        found = updated(runs[-1], corpus, "the corpus")
        runs.append(found.run)
        news.append([change for change in found.changes if change.is_news])
    print(name, kind, seed, stream.theme, [[(c.kind, c.words[0]) for c in night] for night in news])
    return stream, corpus, runs, news


def themes_of(change):
    """The themes of the best words of a change, most often first."""
    own = [word[5:7] for word in change.words if word.startswith("theme")]
    return sorted({*own}, key=own.count, reverse=True)


def is_about(change, theme):
    return themes_of(change)[:1] == [f"a{chr(97 + theme)}"]


def mains_of(documents, corpus, stream):
    """The main themes of some documents."""
    names = [name for names in corpus.ids() for name in names]
    main = dict(zip(names, np.concatenate(stream.themes).tolist(), strict=True))
    return [main[name] for name in documents]


# --- more topics ----------------------------------------------------------------------------------
def draw_run(seed, name):
    """A run in memory and the exact counts of its topics."""
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(1, 8)), int(rng.integers(1, 12))
    counts = np.round(rng.gamma(0.5, 1.0, shape) * 10.0 ** rng.integers(-2, 5, shape) * ONE) / ONE
    counts += np.eye(*shape)
    counts = counts[np.argsort(-counts.sum(axis=1), kind="stable")]
    alpha, sticks = rng.gamma(1.0, 0.2, shape[0]) + 1e-3, None
    if name == "hdp":
        sticks = draw_sticks(rng, shape[0])
        alpha = sticks.doc_concentration * sticks.global_topic_weights
    model = TopicPosterior(name, counts + ETA, alpha, ETA, sticks, smoothing=0.03)
    options = option_record(TrainingOptions(shape[0], model=name))
    return run_in_memory("run", model, None, {"corpus": {}, "options": options, "seed": 0}, []), rng


@settings(max_examples=40)
@given(SEEDS, st.sampled_from(["lda", "hdp"]), st.integers(1, 3))
def test_new_topics_leave_counts_and_ids_of_the_others(seed, name, n_new):
    run, rng = draw_run(seed, name)
    before = run.model.topic_word_posterior.copy(), run.topics
    more = rng.integers(1, 50, (n_new, run.model.n_words)).astype(float)

    found = with_new_topics(run, more)

    old, new = run.model, found.model
    counts = {topic.id: own for topic, own in zip(found.topics, new.exact_counts, strict=True)}
    for topic, own in zip(run.topics, old.exact_counts, strict=True):
        np.testing.assert_array_equal(counts.pop(topic.id), own)
    assert sorted(map(tuple, counts.values())) == sorted(map(tuple, more))
    assert (np.diff(new.exact_counts.sum(axis=1)) <= 0).all()
    np.testing.assert_allclose(new.doc_concentration.sum(), old.doc_concentration.sum(), rtol=1e-9)
    share = new.doc_concentration / new.doc_concentration.sum()
    is_new = np.array([topic.id in counts for topic in found.topics])
    of_tokens = more.sum() / (more.sum() + old.exact_counts.sum())
    np.testing.assert_allclose(share[is_new].sum(), of_tokens, rtol=1e-9)
    assert found.settings["options"]["n_topics"] == old.n_topics + n_new
    np.testing.assert_array_equal(run.model.topic_word_posterior, before[0])
    assert run.topics == before[1]


# --- what happens in a stream ---------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(2))
def test_an_hdp_has_a_topic_for_a_theme_that_arrives(seed):
    stream, corpus, runs, news = nights_of("hdp", "arrives", seed)
    assert not news[0]

    (told,) = (change for night in news for change in night if is_about(change, N_THEMES))

    assert told.kind == "new"  # once, within two nights
    assert told in news[1] + news[2]
    ids = [[topic.id for topic in run.topics] for run in runs]
    assert told.topic not in ids[1]
    assert {*ids[0]} == {*ids[1]} < {*ids[-1]}
    (batch,) = corpus.batches()
    leading = shares_of(runs[-1].model)(batch).argmax(axis=1) == ids[-1].index(told.topic)
    main = np.concatenate(stream.themes)
    assert leading[main == N_THEMES].mean() > 0.9
    assert leading[main != N_THEMES].mean() < 0.05
    assert mains_of(told.documents, corpus, stream) == [N_THEMES] * 3


@pytest.mark.parametrize("seed", range(2))
def test_lda_says_which_documents_no_topic_fits(seed):
    stream, corpus, runs, news = nights_of("lda", "arrives", seed)
    assert not news[0]

    told = [change for night in news[:3] for change in night]

    (unfitted,) = (change for change in told if change.kind == "no topic fits")
    assert is_about(unfitted, N_THEMES)
    assert mains_of(unfitted.documents, corpus, stream) == [N_THEMES] * 3
    assert unfitted.topic is None
    assert unfitted.name.endswith(" documents")
    assert len({frozenset(topic.id for topic in run.topics) for run in runs}) == 1


@pytest.mark.parametrize("seed", range(2))
def test_a_theme_that_leaves_is_fading_and_told_once(seed):
    stream, _, runs, news = nights_of("lda", "leaves", seed, 1, 4)

    told = [change for night in news[1:] for change in night]

    assert [change.kind for change in told] == ["fading"]
    assert told[0] in news[1] + news[2]
    assert is_about(told[0], stream.theme)
    assert told[0].share < 0.5 * told[0].share_before
    assert told[0].low < told[0].share - told[0].share_before < told[0].high < 0.0
    assert ("less", told[0].topic) in runs[-1].settings["told"]


def test_themes_that_grow_are_told_of():
    """Small topics may need more than two nights, so one in three may be missed."""
    n_told = 0
    for seed in range(3):
        stream, _, _, news = nights_of("lda", "growth", seed)
        told = [change for night in news for change in night]
        assert all(change.kind == "growing" for change in told)
        assert all(is_about(change, stream.theme) for change in told)
        assert all(change.share > 2.0 * change.share_before for change in told)
        n_told += len(told) == 1
    assert n_told >= 2


def test_quiet_nights_bring_no_news():
    """One false alarm in 20 quiet nights is allowed: then 5 or more in 30 nights are a matter of
    chance in one of 60 cases."""
    n_alarms = 0
    for name, seed in (("lda", 0), ("lda", 1), ("hdp", 0)):
        corpus, *grown = corpora_of(draw_stream("quiet", seed, **SIZES | {"n_nights": 10}))
        run = first_run(name, corpus, seed)
        for corpus in grown:
            found = updated(run, corpus, "the corpus")
            run, news = found.run, [change for change in found.changes if change.is_news]
            if news:
                print(name, seed, [(change.kind, change.words[:3]) for change in news])
            n_alarms += bool(news)
    assert binom.sf(4, 30, 1 / 20) < 1 / 60
    assert n_alarms <= 4


# --- what stays -----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def grown():
    """A run of some documents, and the corpus with others after them."""
    before, after = corpora_of(draw_stream("quiet", 9, **SIZES | {"n_nights": 1}))
    return first_run("hdp", before, 0), before, after


def test_old_documents_keep_their_topics(grown):
    run, before, after = grown
    found = updated(run, after, "the corpus")

    assert (found.n_new_documents, found.n_new_words) == (80, after.n_words - before.n_words)
    assert found.run.vocabulary == after.vocabulary
    (batch,) = before.batches()
    leading = []
    for each in (run, found.run):
        shares = shares_of(each.model)(batch)
        leading.append([each.topics[place].id for place in shares.argmax(axis=1)])
    assert np.mean(np.array(leading[0]) == np.array(leading[1])) > 0.95
    assert found.run.settings["corpus"]["n_documents"] == after.n_docs
    assert len(found.run.trace) == len(run.trace) + 1


def test_the_run_itself_stays(grown):
    run, _, after = grown
    posterior, settings = run.model.topic_word_posterior.copy(), {**run.settings}

    updated(run, after, "the corpus")

    np.testing.assert_array_equal(run.model.topic_word_posterior, posterior)
    assert run.settings == settings


def test_without_a_new_document_the_run_is_the_same(grown):
    run, before, _ = grown

    found = updated(run, before, "the corpus")

    assert found.run is run
    assert (found.n_new_documents, found.n_new_words, found.changes) == (0, 0, [])


def test_workers_change_no_bit():
    stream = around_event(draw_stream("arrives", 1, **SIZES), 0, 1)
    corpus, *_, last = corpora_of(stream)
    run = first_run("hdp", corpus, 1)

    one, two = (updated(run, last, "the corpus", workers=n) for n in (1, 2))

    posteriors = [each.run.model.topic_word_posterior for each in (one, two)]
    assert posteriors[0].tobytes() == posteriors[1].tobytes()
    assert one.run.topics == two.run.topics
    assert one.changes == two.changes
    assert "new" in {change.kind for change in one.changes}


@pytest.mark.parametrize("change", ["order", "fewer", "other"])
def test_other_documents_are_refused(grown, change):
    run, _, after = grown
    counts = {"order": after.to_csr()[::-1], "fewer": after.to_csr()[:300]}.get(change)
    if counts is None:
        counts = 2 * after.to_csr()
    other = Corpus.from_csr(counts, after.vocabulary.words)

    with pytest.raises(CorpusError, match="the 400 documents that HDP was trained with and others"):
        updated(run, other, "the corpus")


def test_other_words_are_refused(grown):
    run, _, after = grown
    other = Corpus.from_csr(after.to_csr(), after.vocabulary.words[::-1])

    with pytest.raises(VocabularyError, match=r"expected the .* words .* but found another"):
        updated(run, other, "the corpus")


def test_fewer_words_are_refused(grown):
    run, before, _ = grown
    fewer = Corpus.from_csr(before.to_csr()[:, :50], before.vocabulary.words[:50])

    with pytest.raises(VocabularyError, match="Give the corpus that has grown"):
        updated(run, fewer, "the corpus")


def test_topics_without_tokens_harm_no_other(grown):
    """Their weights may be below zero by rounding; then the shares of all topics were NaN."""
    run, before, after = grown
    model = run.model.with_words(after.n_words)
    empty = np.full((1, after.n_words), model.word_concentration * (1.0 - 1e-15))
    more = np.vstack([model.topic_word_posterior, empty])
    more = TopicPosterior("lda", more, np.full(len(more), 0.1), model.word_concentration)
    assert more.weights[-1] < 0.0
    batch = documents_at(after.row_groups, np.arange(after.n_docs))

    def compared(model):
        shares = used_shares(model, batch, QuickTopics.of(model, 1).tokens(batch))
        return np.array(topic_shares(shares[: before.n_docs], shares[before.n_docs :]))

    found = compared(more)

    expected = compared(model)
    np.testing.assert_allclose(found[:4, :-1], expected[:4], atol=0.005)  # starts differ
    np.testing.assert_allclose(found[:, -1], [0.0, 0.0, 0.0, 0.0, 1.0], atol=0.001)


@pytest.mark.parametrize("name", ["lda", "hdp"])
def test_a_small_collection_is_updated_too(name):
    before, after = corpora_of(draw_stream("quiet", 0, n_first=30, n_nights=1, n_each=5))
    run = first_run(name, before, 0)

    found = updated(run, after, "the corpus")

    assert found.n_new_documents == 5
    assert {change.kind for change in found.changes} <= {"same", "moved"}

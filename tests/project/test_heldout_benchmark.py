"""How benchmarks score held-out documents, and what they make of the scores of several runs."""

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import reference_completion
from sparsetopics.measures.completion import split_by_type
from sparsetopics.measures.paired import HeldoutScores

FOLDER = Path(__file__).parents[2] / "benchmarks"
if not FOLDER.is_dir():
    pytest.skip("needs benchmarks/, which the source archive leaves out", allow_module_level=True)
sys.path.append(str(FOLDER))  # last, because both folders have a module ``bars``
benchmark = importlib.import_module("heldout")
scored_runs = importlib.import_module("scored_runs")


@pytest.fixture
def heldout(training_batch):
    """As ``completion.py`` keeps documents: word ids and counts of both parts."""
    observed, scored = split_by_type(training_batch, np.random.default_rng(3))
    documents = zip(*map(reference_completion.documents, (observed, scored)), strict=True)
    return benchmark.HeldOut.of([(*one, *other) for one, other in documents])


def test_every_document_has_the_score_of_the_plain_twin(heldout, model):
    # Neither normalized nor positive, as some peers give their topics.
    topics = model.topic_word_mean * np.arange(1, model.n_topics + 1)[:, np.newaxis]
    topics[0, ::7] = 0.0
    normalized = np.maximum(topics, 1e-12)
    normalized /= normalized.sum(axis=1, keepdims=True)
    prior = np.full(len(topics), 0.5 / len(topics))
    parts = map(reference_completion.documents, heldout)
    expected = [
        counts_b
        @ np.log(
            reference_completion.document_proportions(words_a, counts_a, normalized, prior)
            @ normalized[:, words_b]
        )
        for (words_a, counts_a), (words_b, counts_b) in zip(*parts, strict=True)
    ]

    scores = heldout.scores(topics)

    np.testing.assert_allclose(scores.log_likelihoods, expected, rtol=1e-5)
    assert scores.sizes.sum() == heldout.scored.n_tokens
    assert heldout.first(7).scores(topics).log_likelihoods == pytest.approx(
        scores.log_likelihoods[:7], rel=1e-6
    )


def scores_of(log_likelihoods, sizes=(1.0, 2.0, 3.0, 4.0, 5.0)):
    return HeldoutScores(np.array(log_likelihoods), np.array(sizes))


def runs_of(setting, names, *log_likelihoods, elbo=-7.0):
    return [
        scored_runs.ScoredModel(setting, name, scored_runs.END, elbo, scores_of(each))
        for name, each in zip(names, log_likelihoods, strict=True)
    ]


def test_halves_take_turns():
    first, second = benchmark.halves(scores_of([-1.0, -2.0, -3.0, -4.0, -5.0]))

    assert first.log_likelihoods.tolist() == [-1.0, -3.0, -5.0]
    assert second.sizes.tolist() == [2.0, 4.0]


def test_runs_are_averaged_by_document():
    mean = benchmark.mean_scores([scores_of([-1.0] * 5), scores_of([-3.0] * 5)])

    assert mean.log_likelihoods.tolist() == [-2.0] * 5


def test_the_same_seeds_are_compared_in_pairs():
    ours = runs_of("ours", ("0", "1"), [-1.0] * 5, [-9.0] * 5)
    theirs = runs_of("theirs", ("1", "0"), [-10.0] * 5, [-2.0] * 5)
    others = runs_of("others", ("2", "3"), [-10.0] * 5, [-2.0] * 5)

    paired, error = scored_runs.difference(ours, theirs, 0)
    unpaired, larger = scored_runs.difference(ours, others, 0)

    assert paired.mean == unpaired.mean == pytest.approx(3 / 9)  # three documents of nine tokens
    assert error == pytest.approx(0.0)
    assert larger == pytest.approx(math.hypot(8 / 3, 8 / 3) / 2)  # means differ by 24 / 9


def test_the_best_setting_is_chosen_on_the_first_half(capsys):
    good_on_a = runs_of("one", ("0",), [-1.0, -9.0, -1.0, -9.0, -1.0])
    good_on_b = runs_of("two", ("0",), [-2.0, -1.0, -2.0, -1.0, -2.0])

    scored_runs.print_scores(good_on_a + good_on_b)

    *_, heading, line = capsys.readouterr().out.splitlines()
    assert heading == "less one, the best on A:"
    assert [float(word) for word in line.split()[1:] if "±" not in word] == [0.0, -0.3333, 2.6667]


def test_scores_come_back_from_their_record():
    (model,) = runs_of("ours", ("0",), [-0.1, -1 / 3, -3.0, -4.0, -5.0])

    again = scored_runs.ScoredModel.of_record(model.record())

    assert again._replace(scores=None) == model._replace(scores=None)
    np.testing.assert_array_equal(again.scores, model.scores)

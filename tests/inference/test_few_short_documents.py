"""Few short documents leave one topic, although children of it that have not formed look alike."""

import numpy as np
import pytest

from worlds.collapsed_criterion import from_one_topic, trained_with_criterion, without_moves
from worlds.simulated_documents import as_source, batch_of_counts

N_DOCS, N_WORDS = 400, 400


def blurred(rng, n_topics=2, n_tokens=11, own_share=0.5):
    """Documents of a few words; half of a topic's words are those of all topics."""
    background = rng.dirichlet(np.full(N_WORDS, 0.3))
    topics = rng.dirichlet(np.full(N_WORDS, 0.1), n_topics)
    topics = (1.0 - own_share) * background + own_share * topics
    lengths = 1 + rng.poisson(n_tokens - 1, N_DOCS)
    mixed = rng.dirichlet(np.full(n_topics, 0.1), N_DOCS) @ topics
    return as_source(batch_of_counts(rng.multinomial(lengths, mixed)), N_WORDS, 4)


@pytest.mark.parametrize("seed", range(3))
def test_one_topic_is_left_where_two_are_better(tmp_path, seed):
    source = blurred(np.random.default_rng(seed))
    one, of_two = (
        trained_with_criterion(source, tmp_path / model, without_moves(model, n_topics), seed)[1]
        for model, n_topics in (("hdp", 1), ("lda", 2))
    )
    model, criterion = trained_with_criterion(source, tmp_path / "moves", from_one_topic(), seed)

    print(f"seed {seed}: one topic {one:.4f}, LDA of two {of_two:.4f}, {criterion:.4f}")
    assert of_two > one
    assert model.n_topics == 2
    assert criterion > one

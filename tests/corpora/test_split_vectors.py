"""A split of vectors loses nothing and keeps the projection."""

import numpy as np
import pytest

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.corpus import VectorCorpus
from sparsetopics.corpora.split import split_corpus
from sparsetopics.corpora.store import vector_rows
from sparsetopics.corpora.validate import validate
from worlds.vectors_on_disk import ingested, item_ids_of, labels_of, make_vectors, values_of


@pytest.fixture(params=[None, 2])
def whole(request, tmp_path, monkeypatch):
    monkeypatch.setattr(vector_rows, "ROW_GROUP_BYTES", 16 * 12)
    np.savez(tmp_path / "a.npz", values=make_vectors(90, 3), labels=np.arange(90) % 4)
    ingested([tmp_path / "a.npz"], tmp_path / "whole", pca=request.param)
    return tmp_path / "whole"


def split(whole, share=0.2):
    parts = whole.parent / "train", whole.parent / "heldout"
    split_corpus(whole, *parts, share, False, np.random.default_rng(0))
    return [VectorCorpus.open(part) for part in parts]


def test_each_item_is_on_one_side_in_order(whole):
    corpus = VectorCorpus.open(whole)
    sides = split(whole)

    assert [side.n_items for side in sides] == [72, 18]
    ids = [item_ids_of(side) for side in sides]
    assert sorted(map(int, ids[0] + ids[1])) == list(range(90))
    for side, names in zip(sides, ids, strict=True):
        rows = list(map(int, names))
        assert rows == sorted(rows)
        np.testing.assert_array_equal(values_of(side), values_of(corpus)[rows])
        assert labels_of(side) == [str(row % 4) for row in rows]
        assert side.fingerprint == corpus.fingerprint
        assert side.made == corpus.made


def test_both_sides_are_sound(whole):
    split(whole)

    assert validate(whole.parent / "train") == validate(whole.parent / "heldout") == []


def test_an_empty_side_is_refused(whole):
    with pytest.raises(OptionError, match=r"hold out 0 of .*Leave items on both sides"):
        split(whole, 0.001)

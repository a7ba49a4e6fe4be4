"""A split loses nothing and repeats."""

import numpy as np
import pytest

from sparsetopics.base.errors import OptionError, OutputError
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.split import split_corpus
from sparsetopics.corpora.store import document_rows
from sparsetopics.corpora.validate import validate
from worlds.collections_on_disk import documents_of, make_texts, write_jsonl


@pytest.fixture
def whole(tmp_path, monkeypatch):
    monkeypatch.setattr(document_rows, "DOCS_PER_ROW_GROUP", 16)
    ingest([write_jsonl(tmp_path / "a.jsonl", make_texts(90))], tmp_path / "whole")
    return tmp_path / "whole"


def split(whole, name, share=0.2, seed=0, overwrite=False):
    train, heldout = whole.parent / f"{name}-train", whole.parent / f"{name}-heldout"
    split_corpus(whole, train, heldout, share, overwrite, np.random.default_rng(seed))
    return train, heldout


def test_each_document_is_on_one_side(whole):
    train, heldout = map(Corpus.open, split(whole, "one"))

    corpus = Corpus.open(whole)
    assert documents_of(train) | documents_of(heldout) == documents_of(corpus)
    assert train.n_docs + heldout.n_docs == corpus.n_docs
    assert heldout.n_docs == round(0.2 * corpus.n_docs)
    assert train.vocabulary.fingerprint == corpus.vocabulary.fingerprint
    labels = {
        doc_id: label
        for side in (train, heldout)
        for ids, names in zip(side.doc_ids(), side.labels(), strict=True)
        for doc_id, label in zip(ids, names, strict=True)
    }
    assert all(label == str(int(doc_id[4:]) % 3) for doc_id, label in labels.items())


def test_both_sides_are_sound_and_keep_the_order(whole):
    for folder in split(whole, "one"):
        assert validate(folder) == []
        numbers = [int(name[4:]) for names in Corpus.open(folder).doc_ids() for name in names]
        assert numbers == sorted(numbers)


def test_the_seed_decides(whole):
    def held_out(name, seed):
        return list(Corpus.open(split(whole, name, seed=seed)[1]).doc_ids())

    assert held_out("one", 1) == held_out("again", 1)
    assert held_out("one-more", 1) != held_out("other", 2)


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_an_empty_side_is_refused(whole, share):
    with pytest.raises(OptionError, match="documents on both sides"):
        split(whole, "one", share)


def test_outputs_are_not_replaced_unless_told(whole):
    _, heldout = split(whole, "one")
    before = (heldout / "manifest.json").read_bytes()

    with pytest.raises(OutputError, match="--overwrite"):
        split(whole, "one", seed=5)
    assert (heldout / "manifest.json").read_bytes() == before

    split(whole, "one", seed=5, overwrite=True)
    assert (heldout / "manifest.json").read_bytes() != before


@pytest.mark.parametrize(
    ("held_out", "relation"),
    [
        ("x", "both outputs are"),
        ("x/inside", "the output lies inside the other output"),
    ],
)
def test_one_output_that_is_or_lies_in_the_other_is_refused(held_out, relation, whole, tmp_path):
    found = rf"{relation} '.*/x'\. Choose"
    with pytest.raises(OutputError, match=found):
        split_corpus(
            whole, tmp_path / "x", tmp_path / held_out, 0.5, False, np.random.default_rng(0)
        )

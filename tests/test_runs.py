"""Run folders: what is written comes back, and damage is named."""

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from sparsetopics.corpora.vocabulary import Vocabulary
from sparsetopics.errors import RunError, VocabularyError
from sparsetopics.runs import load_run, save_run


def test_a_saved_run_comes_back(run_folder, model, vocabulary):
    run = load_run(run_folder)

    np.testing.assert_array_equal(run.model.topic_word_posterior, model.topic_word_posterior)
    np.testing.assert_array_equal(run.model.doc_concentration, model.doc_concentration)
    assert run.model.word_concentration == model.word_concentration
    assert run.vocabulary.words == vocabulary.words
    assert run.settings["seed"] == 7
    assert run.settings["versions"]["numpy"] == np.__version__
    assert [entry["lap"] for entry in run.trace] == [1, 2, 3]
    assert (run.n_training_documents, run.n_laps) == (60, 3)


def test_equal_models_give_equal_bytes(tmp_path, run_folder, model, vocabulary):
    fortran = replace(model, topic_word_posterior=np.asfortranarray(model.topic_word_posterior))
    save_run(tmp_path, fortran, vocabulary, {"seed": 7}, [])

    for name in ("model.safetensors", "vocabulary.parquet"):
        assert (tmp_path / name).read_bytes() == (run_folder / name).read_bytes()


def test_the_arrays_speak_for_themselves_in_the_settings(tmp_path, model, vocabulary):
    save_run(tmp_path, model, vocabulary, {"n_topics": 99, "corpus": {"n_documents": 1}}, [])

    assert load_run(tmp_path).settings["n_topics"] == 4


def expect_damage(folder, *words):
    with pytest.raises(RunError) as caught:
        load_run(folder)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_missing_run_says_how_to_make_one(tmp_path):
    expect_damage(tmp_path / "nowhere", "nowhere: found nothing", "sparsetopics train")


def test_a_corpus_in_the_place_of_a_run_is_recognised(tmp_path):
    (tmp_path / "manifest.json").touch()
    expect_damage(tmp_path, "found a corpus folder", "swapped")


def test_a_file_or_an_empty_folder_is_no_run(tmp_path):
    (tmp_path / "file").touch()
    expect_damage(tmp_path / "file", "found a file")
    expect_damage(tmp_path, "found no model.json")


@pytest.mark.parametrize("name", ["model.safetensors", "vocabulary.parquet", "trace.jsonl"])
def test_a_missing_file_is_named(run_folder, name):
    (run_folder / name).unlink()
    expect_damage(run_folder, name)


@pytest.mark.parametrize(
    "name", ["model.json", "model.safetensors", "vocabulary.parquet", "trace.jsonl"]
)
@pytest.mark.parametrize("damage", [b"\xff\xfe{", b"{", b"[1]\n"])
def test_a_damaged_file_is_named(run_folder, name, damage):
    (run_folder / name).write_bytes(damage)
    expect_damage(run_folder, name)


def test_a_truncated_array_file_is_named(run_folder):
    path = run_folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    expect_damage(run_folder, "model.safetensors")


def test_another_format_version_is_refused(run_folder, edit_settings):
    edit_settings(format_version=2)
    expect_damage(run_folder, "format version 2", "wanted version 1")


def test_an_unknown_model_is_refused(run_folder, edit_settings):
    edit_settings(model="lsi")
    expect_damage(run_folder, "'lsi'", "one of lda")


@pytest.mark.parametrize(
    ("name", "value"),
    [("word_concentration", None), ("n_topics", "many"), ("corpus", 3), ("corpus", {})],
)
def test_a_setting_that_training_never_writes_is_named(run_folder, edit_settings, name, value):
    edit_settings(**{name: value})
    expect_damage(run_folder, "model.json", name)


@pytest.mark.parametrize("settings", [{"n_topics": 5}, {"n_words": 31}])
def test_arrays_of_other_sizes_are_refused(run_folder, edit_settings, settings):
    edit_settings(**settings)
    expect_damage(run_folder, "topic_word_posterior", "found shape (4, 30)")


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 0.0])
def test_impossible_numbers_are_refused(run_folder, value):
    arrays = load_file(run_folder / "model.safetensors")
    arrays["topic_word_posterior"][2, 3] = value
    save_file(arrays, run_folder / "model.safetensors")
    expect_damage(run_folder, "topic_word_posterior", f"found {value}", "finite positive")


def test_single_precision_arrays_are_refused(run_folder):
    arrays = load_file(run_folder / "model.safetensors")
    arrays["doc_concentration"] = arrays["doc_concentration"].astype(np.float32)
    save_file(arrays, run_folder / "model.safetensors")
    expect_damage(run_folder, "doc_concentration", "float32")


def test_a_vocabulary_of_other_words_is_refused(run_folder, vocabulary):
    replace(vocabulary, words=vocabulary.words[::-1]).save(run_folder)
    expect_damage(run_folder, "vocabulary.parquet", "fingerprint")


def test_documents_of_another_vocabulary_are_refused(run_folder):
    other = Vocabulary(("a", "b"), np.array([1, 1]), np.array([1, 1]))

    with pytest.raises(VocabularyError, match=r"heldout: found another vocabulary.*--vocabulary"):
        load_run(run_folder).check_vocabulary(other, "heldout")

"""Run folders: what is written comes back, and damage is named."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from resealing import reseal
from sparsetopics.base.errors import RunError, VocabularyError
from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.runs.run import load_run, run_in_memory, save_run

CORPUS = {"n_documents": 60}


def written_settings(folder):
    return json.loads((folder / "model.json").read_text())


def test_a_saved_run_comes_back(run_folder, model, vocabulary):
    run = load_run(run_folder)

    np.testing.assert_array_equal(run.model.topic_word_posterior, model.topic_word_posterior)
    np.testing.assert_array_equal(run.model.doc_concentration, model.doc_concentration)
    assert run.model.word_concentration == model.word_concentration
    assert run.model.smoothing == written_settings(run_folder)["smoothing"] == 0.03
    assert run.vocabulary.words == vocabulary.words
    assert run.settings["seed"] == 7
    assert written_settings(run_folder)["versions"]["numpy"] == np.__version__
    assert [entry["lap"] for entry in run.trace] == [1, 2, 3]
    assert (run.settings["corpus"]["n_documents"], run.n_laps) == (60, 3)


def test_a_run_without_a_smoothing_is_read_as_before(tmp_path, model, vocabulary):
    """Runs that were made before there was one."""
    save_run(
        tmp_path,
        run_in_memory("run", replace(model, smoothing=None), vocabulary, {"corpus": CORPUS}, []),
    )

    assert "smoothing" not in written_settings(tmp_path)
    found, posterior = load_run(tmp_path).model, model.topic_word_posterior
    assert found.smoothing is None
    np.testing.assert_array_equal(found.topic_word_weights, posterior)
    mean = posterior / posterior.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(found.topic_word_mean, mean)


def test_a_saved_hdp_comes_back_with_its_sticks(hdp_folder, hdp):
    run = load_run(hdp_folder)

    assert run.model.name == "hdp"
    for found, saved in zip(run.model.sticks, hdp.sticks, strict=True):
        np.testing.assert_array_equal(found, saved)
    for name in ("topic_word_posterior", "doc_concentration", "weights"):
        np.testing.assert_array_equal(getattr(run.model, name), getattr(hdp, name))
    assert run.model.word_concentration == 0.1


def test_an_hdp_keeps_sticks_and_total_concentrations_alone(hdp_folder):
    """αE[β_k] follows from them; two sources could disagree."""
    settings = written_settings(hdp_folder)

    assert sorted(load_file(hdp_folder / "model.safetensors")) == [
        "stick_concentrations",
        "stick_means",
        "topic_word_posterior",
    ]
    assert (settings["doc_concentration"], settings["top_concentration"]) == (0.5, 5.0)


def test_an_lda_keeps_its_document_concentrations(run_folder, model):
    assert sorted(load_file(run_folder / "model.safetensors")) == [
        "doc_concentration",
        "topic_word_posterior",
    ]
    assert load_run(run_folder).model.sticks is None
    assert "top_concentration" not in written_settings(run_folder)


def test_an_hdp_without_sticks_cannot_be_saved(tmp_path, hdp, vocabulary):
    with pytest.raises(TypeError, match="without sticks"):
        save_run(
            tmp_path,
            run_in_memory("run", replace(hdp, sticks=None), vocabulary, {"corpus": CORPUS}, []),
        )


def test_equal_models_give_equal_bytes(tmp_path, run_folder, model, vocabulary):
    fortran = replace(model, topic_word_posterior=np.asfortranarray(model.topic_word_posterior))
    save_run(tmp_path, run_in_memory("run", fortran, vocabulary, {"corpus": {}, "seed": 7}, []))

    for name in ("model.safetensors", "vocabulary.parquet"):
        assert (tmp_path / name).read_bytes() == (run_folder / name).read_bytes()


def test_the_arrays_speak_for_themselves_in_the_settings(tmp_path, model, vocabulary):
    save_run(
        tmp_path,
        run_in_memory("run", model, vocabulary, {"n_topics": 99, "corpus": {"n_documents": 1}}, []),
    )

    assert load_run(tmp_path).settings["n_topics"] == 4


def expect_damage(folder, *words):
    with pytest.raises(RunError) as caught:
        load_run(folder)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_missing_run_says_how_to_make_one(tmp_path):
    expect_damage(
        tmp_path / "nowhere",
        "nowhere: expected a run folder, but found no such folder",
        "sparsetopics train",
    )


def test_a_corpus_in_the_place_of_a_run_is_recognised(tmp_path):
    (tmp_path / "manifest.json").touch()
    expect_damage(tmp_path, "found a corpus folder", "Train on it first.")


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
    expect_damage(run_folder, "expected format version 3, but found 2. Train again")


def test_an_unknown_model_is_refused(run_folder, edit_settings):
    edit_settings(model="lsi")
    expect_damage(run_folder, "'lsi'", "one of lda, hdp")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("word_concentration", None),
        ("smoothing", -1.0),
        ("smoothing", "much"),
        ("n_topics", "many"),
        ("corpus", 3),
        ("corpus", {}),
        ("versions", {"python": "3.11.0"}),
    ],
)
def test_a_setting_that_training_never_writes_is_named(run_folder, edit_settings, name, value):
    edit_settings(**{name: value})
    expect_damage(run_folder, "model.json", name)


@pytest.mark.parametrize("settings", [{"n_topics": 5}, {"n_words": 31}])
def test_arrays_of_other_sizes_are_refused(run_folder, edit_settings, settings):
    edit_settings(**settings)
    expect_damage(run_folder, "topic_word_posterior: expected shape", "but found (4, 30)")


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 0.0])
def test_impossible_numbers_are_refused(run_folder, value):
    arrays = load_file(run_folder / "model.safetensors")
    arrays["topic_word_posterior"][2, 3] = value
    save_file(arrays, run_folder / "model.safetensors")
    reseal(run_folder)
    expect_damage(run_folder, "topic_word_posterior", f"found {value}", "finite positive")


def change_array(folder, name, change):
    arrays = load_file(folder / "model.safetensors")
    arrays[name] = change(arrays[name])
    save_file(arrays, folder / "model.safetensors")
    reseal(folder)


@pytest.mark.parametrize("name", ["stick_means", "stick_concentrations", "topic_word_posterior"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 0.0])
def test_impossible_numbers_of_an_hdp_are_refused(hdp_folder, name, value):
    def spoil(array):
        array[2] = value
        return array

    change_array(hdp_folder, name, spoil)

    expect_damage(hdp_folder, f"model.safetensors, {name}: expected ", f"but found {value}")


@pytest.mark.parametrize("value", [1.0, 1.5])
def test_a_stick_mean_of_one_or_more_is_refused(hdp_folder, value):
    change_array(hdp_folder, "stick_means", lambda means: np.append(means[:-1], value))

    expect_damage(hdp_folder, "stick_means", f"expected numbers in (0, 1), but found {value}")


@pytest.mark.parametrize("name", ["stick_means", "stick_concentrations"])
@pytest.mark.parametrize("change", [lambda array: array[:-1], lambda array: array[:, None]])
def test_sticks_of_another_shape_are_refused(hdp_folder, name, change):
    change_array(hdp_folder, name, lambda array: np.ascontiguousarray(change(array)))

    expect_damage(hdp_folder, name, "expected shape (4,), but found (")


@pytest.mark.parametrize("name", ["stick_means", "stick_concentrations", "topic_word_posterior"])
def test_a_missing_array_of_an_hdp_is_named(hdp_folder, name):
    arrays = load_file(hdp_folder / "model.safetensors")
    del arrays[name]
    save_file(arrays, hdp_folder / "model.safetensors")
    reseal(hdp_folder)

    expect_damage(hdp_folder, f"{name}: the array is missing")


@pytest.mark.parametrize("value", [None, "5", 0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["doc_concentration", "word_concentration", "top_concentration"])
def test_concentrations_that_are_none_are_refused(hdp_folder, name, value):
    path = hdp_folder / "model.json"
    write_sealed(path, json.loads(path.read_text()) | {name: value})

    expect_damage(hdp_folder, f"model.json, {name}: must be a positive number, but is {value!r}")


@pytest.mark.parametrize(("fixture", "other"), [("hdp_folder", "lda"), ("run_folder", "hdp")])
def test_one_model_under_the_name_of_the_other_is_refused(request, fixture, other):
    folder = request.getfixturevalue(fixture)
    path = folder / "model.json"
    settings = json.loads(path.read_text()) | {"model": other, "top_concentration": 5.0}
    write_sealed(path, settings)

    expect_damage(folder, "the array is missing")


def test_single_precision_arrays_are_refused(run_folder):
    arrays = load_file(run_folder / "model.safetensors")
    arrays["doc_concentration"] = arrays["doc_concentration"].astype(np.float32)
    save_file(arrays, run_folder / "model.safetensors")
    reseal(run_folder)
    expect_damage(run_folder, "doc_concentration", "F32")


def test_a_vocabulary_of_other_words_is_refused(run_folder, vocabulary):
    replace(vocabulary, words=vocabulary.words[::-1]).save(run_folder)
    expect_damage(run_folder, "vocabulary.parquet", "SHA-256")
    reseal(run_folder)
    expect_damage(run_folder, "vocabulary.parquet", "fingerprint")


def test_a_topic_without_a_column_for_every_word_is_refused(run_folder, edit_settings):
    edit_settings(n_words=29)
    change_array(
        run_folder, "topic_word_posterior", lambda table: np.ascontiguousarray(table[:, 1:])
    )

    expect_damage(run_folder, "vocabulary.parquet: its 30 words do not have the fingerprint")


def test_documents_of_another_vocabulary_are_refused(run_folder):
    other = Vocabulary(("a", "b"), np.array([1, 1]), np.array([1, 1]))

    with pytest.raises(
        VocabularyError, match=r"heldout: expected .* found another vocabulary.*--vocabulary"
    ):
        load_run(run_folder).reading(Corpus(other, ()), "heldout")

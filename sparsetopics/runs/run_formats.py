"""Which arrays and numbers of a run folder make a model, one entry for each kind of model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sparsetopics.base.batches import FloatArray
from sparsetopics.model.array_formats import ArrayFormat
from sparsetopics.model.topic_posterior import Sticks, TopicModel
from sparsetopics.options.table import ModelName

Arrays = Mapping[str, FloatArray]
Settings = Mapping[str, Any]  # what model.json holds


class RunFormat(NamedTuple):
    """How one kind of model lies in a run folder."""

    arrays: Mapping[str, ArrayFormat]  # of model.safetensors
    numbers: tuple[str, ...]  # positive numbers of model.json that the model is made of
    arrays_of: Callable[[TopicModel], Arrays]
    numbers_of: Callable[[TopicModel], Mapping[str, float]]
    model_of: Callable[[Arrays, Settings], TopicModel]


def _lda_arrays(model: TopicModel) -> Arrays:
    return {
        "topic_word_posterior": model.topic_word_posterior,
        "doc_concentration": model.doc_concentration,
    }


def _lda_numbers(model: TopicModel) -> Mapping[str, float]:
    return {
        "doc_concentration": float(model.doc_concentration.sum()),
        "word_concentration": float(model.word_concentration),
    }


def _lda(arrays: Arrays, settings: Settings) -> TopicModel:
    posterior, concentration = arrays["topic_word_posterior"], arrays["doc_concentration"]
    return TopicModel("lda", posterior, concentration, settings["word_concentration"])


def _sticks_of(model: TopicModel) -> Sticks:
    if model.sticks is None:
        raise TypeError("an HDP without sticks cannot be saved")
    return model.sticks


def _hdp_arrays(model: TopicModel) -> Arrays:
    sticks = _sticks_of(model)
    return {
        "topic_word_posterior": model.topic_word_posterior,
        "stick_means": sticks.means,
        "stick_concentrations": sticks.concentrations,
    }


def _hdp_numbers(model: TopicModel) -> Mapping[str, float]:
    sticks = _sticks_of(model)
    return {
        "doc_concentration": float(sticks.doc_concentration),
        "word_concentration": float(model.word_concentration),
        "top_concentration": float(sticks.top_concentration),
    }


def _hdp(arrays: Arrays, settings: Settings) -> TopicModel:
    """The document concentrations αE[β_k] follow from the sticks."""
    sticks = Sticks(
        arrays["stick_means"],
        arrays["stick_concentrations"],
        settings["top_concentration"],
        settings["doc_concentration"],
    )
    return TopicModel(
        "hdp",
        arrays["topic_word_posterior"],
        sticks.doc_concentration * sticks.global_topic_weights,
        settings["word_concentration"],
        sticks,
    )


_TOPICS, _TOPICS_BY_WORDS = ("n_topics",), ("n_topics", "n_words")

RUN_FORMATS: dict[ModelName, RunFormat] = {
    "lda": RunFormat(
        arrays={
            "topic_word_posterior": ArrayFormat(_TOPICS_BY_WORDS),
            "doc_concentration": ArrayFormat(_TOPICS),
        },
        numbers=("doc_concentration", "word_concentration"),
        arrays_of=_lda_arrays,
        numbers_of=_lda_numbers,
        model_of=_lda,
    ),
    "hdp": RunFormat(
        arrays={
            "topic_word_posterior": ArrayFormat(_TOPICS_BY_WORDS),
            "stick_means": ArrayFormat(_TOPICS, upper=1.0),
            "stick_concentrations": ArrayFormat(_TOPICS),
        },
        numbers=("doc_concentration", "word_concentration", "top_concentration"),
        arrays_of=_hdp_arrays,
        numbers_of=_hdp_numbers,
        model_of=_hdp,
    ),
}

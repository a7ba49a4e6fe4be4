"""Names of topics: made of their most relevant words, or given by people in a TOML file.

The file has a line for each topic that gets a name, ``3 = "Crime"``. All other topics keep their
default names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.safe_reading import Toml, read_toml, shown_toml
from sparsetopics.base.wording import printable, quantity
from sparsetopics.measures.completion import unigram_probabilities
from sparsetopics.measures.relevance import LONGEST_NAME, relevant_words, topic_names
from sparsetopics.measures.top_words import TopicRow, top_words, topic_table
from sparsetopics.options.option import check_type, refuse, shown
from sparsetopics.runs.run import AnyRun

GivenNames = Mapping[int, str]  # by number of the topic; the others keep their default names
NONE_GIVEN: GivenNames = {}


def topic_rows(
    run: AnyRun, n_words: int, balance: float | None = None, given: GivenNames = NONE_GIVEN
) -> list[TopicRow]:
    """Return each topic of a run with its name, weight and best words.

    Words are ordered by relevance at λ = ``balance``, or by probability without it. Raises RunError
    for a mixture of vectors, and OptionError for names that ``with_given`` refuses.
    """
    words = run.words.shown  # first: a mixture of vectors has no topics
    topic_word = run.model.topic_word_mean
    if balance is None:
        best = top_words(topic_word, n_words)
    else:
        best = relevant_words(topic_word, _unigram(run), n_words, balance)
    return topic_table(topic_word, run.model.weights, words, names_of(run, given), best)


def names_of(run: AnyRun, given: GivenNames = NONE_GIVEN) -> list[str]:
    """Return the name of each topic of a run, (n_topics,); raises what ``topic_rows`` raises."""
    words, unigram = run.words.shown, _unigram(run)
    return with_given(topic_names(run.model.topic_word_mean, unigram, words), given)


def _unigram(run: AnyRun) -> FloatArray:
    return unigram_probabilities(run.words.term_frequency)


def with_given(names: Sequence[str], given: GivenNames) -> list[str]:
    """Return ``names`` (n_topics,) with those that were given in their places.

    Raises OptionError for the number of no topic, and for a name that is empty, longer than 200
    characters or not printable.
    """
    check_type("names", given, Mapping, "a mapping from numbers of topics to names")
    named = list(names)
    for topic, name in given.items():
        if not isinstance(topic, Integral) or not 0 <= topic < len(named):
            has = f"the model has {quantity(len(named), 'topic')}"
            problem = f"there is no topic {shown(topic)} to name {shown(name)}: {has}"
            refuse("names", problem, "Numbers begin with 0, as `sparsetopics topics` prints them.")
        _check_name("names", name)
        named[int(topic)] = name
    return named


def _check_name(where: str, name: Toml) -> None:
    if not isinstance(name, str):
        refuse(where, f"a name must be a string, but is {shown_toml(name)}")
    if not name.strip():
        hint = "Leave a topic out to keep its default name."
        refuse(where, "a name must not be empty", hint)
    if len(name) > LONGEST_NAME:
        refuse(where, f"a name has at most {LONGEST_NAME} characters, but this has {len(name):,}")
    if printable(name) != name:
        refuse(where, f"a name must be printable, but is {shown(name)}", "Use letters and spaces.")


# --- files of names -------------------------------------------------------------------------------
def read_names(path: Path) -> dict[int, str]:
    """Return the names in a TOML file.

    Raises OptionError, with file and key, for a key that is no number and for a name that
    ``with_given`` refuses.
    """
    names = {}
    for key, name in read_toml(path).items():
        where = f"{path}, {key}"
        if not (key.isascii() and key.isdigit() and len(key) < 10 and key == str(int(key))):
            refuse(where, "a key must be the number of a topic", 'Write lines such as 3 = "Crime".')
        _check_name(where, name)
        names[int(key)] = str(name)
    return names

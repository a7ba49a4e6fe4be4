"""Names of topics: made of their most relevant words, or given by people.

Names that were given are kept in the run, by the ids of topics (``runs.topic_identity``). A file
of names, or another run that has names, names the topics of this run that it means: those with the
same ids, or else those with nearly the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import OptionError, warn_user
from sparsetopics.base.safe_reading import read_toml
from sparsetopics.base.sealed_files import Refusal, decoded
from sparsetopics.base.wording import listed, quantity
from sparsetopics.measures.completion import unigram_probabilities
from sparsetopics.measures.relevance import relevant_words, topic_names
from sparsetopics.measures.similar_topics import ROUNDING, jensen_shannon_similarity, similarities
from sparsetopics.measures.top_words import TopicRow, top_words, topic_table
from sparsetopics.model.statistics import in_use
from sparsetopics.options.option import check_type, refuse, shown
from sparsetopics.runs.run import AnyRun, P, Run, load_run
from sparsetopics.runs.topic_identity import NAME_WORDS, THEME, TopicIdentity, problem_of_name

GivenNames = Mapping[int | str, str]  # by number or id of the topic
LEAST_SIMILARITY = 0.8  # Jensen–Shannon, of topics of two runs that are the same
LEAST_WORDS = 6  # of the ten words of a name that a topic must have among its own ten
LEAST_SHARE = 0.9  # of the probability of its ten best words that it must give to those of a name
CLEARER = 2.0  # how many times as far from one another pair must be
_UNREADABLE = Refusal(OptionError, "Write a line as `sparsetopics export --to names` does")


def topic_rows(run: AnyRun, n_words: int, balance: float | None = None) -> list[TopicRow]:
    """Return each topic of a run with its id, name, weight and best words.

    Words are ordered by relevance at λ = ``balance``, or by probability without it. Raises RunError
    for a mixture of vectors.
    """
    words = run.words.shown  # first: a mixture of vectors has no topics
    topic_word = run.model.topic_word_mean
    if balance is None:
        best = top_words(topic_word, n_words)
    else:
        best = relevant_words(topic_word, _unigram(run), n_words, balance)
    return with_marks(topic_table(topic_word, run.model.weights, words, labels_of(run), best), run)


def with_marks(rows: Sequence[TopicRow], run: AnyRun) -> list[TopicRow]:
    """Return rows, one for each topic of a run, with its list, in how many runs it was found, or
    how few documents have it."""
    known = run.settings.get("few_documents", [None] * len(rows))
    found = [
        row if few is None else row._replace(documents_with_half=few.n_documents, mostly=few.mostly)
        for row, few in zip(rows, known, strict=True)
    ]
    for topic, sure in enumerate(run.settings.get("found_in_runs", ())):
        if sure is not None:
            found[topic] = found[topic]._replace(
                n_runs=sure.n_runs, found_in_runs=sure.n_found, similarity=sure.similarity
            )
    for each in run.lists:
        for topic, rate in each.topics.items():
            found[topic] = found[topic]._replace(list_name=each.name, keyword_rate=rate)
    return found


def labels_of(run: AnyRun) -> list[tuple[str, str]]:
    """Return the id and the name of each topic of a run, (n_topics,).

    The name is that which the topic was given, or that of its list, or its best words. If a list
    has several topics, its name precedes the words. Raises RunError for a mixture of vectors.
    """
    words = run.words.shown  # first: it refuses a mixture of vectors
    usual = topic_names(run.model.topic_word_mean, _unigram(run), words)
    for each in run.lists:
        for topic in each.topics:
            usual[topic] = f"{each.name}: {usual[topic]}" if len(each.topics) > 1 else each.name
    return [(topic.id, topic.name or own) for topic, own in zip(run.topics, usual, strict=True)]


def _unigram(run: AnyRun) -> FloatArray:
    return unigram_probabilities(run.words.term_frequency)


def words_of_names(run: AnyRun) -> list[tuple[str, ...]]:
    """Return the words that are kept with the name of each topic, (n_topics,)."""
    words = run.words.words  # first: it refuses a mixture of vectors
    best = top_words(run.model.topic_word_mean, NAME_WORDS)
    return [tuple(words[word] for word in row) for row in best.tolist()]


def place_of(run: AnyRun, topic: int | str, option: str, *, or_theme: bool = False) -> int:
    """Return the place of a topic that ``option`` names by its number or its id.

    A theme has the place of its heaviest topic. Raises OptionError if the topic is not there, and
    for a theme unless ``or_theme``.
    """
    places = {each.id: place for place, each in enumerate(run.topics)}
    if or_theme:
        places |= {THEME + each: place for each, place in places.items()}
    places |= {str(place): place for place in range(run.model.n_topics)}
    if isinstance(topic, Integral) and 0 <= topic < run.model.n_topics:
        return int(topic)
    for heir in run.topics:
        if topic in heir.former_ids:
            refuse(option, f"topic {topic} has become part of topic {heir.id}")
    if not isinstance(topic, str) or topic not in places:
        n_topics = quantity(run.model.n_topics, "topic")
        problem = f"there is no topic {shown(topic)}: the model has {n_topics}"
        refuse(option, problem, "Name it by its id, or by its number, from 0.")
    return places[topic]


def chosen_topics(run: AnyRun, given: Sequence[int | str]) -> list[int]:
    """Return the numbers of topics that are named by their numbers or ids, or of all with any data.

    Raises OptionError for a topic that is not there.
    """
    check_type("topics", given, (list, tuple), "a list of numbers or ids of topics")
    places = [place_of(run, topic, "topic") for topic in given]
    return list(dict.fromkeys(places)) or np.flatnonzero(in_use(run.model.sizes)).tolist()


def check_name(option: str, name: str) -> None:
    """OptionError for a name that is empty, longer than 200 characters or not printable."""
    check_type(option, name, str, "a string")
    if problem := problem_of_name(name):
        refuse(option, problem, "Leave a topic out to keep its name.")


def with_names(run: Run[P], given: GivenNames, named_by: str | None = None) -> Run[P]:
    """Return a run with the names that were given to some topics, by their numbers or ids.

    Raises OptionError for a topic that is not there, and for a name that is empty, longer than 200
    characters or not printable.
    """
    check_type("names", given, Mapping, "a mapping from numbers or ids of topics to names")
    topics, words = list(run.topics), words_of_names(run)
    for topic, name in given.items():
        place = place_of(run, topic, "names", or_theme=True)
        check_name("names", name)
        own = topics[place]
        if is_theme(run, topic):
            topics[place] = replace(own, theme_name=str(name))
        else:
            topics[place] = replace(own, name=str(name), words=words[place], named_by=named_by)
    return _renamed(run, topics)


def _renamed(run: Run[P], topics: Sequence[TopicIdentity]) -> Run[P]:
    """The run with named topics. Warns if several have the same name, unless they had it before."""
    old, new = (Counter(each.name for each in some) for some in (run.topics, topics))
    if same := [shown(name) for name, n in new.items() if name and n > max(old[name], 1)]:
        warn_user(f"Several topics have the same name: {listed(same)}.")
    return run.with_topics(topics)


def is_theme(run: AnyRun, topic: int | str) -> bool:
    """Whether a name for ``topic`` is that of a theme, which a run of topics keeps beside them."""
    return str(topic).startswith(THEME) and not run.topics[0].id.startswith(THEME)


# --- names of other runs --------------------------------------------------------------------------
def with_names_of(run: Run[P], names: Path) -> Run[P]:
    """Return a run with the names in a file or in another run.

    They are those of topics with the same ids, or else of topics that are clearly similar. Raises
    OptionError for names that cannot be read or fit no topic, RunError for another run that cannot
    be read. Warns about names that fit no topic if others do.
    """
    if names.is_dir():
        other = load_run(names)
        found = [topic for topic in other.topics if topic.name is not None]
        if not found:
            refuse("names", f"no topic of {names} was given a name")
        similar = _same_topics(other, run)
    else:
        found = read_names(names, run)
        similar = _topics_with_words(found, run)
    topics = list(run.topics)
    same = {topic.id: place for place, topic in enumerate(topics)}
    of_themes = {THEME + topic: place for topic, place in same.items()}
    taken = {same[topic.id] for topic in found if topic.id in same}
    places = {id_: place for id_, place in similar.items() if place not in taken} | same
    for topic in found:
        if (place := of_themes.get(topic.id)) is not None:
            topics[place] = replace(topics[place], theme_name=topic.name)
    found = [topic for topic in found if topic.id not in of_themes]
    left = [shown(topic.name) for topic in found if topic.id not in places]
    if left:
        said = f"{names}: no topic of {run.path} is like {listed(left)}"
        if len(left) == len(found):
            refuse("names", said, "Name the topics of this run: `sparsetopics export --to names`.")
        warn_user(f"{said}. These names are left out.")
    for topic in found:
        if (place := places.get(topic.id)) is not None:
            own = topics[place]
            topics[place] = replace(
                own, name=topic.name, words=topic.words, named_by=topic.named_by,
                theme_name=topic.theme_name or own.theme_name,
            )  # fmt: skip
    return _renamed(run, topics)


def read_names(path: Path, run: AnyRun) -> list[TopicIdentity]:
    """Return the names in a TOML file for topics of ``run``, or with words for topics like those.

    Warns about numbers of topics. Raises OptionError, with file and key, for a topic that is not
    there and for a name that cannot be used, and RunError for a mixture of vectors.
    """
    topics, words, found = run.topics, words_of_names(run), []
    content = read_toml(path)
    for key, value in content.items():
        where = f"{path}, {key}"
        if isinstance(value, dict):
            entry = {**value, "id": key}
        else:
            place = place_of(run, key, where, or_theme=True)
            own = key if is_theme(run, key) else topics[place].id
            entry = {"id": own, "name": value, "words": [*words[place]]}
        found.append(decoded(entry, TopicIdentity, where, _UNREADABLE))
        if found[-1].name is None:
            refuse(where, "the name is missing", "Leave a topic out to keep its name.")
    if any(map(str.isdecimal, content)):
        warn_user(
            f"{path} names topics by numbers, which change when a run learns on. "
            "`sparsetopics export --to names` writes ids."
        )
    return found


def _topics_with_words(found: Sequence[TopicIdentity], run: AnyRun) -> dict[str, int]:
    """For names that have words, the topic that clearly has them among its best ones.

    To count words is not enough: which words are the ninth and the tenth is chance, while those of
    a neighbour lack some of the first. So their probabilities are compared with the best sum.
    """
    known = {word: k for k, word in enumerate(run.words.words)}  # first, as in ``labels_of``
    topic_word = run.model.topic_word_mean
    best = top_words(topic_word, NAME_WORDS)
    sums = np.take_along_axis(topic_word, best, axis=1).cumsum(axis=1)  # of the best n + 1 words
    shares, n_words = np.zeros((2, len(found), len(topic_word)))
    for place, topic in enumerate(found):
        given = set(topic.words[:NAME_WORDS])
        own = [known[word] for word in given if word in known]
        most = sums[:, min(len(given), sums.shape[1]) - 1]
        shares[place] = topic_word[:, own].sum(axis=1) / most
        n_words[place] = np.isin(best, own).sum(axis=1)
    return _clear_pairs(shares, (shares >= LEAST_SHARE) & (n_words >= LEAST_WORDS), found)


def _same_topics(other: AnyRun, run: AnyRun) -> dict[str, int]:
    """The topics of ``run`` that are most similar to those of another run, and they to them."""
    theirs, ours = over_words_of(other, run), run.model.topic_word_mean
    # A pair that is less similar makes no other unclear.
    least = 1.0 - CLEARER * (1.0 - LEAST_SIMILARITY)
    similarity = similarities(theirs, ours, jensen_shannon_similarity, least)
    return _clear_pairs(similarity, similarity >= LEAST_SIMILARITY, other.topics)


def over_words_of(other: AnyRun, run: AnyRun) -> FloatArray:
    """The topics of another run over the words of ``run``, (n_other_topics, n_words).

    Rows sum to less than one if there are other words in it.
    """
    words = {word: k for k, word in enumerate(run.words.words)}  # first, as in ``labels_of``
    theirs = np.zeros((other.model.n_topics, len(words)))
    old = [k for k, word in enumerate(other.words.words) if word in words]
    new = [words[other.words.words[k]] for k in old]
    theirs[:, new] = other.model.topic_word_mean[:, old]
    return theirs


def _clear_pairs(
    values: FloatArray, is_pair: NDArray[np.bool_], topics: Sequence[TopicIdentity]
) -> dict[str, int]:
    """The column that each row, a topic, goes with: values near one say that they are the same.

    The value of a pair must be at most half as far from one as those of its row and its column.
    Then a neighbour is not taken for a topic that is missing, since that has other neighbours.
    """
    for axis in (0, 1):
        ranked = np.sort(np.insert(values, [0, 0], 0.0, axis=axis), axis=axis)  # zero: no other
        best, second = ranked.take([-1], axis=axis), ranked.take([-2], axis=axis)
        is_pair = is_pair & (values == best) & (1.0 - second >= CLEARER * (1.0 - best) + ROUNDING)
    return {topics[row].id: column for row, column in np.argwhere(is_pair).tolist()}

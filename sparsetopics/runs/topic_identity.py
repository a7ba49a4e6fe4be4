"""Who a topic is: an id that stays while a model learns on, and the name that people gave it.

Numbers of topics are ranks by weight, which change whenever a model learns on. An id belongs to
the words of a topic, and is handed on to the topic of the next model that has most of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from itertools import count
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.wording import printable
from sparsetopics.inference.course import Model
from sparsetopics.measures.relevance import LONGEST_NAME
from sparsetopics.measures.similar_topics import likely_pairs, shared_probability

ID_LENGTH = 8
# Without digits no program takes an id for a number, and without vowels nobody for a word.
LETTERS = "bcdfghjkmnpqrstvwxyz"
LEAST_KEPT = 0.5  # of its probability; a topic that keeps less is another one
NAME_WORDS = 10  # kept with a name

TopicId = Annotated[str, Meta(pattern=rf"^[{LETTERS}]{{{ID_LENGTH}}}\Z")]


class TopicIdentity(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run knows of a topic beside its words."""

    id: TopicId
    name: str | None = None
    words: tuple[str, ...] = ()  # its best ones when it was named
    named_by: str | None = None  # the function that made the name; None: a person gave it
    former_ids: tuple[TopicId, ...] = ()  # of topics that became part of it

    def __post_init__(self) -> None:
        problem = "" if self.name is None else problem_of_name(self.name)
        if problem:
            raise ValueError(problem)


def problem_of_name(name: str) -> str:
    """What is wrong with a name; "" for a name that can be used."""
    if not name.strip():
        return "a name must not be empty"
    if len(name) > LONGEST_NAME:
        return f"a name has at most {LONGEST_NAME} characters, but this has {len(name):,}"
    return "" if printable(name) == name else f"a name must be printable, but is {name!r}"


def first_identities(model: Model) -> tuple[TopicIdentity, ...]:
    """The identities of the topics of a model that did not learn on from another one."""
    return tuple(map(TopicIdentity, new_ids(model, range(model.n_topics), ())))


def carried(
    before: Sequence[TopicIdentity], old: FloatArray, model: Model
) -> tuple[TopicIdentity, ...]:
    """The identities of the topics of ``model``, which learned on from the topics ``old``.

    ``old`` are probabilities, (n_before, n_words), of topics with the identities ``before``. A
    topic with less than half of the probability of each of them is new. An old topic that none
    continues is listed with the one that has at least half of its probability, if any has.
    """
    parents, merged = heirs(old, model.topic_word_mean)
    known = {each for own in before for each in (own.id, *own.former_ids)}
    new = iter(new_ids(model, np.flatnonzero(parents < 0).tolist(), known))
    found = []
    for topic, parent in enumerate(parents.tolist()):
        own = before[parent] if parent >= 0 else TopicIdentity(next(new))
        found.append(
            joined(own, [before[place] for place in np.flatnonzero(merged == topic).tolist()])
        )
    return tuple(found)


def joined(heir: TopicIdentity, others: Sequence[TopicIdentity]) -> TopicIdentity:
    """The identity of a topic that ``others`` became part of."""
    former = [each for own in others for each in (own.id, *own.former_ids)]
    return msgspec.structs.replace(heir, former_ids=(*heir.former_ids, *former))


def heirs(old: FloatArray, new: FloatArray) -> tuple[IntArray, IntArray]:
    """Say which old topic each new one continues, and which new one each other old one went into.

    Both are probabilities, (n_old, n_words) and (n_new, n_words). The results are (n_new,) numbers
    of old topics and (n_old,) numbers of new ones; −1 stands for none. Pairs that share most
    probability come first.
    """
    pairs = likely_pairs(old, new, LEAST_KEPT)
    shared = np.array([shared_probability(old[k], new[j]) for k, j in pairs])
    parents, merged = np.full(len(new), -1), np.full(len(old), -1)
    order = [place for place in np.argsort(-shared, kind="stable") if shared[place] >= LEAST_KEPT]
    for k, j in pairs[order].tolist():
        if parents[j] < 0 and k not in parents:
            parents[j] = k
    for k, j in pairs[order].tolist():
        if merged[k] < 0 and k not in parents:
            merged[k] = j
    return parents, merged


def new_ids(model: Model, places: Sequence[int], known: Collection[str]) -> Iterator[str]:
    """Ids for topics at some places, from a digest of the model, so that none is drawn."""
    digest = hashlib.sha256()
    for array in model.stored().arrays.values():
        digest.update(np.ascontiguousarray(array, np.float64).data)
    taken = set(known)
    for place in places:
        texts = (f"{digest.hexdigest()} {place} {trial}".encode() for trial in count())
        ids = (_letters(hashlib.sha256(text).digest()) for text in texts)
        found = next(each for each in ids if each not in taken)
        taken.add(found)
        yield found


def _letters(digest: bytes) -> str:
    """An id made of the first bytes of a digest."""
    number, letters = int.from_bytes(digest[:8]), ""
    while len(letters) < ID_LENGTH:
        number, letter = divmod(number, len(LETTERS))
        letters += LETTERS[letter]
    return letters

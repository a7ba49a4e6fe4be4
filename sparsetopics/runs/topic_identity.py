"""Who a topic is: an id that stays while a model learns on, and the name that people gave it.

Numbers of topics are ranks by weight, which change whenever a model learns on. An id belongs to
the words of a topic, and is handed on to the topic of the next model that has most of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta
from msgspec.structs import replace

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.wording import printable
from sparsetopics.inference.course import Model
from sparsetopics.measures import similar_topics
from sparsetopics.measures.relevance import LONGEST_NAME

ID_LENGTH = 8
# Without digits no program takes an id for a number, and without vowels nobody for a word.
LETTERS = "bcdfghjkmnpqrstvwxyz"
LEAST_KEPT = 0.5  # of its probability; a topic that keeps less is another one
NAME_WORDS = 10  # kept with a name

THEME = "theme-"  # begins the id of a theme, before that of its heaviest topic
TopicId = Annotated[str, Meta(pattern=rf"^({THEME})?[{LETTERS}]{{{ID_LENGTH}}}\Z")]


class TopicIdentity(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run knows of a topic beside its words."""

    id: TopicId
    name: str | None = None
    words: tuple[str, ...] = ()  # its best ones when it was named
    named_by: str | None = None  # the function that made the name; None: a person gave it
    former_ids: tuple[TopicId, ...] = ()  # of topics that became part of it
    theme_name: str | None = None  # of the themes in which it is the heaviest topic

    def __post_init__(self) -> None:
        for name in (self.name, self.theme_name):
            if name is not None and (problem := problem_of_name(name)):
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


def inherited(
    before: Sequence[TopicIdentity], parents: Sequence[Sequence[int]], model: Model
) -> tuple[TopicIdentity, ...]:
    """The identities of the topics of ``model``, of which each comes from some topics ``before``.

    A topic has the identity of the first of its parents, unless another topic has it already, and
    lists the other parents; it has the name of the first of them that has one. A topic without
    parents is new.
    """
    known = {each for own in before for each in (own.id, *own.former_ids)}
    firsts = [tuple(of[:1]) for of in parents]
    is_new = [not first or first in firsts[:place] for place, first in enumerate(firsts)]
    new = new_ids(model, np.flatnonzero(is_new).tolist(), known)
    found = []
    for of, is_other in zip(parents, is_new, strict=True):
        own = TopicIdentity(next(new)) if is_other else before[of[0]]
        others = [before[k] for k in of[1:]]
        former = (*own.former_ids, *(id_ for each in others for id_ in (each.id, *each.former_ids)))
        named = next((each for each in (own, *others) if each.name), own)
        found.append(replace(named, id=own.id, former_ids=former, theme_name=own.theme_name))
    return tuple(found)


def heirs(old: FloatArray, new: FloatArray, likely: Iterable[int] = ()) -> list[list[int]]:
    """Return the old topics that each new one continues, first its heir's, then those merged.

    Both are probabilities, (n_old, n_words) and (n_new, n_words). Of the pairs that share half of
    their probability, the most similar come first, but those before that are ``likely``: an old
    topic for each new one. A new topic without an old one has an empty list.
    """
    parents, taken = [list[int]() for _ in new], set[int]()
    for j, k in enumerate(likely):
        if similar_topics.shared_probability(old[k], new[j]) >= LEAST_KEPT:
            parents[j].append(k)
            taken.add(k)
    left = np.array([k for k in range(len(old)) if k not in taken], int)
    for may_merge in (False, True):

        def is_free(k: int, j: int, may_merge: bool = may_merge) -> bool:
            return k not in taken and (may_merge or not parents[j])

        for k, j in _most_alike(old, new, left, is_free):
            if is_free(k, j):
                parents[j].append(k)
                taken.add(k)
    return parents


def _most_alike(
    old: FloatArray, new: FloatArray, left: IntArray, is_wanted: Callable[[int, int], bool]
) -> Iterator[tuple[int, int]]:
    """The pairs of old topics that are ``left`` and new ones that share half of their probability,
    the most similar first, except those that are not wanted by then."""
    # Smoothing alone makes most pairs of small topics alike, so few are compared.
    bounds = np.sqrt(old[left]) @ np.sqrt(new).T + similar_topics.ROUNDING  # as in ``similarities``
    pairs = np.argwhere(bounds >= LEAST_KEPT)
    highest, pairs[:, 0] = bounds[tuple(pairs.T)], left[pairs[:, 0]]
    order, compared = np.argsort(-highest, kind="stable"), list[tuple[float, int, int]]()
    for (k, j), bound in zip(pairs[order].tolist(), highest[order].tolist(), strict=True):
        while compared and -compared[0][0] > bound:
            yield heappop(compared)[1:]
        if is_wanted(k, j) and similar_topics.shared_probability(old[k], new[j]) >= LEAST_KEPT:
            heappush(compared, (-similar_topics.jensen_shannon_similarity(old[k], new[j]), k, j))
    while compared:
        yield heappop(compared)[1:]


def new_ids(model: Model, places: Sequence[int], known: Collection[str]) -> Iterator[str]:
    """Ids for topics at some places, from a digest of the model, so that none is drawn."""
    digest = hashlib.sha256()
    for array in model.stored().arrays.values():
        digest.update(np.ascontiguousarray(array, np.float64).data)
    taken = set(known)
    for place in places:
        trials = (_letters(f"{digest.hexdigest()} {place} {trial}") for trial in count())
        found = next(each for each in trials if each not in taken)
        taken.add(found)
        yield found


def _letters(text: str) -> str:
    """An id made of the digest of a text."""
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    return "".join(LETTERS[number // len(LETTERS) ** n % len(LETTERS)] for n in range(ID_LENGTH))

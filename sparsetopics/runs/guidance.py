"""What the lists of a guide find: in a corpus, before topics begin with them, and in topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from sparsetopics.base.batches import IntArray
from sparsetopics.base.errors import warn_user
from sparsetopics.base.wording import listed, quantity
from sparsetopics.corpora.corpus import AnyCorpus, Corpus
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.corpora.word_search import WordSearch
from sparsetopics.inference.course import Model
from sparsetopics.inference.guided_start import Guidance, lists_of
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.guide import WordList
from sparsetopics.options.option import refuse, shown
from sparsetopics.options.table import FEWEST_VALIDATED
from sparsetopics.options.training import TrainingOptions

FEW = 0.001  # of all tokens; a list with a smaller share rarely finds a topic
PATTERN = "*?["  # characters of patterns
LEAST_COUNT = 1e-6  # tokens of a word; one without any is not found


@dataclass(frozen=True, slots=True)
class GuideWord:
    """A word, phrase or pattern of a list, and what the vocabulary has of it."""

    text: str
    ids: tuple[int, ...]
    words: tuple[str, ...]  # of the vocabulary
    n_documents: int  # that hold the most frequent of them
    n_tokens: int
    similar: tuple[str, ...]  # to a word that the vocabulary lacks


@dataclass(frozen=True, slots=True)
class GuideList:
    """A list, what a corpus has of it, and what topics of a run have of it."""

    name: str
    parent: str | None
    words: tuple[GuideWord, ...]
    share: float  # of all tokens
    # By the numbers of its topics: the share of its words in the tokens of the topic
    topics: Mapping[int, float] = field(default_factory=dict)
    found: tuple[str, ...] = ()  # texts of words of which these topics hold most tokens

    @property
    def ids(self) -> IntArray:
        """Those of its words, each once."""
        return _ids_of(self.words)

    @property
    def n_known(self) -> int:
        """The number of words, phrases and patterns that the vocabulary has."""
        return sum(bool(word.ids) for word in self.words)


def look_up(lists: Sequence[WordList], vocabulary: Vocabulary) -> list[GuideList]:
    """What a vocabulary has of each list."""
    if not lists:
        return []
    search, tokens, found = WordSearch(vocabulary), vocabulary.term_frequency, list[GuideList]()
    for each in lists:
        words = tuple(_look_up(word, search) for word in each.words)
        share = float(tokens[_ids_of(words)].sum() / max(1, tokens.sum()))
        found.append(GuideList(each.name, each.parent, words, share))
    return found


def _ids_of(words: Sequence[GuideWord]) -> IntArray:
    return np.unique(np.array([own for word in words for own in word.ids], np.int64))


def _look_up(text: str, search: WordSearch) -> GuideWord:
    vocabulary = search.vocabulary
    is_pattern = any(mark in text for mark in PATTERN) and text not in search.id_of
    ids, unknown = (search.matching(text), []) if is_pattern else search.ids(text)
    similar = [near for word in unknown for near in search.near(word)]
    if not is_pattern and (unknown or len(ids) > 1):  # words of a phrase alone mean something else
        similar, ids = similar or [vocabulary.shown[word] for word in ids], []
    words = tuple(vocabulary.shown[word] for word in ids)
    n_documents = int(vocabulary.document_frequency[ids].max(initial=0))
    n_tokens = int(vocabulary.term_frequency[ids].sum())
    return GuideWord(text, tuple(ids), words, n_documents, n_tokens, tuple(similar))


def lists_for(options: TrainingOptions, corpus: AnyCorpus) -> list[GuideList]:
    """The lists that topics of a ``corpus`` begin with.

    Raises OptionError if other options do not go with them, and if no word of them is known.
    """
    if not options.guide or not isinstance(corpus, Corpus):
        return []
    _check_options(options, len(options.guide))
    found = look_up(options.guide, corpus.vocabulary)
    if not any(len(each.ids) for each in found):
        refuse("guide", "has no word that is in the vocabulary")
    return found


def _check_options(options: TrainingOptions, n_lists: int) -> None:
    if options.local.update != "collapsed" or not options.learner_kind.remembers:
        refuse("guide", "needs the memoized learner and the collapsed update")
    if options.model_kind.learns_number and not options.is_validated:
        few = f"--validation-share, if there are fewer than {FEWEST_VALIDATED}"
        hint = f"Pass {few}, and leave out --moves, --criterion and --laps."
        refuse("guide", "needs documents that choose the number of topics of an HDP", hint)
    if options.purpose == "reading":
        refuse("guide", "cannot be combined with --for reading, which joins topics of all lists")
    if n_lists > options.n_topics:
        refuse("guide", f"has {n_lists:,} lists for only {quantity(options.n_topics, 'topic')}")


def tell_of(lists: Sequence[GuideList], say: Callable[[str], None]) -> None:
    """Say what a corpus has of each list, and warn of what it lacks."""
    for sentence in map(_account_of, lists):
        say(sentence)
    for sentence in _problems_of(lists):
        warn_user(sentence)


def guidance_of(lists: Sequence[GuideList]) -> Guidance:
    """The words that topics begin with."""
    return tuple(each.ids for each in lists)


def with_topics(lists: Sequence[GuideList], model: Model) -> list[GuideList]:
    """The lists with the topics of a model that are of each."""
    guidance, found = guidance_of(lists), list[GuideList]()
    if not guidance or not isinstance(model, TopicPosterior):
        return found
    counts, sizes = model.topic_word_counts, model.sizes
    of_topics = lists_of(guidance, counts.T)
    for number, each in enumerate(lists):
        places, table = np.flatnonzero(of_topics == number), counts[:, each.ids]
        rates = table[places].sum(axis=1) / sizes[places]
        own, whole = table[places].sum(axis=0), table.sum(axis=0)
        words = list[str]()
        for word in each.words:
            is_it = np.isin(each.ids, word.ids)
            if 2.0 * own[is_it].sum() >= max(whole[is_it].sum(), LEAST_COUNT):
                words.append(word.text)
        topics = dict(zip(places.tolist(), rates.tolist(), strict=True))
        found.append(replace(each, topics=topics, found=tuple(words)))
    return found


def warn_of_lost(lists: Sequence[GuideList], warn: Callable[[str], None]) -> None:
    """Warn of lists without a topic, and of those whose words are in other topics."""
    for each in lists:
        if not each.topics:
            why = "Its words may be too rare, in many topics, or those of another list"
            warn(f"List {each.name} has no topic. {why}.")
        elif 2 * len(each.found) < each.n_known:
            n_known = quantity(each.n_known, "known word")
            held = f"its topics hold most tokens of {len(each.found):,} of its {n_known}"
            warn(f"List {each.name}: {held}. The words may not belong together.")


def families_of(lists: Sequence[GuideList], n_topics: int) -> list[IntArray]:
    """Topics of the same list, then those of lists of the same parent; other topics are alone."""
    families = []
    for names in ([each.name for each in lists], [each.parent or each.name for each in lists]):
        family = np.arange(len(lists), len(lists) + n_topics)
        for name, each in zip(names, lists, strict=True):
            family[[*each.topics]] = names.index(name)
        families.append(family)
    return families if lists else []


def _account_of(each: GuideList) -> str:
    """The documents and tokens of the words of a list."""
    words = []
    for word in each.words:
        least = "at least " if len(word.ids) > 1 else ""  # a pattern
        documents = quantity(word.n_documents, "document")
        words += [f"{word.text} ({word.n_tokens:,} in {least}{documents})"] if word.ids else []
    share = f"its words are {each.share:.2%} of all tokens"
    return f"List {each.name}: {share}, {', '.join(words) or 'none'}."


def _problems_of(lists: Sequence[GuideList]) -> Iterator[str]:
    """What the vocabulary lacks of the lists, and which of them share words."""
    names_of: dict[str, list[str]] = {}
    for each in lists:
        for word in each.words:
            if not word.ids:
                near = f" Similar words: {', '.join(word.similar)}." if word.similar else ""
                yield f"List {each.name}: the vocabulary lacks {shown(word.text)}.{near}"
        if each.share < FEW:
            few = f"its words are {each.share:.3%} of all tokens, less than {FEW:.1%}"
            yield f"List {each.name}: {few}. It may find no topic."
        for known in {*chain.from_iterable(word.words for word in each.words)}:
            names_of.setdefault(known, []).append(each.name)
    for known, names in sorted(names_of.items()):
        if len(names) > 1:
            yield f"Lists {listed(names)} share {shown(known)}. Topics of each begin with it."

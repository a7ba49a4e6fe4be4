"""Forms of a word as one word, their lemma, by the dictionaries of simplemma."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.text.phrases import JOINT
from sparsetopics.corpora.text.tokens import Tokens
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.options.option import shown

FORM, LEMMA, COUNT = "form", "lemma", "count"  # columns of the forms of a block


def check_lemmas(language: str) -> None:
    """OptionError if simplemma is not installed, or has no dictionary of a language."""
    try:
        from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES
    except ImportError as error:
        problem = "needs simplemma, which is not installed"
        hint = "Install it with: pip install 'sparsetopics[languages]'."
        raise OptionError("lemmas", problem, hint) from error
    if language not in SUPPORTED_LANGUAGES:
        codes = ", ".join(sorted(SUPPORTED_LANGUAGES))
        problem = f"must be the code of a language, but is {shown(language)}"
        raise OptionError("lemmas", problem, f"Codes: {codes}.")


def lemmatized(tokens: Tokens, language: str) -> Tokens:
    """Tokens with the lemma of each word, and how often each form of another word occurs.

    A word that no dictionary has is its own lemma. Lower case stays so, because words in lower case
    are looked up among names and nouns in capitals only if nothing else has them.
    """
    own = _lemmas(language)
    lower, found = pc.utf8_lower(tokens.words), _looked_up(tokens.words, own)
    if not lower.equals(tokens.words):
        found = pc.coalesce(found, _looked_up(lower, own))
    lemmas = pc.coalesce(found, tokens.words)
    encoded = lemmas.dictionary_encode()
    numbers = np.asarray(encoded.indices)[tokens.word_of].astype(np.int32)
    changed = np.flatnonzero(np.asarray(pc.not_equal(tokens.words, lemmas)))
    counts = np.bincount(tokens.word_of, minlength=len(lemmas))[changed]
    forms = {
        FORM: tokens.words.take(pa.array(changed)),
        LEMMA: lemmas.take(pa.array(changed)),
        COUNT: pa.array(counts),
    }
    return tokens._replace(words=encoded.dictionary, word_of=numbers, forms=forms)


@lru_cache(maxsize=1)  # German has a million words
def _lemmas(language: str) -> Mapping[str, str]:
    """The lemmas of words that are not their own, by word; of names also by word in lower case."""
    from simplemma.strategies import DefaultDictionaryFactory

    given = DefaultDictionaryFactory().get_dictionary(language)
    found = {word: lemma for word, lemma in given.items() if " " not in lemma}
    names = [word for word in found if word[:1].isupper()]
    own = {word: lemma if word[:1].isupper() else lemma.lower() for word, lemma in found.items()}
    for name in names:
        word = name.lower()
        lemma = own.get(word)
        # A name stays although a verb looks like it, but not a noun that is an adjective's form.
        if lemma is None or (found[name] == name and not word.startswith(lemma)):
            own[word] = found[name].lower()
    return {word: lemma for word, lemma in own.items() if word != lemma}


def _looked_up(words: pa.StringArray, own: Mapping[str, str]) -> pa.StringArray:
    """The lemma of each word, null where there is none."""
    return pa.array(list(map(own.get, words.to_pylist())), pa.string())


def commonest_forms(vocabulary: Vocabulary, forms: pa.Table) -> tuple[str, ...]:
    """The commonest form of each word, (n_words,); ``forms`` has how often others than the lemma
    occur. Of a word of several tokens, it has the forms of its parts."""
    best = dict(zip(vocabulary.words, vocabulary.words, strict=True))
    rest = dict(zip(vocabulary.words, vocabulary.term_frequency.tolist(), strict=True))
    grouped = forms.group_by([LEMMA, FORM], use_threads=False).aggregate([(COUNT, "sum")])
    order = [(COUNT, "descending"), (FORM, "ascending")]
    rows = grouped.rename_columns([LEMMA, FORM, COUNT]).sort_by(order)
    most: dict[str, int] = {}
    columns = (rows[name].to_pylist() for name in (LEMMA, FORM, COUNT))
    for lemma, form, count in zip(*columns, strict=True):
        rest[lemma] = rest.get(lemma, 0) - count
        if lemma not in most:  # the first form of a lemma is its commonest
            most[lemma], best[lemma] = count, form
    best |= {lemma: lemma for lemma, count in most.items() if rest[lemma] >= count}
    parts = (word.split(JOINT) if word not in most else [word] for word in vocabulary.words)
    return tuple(JOINT.join(best.get(part, part) for part in own) for own in parts)

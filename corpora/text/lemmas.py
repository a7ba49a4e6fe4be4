"""Forms of a word as one word, their lemma, by the dictionaries of simplemma."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sparsetopics.base.errors import OptionError
from sparsetopics.corpora.text.letters import offsets_and_bytes
from sparsetopics.corpora.text.phrases import JOINT
from sparsetopics.corpora.text.token_kernels import count_written, find_strings, key_strings
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


class _Dictionary(NamedTuple):
    """Words in lower case, in a hash table, and the number of the lemma of each, (n_words,)."""

    words: pa.StringArray
    table: tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32]]
    lemmas: NDArray[np.int32]
    lemmas_of_names: NDArray[np.int32]  # of words that are written with a capital in a sentence


@lru_cache(maxsize=1)  # German has a million words
def _dictionary(language: str) -> _Dictionary:
    from simplemma.strategies import DefaultDictionaryFactory

    given = DefaultDictionaryFactory().get_dictionary(language)
    written = list(given)
    rows = pa.table({FORM: written, LEMMA: pa.array(map(given.get, written), pa.string())})
    rows = rows.filter(pc.invert(pc.match_substring(rows[LEMMA], " ")))
    forms = rows[FORM].combine_chunks()
    lower = pc.utf8_lower(pa.concat_arrays([forms, rows[LEMMA].combine_chunks()]))
    encoded = lower.dictionary_encode()
    words, numbers = encoded.dictionary, np.asarray(encoded.indices)
    form, lemma = numbers[: len(rows)], numbers[len(rows) :]
    is_lower = np.asarray(pc.equal(forms, lower[: len(rows)]))
    is_name = np.asarray(pc.equal(forms, pc.utf8_capitalize(lower[: len(rows)]))) & ~is_lower
    of_names = np.arange(len(words), dtype=np.int32)
    of_names[form[is_name]] = lemma[is_name]
    lemmas = of_names.copy()
    lemmas[form[is_lower]] = lemma[is_lower]
    packed = _packed(words)
    return _Dictionary(words, (*packed, *key_strings(*packed)), lemmas, of_names)


def lemmatized(tokens: Tokens, language: str) -> Tokens:
    """Tokens with the lemma of each word, and how often each form of another word occurs.

    A word that the dictionary lacks is its own lemma. One with a capital inside a sentence is
    looked up among names, and nouns of languages that give them capitals.
    """
    known, words = _dictionary(language), tokens.words
    lower = pc.utf8_lower(words)
    number = find_strings(*_packed(lower), known.table)
    is_name = np.zeros(len(tokens.word_of), np.bool_) if tokens.is_name is None else tokens.is_name
    written, counts = count_written(tokens.word_of, is_name, len(words))
    lemma = np.column_stack([known.lemmas[number], known.lemmas_of_names[number]]).ravel()
    number = np.repeat(number, 2)
    changed = np.flatnonzero((number >= 0) & (number != lemma) & (counts > 0))
    forms, lemmas = words.take(pa.array(changed // 2)), known.words.take(pa.array(lemma[changed]))
    is_capital = pc.not_equal(forms, lower.take(pa.array(changed // 2)))
    lemmas = pc.if_else(is_capital, pc.utf8_capitalize(lemmas), lemmas)

    encoded, own = lemmas.dictionary_encode(), _packed(words)
    row = find_strings(*_packed(encoded.dictionary), (*own, *key_strings(*own)))
    is_new = row < 0
    row[is_new] = len(words) + np.arange(is_new.sum())
    new = np.repeat(np.arange(len(words)), 2)
    new[changed] = row[np.asarray(encoded.indices)]
    words = pa.concat_arrays([words, encoded.dictionary.filter(pa.array(is_new))])
    is_left = np.bincount(new, counts, len(words)) > 0
    return tokens._replace(
        words=words.filter(pa.array(is_left)),
        word_of=(np.cumsum(is_left, dtype=np.int32) - 1)[new][written],
        forms={FORM: forms, LEMMA: lemmas, COUNT: pa.array(counts[changed])},
    )


def _packed(strings: pa.StringArray) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    return offsets_and_bytes(strings)[::-1]


def commonest_forms(vocabulary: Vocabulary, forms: pa.Table) -> tuple[str, ...]:
    """The commonest form of each word, (n_words,); ``forms`` has how often others than the lemma
    occur. Of a word of several tokens, it has the forms of its parts."""
    grouped = forms.group_by([LEMMA, FORM], use_threads=False).aggregate([(COUNT, "sum")])
    order = [(f"{COUNT}_sum", "descending"), (FORM, "ascending")]
    rows = grouped.sort_by(order).group_by(LEMMA, use_threads=False)
    best = rows.aggregate([(FORM, "first"), (f"{COUNT}_sum", "first"), (f"{COUNT}_sum", "sum")])
    _, form, most, changed = (best[name] for name in best.column_names)
    words = pa.array(vocabulary.words, pa.string())
    total = pc.coalesce(
        pa.array(vocabulary.term_frequency).take(pc.index_in(best[LEMMA], words)), 0
    )
    shown = pc.if_else(pc.greater(most, pc.subtract(total, changed)), form, best[LEMMA])
    found = pc.coalesce(shown.take(pc.index_in(words, best[LEMMA].combine_chunks())), words)
    joint = np.flatnonzero(np.asarray(pc.match_substring(found, JOINT)))
    names = found.to_pylist()
    if len(joint):
        by_lemma = dict(zip(best[LEMMA].to_pylist(), shown.to_pylist(), strict=True))
    for n in joint:
        names[n] = JOINT.join(by_lemma.get(part, part) for part in names[n].split(JOINT))
    return tuple(names)

"""Forms of a word as one word, their lemma, by the dictionaries of simplemma."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparsetopics.base.errors import OptionError, needing
from sparsetopics.corpora.text.letters import bytes_and_offsets, letter_kinds
from sparsetopics.corpora.text.token_kernels import Known, find_names, find_strings, known_strings
from sparsetopics.corpora.text.tokens import JOINT, Tokens
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.options.option import shown

FORM, LEMMA, COUNT = "form", "lemma", "count"  # columns of the forms of a block
_LEAST_NOUNS = 1 / 2  # of a dictionary, with capitals: so has German, others have a few names


def check_lemmas(language: str) -> None:
    """OptionError if simplemma is not installed, or has no dictionary of a language."""
    with needing("languages", "lemmas", "needs simplemma, which is not installed"):
        from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES
    if language not in SUPPORTED_LANGUAGES:
        codes = ", ".join(sorted(SUPPORTED_LANGUAGES))
        problem = f"must be the code of a language, but is {shown(language)}"
        raise OptionError("lemmas", problem, f"Codes: {codes}.")


_Forms = tuple[Known, pa.StringArray]  # words in lower case that have another lemma, and that


def _forms(words: pa.StringArray, lemmas: pa.StringArray) -> _Forms:
    is_form = pc.not_equal(words, lemmas)
    return known_strings(*bytes_and_offsets(words.filter(is_form))), lemmas.filter(is_form)


@lru_cache(maxsize=1)  # German has a million words
def _dictionary(language: str) -> tuple[_Forms, ...]:
    """The forms of a language; where nouns have capitals, also the forms of nouns."""
    from simplemma.strategies import DefaultDictionaryFactory

    given = DefaultDictionaryFactory().get_dictionary(language)
    written = list(given)
    rows = pa.table({FORM: written, LEMMA: pa.array(map(given.get, written), pa.string())})
    rows = rows.filter(pc.invert(pc.match_substring(rows[LEMMA], " ")))
    forms, lemmas = (rows[name].combine_chunks() for name in (FORM, LEMMA))
    words, lemmas = pc.utf8_lower(forms), pc.utf8_lower(lemmas)
    is_lower = pc.equal(forms, words)
    is_noun = pc.and_not(pc.equal(forms, pc.utf8_capitalize(words)), is_lower)
    if pc.mean(is_noun).as_py() < _LEAST_NOUNS:
        return (_forms(words.filter(is_lower), lemmas.filter(is_lower)),)
    others = pc.is_in(words, value_set=words.filter(is_lower))
    either = pc.or_(is_lower, pc.and_not(is_noun, others))
    return tuple(_forms(words.filter(each), lemmas.filter(each)) for each in (either, is_noun))


def lemmatized(tokens: Tokens, texts: pa.StringArray, language: str) -> Tokens:
    """Tokens of texts, a row for each, with the lemma of each word; and how often each form of
    another word occurs.

    A word that the dictionary lacks is its own lemma. So is one with a capital inside a sentence,
    which is a name as a rule; but where nouns have capitals, it is looked up among these.
    """
    words, lower = tokens.words, pc.utf8_lower(tokens.words)
    known = _dictionary(language)
    numbers = np.stack([find_strings(*bytes_and_offsets(lower), forms) for forms, _ in known])
    is_name = np.zeros(len(tokens.word_of), np.bool_)
    if tokens.starts is not None:
        places = *bytes_and_offsets(texts), tokens.indptr, tokens.starts
        are_forms = numbers.max(axis=0) >= 0
        is_name = find_names(*places, tokens.word_of, are_forms, letter_kinds())
    cell_of = tokens.word_of + is_name * np.int64(len(words))  # (n_tokens,) in these counts
    counts = np.bincount(cell_of, minlength=2 * len(words)).reshape(2, len(words))
    is_changed = (numbers >= 0) & (counts[: len(known)] > 0)
    changed = np.nonzero(is_changed)
    found = zip(known, numbers, is_changed, strict=True)
    lemmas = pa.concat_arrays([own.take(pa.array(rows[mask])) for (_, own), rows, mask in found])
    forms = words.take(pa.array(changed[1]))
    is_capital = pc.not_equal(forms, lower.take(pa.array(changed[1])))
    lemmas = pc.if_else(is_capital, pc.utf8_capitalize(lemmas), lemmas)

    encoded = lemmas.dictionary_encode()
    own = known_strings(*bytes_and_offsets(words))
    row = find_strings(*bytes_and_offsets(encoded.dictionary), own)
    is_added = row < 0
    row[is_added] = len(words) + np.arange(is_added.sum())
    words = pa.concat_arrays([words, encoded.dictionary.filter(pa.array(is_added))])
    new = np.tile(np.arange(counts.shape[1], dtype=np.int32), (2, 1))
    new[changed] = row[np.asarray(encoded.indices)]
    is_left = np.zeros(len(words), np.bool_)
    is_left[new[counts > 0]] = True
    new = (np.cumsum(is_left, dtype=np.int32) - 1)[new]
    return tokens._replace(
        words=words.filter(pa.array(is_left)),
        word_of=new.reshape(-1)[cell_of],
        forms={FORM: forms, LEMMA: lemmas, COUNT: pa.array(counts[changed])},
    )


def commonest_forms(vocabulary: Vocabulary, forms: pa.Table) -> tuple[str, ...]:
    """The commonest form of each word, (n_words,).

    ``forms`` counts the forms that differ from their lemma. A word that joins several tokens is
    shown with the commonest forms of its parts. A form that is itself a word of the vocabulary,
    such as a name, is shown for that word only.
    """
    grouped = forms.group_by([LEMMA, FORM], use_threads=False).aggregate([(COUNT, "sum")])
    order = [(f"{COUNT}_sum", "descending"), (FORM, "ascending")]
    by_lemma = grouped.sort_by(order).group_by(LEMMA, use_threads=False)
    best = by_lemma.aggregate([(FORM, "first"), (f"{COUNT}_sum", "first"), (f"{COUNT}_sum", "sum")])
    _, form, most, changed = (best[name] for name in best.column_names)
    words = pa.array(vocabulary.words, pa.string())
    rows = pc.index_in(best[LEMMA], words)
    total = pc.coalesce(pa.array(vocabulary.term_frequency).take(rows), 0)
    is_best = pc.greater(most, pc.subtract(total, changed))
    is_free = pc.invert(pc.is_in(form, value_set=words))
    shown = pc.if_else(pc.and_(is_best, is_free), form, best[LEMMA])
    found = pc.coalesce(shown.take(pc.index_in(words, best[LEMMA].combine_chunks())), words)
    joint = np.flatnonzero(np.asarray(pc.match_substring(found, JOINT)))
    names = found.to_pylist()
    if len(joint):
        form_of = dict(zip(best[LEMMA].to_pylist(), shown.to_pylist(), strict=True))
    for n in joint:
        names[n] = JOINT.join(form_of.get(part, part) for part in names[n].split(JOINT))
    return tuple(names)

"""Measure what lemmas do to the vocabulary of a text, and to the names in it.

    python benchmarks/lemmas.py --language es quijote.txt --names quijote.names

Paragraphs of the text, divided by empty lines, are documents. ``--names`` has the commonest proper
nouns in lower case, one a line, chosen by hand. A name counts as changed if most of its occurrences
get another lemma.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow as pa

from sparsetopics import Corpus
from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.corpora.readers.blocks import TextBlock
from sparsetopics.corpora.text.tokenizer import TokenizerOptions, words_of

N_NAMES = 200


def words_in_order(texts: list[str], options: TokenizerOptions) -> list[str]:
    """The word of each token of all texts."""
    nothing = pa.nulls(len(texts), pa.string())
    tokens, _ = words_of(TextBlock(nothing, nothing, pa.array(texts)), options)
    words: list[str] = tokens.words.to_pylist()
    return [words[number] for number in tokens.word_of.tolist()]


def changed_names(texts: list[str], language: str, names: list[str]) -> tuple[list[str], int]:
    """Names with another lemma, each with it, and how many names occur."""
    lemmas: dict[str, Counter[str]] = defaultdict(Counter)
    pairs = zip(
        words_in_order(texts, TokenizerOptions()),
        words_in_order(texts, TokenizerOptions(lemmas=language)),
        strict=True,
    )
    for word, lemma in pairs:
        lemmas[word][lemma] += 1
    commonest = {name: lemmas[name].most_common(1)[0][0] for name in names if name in lemmas}
    changed = [f"{name} → {lemma}" for name, lemma in commonest.items() if name != lemma]
    return changed, len(commonest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--language", required=True)
    parser.add_argument("--names", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SparsetopicsWarning)
    paragraphs = options.text.read_text("utf-8").split("\n\n")
    texts = [" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip()]
    without = len(Corpus.from_texts(texts).vocabulary)
    own = len(Corpus.from_texts(texts, lemmas=options.language).vocabulary)
    print(f"{options.text.name}: {without:,} words, {own:,} lemmas: {1 - own / without:.1%} fewer")
    if options.names is not None:
        names = options.names.read_text("utf-8").split()[:N_NAMES]
        changed, n_names = changed_names(texts, options.language, names)
        share = len(changed) / max(n_names, 1)
        print(f"{len(changed)} of {n_names} names change, {share:.1%}: {', '.join(changed)}")


if __name__ == "__main__":
    main()

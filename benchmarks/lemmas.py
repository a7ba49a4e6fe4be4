"""Measure what lemmas do to the vocabulary of a text, and to the names in it.

    python benchmarks/lemmas.py es:quijote.txt de:werther.txt --keep    # in results/lemmas.json

Paragraphs of a text, divided by empty lines, are documents. ``quijote.names``, if there is such a
file, has the commonest proper nouns in lower case, one a line, chosen by hand. A name
counts as changed if most of its occurrences get another lemma.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow as pa
from results import report

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


def row_of(path: Path, language: str) -> dict[str, float]:
    """Words and lemmas of a text, and what becomes of names."""
    paragraphs = path.read_text("utf-8").split("\n\n")
    texts = [" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip()]
    without = len(Corpus.from_texts(texts).vocabulary)
    own = len(Corpus.from_texts(texts, lemmas=language).vocabulary)
    row = {"words": without, "lemmas": own, "fewer": 1 - own / without}
    if (list_of_names := path.with_suffix(".names")).exists():
        names = list_of_names.read_text("utf-8").split()[:N_NAMES]
        changed, n_names = changed_names(texts, language, names)
        print(f"{path.name}: {', '.join(changed)}")
        row |= {"changed": len(changed), "names": n_names}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", metavar="LANGUAGE:TEXT")
    parser.add_argument("--keep", action="store_true", help="write results/lemmas.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SparsetopicsWarning)
    rows = {}
    for language, path in (text.split(":", 1) for text in options.texts):
        rows[Path(path).stem] = row_of(Path(path), language)
    report("lemmas", rows, options.keep, ("simplemma",))


if __name__ == "__main__":
    main()

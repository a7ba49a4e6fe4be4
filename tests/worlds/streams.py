"""Collections that grow night by night, in which themes stay, arrive, leave, grow and split."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array

from sparsetopics.corpora.corpus import Corpus

KINDS = ("quiet", "growth", "arrives", "leaves", "splits", "replaced")
N_THEMES = 10
OWN_WORDS = 40  # of each theme
COMMON_WORDS = 200
COMMON_SHARE = 0.4  # of the tokens
MAIN_SHARE = 0.8  # of the other tokens, of the theme of the document
BURSTINESS = 150.0  # smaller: documents repeat their words more


class Stream(NamedTuple):
    """Lists of words by night, the first being the collection before the stream."""

    kind: str
    nights: list[list[list[str]]]
    themes: list[list[int]]  # of the documents
    event: int  # the first night of what happens; 0 where nothing does
    theme: int  # that it happens to


def own_word(theme: int, number: int) -> str:
    """A word of a theme; the default tokeniser takes letters only."""
    return f"theme{_letters(theme)}word{_letters(number)}"


def _letters(number: int) -> str:
    return chr(97 + number // 26) + chr(97 + number % 26)


def draw_stream(
    kind: str, seed: int, *, n_first: int = 800, n_nights: int = 30, n_each: int = 80
) -> Stream:
    """A stream of one kind: the event is at a night from 3 to 20."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    event = 0 if kind == "quiet" else int(rng.integers(3, 20))
    theme = int(rng.integers(N_THEMES))
    n_themes = N_THEMES + 2  # the last two arrive, or are what a theme splits into
    words = np.array(
        [f"common{_letters(n)}" for n in range(COMMON_WORDS)]
        + [own_word(k, n) for k in range(n_themes) for n in range(OWN_WORDS)]
    )
    common = rng.dirichlet(np.full(COMMON_WORDS, 0.5))
    own = rng.dirichlet(np.full(OWN_WORDS, 0.7), n_themes)
    weights = rng.dirichlet(np.full(N_THEMES, 8.0))
    nights, themes = [], []
    for night in range(n_nights + 1):
        happened = 0 < event <= night
        shares, n_docs = np.append(weights, [0.0, 0.0]), n_each if night else n_first
        if happened and kind == "arrives":
            shares[N_THEMES] = 0.12
        elif happened and kind == "leaves":
            shares[theme] = 0.0
        elif happened and kind == "growth":
            shares[theme] *= 3.0
        elif happened and kind == "splits":
            shares[N_THEMES:] = shares[theme] / 2.0 + 0.05
            shares[theme] = 0.0
        elif happened and kind == "replaced":
            shares[N_THEMES], shares[theme] = max(shares[theme], 0.1), 0.0
        main = rng.choice(n_themes, n_docs, p=shares / shares.sum())
        documents = []
        for k in main:
            other = rng.choice(n_themes, p=shares / shares.sum())
            p = np.zeros(len(words))
            p[:COMMON_WORDS] = COMMON_SHARE * common
            for each, share in ((k, MAIN_SHARE), (other, 1 - MAIN_SHARE)):
                first = COMMON_WORDS + each * OWN_WORDS
                mixed = own[each]
                if kind == "splits" and each >= N_THEMES:  # half of the theme's words each
                    first, mixed = COMMON_WORDS + theme * OWN_WORDS, own[theme].copy()
                    mixed[(each - N_THEMES) :: 2] *= 0.05
                    mixed /= mixed.sum()
                p[first : first + OWN_WORDS] += (1 - COMMON_SHARE) * share * mixed
            used = np.flatnonzero(p)
            p[used] = rng.dirichlet(BURSTINESS * p[used] + 1e-3)
            n_tokens = int(rng.integers(30, 120))
            documents.append(words[rng.choice(len(words), n_tokens, p=p)].tolist())
        nights.append(documents)
        themes.append(main.tolist())
    return Stream(kind, nights, themes, event, theme)


def corpora_of(stream: Stream) -> Iterator[Corpus]:
    """The corpus after each night: words get their numbers in the order in which they arrive."""
    numbers: dict[str, int] = {}
    rows, columns, n_docs = [], [], 0
    for night in stream.nights:
        for document in night:
            columns += [numbers.setdefault(word, len(numbers)) for word in document]
            rows += [n_docs] * len(document)
            n_docs += 1
        shape, ones = (n_docs, len(numbers)), np.ones(len(rows), np.int64)
        yield Corpus.from_csr(coo_array((ones, (rows, columns)), shape), list(numbers))


def around_event(stream: Stream, n_before: int, n_after: int) -> Stream:
    """The first collection and the nights around the event, with ``n_before`` before it."""
    chosen = [0, *range(stream.event - n_before, stream.event + n_after)]
    nights, themes = ([of[n] for n in chosen] for of in (stream.nights, stream.themes))
    return stream._replace(nights=nights, themes=themes, event=n_before + 1)

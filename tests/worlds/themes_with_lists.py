"""Texts of five themes, and lists of words for two of them."""

import numpy as np

THEMES = {
    "sea": ["ship", "harbour", "sail", "port", "cargo", "vessel"],
    "farm": ["wheat", "corn", "harvest", "crop", "grain", "soil"],
    "bank": ["loan", "credit", "interest", "rate", "debt", "bond"],
    "oil": ["crude", "barrel", "refinery", "drill", "well", "fuel"],
    "court": ["judge", "trial", "appeal", "jury", "verdict", "law"],
}
GUIDE = {
    "shipping": ["ship", "harbour"],
    "justice": {"words": ["judge", "trial"], "parent": "state"},
}


def texts(seed=0, n_docs=600):
    rng = np.random.default_rng(seed)
    shared = ["new", "year", "people", "time", "day"]
    found = []
    for _ in range(n_docs):
        words = THEMES[rng.choice([*THEMES])]
        own = rng.choice(words, 20).tolist() + rng.choice(shared, 8).tolist()
        found.append(" ".join(rng.permutation(own)))
    return found

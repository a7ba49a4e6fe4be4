"""Train topica's guided models: ``python guided_peers.py IN.npz OUT.npz MODEL SEED SWEEPS``.

Runs in an environment that has topica, numpy and scipy; ``guided.py`` calls it.
"""

import json
import sys
import time
from itertools import pairwise

import numpy as np
from topica import KeyATM, SeededLDA


def tokens(found, name, words):
    indptr, indices, data = (found[f"{name}_{part}"] for part in ("indptr", "indices", "data"))
    return [
        np.repeat(words[indices[first:last]], data[first:last].astype(int)).tolist()
        for first, last in pairwise(indptr)
    ]


def main():
    source, target, kind, seed, sweeps = sys.argv[1:]
    found = np.load(source, allow_pickle=False)
    words, lists = found["words"].astype(object), json.loads(str(found["lists"]))
    n_topics, train, test = int(found["n_topics"]), *(tokens(found, n, words) for n in ("x", "y"))
    began = time.process_time()
    if kind == "keyatm":
        model = KeyATM(lists, num_topics=n_topics, seed=int(seed))
    else:
        model = SeededLDA(lists, residual=n_topics - len(lists), seed=int(seed))
    model.fit(train, keep_theta_draws=False, **({"iters": int(sweeps)} if sweeps else {}))
    cpu = time.process_time() - began
    column = {word: place for place, word in enumerate(words)}
    topics = np.full((n_topics, len(words)), 1e-9)
    topics[:, [column[word] for word in model.vocabulary]] = model.topic_word
    shares = model.transform(test, seed=0)
    alpha = np.broadcast_to(np.asarray(model.alpha, float), n_topics)
    np.savez(target, topics=topics, shares=shares, alpha=alpha, cpu=cpu,
             names=np.array(list(model.topic_names)))  # fmt: skip


if __name__ == "__main__":
    main()

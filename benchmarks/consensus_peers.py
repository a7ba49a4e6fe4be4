"""Make topica's ensemble: ``python consensus_peers.py IN.npz OUT.npz TOPICS SEED RUNS [SWEEPS]``.

Runs in an environment that has topica, numpy and scipy; ``consensus.py`` calls it.
"""

import sys
import time
from itertools import pairwise

import numpy as np
from scipy import sparse
from topica import LDA, ensemble


def main():
    source, target, *given = sys.argv[1:]
    n_topics, seed, n_runs = map(int, given[:3])
    sweeps = {"iters": int(given[3])} if given[3] else {}
    with np.load(source, allow_pickle=False) as arrays:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        counts = sparse.csr_array(parts, shape=tuple(arrays["shape"]))[arrays["train"]]
        words = arrays["vocab"].astype(str).astype(object)
    documents = [
        np.repeat(words[counts.indices[first:last]], counts.data[first:last].astype(int)).tolist()
        for first, last in pairwise(counts.indptr)
    ]
    began, runs = time.process_time(), []
    for number in range(n_runs):
        model = LDA(num_topics=n_topics, seed=seed + number)
        model.fit(documents, **sweeps)
        runs.append(model)
    found = ensemble(runs)
    cpu = time.process_time() - began
    column = {word: place for place, word in enumerate(words)}
    topics = np.full((n_topics, len(words)), 1e-9)
    topics[:, [column[word] for word in found.vocabulary]] = found.topic_word
    np.savez(target, topics=topics / topics.sum(axis=1, keepdims=True), cpu=cpu)


if __name__ == "__main__":
    main()

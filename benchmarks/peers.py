"""Train a toolkit on prepared documents, and keep the counts of words in its topics.

    python benchmarks/peers.py topica own kos.npz counts.npz --topics 50 --cpu 60

With the setting ``own`` a toolkit has the priors that are its defaults; with ``ours`` it has those
of sparsetopics. It trains in sweeps or passes for about as many CPU seconds as are given;
sparsetopics and BERTopic train as they do by default. Probabilities of words contain a toolkit's
own smoothing. Counts do not, so that every toolkit can be smoothed by the same rule. Words that
training lacks have counts of 0.

BERTopic clusters documents, here by 100 singular vectors of tf-idf; the counts of a topic are
those of its documents. With the setting ``ours`` it merges its topics to the given number.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from scipy import sparse

Array = np.ndarray[Any, Any]
SETTINGS = ("own", "ours")
TOTAL_CONCENTRATION, WORD_CONCENTRATION = 0.5, 0.1  # α, of all topics, and η of ours
TRIAL_SWEEPS = 5  # which tell how many fit into the time
MOST_SWEEPS = 1000
N_VECTORS = 100  # singular vectors


class Task(NamedTuple):
    """What to train."""

    train: sparse.csr_array
    words: Sequence[str]
    n_topics: int
    is_ours: bool  # whether to use the priors of sparsetopics
    cpu: float  # seconds
    seed: int

    @property
    def alpha(self) -> float:
        """The concentration of each topic by our default."""
        return TOTAL_CONCENTRATION / self.n_topics

    def lists(self) -> list[list[str]]:
        """The documents as lists of the numbers of their words."""
        bounds = zip(self.train.indptr[:-1], self.train.indptr[1:], strict=True)
        counts, ids = self.train.data.astype(int), self.train.indices
        return [np.repeat(ids[a:b], counts[a:b]).astype(str).tolist() for a, b in bounds]


def train_sparsetopics(task: Task) -> tuple[Array, float, int]:
    """Train LDA with its defaults, kernels being compiled before."""
    from sparsetopics import LDA, Corpus

    words = list(task.words)
    LDA(2, max_iter=10).fit(Corpus.from_csr(task.train[:200], words))
    corpus = Corpus.from_csr(task.train, words)
    start = time.process_time()
    model = LDA(task.n_topics, random_state=task.seed).fit(corpus)
    spent = time.process_time() - start
    return model.components_, spent, model.n_iter_


def train_topica(task: Task) -> tuple[Array, float, int]:
    """Use dense CVB0, its best sampler in our measurements.

    A running fit cannot be stopped, so a short one tells how many sweeps there is time for.
    """
    from topica import LDA

    lists = task.lists()
    ours = {"alpha_sum": TOTAL_CONCENTRATION, "beta": WORD_CONCENTRATION, "optimize_interval": 0}

    def fit(n_sweeps: int) -> tuple[Any, float]:
        priors = ours if task.is_ours else {}
        model = LDA(task.n_topics, **priors, sampler="cvb0", seed=task.seed)
        start = time.process_time()
        model.fit(
            lists, iters=n_sweeps, num_samples=1, num_threads=1, keep_theta_draws=False,
            progress=False,
        )  # fmt: skip
        return model, time.process_time() - start

    _, trial = fit(TRIAL_SWEEPS)
    n_sweeps = int(min(MOST_SWEEPS, max(TRIAL_SWEEPS, task.cpu / trial * TRIAL_SWEEPS)))
    model, spent = fit(n_sweeps)
    alpha = np.asarray(model.alpha)
    lengths = np.asarray(model.doc_lengths)[:, None]
    sizes = (model.doc_topic * (lengths + alpha.sum()) - alpha).sum(axis=0)
    columns = np.array(model.vocabulary).astype(int)
    return _counts(task, model.topic_word, sizes, model.beta, columns), spent, n_sweeps


def train_tomotopy(task: Task) -> tuple[Array, float, int]:
    """Train until the time is over."""
    import tomotopy

    ours = {"alpha": task.alpha, "eta": WORD_CONCENTRATION}
    model = tomotopy.LDAModel(k=task.n_topics, seed=task.seed, **(ours if task.is_ours else {}))
    if task.is_ours:
        model.optim_interval = 0
    for words in task.lists():
        model.add_doc(words)
    start, n_sweeps = time.process_time(), 0
    while time.process_time() - start < task.cpu and n_sweeps < MOST_SWEEPS:
        model.train(TRIAL_SWEEPS, workers=1)
        n_sweeps += TRIAL_SWEEPS
    spent = time.process_time() - start
    topics = np.array([model.get_topic_word_dist(topic) for topic in range(task.n_topics)])
    sizes, columns = np.array(model.get_count_by_topics()), np.array(model.used_vocabs).astype(int)
    return _counts(task, topics, sizes, model.eta, columns), spent, n_sweeps


def train_gensim(task: Task) -> tuple[Array, float, int]:
    """Make passes until the time is over."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    corpus = list(Sparse2Corpus(task.train.T.tocsc()))
    words = dict(enumerate(task.words))
    ours = {"alpha": [task.alpha] * task.n_topics, "eta": WORD_CONCENTRATION}
    start, n_passes = time.process_time(), 1
    model = LdaModel(
        corpus, task.n_topics, words, random_state=task.seed, eval_every=None,
        **(ours if task.is_ours else {}),
    )  # fmt: skip
    while time.process_time() - start < task.cpu and n_passes < MOST_SWEEPS:
        model.update(corpus)
        n_passes += 1
    return model.state.sstats, time.process_time() - start, n_passes


def train_sklearn(task: Task) -> tuple[Array, float, int]:
    """Make batch passes until the time is over; a running fit cannot be stopped."""
    from sklearn.decomposition import LatentDirichletAllocation

    ours = {"doc_topic_prior": task.alpha, "topic_word_prior": WORD_CONCENTRATION}

    def fit(n_passes: int) -> tuple[Any, float]:
        model = LatentDirichletAllocation(
            task.n_topics,
            max_iter=n_passes,
            random_state=task.seed,
            **(ours if task.is_ours else {}),
        )
        start = time.process_time()
        return model.fit(task.train), time.process_time() - start

    _, trial = fit(1)
    model, spent = fit(int(np.clip(task.cpu / trial, 10, MOST_SWEEPS)))
    return model.components_ - model.topic_word_prior_, spent, model.n_iter_


def train_bertopic(task: Task) -> tuple[Array, float, int]:
    """Cluster documents by vectors that need no language model."""
    from bertopic import BERTopic
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import normalize
    from umap import UMAP

    texts = [" ".join(task.words[int(word)] for word in words) for words in task.lists()]
    start = time.process_time()
    weights = TfidfTransformer(sublinear_tf=True).fit_transform(task.train)
    vectors = TruncatedSVD(N_VECTORS, random_state=task.seed).fit_transform(weights)
    umap = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine",
                random_state=task.seed)  # fmt: skip
    model = BERTopic(umap_model=umap, nr_topics=task.n_topics + 1 if task.is_ours else None)
    found, _ = model.fit_transform(texts, normalize(vectors))
    spent = time.process_time() - start
    topics = np.array(found)  # −1 for a document without a topic
    rows = [task.train[np.flatnonzero(topics == k)].sum(axis=0) for k in range(topics.max() + 1)]
    return np.array(rows), spent, 1


def _counts(task: Task, topics: Array, sizes: Array, smoothing: float, columns: Array) -> Array:
    """``topics`` (n_topics, n_columns) are (counts + smoothing) / (sizes + n_columns smoothing)."""
    totals = sizes[:, None] + len(columns) * smoothing
    counts = np.zeros((len(topics), task.train.shape[1]))
    counts[:, columns] = np.maximum(topics * totals - smoothing, 0.0)
    assert abs(counts.sum() / task.train.sum() - 1) < 1e-3, "not the toolkit's rule of smoothing"
    return counts


PEERS: dict[str, Callable[[Task], tuple[Array, float, int]]] = {
    "sparsetopics": train_sparsetopics,
    "topica": train_topica,
    "tomotopy": train_tomotopy,
    "gensim": train_gensim,
    "scikit-learn": train_sklearn,
    "bertopic": train_bertopic,
}


@click.command()
@click.argument("peer", type=click.Choice(list(PEERS)))
@click.argument("setting", type=click.Choice(SETTINGS))
@click.argument("documents", type=click.Path(exists=True, path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--topics", "n_topics", type=int, required=True)
@click.option("--cpu", type=float, required=True, help="Seconds.")
@click.option("--seed", default=1)
def main(
    peer: str, setting: str, documents: Path, out: Path, n_topics: int, cpu: float, seed: int
) -> None:
    """Train PEER with a SETTING on DOCUMENTS, and write its counts to OUT."""
    with np.load(documents, allow_pickle=False) as arrays:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        train = sparse.csr_array(parts, shape=tuple(arrays["shape"]))[arrays["train"]]
        words = arrays["vocab"].tolist()
    counts, spent, n_sweeps = PEERS[peer](
        Task(train, words, n_topics, setting == "ours", cpu, seed)
    )
    np.save(out, counts)
    click.echo(json.dumps({"cpu": spent, "sweeps": n_sweeps, "peak_gb": _peak()}))


def _peak() -> float:
    """The most memory that this process has had, in GB; getrusage would count its parent's too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e9


if __name__ == "__main__":
    main()

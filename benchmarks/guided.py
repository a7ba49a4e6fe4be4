"""Measure topics that begin with lists of words, beside free ones and topica's.

    python benchmarks/guided.py --data 20news,reuters,m10,reddit --seeds 0,1,2,3,4 --keep
    python benchmarks/guided.py --data m10 --seeds 0,1 --peers PYTHON-WITH-TOPICA
    python benchmarks/guided.py --data 20news --seeds 0 --peers PYTHON-WITH-TOPICA --sweeps 100

Each of ten groups (every second one of the twenty largest, or of 20 Newsgroups by name) has a list:
the five words that say most about the group in the training documents (mutual information of word
and group, among words that are more frequent in it). AUC and recall are of test documents: how well
the share of a list's topics tells the group, and how often the leading topic is of its list. The
score is document completion in nats per token, of all topics. Free topics stand for the list of
which they have most words. CPU seconds are of training alone. "nonsense" has two more lists: five
words drawn at random among the 2,000 most frequent ones, and the five rarest words. topica makes as
many sweeps as it does without being asked (1,500 or 2,000), or --sweeps.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from results import Cell, over_runs, report
from scipy import sparse
from sklearn.metrics import roc_auc_score

from sparsetopics import HDP, LDA, Corpus
from sparsetopics.corpora.text.stop_words import stop_words_of
from sparsetopics.measures.completion import document_completion, unigram_probabilities

TOKEN = re.compile(r"[a-z]{3,}")
N_GROUPS, N_WORDS, FEWEST_DOCUMENTS = 10, 5, 5
PEERS = ("keyatm", "seededlda")


class Data(NamedTuple):
    """Training and test documents with the sets of their labels."""

    x: sparse.csr_array
    y: sparse.csr_array
    labels_x: list[set[str]]
    labels_y: list[set[str]]
    words: list[str]
    groups: list[str]

    def lists(self) -> dict[str, list[str]]:
        """The words that say most about each group."""
        has, n = (self.x > 0).astype(float), self.x.shape[0]
        df, found = np.asarray(has.sum(axis=0)).ravel(), {}
        for group in self.groups:
            mine = np.array([group in own for own in self.labels_x])
            both, n_own = np.asarray(has[mine].sum(axis=0)).ravel(), mine.sum()
            cells = (both, df, n_own), (df - both, df, n - n_own)
            cells += (n_own - both, n - df, n_own), (n - n_own - df + both, n - df, n - n_own)
            score = sum(
                np.where(c > 0, c / n * np.log(np.maximum(c, 1e-12) * n / (r * s)), 0.0)
                for c, r, s in cells
            )
            score[both / n_own < df / n] = -1.0
            best = np.argsort(-score, kind="stable")[:N_WORDS]
            found[group] = [self.words[word] for word in best]
        return found

    def nonsense(self, seed: int) -> dict[str, list[str]]:
        """Words that do not belong together, and a theme that is not there."""
        order = np.argsort(-np.asarray(self.x.sum(axis=0)).ravel(), kind="stable")
        drawn = np.random.default_rng(seed).choice(order[:2000], N_WORDS, replace=False)
        parts = {"nonsense": drawn, "absent": order[-N_WORDS:]}
        return {name: [self.words[word] for word in words] for name, words in parts.items()}


def posts(shared: Path, name: str) -> Iterator[tuple[str, set[str], bool | None]]:
    """Texts, labels, and whether they are for tests, if the collection says so."""
    if name == "20news":
        for part in ("train", "test"):
            with gzip.open(shared / f"data/20news/20news-bydate-{part}.jsonl.gz", "rt") as lines:
                for each in map(json.loads, lines):
                    body = each["text"].partition("\n\n")[2]  # without the header
                    yield body, {each["label"]}, part == "test"
    elif name == "reuters":
        with gzip.open(shared / "data/reuters21578/reuters21578.jsonl.gz", "rt") as lines:
            for each in map(json.loads, lines):
                if each["topics"]:
                    yield each["text"], set(each["topics"]), None
    elif name == "m10":
        with gzip.open(shared / "data/m10/m10.jsonl.gz", "rt") as lines:
            for each in map(json.loads, lines):
                yield each["text"], {each["label"]}, each["split"] == "test"
    else:
        with ExitStack() as files:
            parts = sorted((shared / "data/reddit1m").glob("*.jsonl.gz"))
            lines = [files.enter_context(gzip.open(part, "rt")) for part in parts]
            own = [json.loads(line) for line in chain.from_iterable(lines)]
        largest = dict(Counter(each["label"] for each in own).most_common(20))
        for each in own:
            if each["label"] in largest:
                yield each["text"], {str(each["label"])}, None


def read(shared: Path, name: str) -> Data:
    stop, rng = stop_words_of("english"), np.random.default_rng(0)
    parts: tuple[list[Any], list[Any]] = [], []
    for text, labels, is_test in posts(shared, name):
        words = [word for word in TOKEN.findall(text.lower()) if word not in stop]
        parts[int(rng.random() < 1 / 3 if is_test is None else is_test)].append((words, labels))
    df = Counter(word for words, _ in parts[0] for word in set(words))
    kept = sorted(word for word, n in df.items() if n >= FEWEST_DOCUMENTS)
    number = {word: place for place, word in enumerate(kept)}
    made = []
    for fewest, part in zip((1, 2), parts, strict=True):
        rows = [Counter(number[w] for w in words if w in number) for words, _ in part]
        own = [
            (row, labels) for row, (_, labels) in zip(rows, part, strict=True) if len(row) >= fewest
        ]
        ids = [sorted(row) for row, _ in own]
        indptr = np.concatenate([[0], np.cumsum([len(each) for each in ids])])
        counts = [row[word] for (row, _), each in zip(own, ids, strict=True) for word in each]
        flat = [word for each in ids for word in each]
        matrix = sparse.csr_array(
            (np.array(counts, np.uint32), flat, indptr), (len(own), len(kept))
        )
        made.append((matrix, [labels for _, labels in own]))
    (x, labels_x), (y, labels_y) = made
    sizes = Counter(label for own in labels_x for label in own)
    names = sorted(sizes) if name == "20news" else [label for label, _ in sizes.most_common(20)]
    groups = names[::2] if len(names) > N_GROUPS else names
    return Data(x, y, labels_x, labels_y, kept, groups[:N_GROUPS])


def measure(
    data: Data, topics: np.ndarray, alpha: np.ndarray, shares: np.ndarray, of: Sequence[int]
) -> dict[str, float]:
    """AUC, recall and score of a model; ``of`` has the list of each topic, or −1."""
    own, leading = np.array(of), shares.argmax(axis=1)
    auc, recall = [], []
    for place, group in enumerate(data.groups):
        mine = np.array([group in labels for labels in data.labels_y])
        auc.append(roc_auc_score(mine, shares[:, own == place].sum(axis=1)))
        recall.append((own[leading[mine]] == place).mean())
    test = Corpus.from_csr(data.y, data.words)
    usual = np.asarray(data.x.sum(axis=0)).ravel().astype(np.int64)
    score, _ = document_completion(test, topics, alpha, unigram_probabilities(usual), n_cuts=1)
    return {
        "auc": round(float(np.mean(auc)), 4),
        "recall": round(float(np.mean(recall)), 4),
        "score": round(score.log_likelihood_per_token, 4),
        "topics_of_lists": int((own >= 0).sum()),
    }


def ours(
    data: Data, model: str, n_topics: int, seed: int, guide: dict[str, list[str]] | None
) -> dict[str, Any]:
    given = {"random_state": seed, "guide": guide}
    estimator = HDP(**given) if model == "hdp" else LDA(n_topics, **given)
    began = time.process_time()
    estimator.fit(Corpus.from_csr(data.x, data.words))
    cpu = time.process_time() - began
    shares = estimator.transform(Corpus.from_csr(data.y, data.words))
    topics, alpha = estimator.model_.topic_word_mean, estimator.model_.doc_concentration
    of = [-1] * len(topics)
    if guide is None:
        number = {word: place for place, word in enumerate(data.words)}
        for place, words in enumerate(data.lists().values()):
            of[int(topics[:, [number[word] for word in words]].sum(axis=1).argmax())] = place
    else:
        rows = estimator.topics().to_pylist()
        of = [
            data.groups.index(row["list_name"]) if row["list_name"] in data.groups else -1
            for row in rows
        ]
    return {"topics": len(topics), **measure(data, topics, alpha, shares, of), "cpu": round(cpu, 1)}


def peer(
    data: Data, python: str, kind: str, n_topics: int, seed: int, sweeps: int | None
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
        parts = {
            f"{name}_{part}": getattr(matrix, part)
            for name, matrix in (("x", data.x), ("y", data.y))
            for part in ("indptr", "indices", "data")
        }
        np.savez(source, words=np.array(data.words), lists=json.dumps(data.lists()),
                 n_topics=n_topics, **parts)  # fmt: skip
        script = Path(__file__).with_name("guided_peers.py")
        subprocess.run(
            [python, script, source, target, kind, str(seed), str(sweeps or "")], check=True
        )
        found = np.load(target)
        names = found["names"].tolist()
        of = [data.groups.index(name) if name in data.groups else -1 for name in names]
        topics = found["topics"] / found["topics"].sum(axis=1, keepdims=True)
        row = measure(data, topics, found["alpha"], found["shares"], of)
        return {"topics": n_topics, **row, "cpu": round(float(found["cpu"]), 1)}


@click.command()
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--data", "names", default="20news")
@click.option("--model", type=click.Choice(["lda", "hdp"]), default="lda")
@click.option("--topics", "n_topics", default=50)
@click.option("--seeds", default="0")
@click.option("--peers", help="Python of an environment with topica.")
@click.option("--sweeps", type=int, help="Of topica, if not its own number.")
@click.option("--keep", "is_kept", is_flag=True, help="Write results/guided.json.")
def main(
    shared: Path, names: str, model: str, n_topics: int, seeds: str, peers: str | None,
    sweeps: int | None, is_kept: bool,
) -> None:  # fmt: skip
    """Print a JSON row for each model, and means over seeds with the smallest and the largest."""
    runs: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for name in names.split(","):
        data = read(shared, name)
        ours(data, "lda", 10, 0, None)  # compile
        for seed in map(int, seeds.split(",")):
            guides = {"free": None, "guided": data.lists()}
            guides["nonsense"] = data.lists() | data.nonsense(seed)
            for way in (*guides, *(PEERS if peers else ())):
                if way in PEERS:
                    row = peer(data, str(peers), way, n_topics, seed, sweeps)
                else:
                    row = ours(data, model, n_topics, seed, guides[way])
                about = {"data": name, "model": model, "way": way, "seed": seed}
                click.echo(json.dumps(about | row))
                runs[name, way].append(row)
    rows: dict[str, dict[str, Cell]] = defaultdict(dict)
    for name, way in runs:
        rows[name] |= {f"{way}_{key}": cell for key, cell in over_runs(runs[name, way]).items()}
    report("guided", rows, is_kept)


if __name__ == "__main__":
    main()

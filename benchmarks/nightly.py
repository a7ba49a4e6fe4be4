"""Measure runs that are updated night by night: what stays, what is found, and what it costs.

    python benchmarks/nightly.py plus --data 20news,reuters --seeds 0,1,2,3,4 --keep
    python benchmarks/nightly.py word --documents 10000 --model lda,hdp --keep
    python benchmarks/nightly.py streams --kinds arrives,leaves --seeds 0,1,2,3 --model hdp --keep
    python benchmarks/nightly.py dates --data reuters --model hdp --withheld ship --keep

Each night adds documents to a corpus folder, with ``grow_vocabulary``, and updates the run. A fresh
run learns all documents, read again under the vocabulary that has grown, so that both are scored on
the same words. Scores are held-out document completion in nats per token, five cuts. CPU seconds
are those of this process; kernels are compiled before.

``streams`` counts a change as named if, at most two nights after the event, news of a fitting kind
has words of the theme. False alarms are news on nights before the event, or on quiet nights.
``--keep`` writes the numbers of all rows, and means over seeds or groups.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from nightly_runs import Document, Nights, read, watch
from results import over_runs, report

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from sparsetopics import Corpus
from sparsetopics.answers.changes import Change
from sparsetopics.answers.updating import Updated
from sparsetopics.measures.completion import unigram_probabilities
from sparsetopics.measures.relevance import NAME_BALANCE, relevant_words
from worlds.streams import KINDS, N_THEMES, Stream, draw_stream, own_word

NEWS_OF = {
    "arrives": ("new", "split", "growing", "taken over", "no topic fits"),
    "splits": ("new", "split", "growing", "taken over", "fading", "no topic fits"),
    "growth": ("growing",),
}
COINED = "zyxnovum"
WORDY = (list, dict)  # cells that are printed, but not kept

Row = dict[str, Any]


class Task(NamedTuple):
    """What to measure a model on."""

    model: str
    topics: int
    seeds: list[int]
    kinds: list[str]  # of streams
    n_first: int  # documents before the night of a new word
    withheld: str


def told(found: Updated) -> list[tuple[Any, ...]]:
    return [(c.kind, c.name, *c.words[:6]) for c in found.changes if c.is_news]


def theme_of(change: Change) -> int | None:
    """The theme that has most of the words of a change."""
    names = {own_word(k, 0)[:7]: k for k in range(N_THEMES + 2)}
    counted = Counter(names[word[:7]] for word in change.words if word[:7] in names)
    return counted.most_common(1)[0][0] if counted else None


def is_named(stream: Stream, news: dict[int, list[Change]]) -> bool:
    near = [c for night in range(stream.event, stream.event + 3) for c in news.get(night, [])]
    kinds = NEWS_OF.get(stream.kind, NEWS_OF["arrives"])
    arrived = any(
        c.kind in kinds and theme_of(c) == (N_THEMES if stream.kind in ("arrives", "replaced")
                                            else stream.theme) for c in near
    )  # fmt: skip
    left = any(c.kind in ("fading", "gone") and theme_of(c) == stream.theme for c in near)
    return {"leaves": left, "replaced": arrived and left}.get(stream.kind, arrived)


def of_words(lists: list[list[str]], name: str) -> list[Document]:
    return [
        {"id": f"{name}-{n}", "text": " ".join(words), "label": name}
        for n, words in enumerate(lists)
    ]


def warm_up(model: str) -> None:
    """Compile."""
    stream = draw_stream("arrives", 99, n_first=200, n_nights=1)
    with tempfile.TemporaryDirectory() as folder:
        nights = Nights(Path(folder), of_words(stream.nights[0], "a"), model, 10, 0)
        nights.add(of_words(stream.nights[1], "b"))
        nights.gain(of_words(stream.nights[1], "c"))


def plus(documents: list[Document], task: Task) -> Iterator[tuple[str, Row]]:
    for seed in task.seeds:
        yield str(seed), one_night(documents, task.model, task.topics, seed)


def one_night(documents: list[Document], model: str, topics: int, seed: int) -> Row:
    order = np.random.default_rng(seed).permutation(len(documents))
    held = [documents[place] for place in np.sort(order[: len(order) // 10])]
    others = [documents[place] for place in np.sort(order[len(order) // 10 :])]
    n_old = len(others) * 10 // 11
    with tempfile.TemporaryDirectory() as folder:
        nights = Nights(Path(folder), others[:n_old], model, topics, seed)
        n_known = Corpus.open(nights.corpus).n_docs
        before = nights.leading(n_known)
        watch(nights.cpu)
        found = nights.add(others[n_old:])
        kept = float((nights.leading(n_known) == before).mean())
        row = nights.gain(held)
        return {
            "kept": round(kept, 4), **row, "new_words": found.n_new_words,
            "news": len(told(found)),
            **{f"cpu_{name}": round(value, 2) for name, value in nights.cpu.items()},
            "cpu_ratio": round(nights.cpu["update"] / nights.cpu["fresh"], 3),
        }  # fmt: skip


def word(documents: list[Document], task: Task) -> Iterator[tuple[str, Row]]:
    rng, n_first = np.random.default_rng(0), task.n_first
    drawn = [documents[place] for place in rng.permutation(len(documents))[: n_first + 500]]
    drawn_ids = {each["id"] for each in drawn}
    counted = Counter(each["label"] for each in documents if each["label"] != "none")
    groups = [label for label, _ in counted.most_common(20)][::2]
    with tempfile.TemporaryDirectory() as scratch:
        nights = Nights(Path(scratch), drawn[:n_first], task.model, task.topics, 0)
        for group in groups:
            own = [d for d in documents if d["label"] == group and d["id"] not in drawn_ids][:30]
            own = [d | {"text": d["text"] + f" {COINED}" * int(rng.integers(2, 5))} for d in own]
            with tempfile.TemporaryDirectory() as folder:
                found = nights.copied(Path(folder)).add([*own, *drawn[n_first:]])
                place = found.run.vocabulary.words.index(COINED)
                words = found.run.model.topic_word_mean
                ranks = (words > words[:, [place]]).sum(axis=1) + 1
                usual = unigram_probabilities(found.run.vocabulary.term_frequency)
                best = relevant_words(words, usual, words.shape[1], NAME_BALANCE)
                rank = int(ranks.min())
                yield group, {
                    "documents": len(own), "rank": rank, "is_among_ten": rank <= 10,
                    "rank_by_relevance": int(np.nonzero(best == place)[1].min()) + 1,
                    "topics": found.run.model.n_topics, "news": told(found),
                }  # fmt: skip


def streams(_: list[Document], task: Task) -> Iterator[tuple[str, Row]]:
    for kind, seed in product(task.kinds, task.seeds):
        yield f"{kind}/{seed}", one_stream(kind, seed, task.model, task.topics)


def one_stream(kind: str, seed: int, model: str, topics: int) -> Row:
    stream = draw_stream(kind, seed, n_nights=34)
    lists, news = stream.nights, dict[int, list[Change]]()
    with tempfile.TemporaryDirectory() as folder:
        nights = Nights(Path(folder), of_words(lists[0], "0"), model, topics, seed)
        for night in range(1, 31):
            found = nights.add(of_words(lists[night], str(night)))
            news[night] = [change for change in found.changes if change.is_news]
        held = of_words([words for night in lists[31:] for words in night], "held")
        row = nights.gain(held)
    quiet = range(1, stream.event or 31)
    return {
        "event": stream.event, "named": is_named(stream, news) if stream.event else None,
        "quiet_nights": len(quiet), "false": sum(bool(news[night]) for night in quiet), **row,
        "news": {night: [(c.kind, theme_of(c), *c.words[:2]) for c in each]
                 for night, each in news.items() if each},
    }  # fmt: skip


def dates(documents: list[Document], task: Task) -> Iterator[tuple[str, Row]]:
    order, withheld = np.random.default_rng(0).permutation(len(documents)), task.withheld
    is_held = np.zeros(len(documents), bool)
    is_held[order[: len(order) // 10]] = True
    train = [d for d, held in zip(documents, is_held, strict=True) if not held]
    if any(d["day"] > 1 for d in documents):
        first, later = train[: len(train) // 2], train[len(train) // 2 :]
    else:
        first, later = ([d for d in train if d["day"] == part] for part in (0, 1))
    parts = [[later[n] for n in own] for own in np.array_split(np.arange(len(later)), 20)]
    known = [d for d in first if withheld not in d["labels"]]
    parts[:9] = [[d for d in part if withheld not in d["labels"]] for part in parts[:9]]
    with tempfile.TemporaryDirectory() as folder:
        nights, n_news = Nights(Path(folder), known, task.model, task.topics, 0), []
        for night, part in enumerate(parts, start=1):
            news = told(found := nights.add(part))
            n_news.append(len(news))
            yield f"night-{night}", {
                "documents": len(part), "withheld": sum(withheld in d["labels"] for d in part),
                "topics": found.run.model.n_topics, "cpu": round(nights.cpu["update"], 2),
                "news": news,
            }  # fmt: skip
        row = nights.gain([d for d, held in zip(documents, is_held, strict=True) if held])
    yield "all", {"all_news": sum(n_news), "nights_without": n_news.count(0), **row}


PARTS = {"plus": plus, "word": word, "streams": streams, "dates": dates}


@click.command()
@click.argument("part", type=click.Choice(list(PARTS)))
@click.option("--shared", type=click.Path(exists=True, path_type=Path), default=Path("../shared"))
@click.option("--data", default="20news", help="20news, reuters or both; not for streams.")
@click.option("--model", "models", default="lda", help="lda, hdp or both.")
@click.option("--topics", type=int, help="Of LDA; default: 50, or 10 for streams.")
@click.option("--seeds", default="0")
@click.option("--kinds", default=",".join(KINDS))
@click.option("--documents", "n_first", default=2000, help="Before the night of a new word.")
@click.option("--withheld", default="sci.space", help="Label of documents kept back for 9 nights.")
@click.option("--keep", "is_kept", is_flag=True, help="Write results/nightly-PART.json.")
def main(part: str, shared: Path, data: str, models: str, topics: int | None, seeds: str,
         kinds: str, n_first: int, withheld: str, is_kept: bool) -> None:  # fmt: skip
    """Print a JSON row for each measurement, and means over seeds or groups."""
    topics = topics or (10 if part == "streams" else 50)
    numbers, means = [int(seed) for seed in seeds.split(",")], defaultdict(list)
    rows: dict[str, dict[str, Any]] = {}
    for model in models.split(","):
        warm_up(model)
        task = Task(model, topics, numbers, kinds.split(","), n_first, withheld)
        for name in ("drawn",) if part == "streams" else data.split(","):
            documents = [] if part == "streams" else read(shared, name)
            for key, row in PARTS[part](documents, task):
                place = f"{name}/{model}/{key}"
                click.echo(json.dumps({"row": place} | row))
                rows[place] = {k: cell for k, cell in row.items() if not isinstance(cell, WORDY)}
                means[place.rpartition("/")[0]].append(rows[place])
    if part != "dates":
        rows = {place: over_runs(own) for place, own in means.items()}
    report(f"nightly-{part}", rows, is_kept)


if __name__ == "__main__":
    main()

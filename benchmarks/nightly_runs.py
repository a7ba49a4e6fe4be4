"""Runs on disk that are updated night by night, and the collections for them."""

from __future__ import annotations

import gzip
import json
import shutil
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import numpy as np

from sparsetopics import HDP, LDA, Corpus, load
from sparsetopics.answers import updating
from sparsetopics.answers.proportions import shares_of
from sparsetopics.answers.updating import Updated, update_run
from sparsetopics.corpora.append import append
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.ingest_options import IngestOptions
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.stop_words import stop_words_of
from sparsetopics.measures.completion import document_completion, unigram_probabilities

Document = dict[str, Any]  # id, text, label, all labels and a day
STEPS = {"_with_topics_that_pay": "new_topics", "relearned": "lap", "changes": "changes"}


class Nights:
    """A corpus folder and the run of each night."""

    def __init__(self, folder: Path, documents: list[Document], model: str, topics: int, seed: int):
        self.folder, self.corpus, self.seed = folder, folder / "corpus", seed
        self.documents, self.night = list(documents), 0
        self.kind = lambda: (HDP if model == "hdp" else lambda **k: LDA(topics, **k))(
            random_state=seed
        )
        cuts = PruningOptions(stop_words=stop_words_of("english"))
        ingest([self.written(documents)], self.corpus, IngestOptions(pruning=cuts))
        began = time.process_time()
        self.kind().fit(Corpus.open(self.corpus)).save(self.run)
        self.cpu = {"first": time.process_time() - began}

    def copied(self, folder: Path) -> Self:
        """The corpus and the last run in another folder."""
        copy = object.__new__(type(self))
        copy.__dict__ |= self.__dict__ | {"documents": [], "cpu": {}}
        copy.folder, copy.corpus = folder, folder / "corpus"
        shutil.copytree(self.corpus, copy.corpus)
        shutil.copytree(self.run, copy.run)
        return copy

    @property
    def run(self) -> Path:
        return self.folder / f"run-{self.night}"

    def written(self, documents: list[Document]) -> Path:
        path = self.folder / f"documents-{len(list(self.folder.iterdir()))}.jsonl"
        lines = (json.dumps({name: d[name] for name in ("id", "text", "label")}) for d in documents)
        path.write_text("\n".join(lines) + "\n")
        return path

    def add(self, documents: list[Document]) -> Updated:
        """One night; ``cpu`` has the seconds of the update and of its parts."""
        self.documents += documents
        append([self.written(documents)], self.corpus, IngestOptions(grow_vocabulary=True))
        before, self.night = self.run, self.night + 1
        began = time.process_time()
        found = update_run(before, self.corpus, self.run)
        assert found is not None, "new documents"
        self.cpu["update"] = time.process_time() - began
        return found

    def read_again(self, documents: list[Document], name: str) -> Corpus:
        """Documents under the vocabulary as it is now."""
        options = IngestOptions(vocabulary=self.corpus)
        ingest([self.written(documents)], self.folder / name, options)
        return Corpus.open(self.folder / name)

    def fresh(self) -> Any:
        everything = self.read_again(self.documents, "everything")
        began = time.process_time()
        model = self.kind().fit(everything)
        model.save(self.folder / "fresh")
        self.cpu["fresh"] = time.process_time() - began
        return model

    def gain(self, held: list[Document]) -> dict[str, Any]:
        """Held-out scores of the last run and of a fresh one."""
        heldout, row = self.read_again(held, "held"), {}
        unigram = unigram_probabilities(heldout.vocabulary.term_frequency)
        scored = {}
        for name, model in (("updated", load(self.run)), ("fresh", self.fresh())):
            posterior = model.model_
            given = posterior.topic_word_mean, posterior.doc_concentration, unigram
            found, scored[name] = document_completion(heldout, *given, n_cuts=5)
            row[name] = round(found.log_likelihood_per_token, 4)
            row[f"topics_{name}"] = posterior.n_topics
        both = [scored[name].log_likelihoods for name in ("updated", "fresh")]
        n_tokens = scored["fresh"].sizes.sum()
        row["difference"] = round(float((both[0] - both[1]).sum() / n_tokens), 4)
        error = (both[0] - both[1]).std() * np.sqrt(len(both[0])) / n_tokens
        return {**row, "standard_error": round(float(error), 4)}

    def leading(self, n_docs: int) -> np.ndarray:
        """The ids of the leading topics of the first documents."""
        model = load(self.run)
        shares, corpus = shares_of(model.model_), Corpus.open(self.corpus)
        places = np.concatenate([shares(batch).argmax(axis=1) for batch in corpus.batches()])
        return np.array(model.topic_ids_)[places[:n_docs]]


def watch(cpu: dict[str, float]) -> None:
    """Note the CPU seconds of the steps of updates."""

    def timed(step: Callable[..., Any], name: str) -> Callable[..., Any]:
        def run(*given: Any, **more: Any) -> Any:
            began = time.process_time()
            try:
                return step(*given, **more)
            finally:
                cpu[name] = time.process_time() - began

        return run

    for step, name in STEPS.items():
        setattr(updating, step, timed(getattr(updating, step), name))


def read(shared: Path, collection: str) -> list[Document]:
    """The documents by date; those of 20 Newsgroups have none, but the test posts are later."""
    files = {"reuters": ["reuters21578/reuters21578.jsonl.gz"]}.get(
        collection, [f"20news/20news-bydate-{part}.jsonl.gz" for part in ("train", "test")]
    )
    found: list[Document] = []
    for place, name in enumerate(files):
        with gzip.open(shared / "data" / name, "rt", encoding="utf-8") as lines:
            for each in map(json.loads, lines):
                if collection == "reuters":
                    day = datetime.strptime(each["date"].split()[0].strip(), "%d-%b-%Y").toordinal()
                    labels = each["topics"]
                    each["label"] = labels[0] if labels else "none"
                else:
                    each["text"] = each["text"].partition("\n\n")[2]  # without the header
                    day, labels = place, [each["label"]]
                if any(letter.isalpha() for letter in each["text"]):
                    found.append({**each, "id": str(each["id"]), "day": day, "labels": labels})
    order = np.random.default_rng(0).permutation(len(found))  # of the same day
    return sorted((found[place] for place in order), key=lambda document: document["day"])

"""pyLDAvis input as JSON: ``pyLDAvis.prepare(**json.load(file))``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

import numpy as np

from sparsetopics.answers.proportions import shares_of
from sparsetopics.base.batches import FloatArray
from sparsetopics.base.sealed_files import Json
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.model.statistics import tokens_of_documents
from sparsetopics.options.option import refuse
from sparsetopics.runs.run import AnyRun


def write_topics(path: Path, run: AnyRun, documents: Corpus) -> None:
    """Write one object: the arguments of ``pyLDAvis.prepare``.

    The documents are those of ``documents``, in their order, with the proportions that ``infer``
    finds. Rows are streamed, so memory does not grow with their number here; pyLDAvis itself holds
    them all. Raises OptionError for a single topic, which pyLDAvis cannot place on its map.
    """
    if run.model.n_topics == 1:
        refuse("to", f"pyldavis needs two topics or more, but {run.path} has one")
    doc_lengths: list[float] = []
    term_frequency = np.zeros(len(run.words))
    shares_in = shares_of(run.model)

    def counted_shares() -> Iterator[FloatArray]:
        for batch in documents.batches():
            doc_lengths.extend(tokens_of_documents(batch).tolist())
            own = np.bincount(batch.word_ids, batch.weights, len(term_frequency))
            np.add(term_frequency, own, out=term_frequency)
            yield from shares_in(batch)

    with path.open("w", encoding="utf-8", newline="") as file:
        file.write('{"topic_term_dists": ')
        _write_rows(file, run.model.topic_word_mean)
        file.write(',\n"doc_topic_dists": ')
        _write_rows(file, counted_shares())
        # Documents are read once: all were counted when their proportions were written.
        rest: dict[str, Json] = {
            "doc_lengths": doc_lengths,
            "vocab": run.words.words,
            "term_frequency": term_frequency.tolist(),
            "sort_topics": False,  # topics keep their numbers
            "start_index": 0,
        }
        file.writelines(f',\n"{name}": {json.dumps(values)}' for name, values in rest.items())
        file.write("}\n")


def _write_rows(file: TextIO, rows: Iterable[FloatArray]) -> None:
    """Write a list of lists, one per line."""
    file.write("[")
    for number, row in enumerate(rows):
        separator = ",\n" if number else ""
        file.write(f"{separator}{json.dumps(row.tolist())}")
    file.write("]")

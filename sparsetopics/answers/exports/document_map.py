"""A map of documents for datamapplot: coordinates, and labels from fine to coarse.

Documents are compared by the Hellinger distance of their topic proportions. Some of them, spread
evenly, are placed by t-SNE. Each other document lies beside the placed one that is nearest to it,
so documents are read in batches, in memory for their coordinates and names alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from sparsetopics.answers.proportions import Shares, shares_of
from sparsetopics.answers.table_files import write_tables
from sparsetopics.answers.themes import names_of_themes, page_themes
from sparsetopics.answers.topic_names import labels_of
from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.sources.arrow_files import arrow_numbers, arrow_strings
from sparsetopics.model.statistics import tokens_of_documents
from sparsetopics.options.option import refuse
from sparsetopics.runs.run import AnyRun
from sparsetopics.runs.topic_identity import THEME

MOST = 2_000  # documents that are placed by t-SNE, and others that are scored
NEIGHBOURS = 5  # that trustworthiness asks for
FEWEST = 2 * NEIGHBOURS + 1  # documents for which it is defined


def write_map(path: Path, run: AnyRun, documents: Corpus) -> dict[str, float]:
    """Write a row for each document with a known word; return how well near documents stay near.

    Columns are ``id``, ``x``, ``y``, ``topic`` (the leading one), ``theme`` and ``share`` (of the
    topic). The schema and the result have the ``trustworthiness`` (Venna & Kaski 2001) from 0 to 1.
    Raises OptionError for fewer than 11 documents, and if all have the same proportions.
    """
    from sklearn.manifold import TSNE, trustworthiness

    shares, themes = shares_of(run.model), names_of_themes(page_themes(run))
    names = [(name, themes.get(id.removeprefix(THEME), name)) for id, name in labels_of(run)]
    of_topics, of_themes = map(arrow_strings, zip(*names, strict=True))
    placed = _spread(documents.n_docs)
    found = [roots for *_, roots in _known(shares, documents, placed)]
    landmarks = np.concatenate([np.empty((0, len(names))), *found])
    if len(landmarks) < FEWEST:
        _refuse_few()
    if not np.ptp(landmarks, axis=0).any():
        refuse("corpus", "has the same topics in all documents", "A map needs different ones.")
    scored = _spread(documents.n_docs, 0.5)
    tables, samples = [], []
    with threadpool_limits(1):  # with more, sums depend on their number
        tsne = TSNE(perplexity=min(30.0, (len(landmarks) - 1) / 3), init="pca", random_state=0)
        places = tsne.fit_transform(landmarks)
        for ids, at, roots in _known(shares, documents):
            own, is_scored = _beside(roots, landmarks, places), np.isin(at, scored)
            samples.append((roots[is_scored], own[is_scored]))
            topics = arrow_numbers(roots.argmax(axis=1))
            columns = {"id": arrow_strings(ids), "x": own[:, 0], "y": own[:, 1]}
            columns |= {"topic": of_topics.take(topics), "theme": of_themes.take(topics)}
            tables.append(pa.table({**columns, "share": roots.max(axis=1) ** 2}))
        if sum(len(own) for own, _ in samples) < FEWEST:
            _refuse_few()
        both = map(np.concatenate, zip(*samples, strict=True))
        score = round(float(trustworthiness(*both, n_neighbors=NEIGHBOURS)), 4)
    table = pa.concat_tables(tables).replace_schema_metadata({"trustworthiness": str(score)})
    write_tables(path, ".parquet", table.schema, [table])
    return {"trustworthiness": score}


def _refuse_few() -> NoReturn:
    refuse("corpus", "has too few documents with known words", f"A map needs {FEWEST} or more.")


def _spread(n_docs: int, offset: float = 0.0) -> IntArray:
    """Return the places of ``MOST`` documents, evenly spread; all places if there are fewer."""
    return np.unique(((np.arange(MOST) + offset) * n_docs / MOST).astype(np.int64))


def _known(
    shares: Shares, documents: Corpus, chosen: IntArray | None = None
) -> Iterator[tuple[list[str], IntArray, FloatArray]]:
    """Yield ids, positions and square roots of proportions of documents with a known word.

    They are all such documents, or those at ``chosen`` positions.
    """
    start = 0
    for ids, batch in zip(documents.doc_ids(), documents.batches(), strict=True):
        rows = np.flatnonzero(tokens_of_documents(batch))
        if chosen is not None:
            rows = rows[np.isin(start + rows, chosen)]
        if len(rows):
            yield [ids[row] for row in rows], start + rows, np.sqrt(shares(batch[rows]))
        start += batch.n_docs


def _beside(roots: FloatArray, landmarks: FloatArray, places: FloatArray) -> FloatArray:
    """Return coordinates of documents beside the landmarks that are nearest to them.

    A document is moved from the nearest towards the second nearest, by at most half of the way to
    the next one on the map: halfway between both, it could be among others.
    """
    from sklearn.neighbors import NearestNeighbors

    nearest = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(landmarks)
    room = NearestNeighbors(n_neighbors=1).fit(places).kneighbors()[0][:, 0]
    apart, (first, second) = (each.T for each in nearest.kneighbors(roots))
    step = places[second] - places[first]
    length = np.maximum(np.linalg.norm(step, axis=1), 1e-12)
    share = np.minimum(room[first] / length, 1.0) * apart[0] / np.maximum(apart.sum(axis=0), 1e-12)
    beside: FloatArray = places[first] + step * share[:, np.newaxis]
    return beside

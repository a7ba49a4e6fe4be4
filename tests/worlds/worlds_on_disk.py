"""Small collections as corpora, with the options of training that they are for."""

from string import ascii_lowercase

import numpy as np

from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.options.training import LocalOptions, TrainingOptions
from worlds.bars import ten_bars
from worlds.clumped_mixtures import draw_clumps
from worlds.collections_on_disk import write_jsonl
from worlds.vectors_on_disk import ingested

MEAN_FIELD = LocalOptions("mean-field")
WORLDS = {
    "lda": TrainingOptions(4, 7, batches_per_round=2, cold_every=3),
    "short": TrainingOptions(4, 3, model="hdp", batches_per_round=3),
    "lda mean-field": TrainingOptions(4, 3, local=MEAN_FIELD, batches_per_round=4),
    "lda full": TrainingOptions(4, 2, "full"),
    "lda stochastic": TrainingOptions(4, 2, "stochastic", batches_per_round=3),
    "hdp": TrainingOptions(10, 9, model="hdp", batches_per_round=2),
    "gaussian": TrainingOptions(1, 8, local=MEAN_FIELD, model="dp-mixture", batches_per_round=2),
    "merging": TrainingOptions(9, 5, local=MEAN_FIELD, model="dp-mixture", batches_per_round=2),
    "wide": TrainingOptions(6, 2, local=MEAN_FIELD, model="mixture", batches_per_round=2),
    "words": TrainingOptions(
        3, 4, local=MEAN_FIELD, model="mixture", likelihood="multinomial", batches_per_round=2
    ),
    "spheres": TrainingOptions(
        6, 2, "gradient", MEAN_FIELD, model="dp-mixture", likelihood="isotropic-gaussian",
        batches_per_round=2,
    ),
}  # fmt: skip


def write_corpora(folder):
    """``documents``, of ten bars, and ``vectors``, of four clumps."""
    batch = ten_bars(np.random.default_rng(0), n_docs=120, n_tokens=80).batch
    texts = []
    for first, last in zip(batch.indptr[:-1], batch.indptr[1:], strict=True):
        pairs = zip(batch.word_ids[first:last], batch.word_counts[first:last], strict=True)
        texts.append(" ".join(" ".join([cell(word)] * int(count)) for word, count in pairs))
    source = write_jsonl(folder / "texts.jsonl", texts)
    ingest([source], folder / "documents", IngestOptions(format="jsonl"))
    np.save(folder / "values.npy", draw_clumps(0, 300, 3).values)
    ingested([folder / "values.npy"], folder / "vectors")
    return folder


def cell(word):
    """A word of letters for a cell of the grid."""
    letters = [ascii_lowercase[n] for n in (word // 26**2, word // 26 % 26, word % 26)]
    return "cell" + "".join(letters)

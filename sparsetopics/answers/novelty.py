"""How badly topics explain documents, compared with documents of the same length.

The score of a document is its log probability for each token, with its own proportions π_d:

    s_d = Σ_v x_dv log Σ_k π_dk φ_kv / n_d

Topics know the documents that they were learned from. So for these, the tokens of a document are
first taken out of the topics. If topic k has n_dvk of the x_dv tokens of a word, and S_kv and N_k
tokens in all documents,

    φ_kv without d = (S_kv − n_dvk + σ) / (N_k − Σ_w n_dwk + V σ).

A long document repeats its words, and a short one can be mixed to fit. Both change the mean and the
spread of scores, and no document that is drawn from the topics does so: real ones repeat words more
often. So scores are compared with those of training documents of about the same length. Novelty is
how many of their standard deviations a score is below their mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import xlogy

from sparsetopics.answers.quick_topics import QuickTopics, summed
from sparsetopics.base.batches import DocumentBatch, FloatArray, cut_blocks
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.grouping import Grouping
from sparsetopics.corpora.lookup import documents_at, spread_evenly
from sparsetopics.corpora.sources.arrow_files import arrow_strings
from sparsetopics.model.statistics import tokens_of_documents
from sparsetopics.options.option import refuse

MOST_KNOWN = 1_000  # training documents that others are compared with
DOCUMENTS_PER_LENGTH = 50  # at least, of each range of lengths
MOST_LENGTHS = 20  # ranges of lengths
LEAST_DEVIATION = 1e-6  # nats per token, where all documents are the same
LEAST_NOVELTY = 2.5  # of a document that topics do not fit


def explained(
    topics: QuickTopics, batch: DocumentBatch, *, are_known: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the scores of documents, 0 without a known word, and their tokens, (n_docs,) each.

    ``are_known`` says that the topics were learned from them.
    """
    taken, documents = topics.tokens(batch), batch.documents
    use, n_tokens = summed(taken, documents, batch.n_docs), tokens_of_documents(batch)
    counts, alpha, sums = topics.counts, topics.doc_concentration, topics.weight_sums
    sigma, least = topics.smoothing, len(counts) * topics.smoothing
    # Topics that a document does not use add to all its words what their α_k gives them.
    rates = (counts @ (alpha / sums) + sigma * (alpha / sums).sum())[batch.word_ids]
    for first, last in cut_blocks(batch.indptr):
        pairs = np.arange(batch.indptr[first], batch.indptr[last])
        starts = use.indptr[documents[pairs]]
        lengths = use.indptr[documents[pairs] + 1] - starts
        pair = np.repeat(pairs, lengths)  # with each topic of its document
        places = np.arange(len(pair)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        topic, of_topic = use.indices[places], use.data[places]
        own, others = counts[batch.word_ids[pair], topic] + sigma, sums[topic]
        usual = alpha[topic] * own / others
        if are_known:
            # A small topic may explain more of a document now than it has learned.
            own = np.maximum(own - taken[pair, topic], sigma)
            others = np.maximum(others - of_topic, least)
        gains = (of_topic + alpha[topic]) * own / others - usual
        rates[pairs] += np.bincount(pair - batch.indptr[first], gains, len(pairs))
    logs = xlogy(batch.weights, rates / (n_tokens + alpha.sum())[documents])
    return np.bincount(documents, logs, batch.n_docs) / np.maximum(n_tokens, 1.0), n_tokens


class UsualScores(NamedTuple):
    """The scores of training documents by their length."""

    log_lengths: FloatArray  # (n_lengths,)  rising
    means: FloatArray  # (n_lengths,)
    deviations: FloatArray  # (n_lengths,)
    novel_share: float = 0.0  # of the training documents, with ``LEAST_NOVELTY``

    @classmethod
    def of(cls, scores: FloatArray, n_tokens: FloatArray) -> UsualScores:
        """Those of ``explained`` documents, in ranges of lengths of as many documents each."""
        order = np.argsort(n_tokens, kind="stable")
        n_ranges = int(np.clip(len(order) // DOCUMENTS_PER_LENGTH, 1, MOST_LENGTHS))
        parts = np.array_split(order, n_ranges)
        lengths = [np.log(n_tokens[part].mean()) for part in parts]
        means = [scores[part].mean() for part in parts]
        deviations = [max(scores[part].std(), LEAST_DEVIATION) for part in parts]
        usual = cls(np.array(lengths), np.array(means), np.array(deviations))
        is_novel = usual.novelty(scores, n_tokens) >= LEAST_NOVELTY
        return usual._replace(novel_share=float(is_novel.mean()))

    def novelty(self, scores: FloatArray, n_tokens: FloatArray) -> FloatArray:
        """Standard deviations below the mean of documents as long, (n_docs,); NaN without words."""
        lengths = np.log(np.maximum(n_tokens, 1.0))
        means = np.interp(lengths, self.log_lengths, self.means)
        deviations = np.interp(lengths, self.log_lengths, self.deviations)
        return np.where(n_tokens > 0.0, (means - scores) / deviations, np.nan)


def usual_scores(topics: QuickTopics, corpus: Corpus, n_docs: int) -> UsualScores:
    """The scores of the first ``n_docs`` documents, which the topics were learned from.

    Raises OptionError if they are too few.
    """
    if n_docs < DOCUMENTS_PER_LENGTH:
        refuse("novelty", f"needs at least {DOCUMENTS_PER_LENGTH} training documents")
    batch = documents_at(corpus.row_groups, spread_evenly(n_docs, MOST_KNOWN))
    return UsualScores.of(*explained(topics, batch, are_known=True))


def novelty_table(
    topics: QuickTopics, corpus: Corpus, usual: UsualScores, over: str | None
) -> pa.Table:
    """A row for each document: doc_id, n_tokens, novelty, and with ``over`` from, the start of its
    period. Raises OptionError for a field that the corpus lacks, or that cannot be divided."""
    grouping, parts = Grouping.parse(None, over), list[pa.Table]()
    grouping.check(corpus.fields)
    for group in corpus.row_groups:
        scores, n_tokens = explained(topics, group.read(), are_known=False)
        columns = {"doc_id": arrow_strings(group.read_ids()), "n_tokens": n_tokens}
        columns["novelty"] = pa.array(usual.novelty(scores, n_tokens), from_pandas=True)
        if over is not None:
            groups = grouping.of(group)
            starts = pa.array([key.start for key in groups.keys])
            codes = pa.array(groups.codes, mask=groups.codes < 0)
            columns["from"] = starts.take(codes)
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


def course_of(table: pa.Table) -> pa.Table:
    """The course of ``novelty_table`` over periods: from, n_documents, mean_novelty, n_novel."""
    novel = pc.cast(pc.greater_equal(table["novelty"], LEAST_NOVELTY), pa.int64())
    sums = [("novelty", "count"), ("novelty", "mean"), ("novel", "sum")]
    found = table.append_column("novel", novel).group_by("from", use_threads=False).aggregate(sums)
    named = found.rename_columns(["from", "n_documents", "mean_novelty", "n_novel"])
    return named.filter(pc.is_valid(named["from"])).sort_by("from")

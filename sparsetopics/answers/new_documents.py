"""What documents that were added since a run tell about its topics, beside the old documents.

Several random draws of the old documents, each as large as the draw of the new ones, show how much
real documents differ by chance. The topics have learned the old documents, so the words of a draw
are taken out of the topics before the two are compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammainc, gammaincc, ndtri

from sparsetopics.answers import novelty
from sparsetopics.answers.quick_topics import QuickTopics, summed
from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.base.errors import CorpusError
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.batching import later_documents
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.lookup import documents_at, spread_evenly
from sparsetopics.measures.estimates import holm_adjusted
from sparsetopics.model.statistics import in_use, tokens_of_documents
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.option import check_type
from sparsetopics.runs.run import TopicRun, knowing

MOST_SAMPLED = 2_000  # old documents, and new ones
N_EXAMPLES = 3  # documents of a topic
N_DRAWS = 8  # of old documents
MOST_DRAWN = 250  # documents at once
FEWEST_DRAWN = 20  # documents; fewer say nothing
LEAST_DRIFT = 4.0  # standard deviations between draws
SMALLEST_DEVIATION = 0.02  # of similarities, since few draws may be alike by chance
FEWEST_TOKENS = 100  # of a topic in new documents, for its words to be compared
SMALLEST_ERROR = 1e-9  # of a share
FEWEST_NOVEL = 8  # such documents
LEAST_FIT = 0.1  # share of topics in a document that they fit


class NewDocuments(NamedTuple):
    """Documents that were added since a run, beside old ones: samples of both."""

    known: TopicRun  # the run, with all words of the corpus
    topics: QuickTopics  # of it
    later: Corpus  # all new documents
    places: IntArray  # of ``new`` among them
    new: DocumentBatch
    old: DocumentBatch
    novelty: FloatArray  # (n_new,)  NaN if there are too few old documents to say
    novel_share: float  # of old documents, as novel as those that no topic fits

    @property
    def is_novel(self) -> NDArray[np.bool_]:
        """Whether no topic of the run fits each of ``new``, (n_new,)."""
        return self.novelty >= novelty.LEAST_NOVELTY


def new_documents(run: TopicRun, corpus: Corpus, where: str, workers: int) -> NewDocuments | None:
    """The documents of ``corpus``, at ``where``, since those of ``run``; None if there are none.

    Raises CorpusError if it does not begin with these, VocabularyError if its words do not begin
    with those of the run, and OptionError for anything but a Corpus, such as lists of words.
    """
    noun = "a Corpus of the old documents and, after these, the new ones"
    check_type("corpus", corpus, Corpus, noun, "partial_fit learns new documents alone.")
    known, later = knowing(run, corpus, where), documents_after(run, corpus, where)
    if not later.row_groups:
        return None
    places = spread_evenly(later.n_docs, MOST_SAMPLED)
    new = documents_at(later.row_groups, places)
    rows = spread_evenly(corpus.n_docs - later.n_docs, MOST_SAMPLED)
    old = documents_at(corpus.row_groups, rows)
    topics = QuickTopics.of(known.model, workers)
    novelties, novel_share = np.full(new.n_docs, np.nan), 0.0
    if old.n_docs >= novelty.DOCUMENTS_PER_LENGTH:
        some = old[spread_evenly(old.n_docs, novelty.MOST_KNOWN)]
        usual = novelty.UsualScores.of(*novelty.explained(topics, some, are_known=True))
        novelties = usual.novelty(*novelty.explained(topics, new, are_known=False))
        novel_share = usual.novel_share
    return NewDocuments(known, topics, later, places, new, old, novelties, novel_share)


def documents_after(run: TopicRun, corpus: Corpus, where: str) -> Corpus:
    """The documents of ``corpus`` after those of the run; CorpusError if it does not begin with
    these."""
    facts = run.settings["corpus"]
    n_known, n_tokens = facts["n_documents"], facts.get("n_tokens")
    if n_known <= corpus.n_docs:
        later = later_documents(corpus, n_known)

        def has_them(known: Corpus) -> bool:
            n_before = known.n_tokens - later_documents(known, n_known).n_tokens
            return n_tokens is None or abs(n_before - n_tokens) < 1e-6 * n_tokens

        # Where documents are read again, as in memory, those of before have the new words, too.
        if has_them(corpus) or has_them(run.reading_documents(corpus, where)):
            return later
    trained = f"the {quantity(n_known, 'document')} that {run.path} was trained with"
    problem = f"expected {trained} and others after them, but found other documents"
    raise CorpusError(where, problem, "Add documents to its corpus.")


class Shares(NamedTuple):
    """The mean share of each topic in old and in new documents, (n_topics,) each."""

    before: FloatArray
    after: FloatArray
    low: FloatArray  # ends of the 95 % interval of the difference
    high: FloatArray
    p_value: FloatArray  # Holm: adjusted for the number of topics


def in_documents(
    found: NewDocuments, model: TopicPosterior, former: IntArray
) -> tuple[Shares, FloatArray, FloatArray, list[IntArray]]:
    """The shares of the topics of a later ``model``, ``_foreign_shares``, and how much of each new
    document is of new topics, (n_new,).

    ``former`` (n_topics,) are the places of the topics in the run before, −1 for new ones. For each
    topic, the last list has the places among the later documents of those that have most of it.
    """
    batch = DocumentBatch.joined([found.old, found.new])
    tokens = QuickTopics.of(model, found.topics.workers).tokens(batch)
    old, new = np.split(used_shares(model, batch, tokens), [found.old.n_docs])
    foreign = _foreign_shares(found, batch, tokens, former)
    of_new = new[:, former < 0].sum(axis=1)
    # By tokens of the topic and by its share: documents of few words have the largest shares.
    merits = np.square(new) * tokens_of_documents(found.new)[:, None]
    best = np.argsort(-merits, axis=0, kind="stable")[:N_EXAMPLES].T
    examples = [found.places[own[new[own, topic] >= LEAST_FIT]] for topic, own in enumerate(best)]
    return topic_shares(old, new), foreign, of_new, examples


def used_shares(model: TopicPosterior, batch: DocumentBatch, tokens: csr_array) -> FloatArray:
    """The shares of topics in the ``tokens`` (``quick_tokens``) of documents, (n_docs, n_topics).

    Proportions would not do, since they have more of the prior in shorter documents.
    """
    use: FloatArray = summed(tokens, batch.documents, batch.n_docs).toarray()
    use *= in_use(model.sizes)  # tokens of topics without any are chance
    use /= np.maximum(use.sum(axis=1, keepdims=True), SMALLEST_ERROR)
    return use


def topic_shares(old: FloatArray, new: FloatArray) -> Shares:
    """Compare the shares of topics in old and in new documents, (n_docs, n_topics) each."""
    before, after, deviation = old.mean(axis=0), new.mean(axis=0), old.std(axis=0)
    # If nothing has changed, new documents differ as the old ones do. Their own differences would
    # say too little: where none has a topic, they do not differ at all.
    error = np.maximum(deviation * np.sqrt(1.0 / len(old) + 1.0 / len(new)), SMALLEST_ERROR)
    skewness = ((old - before) ** 3).mean(axis=0) / np.maximum(deviation, SMALLEST_ERROR) ** 3
    difference = after - before
    p_value = skewed_p_value(difference / error, skewness / np.sqrt(len(new)))
    reach = ndtri(0.975) * error
    return Shares(before, after, difference - reach, difference + reach, holm_adjusted(p_value))


def skewed_p_value(z: FloatArray, skewness: FloatArray) -> FloatArray:
    """Two-sided p-values under the gamma distribution with mean 0, variance 1 and this skewness.

    Sums over few documents of which few have a topic are skewed like this. NaN stays NaN.
    """
    shape = 4.0 / np.maximum(np.square(skewness), 1e-6)
    value = np.maximum(shape + np.where(skewness < 0.0, -z, z) * np.sqrt(shape), 0.0)
    p_values: FloatArray = 2.0 * np.minimum(gammainc(shape, value), gammaincc(shape, value))
    return p_values


def _foreign_shares(
    found: NewDocuments, batch: DocumentBatch, tokens: csr_array, former: IntArray
) -> FloatArray:
    """The share of each topic's tokens in the new documents that are unlike the topic before.

    It is one minus how similar their words are, for each unit of how similar those of as many old
    documents are. Zero for what may be chance, and for topics of too few tokens.
    """
    n_drawn = min(found.new.n_docs, MOST_DRAWN, found.old.n_docs // 4)
    if n_drawn < FEWEST_DRAWN:
        return np.zeros(len(former))
    likeness, n_tokens = _likeness(found, batch, tokens, former, n_drawn)
    usual = likeness[:-1].mean(axis=0)
    deviations = np.maximum(likeness[:-1].std(axis=0, ddof=1), SMALLEST_DEVIATION)
    is_known = (n_tokens[-1] >= FEWEST_TOKENS) & (2.0 * n_tokens[-1] >= n_tokens[:-1].mean(axis=0))
    is_foreign = is_known & (usual - likeness[-1] >= LEAST_DRIFT * deviations)
    return np.where(is_foreign, 1.0 - likeness[-1] / np.maximum(usual, SMALLEST_ERROR), 0.0)


def _likeness(
    found: NewDocuments, batch: DocumentBatch, tokens: csr_array, former: IntArray, n_drawn: int
) -> tuple[FloatArray, FloatArray]:
    """The probability that topics share with the words of documents, and the tokens of these.

    Both have a row for each draw of ``n_drawn`` documents, the last for that of new documents:
    (n_draws, n_topics).
    """
    topics, (n_old, n_new) = found.topics, (found.old.n_docs, found.new.n_docs)
    n_draws = min(N_DRAWS, n_old // n_drawn)
    draw = np.full(batch.n_docs, n_draws + 1)  # of each document; the last one is left out
    drawn = np.random.default_rng(0).permutation(n_old)[: n_draws * n_drawn]
    draw[drawn] = np.repeat(np.arange(n_draws), n_drawn)
    draw[n_old + spread_evenly(n_new, n_drawn)] = n_draws
    n_words = len(topics.counts)
    rows = draw[batch.documents] * n_words + batch.word_ids
    entries = summed(tokens, rows, (n_draws + 2) * n_words)[: (n_draws + 1) * n_words].tocoo()
    (draws, word), topic = np.divmod(entries.row, n_words), entries.col
    shape = n_draws + 1, len(former)
    cells = draws * shape[1] + topic

    def by_topic(values: FloatArray) -> FloatArray:
        sums = np.bincount(cells, values, shape[0] * shape[1]).astype(np.float64)
        return sums.reshape(shape)

    place, at = former[topic], (draws, topic)
    n_tokens, before = by_topic(entries.data), topics.counts[word, place]
    taken = np.minimum(before, entries.data) * (draws < n_draws)
    others = topics.weight_sums[former] - by_topic(taken)
    probability = (before - taken + topics.smoothing) / others[at]
    shared = np.minimum(entries.data / n_tokens[at], probability)
    return by_topic(shared * (place >= 0)), n_tokens

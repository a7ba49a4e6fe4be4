"""The data of a run: its corpus, batches and held-out data, and what its folder says of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
import numpy as np

from sparsetopics.base.batches import DocumentItemSource, Source, StoredBatch
from sparsetopics.base.errors import CorpusFormatError
from sparsetopics.base.sealed_files import file_sha256
from sparsetopics.base.wording import listed
from sparsetopics.corpora import batching
from sparsetopics.corpora.corpus import AnyCorpus, Corpus, VectorCorpus
from sparsetopics.corpora.readers.blocks import VECTORS
from sparsetopics.corpora.split import check_alike
from sparsetopics.corpora.store.manifest import FILE_NAME as MANIFEST
from sparsetopics.corpora.store.manifest import kind_of
from sparsetopics.corpora.store.shards import AnyRowGroup, StoredRowGroup
from sparsetopics.execution.executors import open_executor
from sparsetopics.inference.course import Model
from sparsetopics.measures.completion import document_completion, unigram_probabilities
from sparsetopics.model.coordinates import Coordinates
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.standard_source import StandardSource, standard_source
from sparsetopics.options.registry import LIKELIHOODS, imported, models_of
from sparsetopics.options.table import RESIDENT_PAIRS
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.run import corpus_at
from sparsetopics.runs.run_files import CorpusFacts

FEWEST_ITEMS = 64  # in a batch of the gradient learner: in smaller ones, clusters die (measured)
VALIDATION_SEED = 0
_OF_ROWS = "rows:"  # before a fingerprint that is not of a manifest
Score = Callable[[Model], float]  # nats per token; per vector for vectors
# How a kind of model is scored on held-out data, given the training data and the threads.
LapScore = Callable[[AnyCorpus, AnyCorpus, int], Score]


def corpus_of(plan: RunPlan) -> AnyCorpus:
    """The training data; CorpusFormatError if the model needs data of the other kind."""
    path, model = plan.at(plan.corpus), plan.options.model
    if not plan.options.model_kind.of_items and kind_of(path) == VECTORS:
        problem = f"holds vectors, but {model} learns from documents"
        hint = f"Use --model {listed(models_of(items=True), 'or')}."
        raise CorpusFormatError(str(path), problem, hint)
    return Corpus.open(path) if plan.options.counts_words else VectorCorpus.open(path)


def data_of(plan: RunPlan, corpus: AnyCorpus, rng: np.random.Generator) -> batching.TrainingData:
    """Divide the training data of a plan. ``rng`` must be new, with the seed of the plan."""
    return divided(
        corpus, plan.options, plan.validation_share, plan.n_batches, rng,
        resident_pairs=plan.resident_pairs,
    )  # fmt: skip


def divided(
    corpus: AnyCorpus,
    options: TrainingOptions,
    share: float | None,
    n_batches: int | None,
    rng: np.random.Generator,
    *,
    resident_pairs: int = RESIDENT_PAIRS,
) -> batching.TrainingData:
    """The corpus in batches; a ``share`` of the documents is kept out if there are rungs to score.

    Raises OptionError for too many batches and for a share that leaves one part empty.
    """
    if options.lower_rungs and share:
        assert isinstance(corpus, Corpus), "topics are over words"
        # Those of an HDP are the same for every seed, so that the number of topics does not hang on
        # the seed more than it must. Others are drawn by the generator of the run.
        drawn_by = np.random.default_rng(VALIDATION_SEED) if options.is_validated else None
        return batching.divide(
            corpus, n_batches, share, rng, chosen_by=drawn_by, resident_pairs=resident_pairs
        )
    source = source_of(corpus, options, n_batches, rng, resident_pairs=resident_pairs)
    corpora = (corpus,) if isinstance(corpus, Corpus) else ()
    return batching.TrainingData(source, source, None, corpora)


def source_of(
    corpus: AnyCorpus,
    options: TrainingOptions,
    n_batches: int | None,
    rng: np.random.Generator,
    *,
    resident_pairs: int = RESIDENT_PAIRS,
    coordinates: Coordinates | None = None,
) -> Source[StoredBatch]:
    """The corpus in batches as the model reads them; OptionError for too many batches.

    Vectors are in ``coordinates``, or in those that suit them (``standard_source``).
    """
    if isinstance(corpus, VectorCorpus):
        if n_batches is None and options.learner_kind.at_modes:
            usual = batching.default_n_batches(corpus.n_items)
            n_batches = max(1, min(usual, corpus.n_items // FEWEST_ITEMS))
        batches = batching.plan_vector_batches(corpus, n_batches, rng)
        if coordinates is not None:
            return StandardSource(batches, coordinates, rng)
        kind = imported(LIKELIHOODS[options.likelihood_name].where)
        names = corpus.columns or [*map(str, range(corpus.n_columns))]
        with open_executor(1):  # bits depend on the threads of linear algebra
            return standard_source(
                batches, kind.coordinates_for, names, rng, has_steps=kind.has_steps
            )
    source = batching.plan_batches(corpus, n_batches, rng, resident_pairs=resident_pairs)
    return DocumentItemSource(source) if options.model_kind.of_items else source


def facts_of(corpus: AnyCorpus) -> CorpusFacts:
    """What a run folder says about a corpus, except where it is."""
    facts: CorpusFacts = {"fingerprint": fingerprint_of(corpus)}
    if isinstance(corpus, Corpus):
        return {**facts, "n_documents": corpus.n_docs, "n_tokens": corpus.n_tokens}
    return {
        **facts,
        "n_items": corpus.n_items,
        "columns_fingerprint": corpus.fingerprint,
        "made": msgspec.to_builtins(corpus.made),
    }


def fingerprint_of(corpus: AnyCorpus) -> str:
    """The SHA-256 of the manifest of a corpus on disk, or of the rows of one in memory."""
    manifest = _manifest_of(corpus)
    return _fingerprint_of_rows(corpus) if manifest is None else file_sha256(manifest)


def is_fingerprint_of(known: str, corpus: Corpus | VectorCorpus) -> bool | None:
    """Whether ``fingerprint_of`` gave this for the corpus; for rows also before it was saved.

    None for a corpus in memory beside the fingerprint of one on disk.
    """
    manifest = _manifest_of(corpus)
    if known.startswith(_OF_ROWS):
        return known == _fingerprint_of_rows(corpus)
    return None if manifest is None else known == file_sha256(manifest)


def _manifest_of(corpus: Corpus | VectorCorpus) -> Path | None:
    groups: Sequence[AnyRowGroup] = corpus.row_groups
    if groups and isinstance(groups[0], StoredRowGroup):
        return groups[0].shard.path.parent / MANIFEST
    return None


def _fingerprint_of_rows(corpus: Corpus | VectorCorpus) -> str:
    """The SHA-256 of the arrays; how rows are divided into groups plays no part."""
    digests = defaultdict(sha256, width=sha256(str(corpus.width).encode()))
    for batch in corpus.batches():
        arrays = {**batch.to_arrays(), "indptr": np.diff(batch.indptr)}  # lengths, not ends
        for name, array in arrays.items():
            digests[name].update(np.ascontiguousarray(array).data)
    whole = "".join(digests[name].hexdigest() for name in sorted(digests))
    return _OF_ROWS + sha256(whole.encode()).hexdigest()


def added_facts(old: CorpusFacts, new: CorpusFacts) -> CorpusFacts:
    """What a run folder says about the data of both; numbers of rows and tokens add up."""
    facts: CorpusFacts = {**new, **old}
    for name in ("n_documents", "n_tokens", "n_items"):
        if name in new:
            facts[name] = old.get(name, 0) + new[name]
    if facts.get("fingerprint") != new.get("fingerprint"):
        facts.pop("fingerprint", None)  # several data have none, and are in no single folder
        facts.pop("path", None)
    return facts


def heldout_of(plan: RunPlan, corpus: AnyCorpus) -> AnyCorpus | None:
    """The held-out data of ``plan``; None if there are none.

    Raises RunError, CorpusFormatError, VocabularyError or ShapeError for data that cannot be read
    or are not like ``corpus``.
    """
    if plan.heldout is None:
        return None
    heldout = corpus_at(plan.at(plan.heldout))
    check_alike(corpus, heldout, plan.corpus, str(plan.heldout))
    return heldout


def lap_score(plan: RunPlan, corpus: AnyCorpus, heldout: AnyCorpus | None) -> Score | None:
    """How to score the model of a lap on held-out data; None if there are none."""
    if heldout is None:
        return None
    scoring: LapScore = imported(plan.options.model_kind.lap_score)
    return scoring(heldout, corpus, plan.workers)


def density_score(heldout: AnyCorpus, corpus: AnyCorpus, workers: int) -> Score:
    """By the mean log density of a vector, or log probability of a token of whole documents."""
    n_data = heldout.n_tokens if isinstance(heldout, Corpus) else heldout.n_items

    def score(model: Model) -> float:
        assert isinstance(model, MixturePosterior), "only mixtures have densities of items"
        sums = [model.log_densities(batch.values).sum() for batch in heldout.batches()]
        return float(np.sum(sums)) / n_data

    return score


def completion_score(heldout: AnyCorpus, corpus: AnyCorpus, workers: int) -> Score:
    """By document completion."""
    assert isinstance(corpus, Corpus), "topics are over words"
    assert isinstance(heldout, Corpus), "it is like the training corpus"
    unigram = unigram_probabilities(corpus.vocabulary.term_frequency)

    def score(model: Model) -> float:
        found, _ = document_completion(
            heldout, model.topic_word_mean, model.mixing_weights, unigram, workers=workers
        )
        return found.log_likelihood_per_token

    return score

"""The scores of one mixture on held-out items, and its record in ``evaluate --json``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.corpus import AnyCorpus, Corpus
from sparsetopics.corpora.store.shards import AnyRowGroup
from sparsetopics.evaluation.scoring.topic_scores import IN_SAMPLE, Record, Scorecard, Scoring
from sparsetopics.measures.clustering import ClusteringScore, score_clustering
from sparsetopics.measures.paired import HeldoutScores, mean_score
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.options.registry import MODELS
from sparsetopics.runs.run import MixtureRun


@dataclass(frozen=True, slots=True, eq=False)
class MixtureCard:
    """The scores of one run."""

    run: MixtureRun
    log_likelihood_per_item: float  # nats, predictive
    standard_error: float  # of that mean; NaN for a single item
    heldout: HeldoutScores  # of the items
    n_used_components: int  # components that are the most probable one of some item
    n_tokens: float | None  # None for vectors
    clustering: ClusteringScore | None  # None if no item has a label
    in_sample: bool | None = None  # whether the run was trained with the items; None: unknown

    @property
    def name(self) -> str:
        return str(self.run.path)

    @property
    def n_items(self) -> int:
        return len(self.heldout.sizes)

    @property
    def remarks(self) -> list[str]:
        """Sentences to be printed after the name."""
        return [IN_SAMPLE] if self.in_sample else []

    @property
    def extent(self) -> str:
        """How much was scored, the same for all models that are scored together."""
        tokens = "" if self.n_tokens is None else f" ({quantity(round(self.n_tokens), 'token')})"
        return f"{quantity(self.n_items, 'item')}{tokens} scored"

    @property
    def kind(self) -> str:
        """Kind of model: mixture or dp-mixture."""
        return MODELS[self.run.model.name].title

    @property
    def log_likelihood_per_token(self) -> float | None:
        """In nats; None for vectors."""
        if self.n_tokens is None:
            return None
        return self.log_likelihood_per_item * self.n_items / self.n_tokens

    def as_dict(self) -> Record:
        """Return the record that ``evaluate --json`` prints; undefined scores are None."""
        model, trace = self.run.model, self.run.trace
        elbo = trace[-1].get("elbo_per_token") if trace else None
        # The bound of documents is per token, that of vectors per item.
        per_token: Record = {"elbo_per_item": elbo}
        if self.n_tokens is not None:
            per_token = {
                "elbo_per_token": elbo,
                "log_likelihood_per_token": self.log_likelihood_per_token,
                "n_tokens": self.n_tokens,
            }
        agreement = {} if self.clustering is None else self.clustering._asdict()
        for name in ("n_items", "n_components"):  # the record has its own
            agreement.pop(name, None)
        return {
            "run": str(self.run.path),
            "log_likelihood_per_item": self.log_likelihood_per_item,
            "standard_error": None if math.isnan(self.standard_error) else self.standard_error,
            "n_items": self.n_items,
            "model": model.name,
            "likelihood": model.likelihood_name,
            "n_components": model.n_topics,
            "n_used_components": self.n_used_components,
            **per_token,
            **agreement,
            "in_sample": self.in_sample,
        }


AnyCard: TypeAlias = Scorecard | MixtureCard


def score_mixture(
    run: MixtureRun, items: AnyCorpus, counted_in: AnyCorpus, how: Scoring
) -> MixtureCard:
    """Score ``items`` by their mean log density and, if any has a label, by agreement.

    ``items`` fit the columns or words of ``run``. ``counted_in`` is for topics.
    """
    groups: Sequence[AnyRowGroup] = items.row_groups
    found = list(how.crew.map(partial(_score_group, model=run.model), groups))
    scores, owners = (np.concatenate(each) for each in zip(*found, strict=True))
    labels = [label for batch_labels in items.labels() for label in batch_labels]
    has_labels = any(label is not None for label in labels)
    heldout = HeldoutScores(scores, np.ones(len(scores)))
    return MixtureCard(
        run,
        *mean_score(heldout),
        heldout,
        len(np.unique(owners)),
        float(items.n_tokens) if isinstance(items, Corpus) else None,
        score_clustering(labels, owners) if has_labels else None,
    )


def _score_group(group: AnyRowGroup, model: MixturePosterior) -> tuple[FloatArray, IntArray]:
    """Return the log density and the most probable component of each item."""
    values = group.read().values
    return model.log_densities(values), model.responsibilities(values).argmax(axis=1)

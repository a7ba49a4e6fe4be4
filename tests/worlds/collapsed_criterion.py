"""The collapsed criterion of any topic model that training ends with, LDA's too."""

import numpy as np

from sparsetopics.execution.executors import Executor
from sparsetopics.inference.course import Hooks, Setting, course_of
from sparsetopics.inference.moves.word_evidence import CountVariances, WordEvidence
from sparsetopics.inference.training import follow
from sparsetopics.model.allocations import documents
from sparsetopics.model.allocations.hdp import HDPAllocation
from sparsetopics.model.memo import Memo
from sparsetopics.model.statistics import added
from sparsetopics.options.training import MoveOptions, TrainingOptions

ALL = ("merge", "delete", "birth")


def trained_with_criterion(source, folder, options, seed):
    """The model, and the criterion in nats per token."""
    rng = np.random.default_rng(seed)
    setting = Setting(source, source, options, Executor(), Memo(folder), rng, Hooks())
    course = course_of(options)(setting)
    model = follow(course, None, None)
    visits = [course.kept_of(batch_id) for batch_id in range(source.n_batches)]
    found = _criterion(course.learned.components, course.parameters, visits)
    return model, found / source.n_tokens


def without_moves(model, n_topics):
    return TrainingOptions(n_topics, model=model, moves=MoveOptions(()) if model == "hdp" else None)


def from_one_topic():
    return TrainingOptions(1, model="hdp", moves=MoveOptions(ALL))


def _criterion(components, parameters, visits):
    """In nats, with θ_dk = N_dk + α_k and an HDP's weights at their optimum for that."""
    allocation, likelihood = parameters
    alpha = np.array(allocation.doc_concentration)
    spread, terms = CountVariances.zeros(*components.table.shape), allocation.zero_terms()
    for batch, found in visits:
        own = documents.sum_terms(batch, found, alpha, allocation.tail, Executor())
        terms = added(terms, own)
        spread.add(batch, found, alpha)
    evidence = WordEvidence.of(components, likelihood, spread)
    updated = allocation.updated(terms)
    slack = updated.prior_slack(terms.n_docs) if isinstance(updated, HDPAllocation) else 0.0
    return float(evidence.by_topic.sum()) + updated.elbo(terms) + slack

"""Restarts of one document: empty a small topic, and keep it empty if the bound rises (HDP15)."""

from __future__ import annotations

import math

import numpy as np

from sparsetopics.base.batches import FloatArray, IntArray
from sparsetopics.kernels.sweeps import iterate
from sparsetopics.kernels.types import (
    ACTIVE,
    MASS,
    PRIOR,
    SAVED_ACTIVE,
    SAVED_MASS,
    WEIGHT,
    Document,
    Schedule,
    Workspace,
    inner,
)


@inner
def _document_score(counts: FloatArray, n_active: int, work: Workspace) -> float:
    """The document's ELBO right after a mean-field sweep, up to terms that no restart changes.

    With r = w P / Z, Σ_u x Σ_k r (log w − log r) = Σ_u x log Z_u − Σ_k N_k log P_k, and at
    θ = N + α the Dirichlet part is Σ_k lnΓ(N_k + α_k) (HDP15, restart proposals).
    """
    score = 0.0
    for u in range(counts.shape[0]):
        if work.normalizers[u] <= 0.0:
            return -np.inf
        score += counts[u] * math.log(work.normalizers[u])
    for i in range(n_active):
        j = work.ids[ACTIVE, i]
        mass = work.columns[MASS, j]
        if mass > 0.0:
            score += math.lgamma(mass + work.columns[PRIOR, j]) - math.lgamma(
                work.columns[PRIOR, j]
            )
            score -= mass * math.log(work.columns[WEIGHT, j])
    return score


@inner
def _smallest_above(threshold: float, n_active: int, work: Workspace) -> int:
    """The active column with the least mass above ``threshold``, or -1."""
    found = -1
    for i in range(n_active):
        j = work.ids[ACTIVE, i]
        if work.columns[MASS, j] > threshold and (
            found < 0 or work.columns[MASS, j] < work.columns[MASS, found]
        ):
            found = j
    return found


@inner
def _copy_masses(
    n_active: int, from_ids: int, from_mass: int, to_ids: int, to_mass: int, work: Workspace
) -> None:
    """Copy the active columns and their N_k between two pairs of rows."""
    for i in range(n_active):
        j = work.ids[from_ids, i]
        work.ids[to_ids, i] = j
        work.columns[to_mass, j] = work.columns[from_mass, j]


@inner
def try_restarts(
    document: Document,
    schedule: Schedule,
    minimum_mass: float,
    n_columns: int,
    n_active: int,
    n_used: int,
    tallies: IntArray,  # (3,)  proposed, accepted, iterations: added to
    work: Workspace,
) -> tuple[int, int]:
    """Empty one small topic after another; keep what raises the document's score.

    A mean-field step follows from N_k alone, so only N_k is saved. After a refusal N_k is restored,
    and one more step makes the responsibilities from it; that step cannot lower the score. Returns
    the active columns and the slots in use.
    """
    counts = document.counts
    score = _document_score(counts, n_active, work)
    threshold, refused = 0.0, False
    for _ in range(schedule.restarts):
        column = _smallest_above(threshold, n_active, work)
        if n_active < 2 or column < 0:
            break
        threshold = work.columns[MASS, column]
        _copy_masses(n_active, ACTIVE, MASS, SAVED_ACTIVE, SAVED_MASS, work)
        work.columns[MASS, column] = 0.0
        n_trial = n_active
        for i in range(schedule.restart_iterations):
            n_trial, n_used, _ = iterate(
                document, schedule.collapsed, i == 0, minimum_mass, n_columns,
                n_trial, n_used, work,
            )  # fmt: skip
        proposed = _document_score(counts, n_trial, work)
        refused = proposed <= score
        tallies[0] += 1
        if refused:
            _copy_masses(n_active, SAVED_ACTIVE, SAVED_MASS, ACTIVE, MASS, work)
        else:
            score, n_active = proposed, n_trial
            tallies[1] += 1
    if refused:
        n_active, n_used, _ = iterate(
            document, schedule.collapsed, True, 0.0, n_columns, n_active, n_used, work
        )
    return n_active, n_used

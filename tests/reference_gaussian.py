"""Gaussian mixtures in plain numpy: item by item, explicit inverses, slow, obviously right.

Priors are dicts: ``nu, B`` and, with means, ``m, kappa`` for full covariances; ``a, b, m, kappa``
for diagonal ones, ``variance, m, kappa`` for spheres of known variance. Items and
responsibilities are dense.
"""

import numpy as np
from scipy.special import gammaln, logsumexp, psi
from scipy.stats import multivariate_t, norm, t


def top_shares(log_weights, n_slots):
    """Dense responsibilities of each row's ``n_slots`` largest weights; ties to the lower index."""
    shares = np.zeros(log_weights.shape)
    for n, row in enumerate(np.asarray(log_weights, np.float64)):
        kept = np.argsort(-row, kind="stable")[:n_slots]
        weights = np.exp(row[kept] - row[kept].max())
        shares[n, kept] = weights / weights.sum()
    return shares


def log_totals(log_weights, n_slots):
    largest = -np.sort(-np.asarray(log_weights, np.float64), axis=1)[:, :n_slots]
    return np.log(np.exp(largest - largest[:, :1]).sum(axis=1)) + largest[:, 0]


def entropies(shares):
    return -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=0)


def full_posterior(prior, values, shares):
    """ν, B, m, κ of one topic; m is fixed at zero where the prior has none."""
    nu, scale = prior["nu"] + shares.sum(), np.array(prior["B"], float)
    if "m" not in prior:
        for x, share in zip(values, shares, strict=True):
            scale = scale + share * np.outer(x, x)
        return nu, scale, np.zeros(len(scale)), np.inf
    kappa = prior["kappa"] + shares.sum()
    mean = (prior["kappa"] * np.asarray(prior["m"]) + shares @ values) / kappa
    away = np.asarray(prior["m"]) - mean
    scale = scale + prior["kappa"] * np.outer(away, away)
    for x, share in zip(values, shares, strict=True):
        scale = scale + share * np.outer(x - mean, x - mean)
    return nu, scale, mean, kappa


def diagonal_posterior(prior, values, shares):
    """a, b, m, κ of one topic."""
    kappa = prior["kappa"] + shares.sum()
    mean = (prior["kappa"] * np.asarray(prior["m"]) + shares @ values) / kappa
    rates = np.asarray(prior["b"]) + 0.5 * prior["kappa"] * (np.asarray(prior["m"]) - mean) ** 2
    rates = rates + 0.5 * shares @ (values - mean) ** 2
    return prior["a"] + 0.5 * shares.sum(), rates, mean, kappa


def spherical_posterior(prior, values, shares):
    """Two that are not there, m, κ of one topic."""
    kappa = prior["kappa"] + shares.sum()
    mean = (prior["kappa"] * np.asarray(prior["m"]) + shares @ values) / kappa
    return None, None, mean, kappa


def expected_log_density(prior, posterior, x):
    """E[log p(x|φ)] of one item."""
    first, second, mean, kappa = posterior
    n_columns = len(x)
    away = x - mean
    if "variance" in prior:
        distance = away @ away / prior["variance"] + n_columns / kappa
        return -0.5 * float(n_columns * np.log(2 * np.pi * prior["variance"]) + distance)
    if "a" in prior:
        logs = psi(first) - np.log(second) - first / second * away**2 - 1.0 / kappa
        return 0.5 * float(logs.sum() - n_columns * np.log(2 * np.pi))
    log_determinant = sum(psi(0.5 * (first + 1 - i)) for i in range(1, n_columns + 1))
    log_determinant += n_columns * np.log(2.0) - np.linalg.slogdet(second)[1]
    distance = first * away @ np.linalg.inv(second) @ away + n_columns / kappa
    return 0.5 * float(log_determinant - distance - n_columns * np.log(2 * np.pi))


def predictive_log_density(prior, x):
    """log ∫ p(x|φ) p(φ) dφ: a (multivariate) Student t."""
    x = np.asarray(x)
    if "variance" in prior:
        width = np.sqrt(prior["variance"] * (1.0 + 1.0 / prior["kappa"]))
        return float(norm.logpdf(x, prior["m"], width).sum())
    if "a" in prior:
        scale = np.asarray(prior["b"]) * (prior["kappa"] + 1) / (prior["a"] * prior["kappa"])
        return float(t.logpdf(x, 2 * prior["a"], prior["m"], np.sqrt(scale)).sum())
    n_columns = len(x)
    dof = prior["nu"] - n_columns + 1
    wider = 1.0 + 1.0 / prior["kappa"] if "m" in prior else 1.0
    mean = prior.get("m", np.zeros(n_columns))
    return float(multivariate_t.logpdf(x, mean, np.asarray(prior["B"]) * wider / dof, dof))


def mixture_log_density(weights, components, x):
    """log Σ_k w_k ∫ p(x|φ) p(φ|component k) dφ; components are dicts like priors."""
    logs = [predictive_log_density(each, x) for each in components]
    return float(logsumexp(logs, b=weights))


def in_columns(component, origin, axes):
    """A component, as a dict like a prior's, of x = origin + axes @ z instead of z.

    Axes of a component without covariances must be along the columns.
    """
    found = dict(component)
    if "m" in component:
        found["m"] = origin + axes @ component["m"]
    if "B" in component:
        found["B"] = axes @ component["B"] @ axes.T
    elif "b" in component:
        found["b"] = np.diag(axes @ np.diag(component["b"]) @ axes.T)
    else:
        assert np.ptp(np.diag(axes)) == 0.0
        found["variance"] = component["variance"] * axes[0, 0] ** 2
    return found


def log_evidence_by_chain(prior, values):
    """log p(x_1, …, x_N) = Σ log p(x_n|x_1, …, x_{n−1})."""
    total = 0.0
    for x in values:
        total += predictive_log_density(prior, x)
        one = np.ones(1)
        if "variance" in prior:
            *_, m, kappa = spherical_posterior(prior, x[None], one)
            prior = {"variance": prior["variance"], "m": m, "kappa": kappa}
        elif "a" in prior:
            a, b, m, kappa = diagonal_posterior(prior, x[None], one)
            prior = {"a": a, "b": b, "m": m, "kappa": kappa}
        else:
            nu, scale, mean, kappa = full_posterior(prior, x[None], one)
            means = {"m": mean, "kappa": kappa} if "m" in prior else {}
            prior = {"nu": nu, "B": scale, **means}
    return total


def dp_elbo(counts, concentration, entropy):
    """All but the data's part for a DP mixture, sticks at their optimum."""
    bound = entropy
    for k in range(len(counts)):
        taken, left = 1.0 + counts[k], concentration + counts[k + 1 :].sum()
        bound += gammaln(taken) + gammaln(left) - gammaln(taken + left)
        bound += np.log(concentration)  # −lnB(1, γ)
    return float(bound)

"""DP mixtures of spheres at single values, in plain numpy: log posterior, MM, one step of SGA.

Items are (n_items, n_columns) in float64, ``owners`` their components; ``prior`` has variance, m,
kappa (λ) and gamma.
"""

import numpy as np
from scipy.stats import norm


def log_weights(sticks):
    """log v_k + Σ_{l<k} log(1 − v_l)."""
    with np.errstate(divide="ignore"):
        return np.array(
            [np.log(sticks[k]) + np.log(1 - sticks[:k]).sum() for k in range(len(sticks))]
        )


def log_posterior(prior, values, owners, means, sticks, n_items):
    """1/M Σ_n log p(x_n, z_n|μ, v) + 1/N log p(μ, v), for M ``values`` of N items."""
    spread = np.sqrt(prior["variance"])
    of_items = 0.0
    for x, k in zip(values, owners, strict=True):
        of_items += norm.logpdf(x, means[k], spread).sum()
        of_items += np.log(sticks[k]) + np.log(1 - sticks[:k]).sum()
    of_means = norm.logpdf(means, prior["m"], spread / np.sqrt(prior["kappa"])).sum()
    of_sticks = ((prior["gamma"] - 1) * np.log(1 - sticks)).sum()
    return of_items / len(values) + (of_means + of_sticks) / n_items


def numeric_gradient(function, point, step):
    """Central differences, element by element."""
    found = np.zeros(point.shape)
    for place in np.ndindex(point.shape):
        for sign in (1, -1):
            near = point.copy()
            near[place] += sign * step
            found[place] += sign * function(near) / (2 * step)
    return found


def modes(prior, values, owners, n_topics):
    """Where the log posterior is highest: means and sticks, one component after the other."""
    means, sticks = np.zeros((n_topics, values.shape[1])), np.zeros(n_topics)
    for k in range(n_topics):
        own, later = values[owners == k], np.sum(owners > k)
        pull = prior["kappa"] * np.asarray(prior["m"])
        means[k] = (pull + own.sum(axis=0)) / (prior["kappa"] + len(own))
        if len(own):
            sticks[k] = len(own) / (len(own) + later + prior["gamma"] - 1)
    return means, sticks


def hard_owners(prior, values, means, sticks):
    """Equation 15."""
    weights = log_weights(sticks)
    return np.array(
        [
            np.argmax(weights - ((x - means) ** 2).sum(axis=1) / (2 * prior["variance"]))
            for x in values
        ]
    )


def alternate(prior, values, means, sticks, n_laps):
    """MM: assignments, then modes; both as they are after each lap."""
    course = []
    for _ in range(n_laps):
        owners = hard_owners(prior, values, means, sticks)
        means, sticks = modes(prior, values, owners, len(sticks))
        course.append((owners, means, sticks))
    return course


def squared_gradients(prior, values, owners, means, sticks):
    """Means over items of the squared gradients of an item's own part, of μ/σ and of v."""
    of_means, of_sticks = np.zeros(means.shape), np.zeros(len(sticks))
    for x, owner in zip(values, owners, strict=True):
        for k in range(len(sticks)):
            taken, later = float(owner == k), float(owner > k)
            of_means[k] += taken * (x - means[k]) ** 2 / prior["variance"]
            of_sticks[k] += (taken / sticks[k] - later / (1 - sticks[k])) ** 2
    return of_means / len(values), of_sticks / len(values)

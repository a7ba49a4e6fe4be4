"""Items in clumps far apart, and the mixture that the clumps make, without training."""

from typing import NamedTuple

import numpy as np

from sparsetopics.execution.executors import Executor
from sparsetopics.model.allocations.mixture_weights import DPMixture, FiniteMixture
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.responsibilities import Responsibilities
from sparsetopics.options.registry import VECTOR_LIKELIHOODS, imported
from sparsetopics.runs.run import run_in_memory, save_run
from worlds.gaussian_worlds import standard

LIKELIHOODS = {name: imported(kind.where) for name, kind in VECTOR_LIKELIHOODS.items()}
LIKELIHOOD_NAMES = tuple(LIKELIHOODS)
MODEL_NAMES = ("dp-mixture", "mixture")


class Clumps(NamedTuple):
    values: np.ndarray  # (n_items, n_columns)  read-only
    kinds: np.ndarray  # (n_items,)


def draw_clumps(seed, n_items=240, n_columns=3, n_clumps=4):
    """Centres at least 12 apart, widths of about one."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*[[-12.0, 0.0, 12.0]] * n_columns), axis=-1).reshape(-1, n_columns)
    centres = grid[rng.permutation(len(grid))[:n_clumps]] + rng.uniform(-0.5, 0.5, n_columns)
    widths = rng.uniform(0.5, 1.5, (n_clumps, n_columns))
    kinds = rng.permutation(np.arange(n_items) % n_clumps)
    noise = rng.standard_normal((n_items, n_columns))
    values = (centres[kinds] + widths[kinds] * noise).astype(np.float32)
    values.flags.writeable = False
    return Clumps(values, kinds)


def hard(components):
    """Responsibilities of one for a component each, (n_items,)."""
    starts = np.arange(len(components) + 1)
    return Responsibilities(
        starts, np.asarray(components, np.uint32), np.ones(len(components), np.float32)
    )


def mixture_of(clumps, likelihood_name, name="dp-mixture"):
    """The posterior if every clump is a component; the larger come first."""
    _, first = np.unique(clumps.kinds, return_inverse=True)
    order = np.argsort(np.argsort(-np.bincount(first), kind="stable"))
    likelihood, values = standard(LIKELIHOODS[likelihood_name], clumps.values)
    zeros = likelihood.zeros(len(order))
    moments = zeros.sum_items(values, hard(order[first]), Executor())
    kind = DPMixture if name == "dp-mixture" else FiniteMixture
    mixture = kind(moments.counts, 10.0)
    return MixturePosterior(
        name, likelihood_name, likelihood, mixture, likelihood.posterior(moments)
    )


TRACE = ({"lap": 1, "elbo_per_token": -2.5},)


def write_mixture(folder, model, fingerprint="columns", trace=TRACE):
    """A run folder as training leaves it."""
    folder.mkdir()
    corpus = {"path": "corpus", "n_items": 240, "columns_fingerprint": fingerprint}
    save_run(
        folder,
        run_in_memory("run", model, None, {"corpus": corpus, "options": {}, "seed": 7}, trace),
    )
    return folder

"""Linear projections of items: principal components, and a basis of patches without their mean.

A projection is kept with the corpus whose values it made.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
import safetensors.numpy

from sparsetopics.base.array_files import read_tensors
from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.sealed_files import FileEntry, decoded, parsed
from sparsetopics.base.showing import short_repr
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.store.manifest import DAMAGE

FILE_NAME = "projection.safetensors"
SAMPLE_BYTES = 256 << 20
SAMPLE_ROWS = 100_000
_ROWS_AT_ONCE = 8_192
_METADATA_KEY = "projection"


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """``(x − mean) · components``, divided by the standard deviations if whitened.

    Components are orthonormal. Principal components are ordered by falling variance.
    """

    mean: FloatArray  # (n_inputs,)
    components: FloatArray  # (n_columns, n_inputs)
    variances: FloatArray  # (n_columns,) of the sample along the components; ones if not fitted
    whitened: bool
    inputs: tuple[str, ...] | None = None  # names of the columns that it takes

    def __repr__(self) -> str:
        return short_repr(self, "n_inputs", "n_columns", "whitened")

    @property
    def n_inputs(self) -> int:
        return len(self.mean)

    @property
    def n_columns(self) -> int:
        return len(self.components)

    def __call__(self, values: Vectors) -> Vectors:
        """Project items, (n_items, n_inputs), to float32 (n_items, n_columns)."""
        scales = np.sqrt(self.variances) if self.whitened else np.ones(self.n_columns)
        matrix = (self.components / scales[:, np.newaxis]).T.astype(values.dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # ingest refuses what is not finite
            return np.asarray((values - self.mean.astype(values.dtype)) @ matrix, np.float32)

    def after(self, first: Projection) -> Projection:
        """``first``, which must not whiten, and then this projection, as one projection."""
        assert not first.whitened
        return replace(
            self,
            mean=first.mean + self.mean @ first.components,
            components=self.components @ first.components,
            inputs=first.inputs,
        )

    def save(self, folder: Path) -> FileEntry:
        """Write ``projection.safetensors``; return its entry for the manifest."""
        arrays = {name: np.ascontiguousarray(getattr(self, name)) for name in _ARRAYS}
        metadata = {_METADATA_KEY: json.dumps({"whitened": self.whitened, "inputs": self.inputs})}
        # Written here, because the file mode of safetensors' own function depends on the platform.
        (folder / FILE_NAME).write_bytes(safetensors.numpy.save(arrays, metadata))
        return FileEntry.of(folder / FILE_NAME)

    @classmethod
    def read(cls, path: Path) -> Projection:
        """Read ``projection.safetensors``, whose digest the caller has compared.

        Raises CorpusFormatError if it is damaged or its arrays do not fit together.
        """
        arrays, metadata = read_tensors(path, _ARRAYS, DAMAGE)
        where = f"{path}, {_METADATA_KEY}"
        stored = parsed(metadata.get(_METADATA_KEY, "null"), where, DAMAGE)
        settings = decoded(stored, _Settings, where, DAMAGE)
        shapes = tuple(arrays[name].shape for name in _ARRAYS)
        n_columns, n_inputs = (*arrays["components"].shape, 0, 0)[:2]
        fitting = ((n_inputs,), (n_columns, n_inputs), (n_columns,))
        n_names = len(settings.inputs or ())
        if shapes != fitting or n_names not in (0, n_inputs):
            raise DAMAGE.of(path, f"arrays of shapes {shapes} and {n_names:,} names do not match")
        is_finite = all(np.isfinite(array).all() for array in arrays.values())
        if not is_finite or (settings.whitened and (arrays["variances"] <= 0.0).any()):
            raise DAMAGE.of(path, "a number is not finite, or a variance is not positive")
        return cls(**arrays, whitened=settings.whitened, inputs=settings.inputs)


class _Settings(msgspec.Struct):
    """The metadata stored with the arrays."""

    whitened: bool
    inputs: tuple[str, ...] | None


_ARRAYS = ("mean", "components", "variances")


def sample_rows(blocks: Iterable[Vectors], rng: np.random.Generator) -> Vectors:
    """A random sample of the rows of all blocks, in random order, at most ``SAMPLE_ROWS``.

    Every row draws a key, and the rows with the lowest keys are kept, so that the sample does not
    depend on how the rows are cut into blocks. Its shape is (0, 0) if there is no block.
    """
    kept: Vectors = np.empty((0, 0), np.float32)
    keys = np.empty(0)
    for block in blocks:
        most = min(SAMPLE_ROWS, max(1, SAMPLE_BYTES // block[:1].nbytes))
        drawn = rng.random(len(block))
        if len(keys) == most:  # then most rows are rejected without a copy
            low = drawn < keys[-1]
            block, drawn = block[low], drawn[low]
        order = np.argsort(np.concatenate((keys, drawn)), kind="stable")[:most]
        keys = np.concatenate((keys, drawn))[order]
        kept = np.concatenate([kept, block])[order] if kept.size else block[order]
    return kept


def fit_projection(
    sample: Vectors,  # (n_sampled, n_inputs)
    n_components: int,
    inputs: tuple[str, ...] | None = None,
    *,
    whiten: bool = False,  # give each component unit variance
) -> tuple[Projection, float]:
    """The leading principal components of a sample, and the share of variance they hold.

    The sign of a component is such that its largest entry is positive. Raises OptionError for more
    components than columns or than items less one, or, with whitening, than directions in which
    items differ; SourceError if no two items differ.
    """
    n_rows, n_inputs = sample.shape
    if n_components > min(n_inputs, n_rows - 1):
        data = f"{quantity(n_rows, 'item')} of {quantity(n_inputs, 'column')}"
        most = min(n_inputs, n_rows - 1)
        raise OptionError("pca", f"must be at most {most} for {data}, but is {n_components}")
    mean = sample.mean(axis=0, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused
        covariance = _covariance(sample, mean)
    if not np.isfinite(covariance).all():
        raise SourceError("items", "values are too large for principal components")
    variances, vectors = np.linalg.eigh(covariance)
    total = float(variances.sum())
    variances = np.maximum(variances[::-1][:n_components], 0.0)
    components = vectors[:, ::-1][:, :n_components].T
    largest = np.abs(components).argmax(axis=1)
    components = components * np.sign(components[np.arange(n_components), largest])[:, np.newaxis]
    if total <= 0:
        raise SourceError("items", "no two differ, so there is no variance to project")
    rank = int((variances > variances[0] * n_inputs * np.finfo(np.float32).eps).sum())
    if whiten and rank < n_components:
        problem = f"must be at most {rank} to whiten items that differ in {rank} directions only"
        raise OptionError("pca", f"{problem}, but is {n_components}")
    return Projection(mean, components, variances, whiten, inputs), float(variances.sum() / total)


def _covariance(sample: Vectors, mean: FloatArray) -> FloatArray:
    """The covariance of the columns in float64, (n_inputs, n_inputs)."""
    # A few rows at a time: the whole sample in float64 would double its memory.
    total = np.zeros((len(mean), len(mean)))
    for start in range(0, len(sample), _ROWS_AT_ONCE):
        centred = sample[start : start + _ROWS_AT_ONCE] - mean
        total += centred.T @ centred
    return total / (len(sample) - 1)


PATCH_BASIS = "dct"  # its name in manifests and runs
MOST_SIDE = 64  # pixels: the basis of the largest patches takes 134 MB
_DECIMALS = 12  # mathematical libraries differ in the last bits; fingerprints of corpora must not


def patch_basis(side: int) -> FloatArray:
    """An orthonormal basis of the square patches whose mean is zero, (side² − 1, side²).

    Patches less their mean fill a subspace of one dimension fewer than they have pixels. As pixels
    they would have a singular covariance: along the constant patch the density of a component of N
    items would grow with N without bound, about ½ log N for each item, which rewards merging
    components that have nothing else in common. Coordinates in the subspace avoid this, and keep
    distances and white noise as they are.

    The basis are the functions of the two-dimensional DCT-II without the constant one. A row is a
    function over the pixels of a patch, row by row: c_u(down) c_v(right) with
    c_u(x) = sqrt(2/side) cos(π (2x + 1) u / (2 side)), and c_0(x) = sqrt(1/side). Rows are ordered
    by the frequency u² + v², then by u, and orthonormal to 1e-11. Raises OptionError for a ``side``
    above ``MOST_SIDE``.
    """
    if side > MOST_SIDE:
        raise OptionError("patches", f"must be at most {MOST_SIDE} pixels, but is {side}")
    lines = np.array([[_cosine(u, x, side) for x in range(side)] for u in range(side)])
    frequencies = sorted(np.ndindex(side, side), key=lambda f: (f[0] ** 2 + f[1] ** 2, f))
    return np.array([np.outer(lines[u], lines[v]).ravel() for u, v in frequencies[1:]])


def _cosine(frequency: int, place: int, side: int) -> float:
    scale = math.sqrt((2.0 if frequency else 1.0) / side)
    angle = math.pi * ((2 * place + 1) * frequency % (4 * side)) / (2 * side)
    return round(scale * math.cos(angle), _DECIMALS)


def patch_projection(side: int) -> Projection:
    """The projection of patches as pixels to their coordinates in ``patch_basis``."""
    basis = patch_basis(side)
    return Projection(np.zeros(side**2), basis, np.ones(len(basis)), whitened=False)

"""A linear projection, onto principal components for one, kept with the corpus it made."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
import safetensors.numpy

from sparsetopics.base.array_files import read_tensors
from sparsetopics.base.batches import FloatArray, Vectors
from sparsetopics.base.errors import OptionError, SourceError
from sparsetopics.base.sealed_files import decoded, parsed
from sparsetopics.corpora.store.manifest import DAMAGE

FILE_NAME = "projection.safetensors"
SAMPLE_BYTES = 256 << 20
SAMPLE_ROWS = 100_000
_ROWS_AT_ONCE = 8_192
_METADATA_KEY = "projection"


@dataclass(frozen=True, slots=True)
class PcaOptions:
    """How many components to keep, and whether to give each unit variance."""

    n_components: int
    whiten: bool = False
    seed: int = 0  # of the sample of items that it is fitted on

    def __post_init__(self) -> None:
        if self.n_components < 1:
            raise OptionError("pca", found=f"{self.n_components}", wanted="1 or more")
        if self.seed < 0:
            raise OptionError("seed", found=f"{self.seed}", wanted="0 or more")


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """``(x − mean) · components``, over the standard deviations if whitened.

    Components are orthonormal; principal ones are of falling variance.
    """

    mean: FloatArray  # (n_inputs,)
    components: FloatArray  # (n_columns, n_inputs)
    variances: FloatArray  # (n_columns,) of the sample along the components; ones without sample
    whitened: bool
    inputs: tuple[str, ...] | None = None  # names of the columns that go in

    @property
    def n_inputs(self) -> int:
        return len(self.mean)

    @property
    def n_columns(self) -> int:
        return len(self.components)

    def __call__(self, values: Vectors) -> Vectors:
        """Project items, (n_items, n_inputs) to (n_items, n_columns)."""
        scales = np.sqrt(self.variances) if self.whitened else np.ones(self.n_columns)
        matrix = (self.components / scales[:, np.newaxis]).T.astype(np.float32)
        projected: Vectors = (values - self.mean.astype(np.float32)) @ matrix
        return projected

    def after(self, first: Projection) -> Projection:
        """Both in one: this projection of what ``first``, which must not whiten, makes of items."""
        assert not first.whitened
        return replace(
            self,
            mean=first.mean + self.mean @ first.components,
            components=self.components @ first.components,
            inputs=first.inputs,
        )

    def save(self, folder: Path) -> None:
        arrays = {name: np.ascontiguousarray(getattr(self, name)) for name in _ARRAYS}
        metadata = {_METADATA_KEY: json.dumps({"whitened": self.whitened, "inputs": self.inputs})}
        # Bytes written here, because the library's own file mode depends on the platform.
        (folder / FILE_NAME).write_bytes(safetensors.numpy.save(arrays, metadata))

    @classmethod
    def read(cls, path: Path) -> Projection:
        """Read ``projection.safetensors``, whose digest the caller has compared.

        Raises CorpusFormatError if it is damaged.
        """
        arrays, metadata = read_tensors(path, _ARRAYS, DAMAGE)
        where = f"{path}, {_METADATA_KEY}"
        told = parsed(metadata.get(_METADATA_KEY, "null"), where, DAMAGE)
        settings = decoded(told, _Settings, where, DAMAGE)
        projection = cls(**arrays, whitened=settings.whitened, inputs=settings.inputs)
        projection.check(path)
        return projection

    def check(self, path: Path) -> None:
        """CorpusFormatError unless the arrays, read from ``path``, fit together."""
        shapes = tuple(getattr(self, name).shape for name in _ARRAYS)
        n_columns, n_inputs = (*self.components.shape, 0, 0)[:2]
        wanted = ((n_inputs,), (n_columns, n_inputs), (n_columns,))
        if shapes != wanted or len(self.inputs or ()) not in (0, n_inputs):
            found = f"shapes {shapes} and {len(self.inputs or ()):,} names"
            raise DAMAGE.of(path, found=found, wanted="arrays of a projection")
        finite = all(np.isfinite(getattr(self, name)).all() for name in _ARRAYS)
        if not finite or (self.whitened and (self.variances <= 0.0).any()):
            raise DAMAGE.of(path, found="numbers that are not finite, or variances of 0 or less",
                            wanted="those of a projection")  # fmt: skip


class _Settings(msgspec.Struct):
    """The metadata stored with the arrays."""

    whitened: bool
    inputs: tuple[str, ...] | None


_ARRAYS = ("mean", "components", "variances")


def sample_rows(blocks: Iterable[Vectors], rng: np.random.Generator) -> Vectors:
    """A random sample of the rows of all blocks, in random order, at most ``SAMPLE_ROWS``.

    Every row draws a key, and those with the lowest keys are kept, so that the sample does not
    depend on how the rows are cut into blocks. (0, 0) if there is no block.
    """
    kept = np.empty((0, 0), np.float32)
    keys = np.empty(0)
    for block in blocks:
        most = min(SAMPLE_ROWS, max(1, SAMPLE_BYTES // block[:1].nbytes))
        drawn = rng.random(len(block))
        if len(keys) == most:  # most rows of a long stream go no further
            low = drawn < keys[-1]
            block, drawn = block[low], drawn[low]
        order = np.argsort(np.concatenate((keys, drawn)), kind="stable")[:most]
        keys = np.concatenate((keys, drawn))[order]
        kept = (np.concatenate((kept, block)) if kept.size else block)[order]
    return kept


def fit_projection(
    sample: Vectors,  # (n_sampled, n_inputs)
    options: PcaOptions,
    inputs: tuple[str, ...] | None = None,
) -> tuple[Projection, float]:
    """The leading principal components of a sample, and the share of variance they hold.

    The largest entry of each is positive. Raises OptionError for more components than columns or
    than items less one, or to be whitened than directions in which items differ.
    """
    n_rows, n_inputs = sample.shape
    n_components = options.n_components
    if n_components > min(n_inputs, n_rows - 1):
        raise OptionError(
            "pca",
            found=f"{n_components} components for {n_rows:,} items of {n_inputs} columns",
            wanted="no more than columns, and fewer than items",
        )
    mean = sample.mean(axis=0, dtype=np.float64)
    variances, vectors = np.linalg.eigh(_covariance(sample, mean))
    total = float(variances.sum())
    variances = np.maximum(variances[::-1][:n_components], 0.0)
    components = vectors[:, ::-1][:, :n_components].T
    largest = np.abs(components).argmax(axis=1)
    components = components * np.sign(components[np.arange(n_components), largest])[:, np.newaxis]
    if total <= 0:
        raise SourceError("items", found="no two that differ", wanted="some variance to project")
    rank = int((variances > variances[0] * n_inputs * np.finfo(np.float32).eps).sum())
    if options.whiten and rank < n_components:
        raise OptionError(
            "pca",
            found=f"{n_components} components to whiten",
            wanted=f"at most {rank}, the directions in which items differ",
        )
    projection = Projection(mean, components, variances, options.whiten, inputs)
    return projection, float(variances.sum() / total)


def _covariance(sample: Vectors, mean: FloatArray) -> FloatArray:
    """In float64, a stretch of rows at a time."""
    total = np.zeros((len(mean), len(mean)))
    for start in range(0, len(sample), _ROWS_AT_ONCE):
        centred = sample[start : start + _ROWS_AT_ONCE] - mean
        total += centred.T @ centred
    return total / (len(sample) - 1)

"""What scikit-learn asks of every estimator, without need of scikit-learn.

These functions stand in the classes of estimators as methods: ``get_params = get_params``. Only
scikit-learn itself calls ``__sklearn_tags__``, so that is the one place where it is imported.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsetopics.base.batches import FloatArray
from sparsetopics.base.errors import OptionError, ShapeError, UnfittedError

Names = NDArray[np.object_]
FRAMES = ("default", "pandas", "polars")


class Transformer(Protocol):
    """The part of an estimator that names and containers of ``transform`` need."""

    n_components_: int
    n_features_in_: int


E = TypeVar("E")
T = TypeVar("T", bound=Transformer)


def get_params(self: object, deep: bool = True) -> dict[str, Any]:
    """The constructor's arguments by name; ``deep`` has no meaning, as none is an estimator."""
    return {name: getattr(self, name) for name in _defaults(type(self))}


def set_params(self: E, **params: Any) -> E:
    """Change the constructor's arguments; OptionError for names that it has not."""
    known = _defaults(type(self))
    for name, value in params.items():
        if name not in known:
            raise OptionError(
                type(self).__name__,
                found=f"parameter {name!r}",
                wanted=f"one of {', '.join(known)}",
                hint=f"Invalid parameter {name!r} for estimator {self!r}.",
            )
        setattr(self, name, value)
    return self


def represent(self: object) -> str:
    """The call that makes this estimator, arguments that differ from their defaults alone."""
    defaults = _defaults(type(self))
    given = {name: getattr(self, name) for name in defaults}
    changed = [f"{n}={v!r}" for n, v in given.items() if repr(v) != repr(defaults[n])]
    return f"{type(self).__name__}({', '.join(changed)})"


def _defaults(kind: type[Any]) -> dict[str, Any]:
    parameters = inspect.signature(kind).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


class Tagged(Protocol):
    """The part of an estimator that its tags follow from."""

    _reads_vectors: ClassVar[bool]


def tags(self: Tagged) -> Any:
    """scikit-learn's ``Tags``: what may be put in, and what comes out."""
    from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

    is_transformer = hasattr(self, "transform")
    return Tags(
        estimator_type=None if is_transformer else "density_estimator",
        target_tags=TargetTags(required=False),
        transformer_tags=TransformerTags(preserves_dtype=["float64"]) if is_transformer else None,
        input_tags=InputTags(sparse=not self._reads_vectors, positive_only=not self._reads_vectors),
    )


def check_fitted(self: object) -> None:
    """UnfittedError before ``fit``; scikit-learn's NotFittedError too, where that is loaded."""
    if hasattr(self, "model_"):
        return
    kind: type[UnfittedError] = UnfittedError
    theirs = sys.modules.get("sklearn.exceptions")  # nobody can wait for it who has not loaded it
    if theirs is not None:
        kind = type("UnfittedError", (UnfittedError, theirs.NotFittedError), {})
    name = type(self).__name__
    raise kind(name, found="an estimator that is not fitted", wanted="fit first")


def get_feature_names_out(self: Transformer, input_features: ArrayLike | None = None) -> Names:
    """Names of the columns of ``transform``, (n_components_,): "lda0", "lda1", …

    ``input_features`` are only compared with what was fitted: ShapeError if they are not as many,
    or other names than ``feature_names_in_``.
    """
    check_fitted(self)
    if input_features is not None:
        _check_names(self, np.asarray(input_features, dtype=object))
    prefix = type(self).__name__.lower()
    return np.array([f"{prefix}{number}" for number in range(self.n_components_)], dtype=object)


def _check_names(self: Transformer, names: Names) -> None:
    fitted = getattr(self, "feature_names_in_", None)
    if len(names) != self.n_features_in_:
        hint = (
            "input_features should have length equal to number of features "
            f"({self.n_features_in_}), got {len(names)}."
        )
        raise ShapeError(
            "input_features", found=f"{len(names)}", wanted=f"{self.n_features_in_}", hint=hint
        )
    if fitted is not None and not np.array_equal(fitted, names):
        raise ShapeError(
            "input_features",
            found="other names",
            wanted="those that were fitted",
            hint="input_features is not equal to feature_names_in_.",
        )


def set_output(self: T, *, transform: str | None = None) -> T:
    """What ``transform`` returns: "default" (an array), "pandas" or "polars"; None: as it is.

    Raises OptionError for another name, and ``transform`` ImportError without that library.
    """
    if transform is None:
        return self
    if transform not in FRAMES:
        raise OptionError("transform", found=repr(transform), wanted=f"one of {', '.join(FRAMES)}")
    vars(self)["_sklearn_output_config"] = {"transform": transform}  # the name that clone looks for
    return self


def contained(self: Transformer, found: FloatArray, X: Any) -> Any:
    """``found``, (n_rows, n_components_), in the container that is wanted; rows named as in X."""
    theirs = sys.modules.get("sklearn")
    wanted = "default" if theirs is None else theirs.get_config()["transform_output"]
    wanted = getattr(self, "_sklearn_output_config", {}).get("transform", wanted)
    if wanted == "default":
        return found
    library = importlib.import_module(wanted)
    names = get_feature_names_out(self).tolist()
    if wanted == "polars":
        return library.DataFrame(found, schema=names, orient="row")
    index = X.index if isinstance(X, library.DataFrame) else None
    return library.DataFrame(found, index=index, columns=names, copy=False)

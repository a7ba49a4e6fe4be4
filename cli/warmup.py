"""``sparsetopics warmup``, and whether kernels are kept."""

from __future__ import annotations

import os
from pathlib import Path

import click

from sparsetopics.cli import shared_options as shared
from sparsetopics.cli.printing import say, show

# Commands that are run on a small collection; its files are marked with @. Together they call each
# kernel with all types of arguments that occur.
STEPS = {
    "tokens": (
        "ingest @texts.jsonl --out @documents",
        "ingest @texts.jsonl --out @pairs --ngrams 2",
        "ingest @texts.jsonl --out @joined --token-pattern [a-z]+(?:-[a-z]+)? --stop-words english",
        "ingest @vectors.npy --out @vectors",
    ),
    "LDA": (
        "train @documents --out @lda --model lda --laps 3",
        "train @documents --out @learned --model lda --laps 3 --learn-hyperparameters",
        "train @documents --out @full --model lda --laps 3 --learner full --sparsity 2 "
        "--local-update mean-field",
        "train @documents --out @streamed --model lda --laps 3 --learner stochastic",
    ),
    "HDP": (
        "train @documents --out @hdp --laps 16",
        "train @documents --out @bound --laps 9 --criterion bound --local-update mean-field",
        "train @documents --out @streamed-hdp --laps 3 --learner stochastic",
    ),
    "mixtures": (
        "train @documents --out @kinds --model dp-mixture --laps 9 --likelihood multinomial",
        "train @vectors --out @gaussian --model dp-mixture --laps 9",
        "train @vectors --out @diagonal --model dp-mixture --laps 9 --likelihood diagonal-gaussian",
        "train @vectors --out @zero --model dp-mixture --laps 9 --likelihood zero-mean-gaussian",
        "train @vectors --out @points --model dp-mixture --laps 3 --learner gradient "
        "--likelihood isotropic-gaussian",
        "train @vectors --out @grown --model dp-mixture --topics 1 --learner accelerated",
        "train @vectors --out @grown-diagonal --model dp-mixture --topics 1 --learner accelerated "
        "--likelihood diagonal-gaussian",
    ),
    "inference": (
        "infer @hdp @documents --out @proportions.parquet",
        "infer @kinds @documents --out @kinds.parquet",
        "infer @gaussian @vectors --out @gaussian.parquet",
        "infer @points @vectors --out @points.parquet",
        "evaluate @hdp @lda @documents",
        "evaluate @gaussian @vectors",
        "prevalence @hdp @documents --by label",
    ),
}
_USUAL = {"train": {"topics": 6, "workers": 2}}


@click.command()
@shared.json_option()
def command() -> None:
    """Compile every kernel that the commands use, and keep them on disk.

    Without this, each command compiles what it needs on its first use, which takes up to half a
    minute. It is useful when building a container image, for example. Kernels are kept in the
    folder NUMBA_CACHE_DIR if it is set, else beside the sources, or in the user's cache folder if
    the sources are read-only.

    \b
    Example:
        sparsetopics warmup
    """
    import time
    from tempfile import TemporaryDirectory

    import sparsetopics.kernels.types  # noqa: F401 - says if kernels cannot be kept

    began = time.perf_counter()
    with TemporaryDirectory(prefix="sparsetopics-warmup-") as folder:
        _write_collection(Path(folder))
        for number, (what, calls) in enumerate(STEPS.items(), start=1):
            say(f"{number} of {len(STEPS)}: {what}")
            for call in calls:
                _run(call, Path(folder))
    n_kernels, n_compiled = _count_kernels()
    seconds = time.perf_counter() - began
    record = {"n_kernels": n_kernels, "n_compiled": n_compiled, "seconds": seconds}
    line = f"{n_kernels} kernels are ready, {n_compiled} of them new, in {seconds:.0f} s."

    show(record, [line])


def _write_collection(folder: Path) -> None:
    """Write documents that mix three kinds of words, and vectors in three clumps."""
    import json

    import numpy as np

    rng = np.random.default_rng(0)
    words = np.array([f"{first}{second}wort" for first in "abcdef" for second in "aeiou"])
    lines = []
    for number in range(150):
        kinds = rng.choice(3, 30, p=rng.dirichlet(np.full(3, 0.3)))
        chosen = words[10 * kinds + rng.integers(0, 10, 30)]
        document = {"id": f"d{number}", "text": " ".join(chosen), "label": number % 3}
        lines.append(json.dumps(document))
    (folder / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    centres = 9 * rng.standard_normal((3, 4))
    np.save(folder / "vectors.npy", centres[np.arange(300) % 3] + rng.standard_normal((300, 4)))


def _run(call: str, folder: Path) -> None:
    """Run one command and discard what it prints."""
    import io
    from contextlib import redirect_stderr, redirect_stdout

    sparsetopics = click.get_current_context().find_root().command
    words = [str(folder / word[1:]) if word[0] == "@" else word for word in call.split()]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        sparsetopics.main(words, "sparsetopics", standalone_mode=False, default_map=_USUAL)


def _count_kernels() -> tuple[int, int]:
    """Count the compiled kernels, once for each set of types, and those that are new on disk."""
    import sys

    from sparsetopics.base.kernel_cache import numba

    kernels = {
        id(kernel): kernel
        for name, module in list(sys.modules.items())
        if name.startswith("sparsetopics")
        for kernel in vars(module).values()
        if isinstance(kernel, numba.core.dispatcher.Dispatcher) and kernel.stats.cache_path
    }
    return (
        sum(len(kernel.signatures) for kernel in kernels.values()),
        sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels.values()),
    )


def kernels_are_kept() -> bool:
    """Whether there are kernels on disk, of any release; use it only to say what takes time."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    beside_sources = Path(__file__).parent.parent / "kernels" / "__pycache__"
    places = Path(chosen).glob("*/*.nbi") if chosen else beside_sources.glob("*.nbi")
    return next(places, None) is not None

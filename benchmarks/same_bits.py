"""Check whether training gives the same bits here as at another commit, in eleven small runs.

    python benchmarks/same_bits.py main

"Here" is the working tree; ``turns.py`` describes how both are installed. Documents and vectors
are drawn from a fixed seed. The arrays in ``model.safetensors`` must be equal bit by bit, and so
must the ELBO and the number of topics after each lap. The exit status is 1 if anything differs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path
from safetensors.numpy import load_file
from turns import CommandFailed, installed, run_once, tree_of, working_tree

N_WORDS, N_TOPICS, N_DOCUMENTS, N_VECTORS, N_COLUMNS = 900, 12, 700, 1_600, 6
LDA = ("--model", "lda", "--topics", "20", "--laps", "7")
HDP = ("--model", "hdp", "--topics", "15", "--laps", "14")
DP = ("--model", "dp-mixture", "--laps", "12")
RUNS: dict[str, tuple[str, ...]] = {
    "LDA, cold laps": ("documents", *LDA, "--cold-every", "1"),
    "LDA, warm laps": ("documents", *LDA),
    "LDA, mean-field": ("documents", *LDA, "--local-update", "mean-field"),
    "LDA, stochastic": ("documents", *LDA, "--learner", "stochastic", "--round", "2"),
    "HDP, collapsed": ("documents", *HDP),
    "HDP, bound": ("documents", *HDP, "--criterion", "bound", "--local-update", "mean-field"),
    "DP Gaussian": ("vectors", *DP, "--likelihood", "gaussian"),
    "DP diagonal": ("vectors", *DP, "--likelihood", "diagonal-gaussian"),
    "DP accelerated": ("vectors", *DP, "--learner", "accelerated"),
    "DP gradient": (
        "vectors", *DP, "--learner", "gradient", "--likelihood", "isotropic-gaussian",
    ),
    "DP multinomial": ("documents", *DP, "--likelihood", "multinomial", "--topics", "8"),
}  # fmt: skip


class Outcome(NamedTuple):
    """What one run ended with."""

    arrays: dict[str, NDArray[np.generic]]
    laps: list[tuple[object, object]]  # the ELBO per token and the number of topics of each

    def differences(self, other: Outcome) -> list[str]:
        """What is not the same, in words."""
        names = sorted(self.arrays.keys() ^ other.arrays.keys())
        found = [f"{name} is in one run only" for name in names]
        for name in sorted(self.arrays.keys() & other.arrays.keys()):
            ours, theirs = self.arrays[name], other.arrays[name]
            same = ours.dtype == theirs.dtype and ours.shape == theirs.shape
            if not same or ours.tobytes() != theirs.tobytes():
                found.append(f"{name} differs")
        if self.laps != other.laps:
            found.append("the trace differs")
        return found


def write_documents(path: Path) -> None:
    """Documents of Dirichlet topics, as JSON lines."""
    rng = np.random.default_rng(19)
    topics = rng.dirichlet(np.full(N_WORDS, 0.05), N_TOPICS)
    letters = "".join(map(chr, range(ord("a"), ord("k"))))  # tokens are made of letters
    digits = str.maketrans("0123456789", letters)
    words = np.array([f"{word:03d}".translate(digits) for word in range(N_WORDS)])
    with path.open("w", encoding="utf-8") as file:
        for _ in range(N_DOCUMENTS):
            shares = rng.dirichlet(np.full(N_TOPICS, 0.15)) @ topics
            drawn = rng.choice(N_WORDS, rng.integers(30, 160), p=shares)
            file.write(json.dumps({"text": " ".join(words[drawn])}) + "\n")


def write_vectors(path: Path) -> None:
    """Vectors in clumps of different shapes, as a NumPy array."""
    rng = np.random.default_rng(20)
    clumps = rng.integers(0, 9, N_VECTORS)
    centres, scales = rng.normal(0.0, 4.0, (9, N_COLUMNS)), rng.uniform(0.3, 1.5, (9, N_COLUMNS))
    noise = rng.normal(size=(N_VECTORS, N_COLUMNS))
    np.save(path, (centres[clumps] + scales[clumps] * noise).astype(np.float32))


def prepare(folder: Path, environment: Path) -> None:
    """Make the two corpora with the code of this environment."""
    write_documents(folder / "documents.jsonl")
    write_vectors(folder / "vectors.npy")
    for source in ("documents.jsonl", "vectors.npy"):
        out = folder / Path(source).stem
        words = ["ingest", str(folder / source), "--out", str(out), "--quiet"]
        run_once(["sparsetopics", *words], environment)


def outcome_of(name: str, folder: Path, environment: Path) -> Outcome:
    """Train one of ``RUNS`` with the code of this environment."""
    corpus, *options = RUNS[name]
    out = folder / name.replace(", ", "-").replace(" ", "-")
    words = ["train", str(folder / corpus), *options, "--out", str(out)]
    run_once(["sparsetopics", *words, "--seed", "3", "--batches", "5", "--quiet"], environment)
    lines = (out / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    laps = [(entry.get("elbo_per_token"), entry["n_topics"]) for entry in map(json.loads, lines)]
    return Outcome(load_file(out / "model.safetensors"), laps)


@click.command(help=__doc__)
@click.argument("commit")
def main(commit: str) -> None:
    cache = user_cache_path("sparsetopics") / "turns"
    n_different = 0
    try:
        places = (installed(working_tree(), cache), installed(tree_of(commit), cache))
        with tempfile.TemporaryDirectory() as scratch:
            folders = [Path(scratch) / side for side in ("here", "there")]
            for folder, place in zip(folders, places, strict=True):
                folder.mkdir()
                prepare(folder, place)
            for name in RUNS:
                here, there = (
                    outcome_of(name, folder, place)
                    for folder, place in zip(folders, places, strict=True)
                )
                found = here.differences(there)
                n_different += bool(found)
                told = "; ".join(found) or f"same bits after {len(here.laps)} laps"
                click.echo(f"{name:16} {told}")
    except (CommandFailed, subprocess.CalledProcessError) as failure:
        raise click.ClickException(str(failure)) from None
    sys.exit(n_different > 0)


if __name__ == "__main__":
    main()

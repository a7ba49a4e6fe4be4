"""Every command that writes, with and without an output that is there before."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from write_kills import Scenario

_TEXTS = (
    "the owl and the cat sat",
    "stocks and bonds fell today",
    "a cat saw the owl fly",
    "bonds",
)
_QUIET = "--quiet"
_LAPS = ["--laps", "3", "--topics", "3", "--checkpoint-every", "1", "--batches", "2", _QUIET]


Run = Callable[[list[str], Path], None]


def import_all() -> None:
    """What children run, imported once in the parent, as it takes a second; kernels too."""
    import sparsetopics.answers.exports.exporting
    import sparsetopics.answers.updating
    import sparsetopics.evaluation.evaluate
    import sparsetopics.evaluation.report.report
    import sparsetopics.runs.train  # noqa: F401
    from sparsetopics import LDA

    LDA(2, max_iter=1).fit(list(_TEXTS))


def make_given(folder: Path, run: Run) -> None:
    """What the scenarios read; ``run`` runs a command in a folder."""
    import matplotlib.image

    folder.mkdir()
    rng = np.random.default_rng(0)
    for name, n_docs in (("texts", 60), ("others", 40), ("more", 20)):
        lines = [
            {"id": f"{name}{n}", "text": " ".join(rng.choice(_TEXTS, 3))} for n in range(n_docs)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "nights.lines").write_text("an owl saw the eclipse\nbonds eclipse stocks\n" * 9)
    np.save(folder / "vectors.npy", rng.normal(size=(40, 3)).astype(np.float32))
    np.save(folder / "other-vectors.npy", rng.normal(size=(30, 3)).astype(np.float32))
    for name in ("photo.png", "other.png"):
        matplotlib.image.imsave(folder / name, rng.random((24, 24)), cmap="gray")
    for command in (
        ["ingest", "texts.jsonl", "--out", "corpus", _QUIET],
        ["corpus", "split", "corpus", "--out-train", "train", "--out-heldout", "heldout"],
        ["ingest", "vectors.npy", "--out", "vectors", _QUIET],
        ["ingest", "photo.png", "--patches", "4", "--out", "patches", _QUIET],
        ["train", "train", "--model", "lda", "--out", "run", *_LAPS],
        ["train", "train", "--model", "lda", "--seed", "1", "--out", "other-run", *_LAPS],
        ["train", "patches", "--model", "mixture", "--topics", "2", "--laps", "2", "--quiet",
         "--out", "patch-run", "--likelihood", "zero-mean-gaussian"],
        ["ingest", "texts.jsonl", "--out", "grown", _QUIET],
        ["train", "grown", "--model", "hdp", "--out", "before", *_LAPS],
        ["ingest", "nights.lines", "--append", "grown", "--grow-vocabulary", _QUIET],
    ):  # fmt: skip
        run(command, folder)


def scenarios(given: Path) -> list[Scenario]:
    """Paths of outputs are relative to the folder in which a command runs."""
    g = str(given)
    validate, topics = ["corpus", "validate", "out"], ["topics", "out"]
    lda = ["train", f"{g}/train", "--out", "out", "--model", "lda", *_LAPS]
    mixture = ["train", f"{g}/vectors", "--out", "out", "--model", "mixture", *_LAPS]
    split = f"corpus split {g}/corpus --out-train out --out-heldout h"
    scored = "--report out.html"
    pairs = [
        ("ingest", f"ingest {g}/texts.jsonl --out out --quiet",
         f"ingest {g}/others.jsonl --out out --quiet", validate),
        ("ingest-vectors", f"ingest {g}/vectors.npy --out out --quiet",
         f"ingest {g}/other-vectors.npy --out out --quiet", validate),
        ("split", split, f"{split} --seed 5", ["corpus", "validate", "h"]),
        ("train", lda, [*lda, "--seed", "3"], topics),
        ("train-mixture", mixture, lda, topics),
        ("train-keep-state", [*lda, "--keep-state"], [*lda, "--seed", "3"], topics),
        ("update", f"update {g}/before {g}/grown --out out --quiet", lda, topics),
        ("infer", f"infer {g}/run {g}/heldout --out out.csv",
         f"infer {g}/other-run {g}/heldout --out out.csv", ["repair", "out.csv"]),
        ("report", f"report {g}/run --out out.html", f"report {g}/other-run --out out.html",
         ["repair", "out.html"]),
        ("plot", f"plot {g}/run themes --out out.pdf", f"plot {g}/other-run themes --out out.pdf",
         ["repair", "out.pdf"]),
        ("evaluate", f"evaluate {g}/run {g}/heldout {scored}",
         f"evaluate {g}/other-run {g}/heldout {scored}", ["repair", "out.html"]),
        ("export-mallet", f"export {g}/run --to mallet --out out",
         f"export {g}/other-run --to mallet --out out", ["evaluate", "out", f"{g}/heldout"]),
        ("export-gensim", f"export {g}/run --to gensim --out out.gensim",
         f"export {g}/other-run --to gensim --out out.gensim",
         ["evaluate", "out.gensim", f"{g}/heldout", "--unpickle"]),
        ("corpus-export", f"corpus export {g}/train --to lda-c --out out",
         f"corpus export {g}/heldout --to lda-c --out out", ["repair", "out"]),
        ("denoise", f"denoise {g}/patch-run {g}/photo.png --out out",
         f"denoise {g}/patch-run {g}/other.png --out out", ["repair", "out"]),
    ]  # fmt: skip
    whole = [*lda, "--keep-state"]
    return [
        *(each for name, *parts in pairs for each in _new(name, *parts)),
        Scenario("append", f"ingest {g}/more.jsonl --append out --quiet".split(), ("out",),
                 [f"ingest {g}/texts.jsonl --out out --quiet".split()], validate),
        # Documents without ids and new words: repeated by mistake, they would be there twice.
        Scenario("append --grow-vocabulary",
                 f"ingest {g}/nights.lines --append out --grow-vocabulary --quiet".split(),
                 ("out",), [f"ingest {g}/texts.jsonl --out out --quiet".split()], validate),
        Scenario("resume", ["resume", "out", "--laps", "5", "--quiet"], ("out",), [whole], topics),
    ]  # fmt: skip


def _new(
    name: str, command: str | list[str], other: str | list[str], read: list[str]
) -> list[Scenario]:
    """Into a free place, and over what ``other`` has made."""
    words = command.split() if isinstance(command, str) else command
    before = other.split() if isinstance(other, str) else other
    return [
        Scenario(name, words, (), [], read),
        Scenario(f"{name} --overwrite", [*words, "--overwrite"], (), [before], read),
    ]

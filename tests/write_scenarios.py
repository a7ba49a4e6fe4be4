"""Commands, what they read, and what is there before them.

``scenarios`` has every command that writes, with and without an output that is there before.
``more_scenarios`` has commands that only print, and other inputs and formats of those that write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from fuzz.document_subjects import NESTED
from fuzz.document_subjects import SUBJECTS as DOCUMENT_SOURCES
from fuzz.subject import Subject
from fuzz.vector_subjects import IMAGE_FORMATS
from fuzz.vector_subjects import SUBJECTS as VECTOR_SOURCES
from write_kills import Scenario

_TEXTS = (
    "the owl and the cat sat",
    "stocks and bonds fell today",
    "a cat saw the owl fly",
    "bonds",
)
_QUIET = "--quiet"
_LAPS = ["--laps", "3", "--topics", "3", "--checkpoint-every", "1", "--batches", "2", _QUIET]
_NESTED = [f"--{name.replace('_', '-')}={field}" for name, field in NESTED.items()]
_MORE_WORDS = {  # of an ingest of a source
    "mallet": ["--format", "mallet"],
    **dict.fromkeys(("json-nested", "parquet-bytes", "arrow-bytes"), _NESTED),
    **{f"{name}-numbers": ["--kind", "vectors"] for name in ("csv", "parquet", "arrow")},
    **{name: ["--patches", "4"] for name in IMAGE_FORMATS},
}
_TOPIC_FILES = {"csv": "csv", "parquet": "parquet", "matrix-market": "mtx", "mallet": "tsv"}
_GUIDE = 'animals = ["owl", "cat"]\nmoney = ["bond*", "stocks"]\n'
_OPTIONS = 'topics = 3\nmodel = "lda"\nlaps = 2\neta = 0.1\nlearn-hyperparameters = true\n'


Run = Callable[[list[str], Path], None]
MakeSubject = Callable[[Path], Subject]


def import_all() -> None:
    """What children run, imported once in the parent, as it takes a second; kernels too."""
    import sparsetopics.answers.exports.exporting
    import sparsetopics.answers.updating
    import sparsetopics.evaluation.evaluate
    import sparsetopics.evaluation.report.report
    import sparsetopics.runs.train  # noqa: F401
    from sparsetopics import LDA

    LDA(2, max_iter=1).fit(list(_TEXTS))


def make_given(folder: Path, run: Run, seed: int = 0) -> None:
    """What ``scenarios`` read; ``run`` runs a command in a folder."""
    import matplotlib.image

    folder.mkdir()
    rng = np.random.default_rng(seed)
    for name, n_docs in (("texts", 60), ("others", 40), ("more", 20)):
        lines = [
            {"id": f"{name}{n}", "text": " ".join(rng.choice(_TEXTS, 3)),
             "section": "ab"[n % 2], "date": f"2020-0{n % 3 + 1}-01", "length": n % 7 + seed}
            for n in range(n_docs)
        ]  # fmt: skip
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
        ["update", "before", "grown", "--out", "updated", _QUIET],
        ["ingest", "texts.jsonl", "--keep", "all", "--out", "fields", _QUIET],
        ["path", "train", "--rungs", "4,2", "--laps", "2", "--out", "path", _QUIET],
    ):  # fmt: skip
        run(command, folder)


def make_more(folder: Path, run: Run) -> None:
    """What ``more_scenarios`` read besides, in the folder of ``make_given``."""
    for name, subject in (DOCUMENT_SOURCES | VECTOR_SOURCES).items():
        (folder / "sources" / name).mkdir(parents=True)
        for file, data in subject(folder).files.items():
            (folder / "sources" / name / file).write_bytes(data)
    (folder / "guide.toml").write_text(_GUIDE)
    (folder / "options.toml").write_text(_OPTIONS)
    (folder / "stop.txt").write_text("the\nand\n")
    for command in (
        ["ingest", "vectors.npy", "--pca", "2", "--out", "projected", _QUIET],
        ["train", "vectors", "--model", "mixture", "--out", "vector-run", *_LAPS],
        ["train", "train", "--model", "mixture", "--likelihood", "multinomial",
         "--out", "document-run", *_LAPS],
        ["train", "train", "--model", "lda", "--runs", "2", "--keep-state",
         "--out", "consensus", *_LAPS],
        ["export", "run", "--to", "names", "--out", "names.toml", _QUIET],
        ["edit", "run", "--themes", "2", "--out", "edited", _QUIET],
        *(["export", "run", "--to", format_name, "--out", f"topics.{suffix}", _QUIET]
          for format_name, suffix in _TOPIC_FILES.items()),
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
    path = f"path {g}/train --rungs 4,2 --laps 2 --checkpoint-every 1 --out out --quiet"
    pairs = [
        ("ingest documents", f"ingest {g}/texts.jsonl --out out --quiet",
         f"ingest {g}/others.jsonl --out out --quiet", validate),
        ("ingest vectors", f"ingest {g}/vectors.npy --out out --quiet",
         f"ingest {g}/other-vectors.npy --out out --quiet", validate),
        ("corpus split", split, f"{split} --seed 5", ["corpus", "validate", "h"]),
        ("train", lda, [*lda, "--seed", "3"], topics),
        ("train: mixture", mixture, lda, topics),
        ("train: keep state", [*lda, "--keep-state"], [*lda, "--seed", "3"], topics),
        ("update", f"update {g}/before {g}/grown --out out --quiet", lda, topics),
        ("infer", f"infer {g}/run {g}/heldout --out out.csv",
         f"infer {g}/other-run {g}/heldout --out out.csv", ["repair", "out.csv"]),
        ("report", f"report {g}/run --out out.html", f"report {g}/other-run --out out.html",
         ["repair", "out.html"]),
        ("plot", f"plot {g}/run themes --out out.pdf", f"plot {g}/other-run themes --out out.pdf",
         ["repair", "out.pdf"]),
        ("evaluate", f"evaluate {g}/run {g}/heldout {scored}",
         f"evaluate {g}/other-run {g}/heldout {scored}", ["repair", "out.html"]),
        ("export: mallet", f"export {g}/run --to mallet --out out",
         f"export {g}/other-run --to mallet --out out", ["evaluate", "out", f"{g}/heldout"]),
        ("export: gensim", f"export {g}/run --to gensim --out out.gensim",
         f"export {g}/other-run --to gensim --out out.gensim",
         ["evaluate", "out.gensim", f"{g}/heldout", "--unpickle"]),
        ("corpus export", f"corpus export {g}/train --to lda-c --out out",
         f"corpus export {g}/heldout --to lda-c --out out", ["repair", "out"]),
        ("denoise", f"denoise {g}/patch-run {g}/photo.png --out out",
         f"denoise {g}/patch-run {g}/other.png --out out", ["repair", "out"]),
        ("path", path, f"{path} --seed 3", ["report", "out", "--methods"]),
        ("edit", f"edit {g}/run --themes 2 --laps 1 --corpus {g}/train --out out", lda, topics),
        ("diff", f"diff {g}/before {g}/updated --corpus {g}/grown --out out.html",
         f"report {g}/run --out out.html", ["repair", "out.html"]),
        ("prevalence", f"prevalence {g}/run {g}/fields --by section --out out.csv",
         f"prevalence {g}/run {g}/fields --over date:month --out out.csv", ["repair", "out.csv"]),
    ]  # fmt: skip
    whole, exported = [*lda, "--keep-state"], f"export {g}/run --to mallet --out out".split()
    return [
        *(each for name, *parts in pairs for each in _new(name, *parts)),
        Scenario("ingest --append", f"ingest {g}/more.jsonl --append out --quiet".split(), ("out",),
                 [f"ingest {g}/texts.jsonl --out out --quiet".split()], validate),
        # Documents without ids and new words: repeated by mistake, they would be there twice.
        Scenario("ingest --append: new words",
                 f"ingest {g}/nights.lines --append out --grow-vocabulary --quiet".split(),
                 ("out",), [f"ingest {g}/texts.jsonl --out out --quiet".split()], validate),
        Scenario("resume", ["resume", "out", "--laps", "5", "--quiet"], ("out",), [whole], topics),
        Scenario("resume: interrupted", ["resume", "out", "--quiet"], ("out",), [lda], topics,
                 is_interrupted=True),
        Scenario("resume: path", ["resume", "out", "--quiet"], ("out",), [path.split()],
                 ["report", "out", "--methods"], is_interrupted=True),
        Scenario("repair", ["repair", "out"], (".out.sparsetopics/journal.json",),
                 [f"export {g}/other-run --to mallet --out out".split(),
                  [*exported, "--overwrite"]],
                 ["evaluate", "out", f"{g}/heldout"], is_interrupted=True),
    ]  # fmt: skip


def _new(
    name: str, command: str | list[str], other: str | list[str], read: list[str]
) -> list[Scenario]:
    """Into a free place, and over what ``other`` has made."""
    words = _quiet(command) if isinstance(command, str) else command
    before = other.split() if isinstance(other, str) else other
    return [
        Scenario(name, words, (), [], read),
        Scenario(f"{name} --overwrite", [*words, "--overwrite"], (), [before], read),
    ]


def _quiet(command: str) -> list[str]:
    """With errors alone on stderr, unless that would hide what is asked for."""
    words = command.split()
    is_hidden = "--methods" in words or _QUIET in words
    return words if is_hidden else [*words, _QUIET]


def more_scenarios(given: Path) -> list[Scenario]:
    """Outputs are none, or new."""
    g = str(given)
    validate, topics = "corpus validate out", "topics out"
    printed = [
        ("corpus info", f"corpus info {g}/fields --json", ""),
        ("corpus info: vectors", f"corpus info {g}/projected --json", ""),
        ("corpus validate", f"corpus validate {g}/fields --json", ""),
        ("corpus validate: patches", f"corpus validate {g}/patches --json", ""),
        ("corpus split: vectors",
         f"corpus split {g}/projected --out-train out --out-heldout h", validate),
        ("corpus export: gensim", f"corpus export {g}/train --to gensim --out out.mm", ""),
        ("corpus export: matrix-market",
         f"corpus export {g}/train --to matrix-market --out out.mtx", ""),
        ("topics", f"topics {g}/run --json", ""),
        ("topics: names", f"topics {g}/run --names {g}/names.toml --json", ""),
        ("topics: find", f"topics {g}/updated --find owl --json", ""),
        ("topics: mixture", f"topics {g}/document-run --json", ""),
        ("evaluate: texts", f"evaluate {g}/run {g}/heldout --texts {g}/others.jsonl --json", ""),
        ("evaluate: vectors", f"evaluate {g}/vector-run {g}/vectors --json", ""),
        *((f"evaluate: {name}", f"evaluate {g}/topics.{suffix} {g}/heldout --json", "")
          for name, suffix in _TOPIC_FILES.items()),
        ("diff: print", f"diff {g}/before {g}/updated --json", ""),
        ("documents", f"documents {g}/run {g}/fields --json", ""),
        ("prevalence: formula",
         f"prevalence {g}/run {g}/fields --formula ~section*s(length) --json", ""),
        ("prevalence: runs", f"prevalence {g}/consensus {g}/fields --by section "
         f"--runs {g}/consensus --json", ""),
        ("infer: text", f"infer {g}/run --text owl --json", ""),
        ("infer: words", f"infer {g}/run {g}/heldout --tokens --out out.jsonl", ""),
        ("infer: novelty",
         f"infer {g}/run {g}/fields --novelty {g}/train --over date:month --out out.arrow", ""),
        ("infer: vectors", f"infer {g}/vector-run {g}/vectors --out out.parquet", ""),
        ("report: fields", f"report {g}/run --corpus {g}/fields --by section --over date:month "
         "--out out.json", ""),
        ("report: path", f"report {g}/path --corpus {g}/train --out out.md", ""),
        ("report: vectors", f"report {g}/vector-run --corpus {g}/vectors --out out.json", ""),
        ("report: methods", f"report {g}/run --corpus {g}/train --methods", ""),
        ("plot: groups", f"plot {g}/run groups --corpus {g}/fields --by section --out out.svg", ""),
        ("plot: numbers", f"plot {g}/path numbers --out out.png", ""),
        ("edit: edits", f"edit {g}/run --edits {g}/edited/edits.toml --out out", topics),
        ("edit: names", f"edit {g}/run --names {g}/names.toml --out out", topics),
        *((f"export: {name}", f"export {g}/run --to {name} --out out.{name}", "")
          for name in ("csv", "parquet", "matrix-market", "names")),
        *((f"export: {name}", f"export {g}/run --to {name} --corpus {g}/train --out out.json", "")
          for name in ("pyldavis",)),
        ("export: datamapplot",
         f"export {g}/run --to datamapplot --corpus {g}/train --out out.parquet", ""),
        ("export: newick", f"export {g}/path --to newick --out out.nwk", ""),
        ("train: guide", f"train {g}/train --config {g}/options.toml --guide {g}/guide.toml "
         "--out out --quiet", topics),
        ("train: start", f"train {g}/train --start {g}/run --laps 1 --out out --quiet", topics),
        ("train: heldout", f"train {g}/train --heldout {g}/heldout --model hdp --topics 3 "
         "--laps 2 --out out --quiet", topics),
        ("ingest documents: phrases",
         f"ingest {g}/texts.jsonl --phrases --stop-words {g}/stop.txt --out out --quiet", validate),
        ("ingest documents: vocabulary",
         f"ingest {g}/others.jsonl --vocabulary {g}/corpus --out out --quiet", validate),
        ("ingest vectors: projection",
         f"ingest {g}/other-vectors.npy --projection {g}/projected --out out --quiet", validate),
    ]  # fmt: skip
    return [
        *(Scenario(name, _quiet(each), (), [], read.split()) for name, each, read in printed),
        *_ingests(given / "sources", "ingest documents", DOCUMENT_SOURCES),
        *_ingests(given / "sources", "ingest vectors", VECTOR_SOURCES),
    ]


def _ingests(folder: Path, row: str, sources: Mapping[str, MakeSubject]) -> list[Scenario]:
    """An ingest of each source; the first of its files is the one to name."""
    validate = ["corpus", "validate", "out"]
    mains = {name: next(iter(subject(folder).files)) for name, subject in sources.items()}
    return [
        Scenario(f"{row}: {name}",
                 ["ingest", str(folder / name / main), "--out", "out", _QUIET,
                  *_MORE_WORDS.get(name, [])],
                 (), [], validate)
        for name, main in mains.items() if name != "stop-words"
    ]  # fmt: skip

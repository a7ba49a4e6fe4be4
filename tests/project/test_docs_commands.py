"""The commands and the Python of the users' pages run as printed, on small data of the same names.

The tutorials and the gallery have their own tests, in ``test_docs`` and ``test_gallery``.
"""

import re
import shlex
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from dask_processes import forked_workers
from sparsetopics.evaluation import quickstart
from worlds.clumped_mixtures import draw_clumps
from worlds.example_world import run, take

ROOT = Path(__file__).parents[2]
if not (ROOT / "docs").is_dir():
    pytest.skip("needs docs/, which the source archive leaves out", allow_module_level=True)
BLOCK = re.compile(r"(<!-- not tested: .*? -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
DOCUMENTS = {"news": "corpus", "train": "corpus", "heldout": "heldout"}
RUNS = {name: name for name in ("run", "run-50", "run-100", "path", "mallet.txt")}
IMAGES = {name: name for name in ("photos", "noisy.png")}
IMAGES |= {"clean.png": "noisy.png", "noisy": "photos"}
THINGS = {  # what each page needs but does not make: its name there, its name in example_world
    "README.md": {"stories": "stories"},
    "docs/index.md": {},
    "docs/coming-from.md": {
        **{name: name for name in ("corpus.mm", "corpus.dictionary.txt", "heldout", "run")},
        "weights.txt": "mallet.txt",
    },
    "docs/coming-from/bertopic.md": {},
    "docs/coming-from/stm.md": {"articles.csv": "articles.csv"},
    "docs/coming-from/topica.md": {},
    "docs/papers.md": {},
    "docs/which-model.md": DOCUMENTS,
    "docs/how-to/clusters.md": {"train": "corpus", "stories": "stories"},
    "docs/how-to/consensus.md": DOCUMENTS,
    "docs/how-to/denoise.md": IMAGES,
    "docs/how-to/documents.md": DOCUMENTS | RUNS | {"articles.csv": "articles.csv"},
    "docs/how-to/edit-topics.md": DOCUMENTS | {"run": "known-run"},
    "docs/how-to/evaluate.md": DOCUMENTS | RUNS,
    "docs/how-to/export.md": DOCUMENTS | RUNS | {"factors.npy": "factors.npy"},
    "docs/how-to/ingest.md": {
        name: name for name in ("stories", "new.jsonl", "newer.jsonl", "articles.csv")
    },
    "docs/how-to/figures.md": DOCUMENTS | RUNS,
    "docs/how-to/infer.md": DOCUMENTS | RUNS,
    "docs/how-to/inference-anywhere.md": {"run": "run", "posts.parquet": "posts.parquet"},
    "docs/how-to/interrupted-runs.md": {"run": "run", "corpus": "corpus"},
    "docs/how-to/prevalence.md": DOCUMENTS | RUNS,
    "docs/how-to/python.md": {},
    "docs/how-to/reports.md": DOCUMENTS | RUNS,
    "docs/how-to/serve.md": {"run": "run"},
    "docs/how-to/themes.md": DOCUMENTS | {"run": "known-run"},
    "docs/how-to/topic-paths.md": DOCUMENTS,
    "docs/how-to/train.md": DOCUMENTS,
    "docs/how-to/vectors.md": DOCUMENTS
    | IMAGES
    | {"digits.npz": "digits.npz", "new-digits.npz": "digits.npz", "table.csv": "table.csv"},
}
LIBRARIES = {  # what the Python of a page imports, which may not be installed
    "docs/how-to/inference-anywhere.md": ("duckdb", "polars", "datasets"),
    "docs/how-to/serve.md": ("fastapi",),
}
TUTORIALS = {"docs/tutorial.md", "docs/sections-and-dates.md", "docs/gallery.md"}
WITHOUT_COMMANDS = {
    "docs/api.md",
    "docs/design/clusters.md",
    "docs/design/departures.md",
    "docs/design/files.md",
    "docs/design/reports.md",
    "docs/design/training.md",
    "docs/how-to/guided-topics.md",
    "docs/how-to/json.md",
    "docs/how-to/nightly.md",
    "docs/mathematics.md",
    "docs/scaling.md",
}


def blocks(page):
    """Return the language and the text of each block that is to be run."""
    found = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    return [(language, text) for untested, language, text in found if not untested]


def commands(text):
    """Return the arguments of every ``sparsetopics`` command in a block, also after ``&&``."""
    lines = text.replace("\\\n", " ").replace("&&", "\n").splitlines()
    words = [shlex.split(line.partition(" > ")[0], comments=True) for line in lines]
    return [line[1:] for line in words if line[:1] == ["sparsetopics"]]


@pytest.mark.parametrize("page", THINGS)
def test_the_commands_of_a_page_run(example_world, tmp_path, monkeypatch, page):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(quickstart, "TRAINING", replace(quickstart.TRAINING, laps=1))
    take(example_world, THINGS[page], tmp_path)
    for language, text in blocks(page):
        if language == "toml":
            (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    with forked_workers() if page.endswith("clusters.md") else nullcontext():
        for language, text in blocks(page):
            for words in commands(text) if language == "sh" else ():
                run(*words)


@pytest.mark.parametrize("page", [page for page in THINGS if page != "README.md"])
def test_the_python_of_a_page_runs(example_world, tmp_path, monkeypatch, page):
    """Run all blocks of a page in one session. The README's Python is a doctest."""
    for library in LIBRARIES.get(page, ()):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    take(example_world, THINGS[page], tmp_path)
    session = {"values": draw_clumps(0, 200, 3).values}
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, page, "exec"), session)


def test_no_page_is_forgotten():
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert pages == {*THINGS, *WITHOUT_COMMANDS, *TUTORIALS} - {"README.md"}
    for page in WITHOUT_COMMANDS:
        assert not any(language in ("sh", "python") for language, _ in blocks(page))

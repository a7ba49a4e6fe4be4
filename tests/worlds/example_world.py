"""What the examples of help texts and pages take for granted: sources, corpora and runs."""

import csv
import gzip
import json
import shlex
import shutil
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from resealing import reseal
from sparsetopics.base.errors import SparsetopicsWarning
from sparsetopics.cli.main import main
from worlds.clumped_mixtures import draw_clumps
from worlds.collections_on_disk import make_texts, write_jsonl
from worlds.vectors_on_disk import make_vectors

KNOWN_IDS = ("bcdfghjk", "mnpqrstv", "wxyzbcdf")  # which examples of edits name
QUICK = {"laps": 2, "quiet": True, "overwrite": True}  # unless an example says otherwise
OVERWRITE = {"overwrite": True}
USUAL = {
    "train": QUICK,
    "path": QUICK,
    "resume": {"quiet": True},
    "ingest": {"quiet": True, "overwrite": True},
    "corpus": {"split": OVERWRITE, "export": OVERWRITE},
}
USUAL_OF_FILES = dict.fromkeys(
    ("infer", "prevalence", "export", "report", "plot", "denoise"), OVERWRITE
)


def run(*arguments):
    """A command of ours, quick and free to overwrite."""
    words = [str(argument) for argument in arguments]
    usual = USUAL | (USUAL_OF_FILES if "--out" in words else {})
    if "--append" in words:  # which has nothing to overwrite
        usual |= {"ingest": {"quiet": True}}
    if "--report" in words:
        usual |= {"evaluate": OVERWRITE}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparsetopicsWarning)  # more topics than documents
        result = CliRunner().invoke(main, words, default_map=usual)
    assert result.exit_code == 0, f"sparsetopics {shlex.join(words)}\n{result.output}"


def write_sources(folder):
    """What people have before they begin."""
    # One text in three has words that examples infer the topics of, and find topics by.
    texts = [
        text if n % 3 else f"{text} firefighters homes" for n, text in enumerate(make_texts(240, 0))
    ]
    for name in ("stories", "news-as-text", "photos", "texts"):
        (folder / name).mkdir()
    lines = with_fields(write_jsonl(folder / "news.jsonl", texts)).read_bytes()
    (folder / "stories" / "all.jsonl.gz").write_bytes(gzip.compress(lines))
    with zipfile.ZipFile(folder / "news.zip", "w") as archive:
        archive.writestr("all.jsonl", lines)
    for n, text in enumerate(texts[:120]):
        (folder / "news-as-text" / f"{n}.txt").write_text(text, encoding="utf-8")
    write_jsonl(folder / "new.jsonl", make_texts(60, 1))
    write_jsonl(folder / "newer.jsonl", make_texts(60, 2), "newer")
    with_fields(write_jsonl(folder / "today.jsonl", make_texts(60, 3), "today"))
    np.savez(folder / "digits.npz", values=make_vectors(120, 64))
    np.save(folder / "vectors.npy", draw_clumps(0, 200, 3).values)
    rows = [f"{n % 7}.5,{n % 5}.25,kind-{n % 2}" for n in range(30)]
    (folder / "table.csv").write_text("\n".join(["height,width,species", *rows]))
    stories = [("id", "text", "section", "date", "zip")]
    stories += [(n, text, *fields_of(n).values(), f"0{n}") for n, text in enumerate(texts)]
    with (folder / "articles.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(stories)
    posts = {"id": range(len(texts)), "body": [*texts[:-1], "zzz"]}
    pq.write_table(pa.table(posts), folder / "posts.parquet")
    images = pytest.importorskip("PIL.Image", reason="needs Pillow")
    rng = np.random.default_rng(0)
    for path in (folder / "photos" / "one.png", folder / "noisy.png"):
        images.fromarray(rng.integers(0, 256, (40, 48), dtype=np.uint8)).save(path)
    shutil.copy(folder / "noisy.png", folder / "photos" / "noisy.png")  # its clean version


def fields_of(number):
    """The section and the date of a document."""
    return {"section": "ab"[number % 2], "date": f"2024-0{number % 9 + 1}"}


def with_fields(path):
    """The file of JSON lines, with a section and a date in each line."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [json.dumps({**record, **fields_of(n)}) for n, record in enumerate(records)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def write_gensim_corpus(folder):
    """``corpus.mm`` and its dictionary as text."""
    from gensim.corpora import Dictionary, MmCorpus

    texts = [text.lower().split() for text in make_texts(50)]
    dictionary = Dictionary(texts)
    dictionary.save_as_text(str(folder / "corpus.dictionary.txt"))
    MmCorpus.serialize(str(folder / "corpus.mm"), map(dictionary.doc2bow, texts))


def know_ids(run):
    """Give the first topics of a run the ids that examples name, in its tree too."""
    topics = json.loads((run / "model.json").read_text())["topics"]
    ids = [topic["id"] for topic in topics]
    for own, known in zip(ids, KNOWN_IDS, strict=False):
        for name in ("model.json", "themes.json"):
            path = run / name
            path.write_text(path.read_text().replace(f'"{own}"', f'"{known}"'))
    reseal(run)


def make_world(folder):
    """All of it, in an empty folder."""
    write_sources(folder)
    write_gensim_corpus(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run("ingest", "news.jsonl", "--keep", "section,date", "--out", "corpus")
        run("ingest", "new.jsonl", "--vocabulary", "corpus", "--out", "heldout")
        run("ingest", "vectors.npy", "--out", "vectors")
        run("ingest", "digits.npz", "--out", "digits")
        run("ingest", "photos", "--patches", 8, "--stride", 4, "--out", "patches")
        run("train", "corpus", "--topics", 3, "--keep-state", "--out", "run")
        for n_topics in (50, 100):
            run("train", "corpus", "--topics", n_topics, "--laps", 1, "--out", f"run-{n_topics}")
        shutil.copytree("run-50", "known-run")  # with enough topics for the themes of examples
        know_ids(Path("known-run"))
        run("path", "corpus", "--rungs", "6,3", "--out", "path")
        run("export", "run", "--to", "mallet", "--out", "mallet.txt")
        run("export", "run", "--to", "names", "--out", "names.toml")
        n_words = len((folder / "mallet.txt").read_text(encoding="utf-8").splitlines()) // 3
        topics = np.random.default_rng(0).dirichlet(np.ones(n_words), 3)
        np.save(folder / "factors.npy", topics)


def take(world, wanted, folder):
    """Copy things of the world to a folder, under the names by which they are wanted."""
    for here, there in wanted.items():
        copy = shutil.copytree if (world / there).is_dir() else shutil.copy
        copy(world / there, folder / here)

"""Each file of every kind of folder, replaced by the same file of another folder of its kind.

Commands either refuse the folder in one line, or do what they do with the sound folder.
"""

import json
import shutil
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from sparsetopics.base.sealed_files import write_sealed
from sparsetopics.cli.main import main
from sparsetopics.corpora.sources import byte_stream
from sparsetopics.corpora.store import unfinished
from sparsetopics.model.memo import Memo
from sparsetopics.runs import train as training
from worlds.collections_on_disk import make_texts
from worlds.vectors_on_disk import make_vectors

pytestmark = pytest.mark.filterwarnings("ignore::sparsetopics.base.errors.SparsetopicsWarning")

# Names that commands below begin with stand for folders: WORLD for what all tests read, IT for the
# folder with the swapped file, OUT for what the command makes. SEED is that of the data.
LAPS = "--topics 3 --laps 2 --batches 2 --quiet"
TRAIN = f"train WORLD/SEED/documents --seed SEED --out IT {LAPS} --model"
TRAIN_MIXTURE = f"train WORLD/SEED/vectors --seed SEED --out IT {LAPS} --model"
GROW = TRAIN_MIXTURE.replace("--topics 3 ", "").replace("--batches 2 ", "")
PATH = "path WORLD/SEED/documents --rungs 4,2 --seed SEED --laps 2 --quiet --out IT"
INGEST_PHRASES = "ingest WORLD/{}.jsonl --phrases --keep all --out IT --quiet"

OF_CORPORA = (
    "corpus info IT --json",
    "corpus validate IT --json",
    "corpus split IT --out-train OUT --out-heldout OUT-2",
)
OF_DOCUMENTS = (
    *OF_CORPORA,
    "corpus export IT --to lda-c --out OUT",
    f"train IT --out OUT {LAPS}",
    "ingest WORLD/more.jsonl --vocabulary IT --out OUT --quiet",
    "ingest WORLD/more.jsonl --append IT --quiet",
    "evaluate WORLD/lda IT --json",
)
OF_FIELDS = (
    *OF_CORPORA,
    "documents WORLD/lda IT --topic 0 --json",
    "prevalence WORLD/lda IT --by section --json",
    "report WORLD/lda --corpus IT --out OUT.html",
)
OF_VECTORS = (
    *OF_CORPORA,
    f"train IT --model mixture --out OUT {LAPS}",
    "ingest WORLD/0.npy --projection IT --out OUT --quiet",
    "evaluate WORLD/mixture IT --json",
)
OF_RUNS = ("report IT --out OUT.html", "export IT --to csv --out OUT.csv")
OF_TOPICS = (
    *OF_RUNS,
    "topics IT --json",
    "evaluate IT WORLD/0/documents --json",
    "infer IT WORLD/0/documents --out OUT.csv",
)
OF_LDA = (
    *OF_TOPICS,
    "train WORLD/0/documents --start IT --laps 1 --quiet --out OUT",
    "ingest WORLD/more.jsonl --vocabulary IT --out OUT --quiet",
)
OF_MIXTURES = (*OF_RUNS, "evaluate IT WORLD/0/vectors --json")
OF_PATHS = (
    "report IT --out OUT.html",
    "export IT --to newick --out OUT.nwk",
    "resume IT --quiet",
)

EDITABLE = {"it/config.toml": "users may edit it; `train --config` does what it says"}
FOR_PEOPLE = {"it/state/trace.jsonl": "for people to look at; no command reads it"}
WORK = ".it.sparsetopics"
MADE_AGAIN = {
    f"{WORK}/tokenizer.json": "phrases of another ingest are learned again",
    f"{WORK}/spool/block-000000.arrow": "blocks of another ingest are read again",
    f"{WORK}/spool/block-000001.arrow": "blocks of another ingest are read again",
}


def later_memo(*numbers):
    reason = "written in the lap that was interrupted; the checkpoint names others"
    return {f"it/state/memo/memo-{number:08d}.npz": reason for number in numbers}


class Kind(NamedTuple):
    """A kind of folder."""

    make: str  # the commands that write it
    read: tuple[str, ...]  # the commands that read it
    harmless: dict[str, str]  # the files that none of them refuses, and why
    stopped_after: int = 0  # laps, or blocks of an ingest; 0: it is not interrupted


KINDS = {
    "documents": Kind("ingest WORLD/SEED.jsonl --out IT --quiet", OF_DOCUMENTS, {}),
    "documents with fields": Kind(
        "ingest WORLD/SEED.jsonl --keep all --out IT --quiet", OF_FIELDS, {}
    ),
    "documents in two shards": Kind(
        "ingest WORLD/SEED.jsonl --keep all --out IT --quiet;"
        "ingest WORLD/more.jsonl --append IT --quiet",
        OF_CORPORA,
        {},
    ),
    "interrupted ingest": Kind(
        INGEST_PHRASES.format("SEED"), (INGEST_PHRASES.format(0),), MADE_AGAIN, stopped_after=2
    ),
    "vectors": Kind("ingest WORLD/SEED.npy --pca 3 --out IT --quiet", OF_VECTORS, {}),
    "patches": Kind("ingest WORLD/SEED.png --patches 4 --out IT --quiet", OF_CORPORA, {}),
    "lda": Kind(f"{TRAIN} lda", OF_LDA, EDITABLE),
    "hdp": Kind(f"{TRAIN} hdp", OF_TOPICS[:3], EDITABLE),
    "mixture of documents": Kind(
        f"{TRAIN} mixture --likelihood multinomial", OF_TOPICS[:3], EDITABLE
    ),
    "mixture": Kind(f"{TRAIN_MIXTURE} mixture", OF_MIXTURES, EDITABLE),
    "dp-mixture": Kind(f"{TRAIN_MIXTURE} dp-mixture", OF_MIXTURES, EDITABLE),
    "run with its state": Kind(
        f"{TRAIN} lda --keep-state",
        ("resume IT --laps 4 --quiet", "resume IT --quiet", "topics IT --json"),
        EDITABLE,
    ),
    "interrupted training": Kind(
        f"{TRAIN} lda --checkpoint-every 1",
        ("resume IT --quiet",),
        FOR_PEOPLE | later_memo(5, 6, 7, 8),
        stopped_after=1,
    ),
    "interrupted growth": Kind(
        f"{GROW} dp-mixture --learner accelerated --checkpoint-every 1",
        ("resume IT --quiet",),
        FOR_PEOPLE,
        stopped_after=1,
    ),
    "path": Kind(PATH, (*OF_PATHS, "topics IT/4 --json", "topics IT/2 --json"), EDITABLE),
    "interrupted path": Kind(
        f"{PATH} --checkpoint-every 1",
        ("resume IT --quiet",),
        FOR_PEOPLE | later_memo(14, 15, 16, 17),
        stopped_after=3,
    ),
}  # fmt: skip
HOLD_TIMES = ("trace.jsonl", "model.json", "path.json")  # or digests that follow from times


def run(line, world, place):
    folders = {"WORLD": world, "OUT": place / "out", "IT": place / "it"}
    words = line.split()
    for name, folder in folders.items():
        words = [f"{folder}{word.removeprefix(name)}" if word.startswith(name) else word
                 for word in words]  # fmt: skip
    return CliRunner().invoke(main, words)


def sound(line, world, place):
    found = run(line, world, place)
    assert found.exit_code == 0, found.output
    return found


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """A small collection is read in several blocks."""
    monkeypatch.setattr(byte_stream, "BLOCK_BYTES", 3_000)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Sources of two collections of the same shape, their corpora, and runs of the first."""
    import matplotlib.image

    folder = tmp_path_factory.mktemp("world")
    for name, seed in (("0", 0), ("1", 1), ("more", 0)):
        lines = [
            {"id": f"{name}-{n}", "text": text, "section": "ab"[n % 2], "year": 2000 + n % 3 + seed}
            for n, text in enumerate(make_texts(90, seed))
        ]
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for seed in (0, 1):
        np.save(folder / f"{seed}.npy", make_vectors(60, 4, seed))
        picture = np.random.default_rng(seed).random((16, 16))
        matplotlib.image.imsave(folder / f"{seed}.png", picture, cmap="gray")
        (folder / str(seed)).mkdir()
        sound(f"ingest WORLD/{seed}.jsonl --out WORLD/{seed}/documents --quiet", folder, folder)
        sound(f"ingest WORLD/{seed}.npy --out WORLD/{seed}/vectors --quiet", folder, folder)
    sound(f"train WORLD/0/documents --model lda --out WORLD/lda {LAPS}", folder, folder)
    pca = "ingest WORLD/0.npy --pca 3 --out WORLD/pca --quiet"
    sound(pca, folder, folder)
    sound(f"train WORLD/pca --model mixture --out WORLD/mixture {LAPS}", folder, folder)
    return folder


def make(kind, seed, world, place):
    """Write a folder of this kind from the data of a seed, in ``place``."""
    place.mkdir(parents=True)
    for line in kind.make.replace("SEED", str(seed)).split(";"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Memo.__init__, "__defaults__", (0,))  # memoized batches are in files
            if kind.stopped_after:
                stop_after(patch, kind.stopped_after)
            found = run(line, world, place)
        assert found.exit_code == (130 if kind.stopped_after else 0), found.output
    return place


def stop_after(patch, number):
    """Stop training after a number of laps, and an ingest after a number of blocks."""

    def training_stops(plan, task, folder, hooks):
        def on_lap(entry):
            if entry["lap"] > number:
                raise KeyboardInterrupt

        return finish(plan, task, folder, hooks._replace(on_lap=on_lap))

    def ingest_stops(placed):
        if int(placed[1].stem.removeprefix("block-")) >= number:  # threads may be ahead
            raise KeyboardInterrupt
        return write(placed)

    finish, write = training.finish_training, unfinished._write
    patch.setattr(training, "finish_training", training_stops)
    patch.setattr(unfinished, "_write", ingest_stops)


def files_in(place):
    found = (path for path in place.rglob("*") if path.is_file() and path.name != "lock")
    return sorted(str(path.relative_to(place)) for path in found)


def outcome(line, world, place):
    """The error that a command ends with; or what it says and has left in ``place``."""
    found = run(line, world, place)
    if found.exit_code != 0:
        errors = [each for each in found.stderr.splitlines() if each.startswith("Error: ")]
        assert (found.exit_code, len(errors)) == (1, 1), (line, found.output)
        assert str(place) in errors[0]
        return errors[0]
    said = found.stdout if "--json" in line else ""
    names = [name for name in files_in(place) if name.rpartition("/")[2] not in HOLD_TIMES]
    if line.startswith("resume"):
        names = [name for name in names if "/state/" not in name]
    return said, {name: (place / name).read_bytes() for name in names}


def without(found, name):
    """An outcome except for the file of this name."""
    said, files = found
    return said, {each: data for each, data in files.items() if each != name}


@pytest.mark.parametrize("name", KINDS)
def test_no_file_of_another_folder_is_taken_for_the_folders_own(name, world, tmp_path):
    kind, work = KINDS[name], tmp_path / "work"
    own, other = (make(kind, seed, world, tmp_path / str(seed)) for seed in (0, 1))
    assert files_in(own) == files_in(other)
    # Patches of a given size have the same projection.
    names = [
        name for name in files_in(own) if (own / name).read_bytes() != (other / name).read_bytes()
    ]

    def outcome_of(line, swapped=None):
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(own, work)
        if swapped is not None:
            shutil.copyfile(other / swapped, work / swapped)
        return outcome(line, world, work)

    refused, taken = set(), []
    for line in kind.read:
        usual = outcome_of(line)
        assert not isinstance(usual, str), usual
        for swapped in names:
            found = outcome_of(line, swapped)
            if isinstance(found, str):
                refused.add(swapped)
            elif without(found, swapped) != without(usual, swapped):
                taken.append((line, swapped))
    assert taken == []
    assert set(names) - refused == set(kind.harmless)


# --- topic paths ----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def paths(world, tmp_path_factory):
    return [make(KINDS["path"], seed, world, tmp_path_factory.mktemp("path") / "it")
            for seed in (0, 1)]  # fmt: skip


@pytest.fixture
def path(paths, tmp_path):
    shutil.copytree(paths[0], tmp_path / "work")
    return tmp_path / "work" / "it"


@pytest.mark.parametrize("line", OF_PATHS)
@pytest.mark.parametrize("rung", ["4", "2"])
@pytest.mark.parametrize("is_missing", [False, True])
def test_a_path_with_a_run_of_another_path_or_without_one_is_refused(
    paths, path, world, line, rung, is_missing
):
    shutil.rmtree(path / rung)
    if not is_missing:
        shutil.copytree(paths[1] / "it" / rung, path / rung)

    error = outcome(line, world, path.parent)

    problem = "the file is missing" if is_missing else "expected "
    assert isinstance(error, str)
    assert error.startswith(f"Error: {path / rung / 'model.json'}: {problem}")
    hint = "All files of a path must be of one training. Train the path again, or restore the file."
    assert error.endswith(hint)


def test_a_path_of_an_earlier_release_opens_without_digests(paths, path, world):
    content = json.loads((path / "path.json").read_text())
    del content["files"], content["sha256"]
    write_sealed(path / "path.json", content, indent=2)

    for line in OF_PATHS:
        assert not isinstance(outcome(line, world, path.parent), str)
    sound("topics IT/4 --json", world, path.parent)


def test_an_interrupted_path_does_not_take_the_run_of_another_path(world, tmp_path):
    kind = KINDS["interrupted path"]
    own, other = (make(kind, seed, world, tmp_path / str(seed)) for seed in (0, 1))
    rung = "it/state/new/4"
    shutil.rmtree(own / rung)
    shutil.copytree(other / rung, own / rung)

    error = outcome("resume IT --quiet", world, own)

    assert f"{own / rung}: the run is of another training. Train again with --overwrite" in error

"""Digests of what is read back, types of all JSON, and files that cannot be read."""

import json
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

from flipped_bits import contents, flip_bits, make_worlds
from resealing import edit_json, reseal
from rights import only_those_of_modes
from sparsetopics.base.errors import CorpusFormatError, RunError, SparsetopicsError
from sparsetopics.base.sealed_files import FileEntry, Refusal, decoded, read_sealed, write_sealed
from sparsetopics.corpora.corpus import Corpus, load_any_manifest, open_corpus
from sparsetopics.corpora.ingest import IngestOptions, ingest
from sparsetopics.corpora.projection import Projection
from sparsetopics.corpora.store.document_rows import DocumentManifest
from sparsetopics.estimators.loading import load
from sparsetopics.evaluation.report.report import write_run_report
from sparsetopics.model import memo
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.resume import resume_run
from sparsetopics.runs.run import load_run
from sparsetopics.runs.run_files import vocabulary_of
from sparsetopics.runs.train import train_run

REFUSAL = Refusal(RunError, "Make it again")
NAMES = ("documents", "vectors", "lda", "hdp", "mixture")
RUNS = ("lda", "hdp", "mixture")


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    return make_worlds(tmp_path_factory.mktemp("worlds"))


@pytest.fixture
def copy_of(worlds, tmp_path):
    return lambda name: Path(shutil.copytree(worlds[name], tmp_path / name))


# --- digests --------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_a_flipped_bit_is_refused_or_without_effect(copy_of, name):
    outcomes = flip_bits(copy_of(name), 100, np.random.default_rng(1))

    assert outcomes["refused"] > 90


@pytest.mark.parametrize("name", NAMES)
def test_every_file_but_the_config_has_a_digest(copy_of, name):
    """In the file that is written last, which has its own."""
    folder = copy_of(name)
    last = folder / ("manifest.json" if (folder / "manifest.json").exists() else "model.json")
    content = json.loads(last.read_text())
    listed = [*content.get("files", []), *content.get("shards", [])]
    keys = ("vocabulary", "candidates", "projection")
    listed += [content[key] for key in keys if content.get(key)]

    assert {entry["file"] for entry in listed} == {
        path.name for path in folder.iterdir() if path.name not in (last.name, "config.toml")
    }
    assert len(content["sha256"]) == 64


@pytest.mark.parametrize("name", ["model.safetensors", "trace.jsonl"])
def test_a_file_of_another_seed_is_refused(copy_of, worlds, tmp_path, name):
    folder = copy_of("lda")
    plan = RunPlan(worlds["documents"], tmp_path / "other", TrainingOptions(3, laps=2), seed=9)
    train_run(plan)
    shutil.copy(tmp_path / "other" / name, folder / name)

    with pytest.raises(RunError, match=rf"{name}: expected (SHA-256|[\d,]+ bytes)"):
        load_run(folder)


@pytest.mark.parametrize("name", RUNS)
def test_an_edited_digit_is_refused(copy_of, name):
    path = copy_of(name) / "model.json"
    text = path.read_text()
    path.write_text(text.replace('"seed": 0', '"seed": 1'))
    assert path.read_text() != text

    with pytest.raises(
        RunError, match=r"model\.json, sha256: expected .* the digest of the other entries"
    ):
        load_run(path.parent)


def test_json_may_be_laid_out_anew(copy_of):
    folder = copy_of("lda")
    path = folder / "model.json"
    before = contents(folder)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=7))

    assert contents(folder) == before


def _vocabulary_of_corpus(folder):
    return DocumentManifest.load(folder).read_vocabulary(folder)


@pytest.mark.parametrize("name", ["documents", "lda"])
def test_a_vocabulary_is_read_under_its_digest(copy_of, tmp_path, name):
    folder = copy_of(name)
    path = folder / "vocabulary.parquet"
    data = bytearray(path.read_bytes())
    lines = tmp_path / "a.lines"
    lines.write_text("owl")
    is_run = name == "lda"
    read_vocabulary = vocabulary_of if is_run else _vocabulary_of_corpus
    assert read_vocabulary(folder).words

    data[40] ^= 1
    path.write_bytes(data)

    def ingest_with(folder):
        options = IngestOptions(vocabulary=vocabulary_of(folder) if is_run else folder)
        ingest([lines], tmp_path / "c", options)

    for read in (read_vocabulary, ingest_with):
        with pytest.raises(SparsetopicsError, match=r"vocabulary\.parquet: expected SHA-256"):
            read(folder)


@pytest.mark.parametrize("name", ["vectors", "mixture"])
def test_what_has_no_words_has_no_vocabulary(copy_of, name):
    with pytest.raises(
        SparsetopicsError,
        match=r"(found a corpus of vectors|the entry of vocabulary.parquet is missing)",
    ):
        (_vocabulary_of_corpus if name == "vectors" else vocabulary_of)(copy_of(name))


def test_the_file_of_an_older_release_says_what_to_do(tmp_path):
    (tmp_path / "a.json").write_text('{"format_version": 1}')

    with pytest.raises(
        RunError, match=r"version 2, but found 1\. Make it again, or use the release that wrote"
    ):
        read_sealed(tmp_path / "a.json", 2, REFUSAL)


def test_a_file_without_a_digest_is_refused(tmp_path):
    (tmp_path / "a.json").write_text('{"format_version": 2, "a": 1}')

    with pytest.raises(RunError, match=r"a\.json, sha256: expected .*, but found none"):
        read_sealed(tmp_path / "a.json", 2, REFUSAL)


# --- types ----------------------------------------------------------------------------------------
class Inner(msgspec.Struct):
    size: int
    path: Path | None = None


class Outer(msgspec.Struct):
    inner: list[Inner]
    options: TrainingOptions = TrainingOptions(2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "x: expected a JSON object, but found []"),
        ({"inner": {}}, "x, inner: expected a list, but found {}"),
        (
            {"inner": [{"size": 1}, {"size": "1"}]},
            "x, inner[1].size: expected a whole number, but found '1'",
        ),
        ({"inner": [{"size": True}]}, "x, inner[0].size: expected a whole number, but found True"),
        ({"inner": [{}]}, "x, inner[0]: the field size is missing"),
        (
            {"inner": [{"size": 1, "path": "a\0b"}]},
            "x, inner[0].path: expected a string of a path, but found 'a\\x00b'",
        ),
        (
            {"inner": [{"size": 1, "path": "\ud800"}]},
            "x, inner[0].path: expected a string of a path, but found '\\ud800'",
        ),
        ({"inner": [], "\ud800": 1}, "x: a name has half of a surrogate pair"),
        ({"inner": [], "options": {"n_topics": 0}}, "x, options: topics: "),
        (
            {"inner": [], "options": {"n_topics": 10**400}},
            "x, options: topics: ",
        ),
        (
            {"inner": [], "options": {"n_topics": 2, "local": None}},
            "x, options.local: expected a JSON object, but found None",
        ),
    ],
)
def test_what_does_not_fit_is_named(content, message):
    with pytest.raises(RunError) as caught:
        decoded(content, Outer, "x", REFUSAL)

    assert str(caught.value).startswith(message)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize(
    "options",
    [None, [], {"laps": {"a": {}}}, {"local": [1]}, {"moves": {"names": [None]}}, {"x": [[]]}],
)
def test_options_of_other_types_are_refused(copy_of, tmp_path, name, options):
    folder = copy_of(name)
    edit_json(folder / "model.json", options=options)

    for read in (load_run, load, lambda f: write_run_report(tmp_path / "page.html", [f])):
        with pytest.raises(RunError, match=r"model\.json, options"):
            read(folder)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize(
    "options", [{"laps": "many"}, {"local": None}, {"batches": "x"}, {"sparsity": 3, "laps": 0}]
)
def test_options_that_no_estimator_takes_are_refused(copy_of, name, options):
    """The commands do not need them."""
    folder = copy_of(name)
    edit_json(folder / "model.json", options=options)

    assert load_run(folder).model.n_topics
    with pytest.raises(RunError, match=r"model\.json, options"):
        load(folder)


@pytest.mark.parametrize("name", ["lda", "vectors"])
@pytest.mark.parametrize("kind", ["BF16", "F8_E4M3", "F16", "I64"])
def test_numbers_of_other_types_are_refused(copy_of, name, kind):
    folder = copy_of(name)
    (path,) = folder.glob("*.safetensors")
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + length])
    first = next(key for key in head if key != "__metadata__")
    start, end = head[first]["data_offsets"]
    n_bytes = {"BF16": 2, "F16": 2, "F8_E4M3": 1, "I64": 8}[kind]
    head[first] |= {"dtype": kind, "shape": [(end - start) // n_bytes]}
    text = json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    reseal(folder)

    with pytest.raises(
        SparsetopicsError, match=rf"{first}: expected F64 numbers, but found {kind}"
    ):
        contents(folder)


def test_arrays_that_do_not_fit_each_other_are_no_projection(copy_of):
    path = copy_of("vectors") / "projection.safetensors"
    sound = Projection.read(path)

    for spoiled in (
        {"mean": sound.mean[:-1]},
        {"components": sound.components[0]},
        {"variances": sound.variances * np.nan},
        {"inputs": ("a",)},
    ):
        parts = {name: getattr(sound, name) for name in sound.__slots__}
        Projection(**parts | spoiled).save(path.parent)
        with pytest.raises(
            CorpusFormatError, match=r"projection\.safetensors: (arrays of shapes|a number is not)"
        ):
            Projection.read(path)


@pytest.mark.parametrize(("name", "key"), [("documents", "n_documents"), ("vectors", "n_items")])
def test_rows_that_are_only_claimed(copy_of, name, key):
    """A permutation of thousands of millions of documents takes 8 GB."""
    path = copy_of(name) / "manifest.json"
    content = json.loads(path.read_text())
    groups = content["shards"][0]["row_groups"]
    if name == "documents":
        groups[0][0] = 10**9
    else:
        groups[0] = 10**9
    edit_json(path, **content | {key: 10**9})

    with pytest.raises(CorpusFormatError, match=r"shards\[0\]: .*1,000,000,000 rows cannot fit in"):
        open_corpus(path.parent)


# --- state ----------------------------------------------------------------------------------------
@pytest.fixture
def stopped(worlds, tmp_path):
    """A training that was stopped in its second lap."""

    def make(name="run", **others):
        def stop(lap):
            if lap["lap"] == 2:
                raise KeyboardInterrupt

        given = {"n_batches": 2, "checkpoint_every": 1} | others
        plan = RunPlan(worlds["documents"], tmp_path / name, TrainingOptions(3, laps=3), **given)
        with pytest.raises(KeyboardInterrupt):
            train_run(plan, RunHooks(stop))
        return plan.out

    return make


def test_the_checkpoint_of_another_run_is_refused(stopped):
    run, other = stopped("run"), stopped("other", seed=1)
    shutil.copy(other / "state" / "checkpoint.npz", run / "state" / "checkpoint.npz")

    with pytest.raises(RunError, match=r"checkpoint\.npz: the checkpoint is of another run"):
        resume_run(run)


def test_even_one_of_the_same_command(stopped):
    run, other = stopped("run"), stopped("other")
    shutil.copy(other / "state" / "checkpoint.npz", run / "state" / "checkpoint.npz")

    with pytest.raises(RunError, match=r"another run or other options.* or train again with"):
        resume_run(run)


def test_resuming_twice_keeps_the_identity(stopped):
    run = stopped()

    def stop(lap):
        raise KeyboardInterrupt

    before = json.loads((run / "state" / "plan.json").read_text())["plan"]["identity"]
    with pytest.raises(KeyboardInterrupt):
        resume_run(run, watch=lambda options: _Watching(RunHooks(stop)))

    assert json.loads((run / "state" / "plan.json").read_text())["plan"]["identity"] == before
    assert resume_run(run, laps=4).result.laps == 4


class _Watching:
    def __init__(self, hooks):
        self.hooks = hooks

    def __enter__(self):
        return self.hooks

    def __exit__(self, *ending):
        return None


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("finished",), "no", "finished: expected true or false, but found 'no'"),
        (("plan",), [], "plan: expected a JSON object, but found []"),
        (
            ("fingerprints", "corpus"),
            None,
            "fingerprints.corpus: expected a string, but found None",
        ),
        (
            ("plan", "corpus"),
            {"path": "x"},
            "plan.corpus: expected a string of a path, but found {'path': 'x'}",
        ),
        (("plan", "n_batches"), 0, "plan: batches: "),
        (("plan", "seed"), -1, "plan: seed: "),
        (("plan", "workers"), "2", "plan.workers: expected a whole number, but found '2'"),
        (("plan", "executor"), "gpu", "plan.executor: invalid value 'gpu'"),
        (
            ("plan", "options", "n_topics"),
            None,
            "plan.options.n_topics: expected a whole number, but found None",
        ),
        (
            ("plan", "options", "laps"),
            {},
            "plan.options.laps: expected a whole number or null, but found {}",
        ),
        (("plan", "options", "learner"), "x", "plan.options: learner: "),
        (
            ("plan", "scheduler"),
            "tcp://a:1",
            "plan.scheduler: the entry is missing, or does not belong",
        ),
    ],
)
def test_an_edited_plan_is_refused(stopped, place, value, message):
    run = stopped()
    path = run / "state" / "plan.json"
    content = json.loads(path.read_text())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    edit_json(path, **content)

    with pytest.raises(RunError) as caught:
        resume_run(run)

    assert f"{path}, " in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("identity", ["", "\ud800", "0" * 32])
def test_an_edited_identity_is_refused(stopped, identity):
    path = stopped() / "state" / "plan.json"
    content = json.loads(path.read_text())
    content["plan"]["identity"] = identity
    edit_json(path, **content)

    with pytest.raises(RunError, match="the checkpoint is of another run"):
        resume_run(path.parent.parent)


def test_memo_files_of_another_run_are_refused(stopped, monkeypatch):
    monkeypatch.setattr(memo, "MEMORY_BUDGET", 0)
    monkeypatch.setattr(memo.Memo.__init__, "__defaults__", (0,))
    run, other = stopped("run"), stopped("other", seed=1)
    for path in (run / "state" / "memo").iterdir():
        size = path.stat().st_size
        data = (other / "state" / "memo" / path.name).read_bytes()
        path.write_bytes(data.rjust(size, b"\0")[-size:])  # of the same size

    with pytest.raises(
        RunError, match=r"memo-\d+\.npz: its arrays are not those of the checkpoint"
    ):
        resume_run(run)


def test_a_plan_does_not_say_where_the_cluster_is(stopped):
    content = json.loads((stopped() / "state" / "plan.json").read_text())

    assert "scheduler" not in content["plan"]
    assert content["plan"]["executor"] == "threads"


def test_options_that_the_checkpoint_was_not_made_with_are_refused(stopped):
    path = stopped() / "state" / "plan.json"
    content = json.loads(path.read_text())
    content["plan"]["options"]["n_topics"] = 7
    edit_json(path, **content)

    with pytest.raises(RunError, match="of another run or other options"):
        resume_run(path.parent.parent)


# --- files that cannot be read --------------------------------------------------------------------
def test_a_missing_file_is_no_file_that_cannot_be_read(copy_of):
    folder = copy_of("lda")
    (folder / "model.safetensors").unlink()

    with pytest.raises(RunError, match=r"model\.safetensors: the file is missing"):
        load_run(folder)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_in_place_of_a_file_is_refused(copy_of, name):
    folder = copy_of(name)
    for path in sorted(folder.iterdir()):
        if path.name == "config.toml":
            continue
        data = path.read_bytes()
        path.unlink()
        path.mkdir()
        with pytest.raises(SparsetopicsError) as caught:
            contents(folder)
        assert path.name in str(caught.value)
        path.rmdir()
        path.write_bytes(data)


def refusal_of(read, folder):
    try:
        read(folder)
    except SparsetopicsError as error:
        return str(error)
    return "read"


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_may_not_be_read_is_told_with_the_reason(copy_of, name):
    folder = copy_of(name)
    assert contents(folder)  # and all modules are loaded
    for path in sorted(folder.iterdir()):
        if path.name == "config.toml":
            continue
        path.chmod(0)
        with only_those_of_modes():
            said = refusal_of(contents, folder)
        assert f"{path.name}: the file cannot be read (Permission denied)" in said
        path.chmod(0o644)


@pytest.mark.parametrize("name", NAMES)
def test_so_is_a_folder_that_may_not_be_entered(copy_of, name):
    folder = copy_of(name)
    readers = (contents, load_any_manifest, Corpus.open, vocabulary_of, load, resume_run)
    folder.chmod(0)
    for read in readers:
        with only_those_of_modes():
            assert "Permission denied" in refusal_of(read, folder)
    folder.chmod(0o755)


def test_entries_are_of_plain_names():
    for name in ("../x", "/x", "", ".", "a/b", "a\\b", "x" * 300):
        with pytest.raises(ValueError, match="expected a plain file name, but found"):
            FileEntry(name, 0, "")


def test_what_is_sealed_comes_back(tmp_path):
    content = {"format_version": 3, "ψ": [0.1, float("inf"), None], "a": {"b": 10**30}}
    write_sealed(tmp_path / "a.json", content)

    found = read_sealed(tmp_path / "a.json", 3, REFUSAL)

    assert {key: found[key] for key in content} == content

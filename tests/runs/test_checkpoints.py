"""Checkpoints: what is written comes back bit by bit, and nothing else is taken for it."""

import json
import zipfile
from functools import partial

import numpy as np
import pytest

from sparsetopics.base.errors import RunError
from sparsetopics.inference.learners.full import FullState
from sparsetopics.inference.moves.ledger import Failure, Ledger
from sparsetopics.model.memo import Memo
from sparsetopics.model.statistics import Statistics
from sparsetopics.model.word_counts import WordCounts
from sparsetopics.options.training import LocalOptions, TrainingOptions
from sparsetopics.runs.checkpoint_format import FORMAT_VERSION, Encoder, stored_classes
from sparsetopics.runs.checkpoints import TREE, read_checkpoint, write_checkpoint

MEMO_FILE = "memo-00000001.npz"
RUN = "0" * 32
STORED_NAMES = [
    "coordinates",
    "course",
    "document-counts",
    "document-lengths",
    "document-terms",
    "dp-mixture",
    "dp-modes",
    "failure",
    "finite-mixture",
    "globals",
    "gradient-options",
    "grower",
    "hdp",
    "item-terms",
    "kept",
    "lap",
    "lda",
    "ledger",
    "likelihood diagonal-gaussian",
    "likelihood gaussian",
    "likelihood isotropic-gaussian",
    "likelihood multinomial",
    "likelihood zero-mean-gaussian",
    "local-options",
    "moments",
    "move-options",
    "mover",
    "nested",
    "nodes",
    "patch",
    "path",
    "prior",
    "progress",
    "responsibilities",
    "rival",
    "rung",
    "state accelerated 0",
    "state alternating 0",
    "state full 0",
    "state gradient 0",
    "state gradient 1",
    "state memoized 0",
    "state memoized 1",
    "state stochastic 0",
    "statistics",
    "step-sizes",
    "sticks",
    "tally",
    "topic-change",
    "topic-prior",
    "training-options",
    "word-counts",
    "word-list",
    "words",
]
TABLE = np.random.default_rng(0).random((4, 3))


@pytest.fixture
def round_trip(tmp_path):
    def call(value):
        write_checkpoint(tmp_path / "checkpoint", value, RUN)
        return read_checkpoint(tmp_path / "checkpoint", Memo(tmp_path), RUN, object)

    return call


@pytest.mark.parametrize(
    "array",
    [
        TABLE,
        TABLE[:, [2, 0]],  # which numpy lays out column by column
        np.asfortranarray(TABLE),
        TABLE[::2],
        np.random.default_rng(1).random((2, 3, 4)).transpose(2, 0, 1),
        np.array(3.5),
        np.zeros((0, 3), np.float32),
        np.array([-0.0, np.inf, np.nan]),
        np.arange(3, dtype=np.uint32),
    ],
)
def test_arrays_keep_their_bits_types_and_order_in_memory(round_trip, array):
    found = round_trip(array)

    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()
    assert found.flags.writeable
    if array.size:
        assert np.argsort(found.strides).tolist() == np.argsort(array.strides).tolist()


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 2**100, 0.1, -0.0, float("inf"), "ψ", (), (1, (2.0, None)), {("a", 1): "b"}],
)
def test_plain_values_come_back(round_trip, value):
    found = round_trip(value)

    assert found == value
    assert (type(found), repr(found)) == (type(value), repr(value))


@pytest.mark.parametrize("value", [np.float64(0.1), np.float32(0.1), np.int64(-3), np.bool_(True)])
def test_numbers_keep_their_types(round_trip, value):
    found = round_trip(value)

    assert type(found) is type(value)
    assert found == value


def test_what_flows_comes_back_as_the_same_kinds(round_trip):
    ledger = Ledger(np.arange(3), 7, 2, {("merge", -1): Failure(1, 2, 3.0)}, "birth")
    options = TrainingOptions(3, local=LocalOptions("mean-field", restarts=2))
    state = FullState(Statistics(WordCounts(TABLE), (1.0,)), False)

    found_ledger, found_options, found_state = round_trip((ledger, options, state))

    assert found_ledger.failures == ledger.failures
    assert found_options == options
    assert type(found_state.total.components) is WordCounts
    np.testing.assert_array_equal(found_state.total.components.table, TABLE)


@pytest.mark.parametrize("budget", [0, 10**6])
def test_arrays_in_files_are_named_and_others_written(tmp_path, budget):
    arrays = {"topics": np.arange(5), "shares": TABLE}
    kept = Memo(tmp_path, budget, versioned=True).keep(arrays)

    write_checkpoint(tmp_path / "checkpoint", kept, RUN)
    found = read_checkpoint(
        tmp_path / "checkpoint", Memo(tmp_path, versioned=True), RUN, object
    ).load(lambda arrays: None)

    assert list(found) == list(arrays)
    np.testing.assert_array_equal(found["shares"], TABLE)
    with zipfile.ZipFile(tmp_path / "checkpoint") as file:
        assert len(file.namelist()) == (1 if budget == 0 else 3)


def test_stored_names_stay_whatever_classes_are_called():
    """Checkpoints of this format hold them: one may be added, but none changed."""
    assert sorted(stored_classes()) == STORED_NAMES
    for name in ("failure", "training-options", "state memoized 0", "likelihood gaussian"):
        encoded = Encoder()._names[stored_classes()[name]]
        assert encoded == name
    assert Encoder()._names[FullState] == "state full 0"  # not that of alternating, its sibling


def test_what_nobody_listed_is_not_written(tmp_path):
    with pytest.raises(TypeError, match="cannot write a set"):
        write_checkpoint(tmp_path / "checkpoint", {"a": {1, 2}}, RUN)


def name_file(name, tree):
    tree["value"] = {"type": "file", "file": name, "bytes": 3, "digest": ""}


def rewritten(path, change):
    """With another tree."""
    with zipfile.ZipFile(path) as file:
        tree = json.loads(file.read(TREE))
    change(tree)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(TREE, json.dumps(tree))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: tree.update(format_version=1), f"version {FORMAT_VERSION}, but found 1"),
        (lambda tree: tree["value"].update(kind="Popen"), "the checkpoint is damaged"),
        (lambda tree: tree["value"]["fields"].pop("lap"), "other fields"),
        (lambda tree: tree["value"]["fields"].update(lap={}), "the checkpoint is damaged"),
        (partial(name_file, "x"), "x: is not the name of a memo file: 'x'"),
        (partial(name_file, f"../{MEMO_FILE}"), "is not the name of a memo file: '../"),
        (
            partial(name_file, MEMO_FILE),
            r"00000001\.npz: expected a file of \d+ bytes, but there is none",
        ),
        (lambda tree: tree.pop("value"), "the checkpoint is damaged"),
        (lambda tree: tree["value"].update(type="recipe"), "the checkpoint is damaged"),
    ],
)
def test_another_tree_is_refused_in_one_line(tmp_path, change, message):
    path = tmp_path / "checkpoint"
    write_checkpoint(path, Failure(1, 2, 3.0), RUN)
    rewritten(path, change)

    with pytest.raises(RunError, match=message) as refused:
        read_checkpoint(path, Memo(tmp_path), RUN, object)

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("place", [0.0, 0.02, 0.3, 0.5, 0.8, 0.99])
@pytest.mark.parametrize("cut", [True, False])
def test_damage_is_refused_in_one_line(tmp_path, place, cut):
    path = tmp_path / "checkpoint"
    write_checkpoint(path, {"a": TABLE, "b": np.arange(4000), "c": "text" * 500}, RUN)
    content = bytearray(path.read_bytes())
    where = int(place * len(content))
    if cut:
        del content[where:]
    else:
        content[where : where + 40] = bytes(40)
    path.write_bytes(content)

    with pytest.raises(RunError, match="the checkpoint is damaged") as refused:
        read_checkpoint(path, Memo(tmp_path), RUN, object)

    assert "\n" not in str(refused.value)

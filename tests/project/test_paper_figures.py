"""The command that measures figures of papers, and what must hold of what it measures."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

FOLDER = Path(__file__).parents[2] / "benchmarks"
if not FOLDER.is_dir():
    pytest.skip("needs benchmarks/, which the source archive leaves out", allow_module_level=True)
sys.path.append(str(FOLDER))
with pytest.MonkeyPatch.context() as patch:
    patch.setenv("OMP_NUM_THREADS", "1")  # which the command would set for all later tests
    papers = importlib.import_module("papers")
gradient = importlib.import_module("paper_figures.gradient")
sparse = importlib.import_module("paper_figures.sparse")
Figure = importlib.import_module("paper_figures.figure").Figure
prepared = importlib.import_module("prepared")


@pytest.fixture
def figures(monkeypatch):
    """One figure that draws its data, one that needs the shared folder, and one of lost files."""
    found = {
        "drawn": Figure("It is one.", lambda setting: iter([{"value": 1}]), ("value",)),
        "shared": Figure("", lambda setting: iter([{"value": str(setting.shared)}]), ("value",)),
        "lost": Figure("", lambda setting: map(_opened, [setting.shared / "lost.npz"]), ()),
    }
    monkeypatch.setattr(papers, "FIGURES", found)
    return found


def _opened(path):
    path.open().close()
    return {}


def ran(*arguments, shared, folder):
    places = ["--shared", str(shared), "--folder", str(folder)]
    return CliRunner().invoke(papers.main, [*arguments, *places])


def test_a_figure_without_data_needs_no_shared_folder(figures, tmp_path):
    shared = tmp_path / "shared"

    assert "It is one." in ran(shared=shared, folder=tmp_path).stdout
    assert ran("drawn", shared=shared, folder=tmp_path).stdout == (
        '{"figure": "drawn", "value": 1}\n'
    )
    refused = ran("shared", shared=shared, folder=tmp_path)
    assert refused.exit_code == 2
    assert f"--shared: {shared} is not there" in refused.stderr


def test_a_lost_file_is_named(figures, tmp_path):
    refused = ran("lost", shared=tmp_path, folder=tmp_path)

    assert refused.exit_code == 1
    assert f"lost: {tmp_path / 'lost.npz'} is missing" in refused.stderr


def test_old_rows_say_where_they_are_from(figures, tmp_path):
    first = ran("drawn", shared=tmp_path, folder=tmp_path)
    again = ran("drawn", shared=tmp_path, folder=tmp_path)

    assert again.stdout == first.stdout
    assert f"read from {tmp_path / 'drawn.jsonl'}; delete it" in again.stderr
    assert "read from" not in first.stderr


def test_a_figure_of_nearly_the_same_name_is_offered(tmp_path):
    refused = ran("sparse16-figure5", shared=tmp_path, folder=tmp_path)

    assert "Did you mean sparse16-figure-5?" in refused.stderr


def test_collections_name_the_script_that_they_lack(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"make_corpus\.py"):
        prepared.prepare("nips", tmp_path, tmp_path / "made")


def test_a_part_of_a_set_has_batches_of_its_own():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 3)).astype(np.float32)
    items = gradient.Items("some", values, rng.integers(2, size=300), {})
    options = gradient.options_of("MM", items, 1, 1.0)
    assert gradient._batches(items, options, 1, 0)[0].n_docs == 300

    part = items.first(200, "part")

    assert gradient._batches(part, options, 1, 0)[0].n_docs == 200
    assert part.labels.tolist() == items.labels[:200].tolist()
    mixed = part._replace(sources=items.sources)
    with pytest.raises(AssertionError, match="batches of other items"):
        gradient.one_run(mixed, options, 1, 0)


def test_falls_of_the_bound_are_counted():
    assert sparse.falls_of([-8.0, -7.0, -7.25, -7.0, -7.0 - 1e-12, -7.5]) == {
        "falls": 2, "largest_fall": 0.5,
    }  # fmt: skip
    assert sparse.falls_of([-8.0]) == {"falls": 0, "largest_fall": 0.0}


def test_starts_differ_in_one_thing_at_a_time():
    found = sparse.start_options(10, 6)

    assert len(found) == 10
    published = found["memoized, as published", "cold"]
    assert not published.keeps_better
    assert found["memoized", "cold"].keeps_better
    both = found["memoized", "cold, restarts"], found["memoized", "warm, restarts"]
    assert [each.laps_per_cold for each in both] == [1, 6]
    assert [each.local.n_restarts for each in both] == [5, 5]
    assert {learner for learner, start in found if start == "warm"} == {
        "memoized", "memoized, as published",
    }  # fmt: skip

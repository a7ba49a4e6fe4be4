"""Notebooks run from the first cell to the last, and show tables of the kind that they print."""

import re

import pytest

import notebooks

pytest.importorskip("pandas")
if not notebooks.FOLDER.is_dir():
    pytest.skip("needs docs/, which the source archive leaves out", allow_module_level=True)
MOST_LINES = 24  # of code, of which making the data frame takes a third
MOST_CHARACTERS = 80_000  # of a picture in base64, which is 60 kB


def heads_of(outputs):
    """The columns of the tables in the outputs of a cell."""
    shown = [output["data"] for output in outputs]
    tables = ("".join(data["text/html"]) for data in shown if "text/html" in data)
    return [re.findall(r"<th>(.*?)</th>", table.partition("</thead>")[0]) for table in tables]


def test_the_notebook_goes_from_a_data_frame_to_prevalence_and_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = notebooks.read(notebooks.FOLDER / "from-data-frame-to-page.ipynb")
    tables = []

    for cell, outputs in notebooks.run_cells(notebook):
        assert heads_of(outputs) == heads_of(cell["outputs"])
        tables += heads_of(outputs)

    assert "name" in tables[1]
    assert {"group", "mean", "low", "high"} <= set(tables[2])
    assert "adjusted_p_value" in tables[3]
    assert {"2001-10-01", "2001-11-01", "2001-12-01"} <= set(tables[4])
    page = (tmp_path / "topics.html").read_text(encoding="utf-8")
    assert "<html" in page


def test_pictures_in_notebooks_are_small():
    for path in notebooks.FOLDER.glob("*.ipynb"):
        outputs = [out for cell in notebooks.read(path)["cells"] for out in cell.get("outputs", ())]
        pictures = ["".join(out["data"].get("image/png", "")) for out in outputs]
        assert any(pictures)
        assert max(map(len, pictures)) < MOST_CHARACTERS


def test_notebooks_are_short():
    for path in notebooks.FOLDER.glob("*.ipynb"):
        cells = notebooks.read(path)["cells"]
        code = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"]]
        assert sum(bool(line.strip()) for line in code) <= MOST_LINES

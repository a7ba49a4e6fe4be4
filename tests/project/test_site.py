"""The site has a page for each notebook, and its pages load nothing from other servers."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import notebooks

ROOT = Path(__file__).parents[2]
HOOK = ROOT / "docs" / "notebook_pages.py"
if not HOOK.is_file():
    pytest.skip("needs docs/, which the source archive leaves out", allow_module_level=True)
NOTEBOOKS = sorted(notebooks.FOLDER.glob("*.ipynb"))
LOADS = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//")
IMPORTS = re.compile(r"\bimport\s*\(?\s*[\"']https?:|@import|url\(\s*[\"']?https?:")


@pytest.fixture(scope="module")
def notebook_pages():
    spec = importlib.util.spec_from_file_location("notebook_pages", HOOK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "path", sorted(notebooks.FOLDER.glob("*.ipynb")), ids=lambda path: path.stem
)
def test_a_notebook_becomes_a_page_with_its_code_and_its_tables(notebook_pages, path):
    notebook = notebooks.read(path)

    page = notebook_pages.markdown_of(notebook, path.name)

    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in code for output in cell["outputs"]]
    assert page.startswith("# ")
    assert f"[download]({path.name})" in page
    assert page.count("```python\n") == len(code)
    assert page.count("<table>") == sum("text/html" in output["data"] for output in outputs)
    assert "<style" not in page
    assert f" notebooks/{path.stem}.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_outputs_of_other_kinds_are_shown_too(notebook_pages):
    outputs = [
        {"output_type": "stream", "text": ["3 topics\n", "4 laps\n"]},
        {"data": {"text/plain": ["<Figure>"], "image/png": "iVBO\nRw0K\n"}},
        {"data": {"text/plain": ["<Figure>"], "image/svg+xml": ["<svg>\n", "\n", "</svg>\n"]}},
        {"data": {"text/plain": ["0.5"]}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# A\n", "\n", "Text."]},
        {"cell_type": "code", "source": ["f()"], "outputs": outputs},
    ]

    page = notebook_pages.markdown_of({"cells": cells}, "a.ipynb")

    assert page == (
        "# A\n\nText.\n\n"
        "This page is a notebook. You can [download](a.ipynb) it.\n\n"
        "```python\nf()\n```\n\n"
        "```text\n3 topics\n4 laps\n```\n\n"
        '<img alt="" src="data:image/png;base64,iVBORw0K">\n\n'
        "<svg>\n</svg>\n\n"
        "```text\n0.5\n```\n"
    )


def test_links_to_notebooks_lead_to_their_pages(notebook_pages):
    text = "A [notebook](../notebooks/a-b.ipynb), and [another](notebooks/c.ipynb#d)."

    linked = notebook_pages.on_page_markdown(text, page=None, config=None, files=None)

    assert linked == "A [notebook](../notebooks/a-b.md), and [another](notebooks/c.md#d)."


def test_the_site_builds_strictly_and_loads_nothing_from_other_servers(tmp_path):
    for library in ("mkdocs", "material", "mkdocstrings"):
        pytest.importorskip(library, reason="needs pip install '.[docs]'")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]

    subprocess.run([*build, "--site-dir", tmp_path], cwd=ROOT, check=True)

    pages = list(tmp_path.rglob("*.html"))
    assert (tmp_path / "notebooks" / "from-data-frame-to-page" / "index.html") in pages
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not LOADS.search(text), page
        assert not IMPORTS.search(text), page

"""Show the notebooks of docs/notebooks as pages of the site: a hook of mkdocs.

The outputs are those that the notebook holds (``python tests/notebooks.py`` writes them). Nothing
is run here. Unlike pages of nbconvert, these load nothing from other servers.
"""

from __future__ import annotations

import json
import re
from typing import Any

CLASSES = re.compile(r' (?:class="dataframe"|border="\d+"|style="text-align: right;")')
STYLES = re.compile(r"<style.*?</style>", re.DOTALL)
LINKS = re.compile(r"(notebooks/[\w-]+)\.ipynb\b")


def markdown_of(notebook: dict[str, Any], name: str) -> str:
    """The cells of a notebook and their outputs as Markdown, with a link to its file ``name``."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts += [f"```python\n{source}\n```", *map(_shown, cell["outputs"])]
    heading, *rest = parts
    link = f"This page is a notebook. You can [download]({name}) it."
    return "\n\n".join([heading, link, *rest]) + "\n"


def _shown(output: dict[str, Any]) -> str:
    """An output in the richest form that Markdown has for it."""
    if "text" in output:  # printed
        return _fenced("".join(output["text"]))
    data = {kind: "".join(lines) for kind, lines in output["data"].items()}
    if "text/html" in data:
        # Markdown takes a block of HTML up to the first empty line, and the theme styles tables
        # without a class.
        lines = CLASSES.sub("", STYLES.sub("", data["text/html"])).splitlines()
        return "\n".join(line for line in lines if line.strip())
    if "image/svg+xml" in data:
        return "\n".join(line for line in data["image/svg+xml"].splitlines() if line.strip())
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{"".join(data["image/png"].split())}">'
    return _fenced(data["text/plain"])


def _fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each notebook; the notebook itself stays a file to download."""
    from mkdocs.structure.files import File

    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            name = file.src_uri.rpartition("/")[2]
            text = markdown_of(json.loads(file.content_string), name)
            files.append(File.generated(config, f"{file.src_uri[:-6]}.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links to notebooks to their pages."""
    return LINKS.sub(r"\1.md", markdown)

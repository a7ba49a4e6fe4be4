"""Run notebooks without Jupyter, and write their outputs anew: ``python tests/notebooks.py``.

Only cells of code are run, all in one session. As in Jupyter, the output of a cell is the value of
its last expression.
"""

from __future__ import annotations

import ast
import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import chdir
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def run_cells(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Run the code in the current folder; yield each of its cells with its new outputs."""
    session: dict[str, Any] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), session)
        value = None
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), session)
        yield cell, [] if value is None else [_output(value, number)]


def _output(value: Any, number: int) -> dict[str, Any]:
    data = {"text/plain": repr(value).splitlines(keepends=True)}
    metadata: dict[str, Any] = {}
    html = value._repr_html_() if hasattr(value, "_repr_html_") else None
    if html is not None:  # as it is for figures
        data["text/html"] = html.splitlines(keepends=True)
    if hasattr(value, "_repr_png_"):
        picture, metadata["image/png"] = value._repr_png_()
        data["image/png"] = [f"{b64encode(_smaller(picture)).decode()}\n"]
    shown = {"data": data, "execution_count": number, "metadata": metadata}
    return {"output_type": "execute_result", **shown}


def _smaller(picture: bytes) -> bytes:
    """The picture in 128 colours, which takes a third of its bytes or less."""
    image, buffer = Image.open(BytesIO(picture)).convert("RGB"), BytesIO()
    image.quantize(128).save(buffer, "png", optimize=True)
    return buffer.getvalue()


def main() -> None:
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = read(path)
        with TemporaryDirectory() as folder, chdir(folder):
            for number, (cell, outputs) in enumerate(run_cells(notebook), 1):
                cell["outputs"], cell["execution_count"] = outputs, number
        text = json.dumps(notebook, indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

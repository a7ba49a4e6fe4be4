"""Make the pictures of docs/gallery again: ``python docs/gallery.py``.

It runs the commands of docs/gallery.md on the table that docs/sections-and-dates.md makes, copies
the figures that they write, and takes pictures of parts of the pages with chromium and Pillow.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from sparsetopics.cli.main import main as sparsetopics

DOCS = Path(__file__).parent
PICTURES = DOCS / "gallery"
WIDTH, TOP = 1200, 870  # of pictures, and the height of the first one, in pixels
PARTS = {  # of pages: the page, and the part of it that a picture shows, or all of its top
    "page": ("run.html", None),
    "tree": ("run.html", "#tree"),
    "topic": ("run.html", "#topics details.topic:nth-of-type(5)"),
    "map": ("run.html", "#map"),
    "time-on-page": ("groups.html", "#time"),
    "groups-on-page": ("groups.html", "#groups"),
}
SHOW_ALONE = """
let part = document.querySelector({selector});
for (let each = part; each; each = each.parentElement) each.open = true;
for (; part !== document.body; part = part.parentElement)
  for (const other of part.parentElement.children)
    if (other !== part && other.tagName !== "SUMMARY") other.style.display = "none";
"""


def blocks(page: str, language: str) -> list[str]:
    """The blocks of code of a page in a language."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run_commands() -> None:
    """Run the commands of the page in the current folder, on a table that is made first."""
    exec(blocks("sections-and-dates.md", "python")[0], {})
    for line in "".join(blocks("gallery.md", "sh")).replace("\\\n", " ").splitlines():
        arguments = shlex.split(line)[1:]
        result = CliRunner().invoke(sparsetopics, arguments)
        if result.exit_code != 0:
            raise RuntimeError(f"{line}: {result.output}")


def photograph(page: Path, selector: str | None, out: Path) -> None:
    """Write a picture of the top of a page, or of a part of it alone."""
    from PIL import Image, ImageChops

    text = page.read_text(encoding="utf-8")
    script = SHOW_ALONE.format(selector=repr(selector)) if selector else ""
    copy = page.with_name("copy.html")
    copy.write_text(text.replace("</body>", f"<script>{script}</script></body>"), "utf-8")
    size = f"--window-size={WIDTH},{4000 if selector else TOP}"
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--screenshot={out}", size]
    subprocess.run(["chromium", *options, copy.as_uri()], check=True, capture_output=True)
    image = Image.open(out).convert("RGB")
    if selector:
        background = Image.new("RGB", image.size, image.getpixel((0, 0)))
        _, _, _, bottom = ImageChops.difference(image, background).getbbox() or (0, 0, 0, TOP)
        image = image.crop((0, 0, WIDTH, min(bottom + 20, image.height)))
    image.quantize(256, dither=Image.Dither.NONE).save(out, optimize=True)


def main() -> None:
    with TemporaryDirectory() as folder, chdir(folder):
        run_commands()
        for figure in Path(folder).glob("*.svg"):
            shutil.copy(figure, PICTURES)
        for name, (page, selector) in PARTS.items():
            photograph(Path(folder, page), selector, PICTURES / f"{name}.png")


if __name__ == "__main__":
    main()

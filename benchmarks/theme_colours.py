"""Measure how well the colours of themes differ, for all readers, as page.css defines them.

    python benchmarks/theme_colours.py [--themes 8 12 24]

Headless Chromium turns the rules of page.css and page.html into colours. They are seen with usual
vision and with three kinds of colour blindness (Machado, Oliveira and Fernandes 2009, complete).
A distance is 100 times that in OKLab, of which about 2 are just seen. "next" is the least distance
of themes that are neighbours in the tree, "second" of those with one between them, and "any" of
any two. The contrast of --tint is with --ink, and that of --tone with --card.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
from pathlib import Path

import numpy as np
from chromium import Tab, browser_tab
from jinja2 import Environment
from numpy.typing import NDArray

Colours = NDArray[np.float64]  # rows of red, green and blue, linear from 0 to 1

WEB = Path(__file__).parent.parent / "evaluation" / "report" / "web"


def matrix(rows: str) -> Colours:
    return np.array([row.split() for row in rows.split(";")], np.float64)


VISIONS = {
    "usual": matrix("1 0 0; 0 1 0; 0 0 1"),
    "protan": matrix(
        ".152286 1.052583 -.204868; .114503 .786281 .099216; -.003882 -.048116 1.051998"
    ),
    "deutan": matrix(".367322 .860646 -.227968; .280085 .672501 .047413; -.011820 .042940 .968881"),
    "tritan": matrix(
        "1.255528 -.076749 -.178779; -.078411 .930809 .147602; .004733 .691367 .303900"
    ),
}
TO_CONES = matrix(".412221 .536333 .051446; .211903 .680700 .107397; .088302 .281719 .629979")
TO_OKLAB = matrix(".210454 .793618 -.004072; 1.977998 -2.428592 .450594; .025904 .782772 -.808676")
READ = """(() => {
  const pen = document.createElement("canvas").getContext("2d");
  const read = (colour, place) => {
    const probe = document.body.appendChild(document.createElement("i"));
    Object.assign(probe, { className: `of-${place}`, style: `color: var(--${colour})` });
    pen.fillStyle = getComputedStyle(probe).color;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  };
  const all = (colour) => [...Array(N).keys()].map((place) => read(colour, place));
  return { tint: all("tint"), tone: all("tone"), ink: [read("ink", 0)], card: [read("card", 0)] };
})()"""


def linear(values: list[list[int]]) -> Colours:
    shares = np.array(values) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def least_contrast(colours: Colours, other: Colours) -> float:
    luminance = [each @ [0.2126, 0.7152, 0.0722] + 0.05 for each in (colours, other)]
    return float(np.maximum(luminance[0] / luminance[1], luminance[1] / luminance[0]).min())


def distances(colours: Colours, vision: Colours) -> Colours:
    """Return the distance of each two colours, as eyes of a kind see them."""
    seen = np.clip(colours @ vision.T, 0, 1)
    places = np.cbrt(seen @ TO_CONES.T) @ TO_OKLAB.T
    apart: Colours = 100 * np.linalg.norm(places[:, None] - places[None], axis=-1)
    return apart


def print_row(start: str, colours: Colours, other: Colours) -> None:
    cells = []
    for vision in VISIONS.values():
        apart = distances(colours, vision)
        pairs = apart.diagonal(1), apart.diagonal(2), apart[np.triu_indices(len(apart), 1)]
        cells.append(" ".join(f"{each.min():5.1f}" for each in pairs))
    print(f"{start:<16}", *cells, f"{least_contrast(colours, other):8.2f}", sep="  ")


async def read_colours(tab: Tab, scheme: str, block: str, n: int) -> dict[str, Colours]:
    """Return the colours that the browser makes of the rules for ``n`` themes."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    await tab.call("Emulation.setEmulatedMedia", {"features": features})
    with tempfile.NamedTemporaryFile("w", suffix=".html") as page:
        page.write(f"<style>{(WEB / 'page.css').read_text()}</style>{block}<body>text")
        page.flush()
        await tab.open(Path(page.name).as_uri())
        values = await tab.evaluate(READ.replace("N)", f"{n})"))
    return {name: linear(each) for name, each in values.items()}


async def measure(browser: str, numbers: list[int]) -> None:
    line = re.search(r"<style id=\"colours\">.*</style>", (WEB / "page.html").read_text())
    assert line is not None
    async with browser_tab(browser) as tab:
        for scheme in ("light", "dark"):
            for n in numbers:
                template = Environment().from_string(line.group())
                block = template.render(overview={"colours": range(n)}, n_places=n)
                values = await read_colours(tab, scheme, block, n)
                print_row(f"{scheme} {n} tint", values["tint"], values["ink"])
                print_row(f"{scheme} {n} tone", values["tone"], values["card"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--themes", type=int, nargs="+", default=[8, 12, 24])
    parser.add_argument("--browser", default="chromium")
    options = parser.parse_args()
    print(" " * 16, *(f"{name:<17}" for name in VISIONS), "contrast", sep="  ")
    print(" " * 16, *["next second   any"] * len(VISIONS), sep="  ")
    asyncio.run(measure(options.browser, options.themes))


if __name__ == "__main__":
    main()

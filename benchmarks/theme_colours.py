"""Measure how well the colours of themes differ, for all readers, as page.css defines them.

    python benchmarks/theme_colours.py [--themes 8,12,24]

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
VISIONS = {
    "usual": np.eye(3),
    "protan": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deutan": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritan": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
READ = """(() => {
  const pen = document.createElement("canvas").getContext("2d");
  const read = (colour, place) => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.className = `of-${place}`;
    probe.style.color = `var(--${colour})`;
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
        least = [
            apart.diagonal(1).min(),
            apart.diagonal(2).min(),
            apart[np.triu_indices(len(apart), 1)].min(),
        ]
        cells.append(" ".join(f"{each:5.1f}" for each in least))
    print(f"{start:<16}", *cells, f"{least_contrast(colours, other):8.2f}", sep="  ")


async def measure(tab: Tab, folder: Path, numbers: list[int]) -> None:
    line = re.search(r"<style id=\"colours\">.*</style>", (WEB / "page.html").read_text())
    assert line is not None
    print(" " * 16, *(f"{name:<17}" for name in VISIONS), "contrast", sep="  ")
    print(" " * 16, *["next second   any"] * len(VISIONS), sep="  ")
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await tab.call("Emulation.setEmulatedMedia", {"features": features})
        for n in numbers:
            overview = {"colours": range(n)}
            block = Environment().from_string(line.group()).render(overview=overview, n_places=n)
            page = folder / "colours.html"
            page.write_text(f"<style>{(WEB / 'page.css').read_text()}</style>{block}<body>text")
            await tab.open(page.as_uri())
            read = {
                name: linear(each)
                for name, each in (await tab.evaluate(READ.replace("N)", f"{n})"))).items()
            }
            print_row(f"{scheme} {n} tint", read["tint"], read["ink"])
            print_row(f"{scheme} {n} tone", read["tone"], read["card"])


async def run(browser: str, numbers: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with browser_tab(browser) as tab:
            await measure(tab, Path(folder), numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--themes", default="8,12,24")
    parser.add_argument("--browser", default="chromium")
    options = parser.parse_args()
    asyncio.run(run(options.browser, [int(each) for each in options.themes.split(",")]))


if __name__ == "__main__":
    main()

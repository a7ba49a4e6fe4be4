"""Measure how pages of results look in a browser, and say what is wrong with them.

    python benchmarks/page_layout.py page.html … [--axe node_modules/axe-core/axe.min.js]
        [--screenshots FOLDER] [--unfold] [--json] [--most 5]

Each page is opened in headless Chromium with 1400x900 and 420x800 pixels, in light and in dark.
A row of the table is one of these four. Counts are of the first screen and of the whole page:
boxes that overlap, text that is cut off, text below 11 px, contrast below 4.5, what the keyboard
cannot reach (by pressing Tab, in light only), and what axe-core calls serious or critical. Then
come whether the page scrolls sideways, complaints of the browser (requests, script errors, refused
content), the first paint (median of five openings), and what the first screen holds: the share of
its picture, whether the heading, and how many cards of themes. Findings are printed below the
table, and the exit status is 1 if there is one. ``--unfold`` opens what is folded, except help,
and of many siblings only the first three. ``npm install axe-core`` in any folder gets axe-core.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import statistics
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from chromium import Tab, browser_tab

SIZES = ((1400, 900), (420, 800))
SCHEMES = ("light", "dark")
KINDS = ("overlap", "cut", "small", "contrast", "keyboard", "axe")
MOST_PAINT = 1000  # milliseconds
TALLEST = 16_000  # pixels that Chromium draws in one picture
MEASURE = (Path(__file__).parent / "page_layout.js").read_text(encoding="utf-8")
AXE = """axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations
  .filter(({ impact }) => impact === "serious" || impact === "critical")
  .flatMap(({ id, nodes }) => nodes.map(({ target, html }) =>
    ["axe", false, `${id}: ${target} ${html.slice(0, 60)}`])))"""


class Finding(NamedTuple):
    kind: str
    is_first: bool  # on the first screen
    words: str


@dataclass(frozen=True)
class Row:
    """What one page shows in one size and scheme."""

    page: str
    size: str
    scheme: str
    megabytes: float
    paint: float  # milliseconds, the median
    height: int
    picture: float  # the share of it that the first screen shows
    has_heading: bool
    cards: int  # whole ones on the first screen
    findings: list[Finding]

    def cells(self) -> list[str]:
        on_first = Counter(each.kind for each in self.findings if each.is_first)
        anywhere = Counter(each.kind for each in self.findings)
        return [
            self.page,
            f"{self.size} {self.scheme}",
            *(f"{on_first[kind]}/{anywhere[kind]}" for kind in KINDS),
            str(anywhere["sideways"]),
            str(anywhere["browser"]),
            f"{self.paint:.0f}",
            f"{self.megabytes:.2f}",
            f"{self.height:,}",
            f"{self.picture:.0%}",
            "yes" if self.has_heading else "no",
            str(self.cards),
        ]


HEADS = ["page", "window", *KINDS, "sideways", "browser", "paint", "MB", "height"]
HEADS += ["picture", "h1", "cards"]


@dataclass(frozen=True)
class Options:
    axe: str | None  # the script
    screenshots: Path | None
    unfold: bool
    repeats: int


async def press_tab(tab: Tab, n_times: int) -> None:
    key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
    for _ in range(n_times):
        await tab.call("Input.dispatchKeyEvent", {"type": "rawKeyDown", **key})
        await tab.call("Input.dispatchKeyEvent", {"type": "keyUp", **key})


async def focus_findings(tab: Tab) -> list[Finding]:
    """Press Tab through the whole page, and return what it misses or reaches out of order."""
    n_controls = await tab.evaluate("pageLayout.watchFocus()")
    await press_tab(tab, n_controls + 40)  # browsers also stop at boxes that scroll
    return [Finding(*each) for each in await tab.evaluate("pageLayout.focusFaults()")]


async def take_pictures(
    tab: Tab, folder: Path, stem: str, size: tuple[int, int], whole: int
) -> None:
    width, height = size
    for name, tall in (("first", height), ("two", 2 * height), ("whole", min(whole, TALLEST))):
        clip = {"x": 0, "y": 0, "width": width, "height": tall, "scale": 1}
        params = {"clip": clip, "captureBeyondViewport": True}
        picture = await tab.call("Page.captureScreenshot", params)
        (folder / f"{stem}-{name}.png").write_bytes(base64.b64decode(picture["data"]))


def first_screen_faults(measured: dict[str, object]) -> list[Finding]:
    """What the heading is not, and what the first screen of a page with themes lacks."""
    faults = []
    if measured["headings"] != 1:
        faults.append(Finding("first", True, f"{measured['headings']} headings of level 1"))
    if measured["hasCards"]:
        lacks = [name for name in ("h1", "picture", "cards") if not measured[name]]
        faults += [Finding("first", True, f"no {name} on the first screen") for name in lacks]
    return faults


async def measure(
    tab: Tab, page: Path, size: tuple[int, int], scheme: str, options: Options
) -> Row:
    """Open a page in one size and scheme, and measure it."""
    width, height = size
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    await tab.call("Emulation.setDeviceMetricsOverride", screen)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    await tab.call("Emulation.setEmulatedMedia", {"features": features})
    address = page.resolve().as_uri()
    paints = [await tab.open(address) for _ in range(options.repeats)]
    await asyncio.sleep(0.3)  # scripts that wait for a frame
    if options.screenshots:
        tall = await tab.evaluate("document.documentElement.scrollHeight")
        stem = f"{page.stem}-{width}-{scheme}"
        await take_pictures(tab, options.screenshots, stem, size, tall)
    await tab.evaluate(f"{MEASURE}; {'pageLayout.unfold()' if options.unfold else 0}; null")
    measured = await tab.evaluate("pageLayout.measure()")
    findings = [Finding(*each) for each in measured["findings"]]
    if not options.unfold:
        findings += first_screen_faults(measured)
    if options.axe:
        await tab.evaluate(f"{options.axe}; null")
        findings += [Finding(*each) for each in await tab.evaluate(AXE)]
    if scheme == "light":
        findings += await focus_findings(tab)
    findings += [Finding("browser", False, each) for each in tab.complaints(address)]
    paint = statistics.median(paints)
    if paint > MOST_PAINT:
        findings.append(Finding("paint", True, f"first paint after {paint:.0f} ms"))
    return Row(
        page=page.stem,
        size=f"{width}x{height}",
        scheme=scheme,
        megabytes=page.stat().st_size / 1e6,
        paint=paint,
        height=measured["height"],
        picture=measured["picture"],
        has_heading=measured["h1"] > 0,
        cards=measured["cards"],
        findings=findings,
    )


async def measure_all(pages: list[Path], browser: str, options: Options) -> list[Row]:
    async with browser_tab(browser) as tab:
        return [
            await measure(tab, page, size, scheme, options)
            for page in pages
            for size in SIZES
            for scheme in SCHEMES
        ]


def print_table(rows: list[Row]) -> None:
    table = [HEADS, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)))


def print_findings(rows: list[Row], most: int) -> None:
    """Print the first findings of each kind with the windows that show them."""
    windows: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in rows:
        for each in sorted(row.findings, key=lambda each: (each.kind, not each.is_first)):
            window = f"{row.size.partition('x')[0]} {row.scheme}{' first' if each.is_first else ''}"
            found = windows.setdefault((row.page, each.kind), {}).setdefault(each.words, [])
            if window not in found:
                found.append(window)
    for (page, kind), found_of in windows.items():
        print(f"\n{page}, {kind}: {len(found_of)}")
        for words, seen in [*found_of.items()][:most]:
            print(f"  {words} ({', '.join(seen)})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", type=Path, nargs="+")
    parser.add_argument("--axe", type=Path, help="the file axe.min.js")
    parser.add_argument("--screenshots", type=Path, metavar="FOLDER")
    parser.add_argument("--unfold", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--most", type=int, default=5, help="findings of a kind to print")
    parser.add_argument("--repeats", type=int, default=5, help="openings for the first paint")
    parser.add_argument("--browser", default="chromium")
    given = parser.parse_args()
    if given.screenshots:
        given.screenshots.mkdir(parents=True, exist_ok=True)
    axe = given.axe.read_text(encoding="utf-8") if given.axe else None
    options = Options(axe, given.screenshots, given.unfold, given.repeats)
    rows = asyncio.run(measure_all(given.pages, given.browser, options))
    if given.json:
        print(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1))
    else:
        print_table(rows)
        print_findings(rows, given.most)
    sys.exit(any(row.findings for row in rows))


if __name__ == "__main__":
    main()

"""Draw docs/topics.svg from a run: ``python docs/picture.py sparsetopics-quickstart/run``."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sparsetopics.answers.topic_names import topic_rows
from sparsetopics.runs.run import load_run

N_BARS = 12  # the heaviest topics
COLOUR, INK = "#3f51b5", "#333333"
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sparsetopics",
    "font.size": 9,
    "text.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(run: Path, out: Path) -> None:
    """The heaviest topics of a run with their words, and how their number came about."""
    trained = load_run(run)
    rows = topic_rows(trained, 5)[:N_BARS]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.0, 3.2), layout="constrained")
        bars, steps = figure.subplots(1, 2, width_ratios=[2, 1])
        bars.barh(range(len(rows)), [row.weight for row in rows], color=COLOUR, alpha=0.35)
        for place, row in enumerate(rows):
            bars.text(0.001, place, " ".join(word for word, _ in row.words), va="center")
        bars.invert_yaxis()
        bars.set_yticks([])
        bars.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        bars.set_xlabel(f"share of all words, {N_BARS} of {trained.model.n_topics} topics")
        laps = [entry["lap"] for entry in trained.trace]
        steps.step(laps, [entry["n_topics"] for entry in trained.trace], where="post", color=COLOUR)
        for axis in (steps.xaxis, steps.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        steps.set_xlabel("lap")
        steps.set_ylabel("number of topics")
        figure.savefig(out, metadata={"Date": None, "Creator": None}, facecolor="white")


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(__file__).parent / "topics.svg")

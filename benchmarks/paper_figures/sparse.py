"""TODO"""

from __future__ import annotations

from paper_figures.figure import Figure

FIGURES: dict[str, Figure] = {}

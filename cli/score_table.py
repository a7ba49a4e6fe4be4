"""The table that ``evaluate`` and ``compare`` print, made from the records of ``--json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HEADS = {  # key of the records: head of the column, decimals
    "log_likelihood_per_item": ("log-likelihood/item", 4),
    "log_likelihood_per_token": ("log-likelihood/token", 4),
    "standard_error": ("std.err", 4),
    "perplexity": ("perplexity", 1),
    "unigram_log_likelihood_per_token": ("unigram", 4),
    "npmi": ("NPMI", 3),
    "u_mass": ("u_mass", 3),
    "c_v": ("c_v", 3),
    "c_npmi": ("c_npmi", 3),
    "diversity": ("diversity", 3),
    "inverted_rbo": ("inv.RBO", 3),
    "elbo_per_item": ("ELBO/item", 4),
    "elbo_per_token": ("ELBO/token", 4),
    "criterion_per_token": ("criterion", 4),
    "n_topics": ("topics", 0),
    "n_components": ("components", 0),
    "n_used_components": ("used", 0),
    "nmi": ("NMI", 4),
    "hungarian_accuracy": ("accuracy", 4),
    "majority_accuracy": ("majority", 4),
    "laps": ("laps", 0),
    "seconds": ("seconds", 1),
}
NARROWEST = 7  # characters of a column


def score_lines(records: Sequence[Mapping[str, str | float | None]]) -> list[str]:
    """Return a line of heads and a line for each record, without columns that are all empty."""
    keys = [key for key in HEADS if any(record.get(key) is not None for record in records)]
    columns = [_column(key, [record.get(key) for record in records]) for key in keys]
    return ["  ".join(cells) for cells in zip(*columns, strict=True)]


def _column(key: str, values: Sequence[str | float | None]) -> list[str]:
    """Return the head and the values as cells of one width; a missing value is a dash."""
    head, digits = HEADS[key]
    cells = [head, *("-" if value is None else f"{value:.{digits}f}" for value in values)]
    return [cell.rjust(max(len(head), NARROWEST)) for cell in cells]

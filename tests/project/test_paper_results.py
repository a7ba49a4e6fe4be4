"""Rows that ``benchmarks/papers.py --keep`` writes of what it has measured."""

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
if not FOLDER.is_dir():
    pytest.skip("needs benchmarks/, which the source archive leaves out", allow_module_level=True)
sys.path.append(str(FOLDER))
Figure = importlib.import_module("paper_figures.figure").Figure


def test_runs_of_several_seeds_become_one_row():
    figure = Figure("", lambda setting: iter(()), named_by=("method", "start"))
    measured = [
        {"figure": "two", "method": "talk, merges", "start": 100, "seed": seed, "elbo": elbo}
        for seed, elbo in enumerate((-3.0, -1.0))
    ]

    assert figure.summed_up(measured) == {
        "talk-merges/start=100": {
            "elbo": -2.0, "elbo_least": -3.0, "elbo_most": -1.0, "runs": 2,
        },
    }  # fmt: skip


def test_some_columns_stand_side_by_side():
    figure = Figure("", lambda setting: iter(()), named_by=("method", "laps"), across=("set", "L"))
    measured = [
        {"method": "MM", "set": "surf:amazon", "L": "dense", "score": 0.5},
        {"method": "MM", "set": "mnist", "L": "4", "score": 0.75, "words": "to be"},
    ]

    assert figure.summed_up(measured) == {
        "MM": {"score/surf_amazon/dense": 0.5, "score/mnist/4": 0.75, "words/mnist/4": "to be"},
    }

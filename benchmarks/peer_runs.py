"""Run other toolkits by the driver of the shared folder, and keep the topics that they end with."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import numpy as np
from heldout import HeldOut
from scored_runs import END, ScoredModel

from sparsetopics.measures.paired import mean_score

LARGEST_ERROR = 1e-4  # the driver rounds its own score to this

# The driver keeps the last topics in ``c.phi``, but writes only their score.
_DRIVER = """
import runpy, sys
import numpy
topics, *sys.argv = sys.argv[1:]
numpy.save(topics, runpy.run_path(sys.argv[0], run_name="__main__")["c"].phi)
"""


def run_peer(
    peer: str,
    corpus: Path,
    n_topics: int,
    budget: float,
    shared: Path,
    heldout: HeldOut,
    seed: int = 1,
) -> tuple[dict[str, Any], ScoredModel]:
    """Train ``peer`` for ``budget`` CPU seconds; its record, and its last topics scored by us.

    Raises ClickException if our score of all documents differs from the driver's own.
    """
    with tempfile.TemporaryDirectory() as folder:
        out, topics = Path(folder) / "curve.jsonl", Path(folder) / "topics.npy"
        command = [
            sys.executable, "-c", _DRIVER, str(topics), str(shared / "peers" / "run_peer.py"),
            "--peer", peer, "--corpus", str(corpus.resolve()), "--k", str(n_topics),
            "--budget", str(budget), "--out", str(out), "--seed", str(seed),
        ]  # fmt: skip
        subprocess.run(command, check=True, stdout=sys.stderr)
        record = json.loads(out.read_text())
        scores = heldout.scores(np.load(topics))
    ours, theirs = mean_score(scores).mean, record["final_score_all_documents"]
    if abs(ours - theirs) > LARGEST_ERROR:
        raise click.ClickException(
            f"{peer}: its topics score {theirs} by completion.py, but {ours:.5f} by heldout.py"
        )
    return record, ScoredModel(peer, f"seed {record['seed']}", END, math.nan, scores)

"""``config.toml`` of a run folder: what ``train --config`` needs to learn the same again.

Each key is an option of ``train``, as it is typed but without dashes in front. As in model.json,
topics, laps, likelihood and moves are those of the model where nobody said any; what still follows
from data, or from other options, stays out. So does what decides nothing about the model: threads,
held-out documents, checkpoints.
"""

from __future__ import annotations

import json
from pathlib import Path

from sparsetopics.options.training import WITH_MOVES, TrainingOptions
from sparsetopics.runs.plan import RunPlan

Value = str | int | float | bool
HEAD = "# Options of a training run: sparsetopics train CORPUS --config config.toml --out RUN\n"


def write_config(path: Path, plan: RunPlan) -> None:
    """Write what decides the outcome of ``plan``, but for the corpus, as TOML."""
    lines = [f"{key} = {_toml(value)}\n" for key, value in run_config(plan).items()]
    # A name of a file may hold bytes that are no text, TOML may not.
    path.write_text(HEAD + "".join(lines), encoding="utf-8", errors="replace", newline="\n")


def run_config(plan: RunPlan) -> dict[str, Value]:
    """The options by their names; paths are absolute."""
    start = plan.start_run or plan.first_start
    course = {
        "start": plan.options.start if start is None else str(plan.at(start).absolute()),
        "batches": plan.n_batches,
        "resident-pairs": plan.resident_pairs,
        "seed": plan.seed,
    }
    values = _model_config(plan.options) | course
    return {key: value for key, value in values.items() if value is not None}


def _model_config(options: TrainingOptions) -> dict[str, Value | None]:
    local, prior, moves = options.local_step, options.prior, options.active_moves
    counts_topics = not options.is_mixture
    no_moves = "none" if options.model in WITH_MOVES else None
    return {
        "model": options.model,
        "topics": options.n_topics,
        "likelihood": options.likelihood_name if options.is_mixture else None,
        "learner": options.learner,
        "tree-tolerance": options.tree_tolerance,
        "round": options.batches_per_round,
        "cold-every": options.cold_every,
        "gradient": None if options.gradient is None else options.gradient.rule,
        "variance": options.variance,
        "local-update": local.update,
        "sparsity": local.sparsity,
        "moves": ",".join(moves.names) or no_moves,
        "criterion": moves.criterion,
        "laps": options.n_laps,
        "restarts": local.restarts if counts_topics else None,
        "minimum-mass": local.minimum_mass,
        "alpha": prior.doc_concentration if counts_topics else None,
        "gamma": prior.top_concentration,
        "eta": prior.word_concentration if options.counts_words else None,
        "learn-hyperparameters": options.learn_hyperparameters,
    }


def _toml(value: Value) -> str:
    if isinstance(value, str):  # strings of JSON are strings of TOML, but for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)

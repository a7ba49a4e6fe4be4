"""``sparsetopics train``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sparsetopics.options import TrainingOptions


@click.command()
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Run folder to write.")
@click.option("--overwrite", is_flag=True, help="Replace the run folder if it exists.")
@click.option(
    "--model", type=click.Choice(["lda"]), default="lda", show_default=True, help="Kind of model."
)
@click.option("--topics", type=int, default=100, show_default=True, help="Number of topics K.")
@click.option(
    "--learner",
    type=click.Choice(["memoized", "stochastic", "full"]),
    default="memoized",
    show_default=True,
    help="How batches update the topics.",
)
@click.option(
    "--local-update",
    type=click.Choice(["collapsed", "mean-field"]),
    default="collapsed",
    show_default=True,
    help="How topics are found in a document. Only mean-field is sure to raise the ELBO; "
    "collapsed predicts better.",
)
@click.option(
    "--sparsity",
    type=int,
    help="Topics a word of a document may use at once, L; the number of topics for a dense step, "
    "1 for hard assignment. Default: 8, or all topics if fewer.",
)
@click.option("--laps", type=int, default=20, show_default=True, help="Passes over the corpus.")
@click.option(
    "--batches",
    type=int,
    help="Batches the corpus is divided into. Default: by its size, 10 at least.",
)
@click.option(
    "--start",
    help="Seed documents drawn at random (random) or far apart (distant), or a run folder to go "
    "on from. Default: distant.",
)
@click.option("--restarts", type=int, help="Restart proposals a document. Default: 5 mean-field.")
@click.option(
    "--minimum-mass",
    type=float,
    help="Tokens below which a topic leaves a document, if they are less than 2 % of it. "
    "Default: 3 with the collapsed update, next to nothing with mean-field.",
)
@click.option("--alpha", type=float, default=0.5, show_default=True, help="Total Σ α_k.")
@click.option("--eta", type=float, default=0.1, show_default=True, help="η of each word.")
@click.option("--learn-hyperparameters", is_flag=True, help="Learn α (for each topic) and η.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Same seed, same bytes.",
)
@click.option(
    "--workers", type=int, default=1, show_default=True, help="Threads; never changes the result."
)
@click.option(
    "--heldout", type=click.Path(path_type=Path), help="Score this corpus after every lap."
)
@click.option(
    "--resident-pairs",
    type=click.IntRange(min=0),
    default=32_000_000,
    show_default=True,
    help="A corpus with more document-word pairs than this is streamed from disk.",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    corpus: Path,
    out: Path,
    overwrite: bool,
    model: str,
    topics: int,
    learner: str,
    local_update: str,
    sparsity: int | None,
    laps: int,
    batches: int | None,
    start: str | None,
    restarts: int | None,
    minimum_mass: float | None,
    alpha: float,
    eta: float,
    learn_hyperparameters: bool,
    seed: int,
    workers: int,
    heldout: Path | None,
    resident_pairs: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Learn topics from CORPUS and write them to a run folder.

    \b
    Example:
        sparsetopics train corpus --topics 50 --out run
        sparsetopics train corpus --topics 50 --heldout heldout --workers 2 --out run
    """
    from sparsetopics.cli.train_progress import show_progress
    from sparsetopics.options import TopicPrior, LocalOptions, TrainingOptions
    from sparsetopics.trained_runs import RunPlan, train_run

    from_run = start not in (None, "random", "distant")
    options = TrainingOptions(
        n_topics=topics,
        laps=laps,
        learner=learner,  # type: ignore[arg-type]
        local=LocalOptions(
            local_update,  # type: ignore[arg-type]
            sparsity,
            restarts=restarts,
            minimum_mass=minimum_mass,
        ),
        prior=TopicPrior(alpha, eta),
        start=None if from_run else start,  # type: ignore[arg-type]
        learn_hyperparameters=learn_hyperparameters,
    )
    plan = RunPlan(
        corpus=corpus,
        out=out,
        options=options,
        n_batches=batches,
        resident_pairs=resident_pairs,
        seed=seed,
        workers=workers,
        heldout=heldout,
        start_run=Path(start) if from_run and start else None,
        overwrite=overwrite,
    )
    with show_progress(laps, quiet=quiet) as hooks:
        result = train_run(plan, hooks)
    if as_json:
        click.echo(json.dumps(result._asdict() | {"run": str(out)}))
    else:
        _print(options, result.elbo_per_token, result.seconds, out)


def _print(options: TrainingOptions, elbo_per_token: float, seconds: float, out: Path) -> None:
    click.echo(
        f"Trained {options.n_topics} topics in {options.laps} laps and {seconds:.1f} s; "
        f"ELBO {elbo_per_token:.4f} nats per token. Wrote {out}."
    )

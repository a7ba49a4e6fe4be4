"""``sparsetopics train``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import click

from sparsetopics.errors import OptionError
from sparsetopics.options import (
    DEFAULT_CRITERION,
    DEFAULT_LAPS,
    DEFAULT_LIKELIHOOD,
    DEFAULT_MOVES,
    DEFAULT_TOP_CONCENTRATION,
    DEFAULT_TOPICS,
    DEFAULT_TREE_TOLERANCE,
    GROWTH_LAPS,
    MIXTURES,
    POINT_LEARNERS,
    Criterion,
    GradientName,
    LearnerName,
    LikelihoodName,
    LocalUpdate,
    ModelName,
    MoveName,
    StartName,
)

if TYPE_CHECKING:
    from sparsetopics.options import TrainingOptions
    from sparsetopics.trained_runs import RunResult

NO_MOVES = "none"
DEFAULT_TRUNCATION = 50


def _move_names(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """``merge,delete`` as its two names, ``none`` as no name."""
    if value is None:
        return None
    return () if value == NO_MOVES else tuple(name.strip() for name in value.split(","))


@click.command()
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Run folder to write.")
@click.option("--overwrite", is_flag=True, help="Replace the run folder if it exists.")
@click.option(
    "--model",
    type=click.Choice(get_args(ModelName)),
    default="hdp",
    show_default=True,
    help="Of documents: hdp learns how many topics there are, lda keeps the number it is given. "
    "Of vectors, or documents of one component each: dp-mixture learns how many components there "
    "are, mixture keeps the number.",
)
@click.option(
    "--topics",
    type=int,
    help="Number of topics or components; the number that hdp and dp-mixture start from. "
    f"Default: {', '.join(f'{number} for {name}' for name, number in DEFAULT_TOPICS.items())}; or "
    "as many as a run to go on from has. The learners alternating and gradient empty some of as "
    f"many, {DEFAULT_TRUNCATION} by default.",
)
@click.option(
    "--likelihood",
    type=click.Choice(get_args(LikelihoodName)),
    help="Of a mixture's components: multinomial for documents, the others for vectors. "
    f"Default: {DEFAULT_LIKELIHOOD}.",
)
@click.option(
    "--learner",
    type=click.Choice(get_args(LearnerName)),
    default="memoized",
    show_default=True,
    help="How batches update the topics. accelerated: a dp-mixture of vectors grows from one "
    "component, on a kd-tree whose nodes stand for their items. alternating and gradient: a "
    "dp-mixture of isotropic Gaussians moves single values, not posteriors, and every item has one "
    "component.",
)
@click.option(
    "--tree-tolerance",
    type=float,
    help="Of the accelerated learner: nats per number that dividing all nodes of the tree once "
    f"more may add; 0 for no tree, but all items. Default: {DEFAULT_TREE_TOLERANCE:g}.",
)
@click.option(
    "--gradient",
    type=click.Choice(get_args(GradientName)),
    help="Steps of the gradient learner: plain, with momentum, or divided by the Fisher "
    "information. Default: fisher.",
)
@click.option(
    "--variance",
    type=float,
    help="Known variance σ² of isotropic-gaussian. Default: the mean variance of the columns, and "
    "tr C² / tr C of their covariance C for alternating and gradient.",
)
@click.option(
    "--local-update",
    type=click.Choice(get_args(LocalUpdate)),
    help="How topics are found in a document. Only mean-field is sure to raise the ELBO; "
    "collapsed predicts better. Default: collapsed for topics; mixtures are always mean-field.",
)
@click.option(
    "--sparsity",
    type=int,
    help="Topics a word of a document may use at once, L; the number of topics for a dense step, "
    "1 for hard assignment. Default: 8, or all topics if fewer.",
)
@click.option(
    "--moves",
    callback=_move_names,
    metavar="NAME,NAME|none",
    help="How hdp and dp-mixture change their number of topics, with the memoized learner. "
    f"Default: {','.join(DEFAULT_MOVES)}. For lda: regroup, which splits all topics and merges "
    "them back to as many; default: none.",
)
@click.option(
    "--criterion",
    type=click.Choice(get_args(Criterion)),
    help="What a move must raise: the ELBO (bound), or the collapsed criterion, which is no bound "
    f"but finds more topics and predicts better. Default: {DEFAULT_CRITERION} for hdp, bound for "
    "dp-mixture.",
)
@click.option(
    "--laps",
    type=int,
    help=f"Passes over the corpus. Default: {DEFAULT_LAPS['lda']} for lda; at most "
    f"{DEFAULT_LAPS['hdp']} for the others, which stop when they have settled; {GROWTH_LAPS} for "
    "the accelerated learner, in each of which a component is added.",
)
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
@click.option("--alpha", type=float, help="Total Σ α_k of documents. Default: 0.5.")
@click.option(
    "--gamma",
    type=float,
    help="γ of hdp and mixtures: the greater, the more topics they expect. "
    f"Default: {DEFAULT_TOP_CONCENTRATION:g}.",
)
@click.option(
    "--eta", type=float, help="η of each word, of topics and of multinomial mixtures. Default: 0.1."
)
@click.option("--learn-hyperparameters", is_flag=True, help="Learn η, α and, of the HDP, γ.")
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
@click.option(
    "--checkpoint-every",
    type=click.IntRange(min=0),
    metavar="LAPS",
    help="Keep the state of training after so many laps, 0 for never; `sparsetopics resume` goes "
    "on from there. Default: as often as takes less than a tenth of the time.",
)
@click.option(
    "--keep-state",
    is_flag=True,
    help="Keep the state when training is done, so that `resume --laps` can go on.",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    corpus: Path,
    out: Path,
    overwrite: bool,
    model: ModelName,
    topics: int | None,
    likelihood: LikelihoodName | None,
    learner: LearnerName,
    tree_tolerance: float | None,
    gradient: GradientName | None,
    variance: float | None,
    local_update: LocalUpdate | None,
    sparsity: int | None,
    moves: tuple[MoveName, ...] | None,
    criterion: Criterion | None,
    laps: int | None,
    batches: int | None,
    start: str | None,
    restarts: int | None,
    minimum_mass: float | None,
    alpha: float | None,
    gamma: float | None,
    eta: float | None,
    learn_hyperparameters: bool,
    seed: int,
    workers: int,
    heldout: Path | None,
    resident_pairs: int,
    checkpoint_every: int | None,
    keep_state: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Learn topics from CORPUS and write them to a run folder.

    By default an HDP, which finds out how many topics there are from wherever it starts: topics
    merge, vanish and are born where that raises the criterion, until neither their number nor the
    bound changes. If training is interrupted, ``sparsetopics resume`` goes on with it.

    \b
    Example:
        sparsetopics train corpus --out run
        sparsetopics train corpus --topics 200 --moves merge,delete --out run
        sparsetopics train corpus --criterion collapsed --heldout heldout --out run
        sparsetopics train corpus --model lda --topics 50 --workers 2 --out run
        sparsetopics train vectors --model dp-mixture --likelihood zero-mean-gaussian --out run
        sparsetopics train vectors --model dp-mixture --learner accelerated --out run
        sparsetopics train corpus --model dp-mixture --likelihood multinomial --out run
        sparsetopics train vectors --model dp-mixture --likelihood isotropic-gaussian \\
            --learner gradient --gradient momentum --topics 50 --out run
    """
    from sparsetopics.cli.train_progress import show_progress
    from sparsetopics.options import GradientOptions, LocalOptions, TopicPrior, TrainingOptions
    from sparsetopics.run_plans import RunPlan
    from sparsetopics.trained_runs import move_options, train_run

    is_mixture = model in MIXTURES
    if is_mixture:
        given = {"alpha": alpha, "minimum-mass": minimum_mass}
        if likelihood != "multinomial":
            given["eta"] = eta
        _refuse_for_mixtures({name: value for name, value in given.items() if value is not None})
        restarts = restarts or 0
    update = local_update or ("mean-field" if is_mixture else "collapsed")
    drawn = start in (None, *get_args(StartName))
    usual = DEFAULT_TRUNCATION if learner in POINT_LEARNERS else DEFAULT_TOPICS[model]
    options = TrainingOptions(
        n_topics=usual if topics is None else topics,
        laps=laps,
        learner=learner,
        local=LocalOptions(update, sparsity, restarts=restarts, minimum_mass=minimum_mass),
        prior=TopicPrior(0.5 if alpha is None else alpha, 0.1 if eta is None else eta, gamma),
        start=cast("StartName | None", start) if drawn else None,
        learn_hyperparameters=learn_hyperparameters,
        model=model,
        moves=move_options(moves, criterion),
        likelihood=likelihood,
        tree_tolerance=tree_tolerance,
        variance=variance,
        gradient=None if gradient is None else GradientOptions(gradient),
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
        start_run=None if drawn or start is None else Path(start),
        start_topics=topics is None,
        overwrite=overwrite,
        checkpoint_every=checkpoint_every,
        keep_state=keep_state,
    )
    with show_progress(options, quiet=quiet) as hooks:
        result = train_run(plan, hooks)
    if as_json:
        click.echo(json.dumps(result._asdict() | {"run": str(out)}))
    else:
        click.echo(f"{outcome(result, options)} Wrote {out}.")


def outcome(result: RunResult, options: TrainingOptions) -> str:
    """What was trained, for how long, and why it ended."""
    things = "components" if options.is_mixture else "topics"
    datum = "token" if options.counts_words else "item"
    name = result.model if options.is_mixture else result.model.upper()
    trained = (
        f"Trained {result.n_topics:,} {things} ({name}) in {result.laps} laps and "
        f"{result.seconds:.1f} s; ELBO {result.elbo_per_token:.4f} nats per {datum}."
    )
    if options.model == "lda":
        return trained
    settled = result.laps < options.n_laps
    ending = f"Bound and number of {things} have settled." if settled else "All laps are used up."
    return f"{trained} {ending}"


def _refuse_for_mixtures(given: dict[str, float]) -> None:
    for name, value in given.items():
        raise OptionError(
            name, found=f"{value:g} with a mixture", wanted="a topic model",
            hint="Vectors have no words, and documents of a mixture no topics of their own.",
        )  # fmt: skip

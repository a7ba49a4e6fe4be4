"""How a model was trained, in words, for the page about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from sparsetopics.base.wording import listed
from sparsetopics.evaluation.report.report_content import Fact, minus
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.statistics import in_use
from sparsetopics.options.registry import LEARNERS, LIKELIHOODS, MODELS, LearnerKind, LikelihoodKind
from sparsetopics.options.table import LEARNED, OPTION
from sparsetopics.runs.run import AnyRun
from sparsetopics.runs.run_files import CorpusFacts, Nested, Plain

UPDATES = {"collapsed": "by the collapsed update", "mean-field": "by the mean-field update"}
CRITERIA = {"bound": "the ELBO", "collapsed": "the collapsed criterion"}
VALIDATED = (
    "merges, down to a number of topics chosen by documents that were kept out of training; then "
    "merges and deletes, as long as these documents are predicted as well"
)
OWN_COUNTS = {
    "keep": "kept in all laps",
    "half": "half left out in the last laps",
    "leave": "left out in the last laps",
}
MOVES = {"merge": "merges", "delete": "deletes", "birth": "births"}
# Options that have a sentence or number of their own; the others are shown as they are typed.
SAID = {
    *("model", "topics", "laps", "seed", "likelihood", "moves", "criterion"),
    *("alpha", "gamma", "eta", "smoothing", "learn-hyperparameters", "learner"),
    *("local-update", "own-counts"),
}


def run_facts(run: AnyRun) -> dict[str, Fact]:
    """Return how a model was trained: labels and what they say; None if it is not known."""
    model, settings, options = run.model, run.settings, run.settings.get("options", {})
    kind, n_empty = MODELS[model.name], int((~in_use(model.sizes)).sum())
    component, width, local = dict[str, Fact](), dict[str, Fact](), dict[str, Fact]()
    if isinstance(model, MixturePosterior):
        found = f"{model.n_topics:,} components{f', {n_empty:,} of them empty' if n_empty else ''}"
        component = {"each component": _in_words(model.likelihood_name, _words_of(LIKELIHOODS))}
        width = {"columns" if run.vocabulary is None else "words": f"{model.n_columns:,}"}
    else:
        first, found = _entry(options, "n_topics"), f"{model.n_topics:,} topics"
        if kind.learns_number and first is not None:
            found = f"began with {first} topics and learned {model.n_topics:,}"
        local = {
            "topics of a document": _in_words(_entry(options, "local.update"), UPDATES),
            "a document's own counts": _in_words(_entry(options, "local.own_counts"), OWN_COUNTS),
        }
    return {
        "model": f"{kind.words or kind.title}, {found}",
        **component,
        **_data_facts(run),
        **width,
        "learner": _in_words(_entry(options, "learner"), _words_of(LEARNERS)),
        **local,
        "moves": VALIDATED if "number_of_topics" in settings else _moves(options),
        **priors_of(run),
        "other options": " ".join(_typed_options(options, model.name)) or None,
        "seed": settings.get("seed"),
        "trained with": f"sparsetopics {settings['versions']['sparsetopics']}",
    }


def priors_of(run: AnyRun) -> dict[str, Fact]:
    """Return what is assumed, by a letter, a comma and its meaning; None for what a model lacks."""
    model, options = run.model, run.settings.get("options", {})
    if isinstance(model, MixturePosterior):
        return {"γ, for the weights of components": _prior(model.mixture.top_concentration)}
    learned, sticks = bool(options.get("learn_hyperparameters")), model.sticks
    gamma = None if sticks is None else sticks.top_concentration
    is_chosen = options.get("smoothing") == LEARNED
    return {
        "α, summed over the topics of a document": _prior(model.doc_concentration.sum(), learned),
        "η, for each word of a topic": _prior(model.word_concentration, learned),
        "σ, for smoothing finished topics": _prior(model.smoothing, is_chosen),
        "γ, for the weights of topics": _prior(gamma, learned),
    }


def training_data(corpus: CorpusFacts) -> str:
    """``270 documents (24,052 tokens)`` or ``600 items``."""
    tokens = f" ({corpus['n_tokens']:,.0f} tokens)" if "n_tokens" in corpus else ""
    documents = f"{corpus['n_documents']:,} documents{tokens}" if "n_documents" in corpus else ""
    return f"{corpus['n_items']:,} items" if "n_items" in corpus else documents


def _data_facts(run: AnyRun) -> dict[str, Fact]:
    """Say what was read, and how often."""
    corpus, most = run.settings["corpus"], _entry(run.settings.get("options", {}), "laps")
    name = f" in {Path(corpus['path']).name}" if "path" in corpus else ""
    # The start of the fingerprint tells apart corpora whose folders have the same name.
    fingerprint = str(corpus.get("fingerprint", "")).removeprefix("rows:")[:12]
    passes = f"{run.n_laps:,} {'pass' if run.n_laps == 1 else 'passes'} over the data"
    if "found_in_runs" in run.settings:  # the lap of the consensus is one more
        most = None
    return {
        "trained on": f"{training_data(corpus)}{name}",
        "fingerprint of the data": fingerprint or None,
        "training": passes if most is None else f"{passes}, at most {most}",
    }


def _moves(options: Nested) -> str | None:
    """``merges and births, accepted if they raise the ELBO``; None for a run that made none."""
    names = _entry(options, "moves.names")
    if not isinstance(names, list) or not names:
        return None
    said = listed([MOVES.get(name, name) for name in names])
    criterion = _in_words(_entry(options, "moves.criterion"), CRITERIA)
    return said if criterion is None else f"{said}, accepted if they raise {criterion}"


def _typed_options(options: Nested, model: str) -> Iterator[str]:
    """Yield the remaining options that differ from their defaults, as the command line has them."""
    for option in OPTION.values():
        if option.name in SAID or not option.is_for(model):
            continue
        value = options.get(option.key) if option.part == "run" else _entry(options, option.place)
        if value is not None and value != option.default:
            typed = ",".join(value) if isinstance(value, list) else str(value)
            yield f"--{option.name} {typed}"


def _entry(options: Nested, place: str) -> Plain:
    """Return the value at a place such as ``local.update``; None if there is none."""
    part, _, name = place.rpartition(".")
    group = options.get(part, {}) if part else options
    value = group.get(name) if isinstance(group, Mapping) else None
    return None if isinstance(value, Mapping) else value


def _words_of(kinds: Mapping[str, LearnerKind] | Mapping[str, LikelihoodKind]) -> dict[str, str]:
    """Return how pages describe the kinds of a registry."""
    return {name: kind.words or name for name, kind in kinds.items()}


def _in_words(name: Plain, words: Mapping[str, str]) -> str | None:
    """Return ``words`` for a name, or the name of what has been added to sparsetopics since."""
    return None if name is None else words.get(str(name), str(name))


def _prior(value: float | None, learned: bool = False) -> str | None:
    if value is None:
        return None
    return minus(f"{value:.3g}") + " (learned from the data)" * learned

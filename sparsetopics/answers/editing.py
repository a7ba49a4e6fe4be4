"""Edits of the topics of a run, which are joined, divided or dropped, and laps after that.

Counts stay exact: those of joined topics are the sum of the old ones, and those of divided topics
add up to the old ones. The sum of all α_k (for an HDP, of all weights) stays, and so does the
smoothing σ. Topics of the edited model are in falling order of weight. Only a lap gives the words
of a dropped topic to the others.

All give the same bits for the same run and corpus, whatever the number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

import numpy as np
from msgspec.structs import replace as with_fields

from sparsetopics.answers.edit_records import Edits
from sparsetopics.answers.topic_names import place_of, with_names
from sparsetopics.base.batches import DocumentBatch, FloatArray, IntArray
from sparsetopics.base.errors import warn_user
from sparsetopics.corpora.batching import FEWEST_BATCHES, Batches
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.inference.document_step import fit_documents
from sparsetopics.inference.local_step import Globals
from sparsetopics.inference.moves.word_evidence import words_of_topic
from sparsetopics.inference.theme_tree import groups_at
from sparsetopics.inference.topics import falling
from sparsetopics.inference.training import train
from sparsetopics.model.allocations.hdp import reweighted
from sparsetopics.model.allocations.lda import LDAAllocation
from sparsetopics.model.assignments import Assignments
from sparsetopics.model.likelihoods.words import Words
from sparsetopics.model.statistics import tokens_of_documents
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.model.word_counts import WordCounts
from sparsetopics.options.option import counts_from, refuse
from sparsetopics.options.training import TopicPrior, TrainingOptions
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.data import divided, facts_of, is_fingerprint_of
from sparsetopics.runs.run import AnyRun, TopicRun, option_record, recorded_options
from sparsetopics.runs.seen_documents import joined_seen
from sparsetopics.runs.session import run_session, warm_options, workshop
from sparsetopics.runs.topic_identity import inherited

QUANTA = 2.0**20  # of a token, in which shares of words are whole
SAMPLE_DOCUMENTS = 4_000  # at most, that decide how a topic is divided: those with most of it
SMALL_LAPS = 40  # over them: two topics of very different sizes part slowly
FEWEST_DOCUMENTS = 4  # that use a topic which is to be divided
T = TypeVar("T")
Parents = list[list[int]]  # the old topics that each new one comes from, in rising order


def edited(
    run: TopicRun, edits: Edits, corpus: Corpus | None, workers: int, hooks: RunHooks
) -> TopicRun:
    """Return a run with edited topics, which are not named yet; ``run`` stays as it is.

    ``edits`` are by its ids. Topics that are joined add up their counts, and have the identity of
    the heaviest of them. Laps over the ``corpus`` then give each word to the topics that explain it
    best. When a topic is split, the part closer to it keeps its identity. Same bits for any number
    of ``workers``. Raises OptionError for edits that cannot be made, and if a corpus is needed.
    """
    found = run
    if edits.merge:
        groups = [[place_of(run, topic, "merge") for topic in group] for group in edits.merge]
        found = with_joined_topics(run, groups)
    if edits.themes:
        found = with_joined_themes(found, edits.themes)
    if not edits.laps:
        return found
    if corpus is None:
        refuse("corpus", "is needed to split or drop topics, and for laps")
    for topic in edits.drop:
        found = without_topic(found, place_of(found, topic, "drop"))
    whole = found
    for topic in edits.split:
        found = split_topic(found, place_of(found, topic, "split"), corpus, workers)
    known = run.settings["corpus"].get("fingerprint")
    if known is not None and is_fingerprint_of(known, corpus) is False:
        said = "These are not the documents that the run was trained with"
        warn_user(f"{said}: the counts of its topics become those of these documents alone.")
    return relearned(found, whole, corpus, edits.laps, workers, hooks)


def with_joined_topics(run: TopicRun, groups: Sequence[Sequence[int]]) -> TopicRun:
    """The run with each group of topics as one topic, which has the sum of their counts and α_k.

    No topic is in two groups.
    """
    others = [[topic] for topic in range(run.model.n_topics) if topic not in chain(*groups)]
    parents, counts = sorted([*map(sorted, groups), *others]), run.model.exact_counts
    return _edited(run, np.array([counts[of].sum(axis=0) for of in parents]), parents)


def with_joined_themes(run: AnyRun, n_themes: int) -> TopicRun:
    """The run with each of ``n_themes`` themes as a topic, which has the id of its heaviest one.

    It has the name of the theme, if that was named. Raises OptionError for a mixture, and if there
    are fewer topics.
    """
    topics = run.of(TopicPosterior)
    if topics is None:
        refuse("themes", f"needs the topics of LDA or an HDP, but {run.path} is a mixture")
    counts_from(1).check("themes", n_themes)
    if n_themes > run.model.n_topics:
        most = f"{run.model.n_topics:,}, the number of topics of {run.path}"
        refuse("themes", f"must be from 1 to {most}, but is {n_themes:,}")
    return joined_to_themes(topics, groups_at(topics.themes(), n_themes))


def joined_to_themes(run: TopicRun, groups: IntArray) -> TopicRun:
    """The run with a topic for each of ``groups``, (n_topics,), which has the name of the theme.

    That is the one it was given, or that the only topic in it was given. Otherwise, a theme of all
    topics of a list, or of all lists with one parent, has the name of the list or of the parent.
    """
    joined = [np.flatnonzero(groups == theme).tolist() for theme in np.unique(groups)]
    found = with_joined_topics(run, [group for group in joined if len(group) > 1])
    inside = dict[str, set[int]]()  # the topics of each parent, then of each list, which wins
    for name, each in [(each.parent or each.name, each) for each in run.lists]:
        inside.setdefault(name, set()).update(each.topics)
    inside |= {each.name: {*each.topics} for each in run.lists if each.parent}
    names: dict[int | str, str] = {
        run.topics[own[0]].id: name
        for name, topics in inside.items()
        for own in joined
        if topics == {*own}
    }
    single = (run.topics[own[0]] for own in joined if len(own) == 1)
    names |= {each.id: each.name for each in single if each.name}
    names |= {each.id: each.theme_name for each in found.topics if each.theme_name}
    nameless = [
        with_fields(topic, name=None, words=(), named_by=None, theme_name=None)
        for topic in found.topics
    ]
    found.settings.pop("guide", None)  # whose lists are of topics, not of themes
    return with_names(found.with_topics(nameless), names)


def with_new_topics(run: TopicRun, counts: FloatArray) -> TopicRun:
    """The run with more topics, which have these ``counts``, (n_new_topics, n_words), and a share
    of the weight that is their share of the tokens."""
    parents: Parents = [[topic] for topic in range(run.model.n_topics)] + [[] for _ in counts]
    return _edited(run, np.vstack([run.model.exact_counts, counts]), parents)


def with_divided_topic(run: TopicRun, topic: int, shares: FloatArray) -> TopicRun:
    """The run with two topics in place of one, each with half of its α_k.

    ``shares`` (n_words,) says which part of each word's tokens the first of them gets, from 0 to 1.
    Raises OptionError if one of the two gets no token.
    """
    numbers = np.insert(np.arange(run.model.n_topics), topic, topic)
    counts = run.model.exact_counts[numbers]
    counts[topic] = np.floor(shares * counts[topic] * QUANTA) / QUANTA
    counts[topic + 1] -= counts[topic]
    if not counts[topic : topic + 2].any(axis=1).all():
        refuse("split", f"topic {topic} cannot be divided, because one part would have no words")
    return _edited(run, counts, [[number] for number in numbers.tolist()])


def without_topic(run: TopicRun, topic: int) -> TopicRun:
    """The run without a topic and its counts; the others share its α_k in proportion to theirs.

    Raises OptionError if the topic is the only one of the model.
    """
    if run.model.n_topics == 1:
        refuse("drop", f"topic {topic} is the only topic of the model")
    parents = [[number] for number in range(run.model.n_topics) if number != topic]
    return _edited(run, np.delete(run.model.exact_counts, topic, axis=0), parents)


def _edited(run: TopicRun, counts: FloatArray, parents: Parents) -> TopicRun:
    """The run with these ``counts``, (n_topics, n_words), in falling order of weight.

    ``parents`` are the old topics, in rising order, that each topic comes from. It has the identity
    of the first of them, unless a heavier topic has it. A topic without parents is new.
    """
    sizes, old = counts.sum(axis=1), run.model
    order = np.argsort(-sizes, kind="stable")
    parents, sticks = [parents[topic] for topic in order], old.sticks
    parts = sizes[order] / sizes.sum()
    if sticks is None:
        concentration = _shared(old.doc_concentration, parents, parts)
    else:
        weights = _shared(sticks.global_topic_weights, parents, parts)
        former, of_new = sticks.concentrations, sticks.concentrations.mean()
        concentrations = np.array([former[of[0]] if of else of_new for of in parents])
        sticks = reweighted(weights, concentrations, sticks)
        concentration = sticks.doc_concentration * sticks.global_topic_weights
    eta, sigma = old.word_concentration, old.smoothing
    model = TopicPosterior(old.name, counts[order] + eta, concentration, eta, sticks, sigma)
    found = replace(run.with_topics(inherited(run.topics, parents, model)), model=model)
    settings, options = found.settings, option_record(options_of_edited(found))
    settings["options"] = {**settings.get("options", {}), **options}
    settings.pop("number_of_topics", None)  # which edits change
    settings.pop("themes", None)
    settings.pop("likeness_of_halves", None)
    if "seen" in settings:
        settings["seen"] = joined_seen(settings["seen"], parents)
    if few := settings.get("few_documents"):
        settings["few_documents"] = _still_known(few, parents)
    if sure := settings.get("found_in_runs"):
        settings["found_in_runs"] = _still_known(sure, parents)
    return found


def _still_known(known: Sequence[T | None], parents: Parents) -> tuple[T | None, ...]:
    """What is ``known`` of each topic, except of topics that were joined or divided, or are new."""
    stays = (len(of) == parents.count(of) == 1 for of in parents)
    return tuple(known[of[0]] if same else None for of, same in zip(parents, stays, strict=True))


def _shared(weights: FloatArray, parents: Parents, of_tokens: FloatArray) -> FloatArray:
    """The new weights, with the same sum as the old ones; topics of one parent share it equally.

    A topic without parents has its share ``of_tokens``, (n_topics,), of all.
    """
    used, n_children = np.unique(list(chain.from_iterable(parents)), return_counts=True)
    parts = np.zeros_like(weights)
    parts[used] = weights[used] / n_children
    sums = np.array([parts[of].sum() for of in parents], np.float64)
    sums *= weights.sum() / weights[used].sum()
    is_new = np.array([not of for of in parents])
    sums *= 1.0 - of_tokens[is_new].sum()
    sums[is_new] = weights.sum() * of_tokens[is_new]
    return sums


# --- with documents -------------------------------------------------------------------------------
def options_of_edited(run: TopicRun) -> TrainingOptions:
    """The options of a run whose number of topics has changed since they were recorded."""
    options, n_topics = recorded_options(run), run.model.n_topics
    sparsity = options.local.sparsity and options.local.n_slots(n_topics)
    return replace(options, n_topics=n_topics, local=replace(options.local, sparsity=sparsity))


def relearned(
    run: TopicRun, whole: TopicRun, corpus: Corpus, laps: int, workers: int, hooks: RunHooks
) -> TopicRun:
    """Make laps over ``corpus``, starting from the topics of ``run``, as ``train --start`` does.

    The topics get the identities of those of ``whole``, the run before topics were split. An HDP
    stops before the last lap if it has settled. Raises OptionError for a corpus of other words.
    """
    options = warm_options(run.model, recorded_options(run), laps)
    rng = np.random.default_rng(run.settings.get("seed"))
    hooks.on_options(options)
    data = divided(corpus, options, None, None, rng)
    with workshop(workers) as where:
        made = run_session(data, options, rng, *where, hooks, scorer=None, start=run.model)
    assert isinstance(made.model, TopicPosterior), "it started from one"
    likely = falling(made.learned.statistics.components.sizes).tolist() if whole is run else ()
    settings = run.with_topics(whole.carried(made.model, likely)).settings
    settings["corpus"] = facts_of(corpus)
    settings.pop("number_of_topics", None)  # chosen by other documents
    settings.pop("themes", None)
    settings.pop("few_documents", None)
    settings.pop("likeness_of_halves", None)
    if sure := settings.get("found_in_runs"):
        by_id = {topic.id: each for topic, each in zip(run.topics, sure, strict=True)}
        settings["found_in_runs"] = tuple(by_id.get(topic.id) for topic in settings["topics"])
    settings = {**settings, **made.kept}
    laps_made = [entry | {"lap": run.n_laps + n} for n, entry in enumerate(made.trace, start=1)]
    return replace(run, model=made.model, settings=settings, trace=[*run.trace, *laps_made])


def split_topic(run: TopicRun, topic: int, corpus: Corpus, workers: int) -> TopicRun:
    """Divide a topic by the documents of ``corpus``, which has the words of the run.

    The words of the topic in the documents that have most of it are a small collection, from which
    LDA learns two topics. They share the counts of each word in proportion to its tokens.
    Raises OptionError if too few documents use the topic, or if they do not differ.
    """
    model, eta, local = run.model, run.model.word_concentration, recorded_options(run).local_step
    components = WordCounts(np.ascontiguousarray(model.exact_counts.T)).accumulator()
    sharing = LDAAllocation(model.doc_concentration)
    current, parts = Globals(components, sharing, Words(model.n_words, eta)), list[DocumentBatch]()
    if corpus.n_docs < FEWEST_DOCUMENTS:
        refuse("split", f"needs at least {FEWEST_DOCUMENTS} documents that use topic {topic}")
    with workshop(workers) as (executor, _):
        for batch in corpus.batches():
            found = fit_documents(batch, current, local, executor).responsibilities
            own = DocumentBatch.joined([*parts, words_of_topic(Assignments(batch, found), topic)])
            order = np.argsort(-tokens_of_documents(own), kind="stable")
            own = own.take(np.sort(order[:SAMPLE_DOCUMENTS]))
            parts = [own]
    if own.n_docs < FEWEST_DOCUMENTS:
        refuse("split", f"fewer than {FEWEST_DOCUMENTS} documents use topic {topic}")
    two = topics_of(own, run, 2, workers)
    tokens = two.topic_word_mean * two.sizes[:, None]  # of each word in each of the two
    return with_divided_topic(run, topic, tokens[0] / tokens.sum(axis=0))


def topics_of(own: DocumentBatch, run: TopicRun, n_topics: int, workers: int) -> TopicPosterior:
    """LDA of a small collection, with the words and η of a run."""
    eta, n_batches = run.model.word_concentration, min(FEWEST_BATCHES, own.n_docs)
    batches = [own[first::n_batches] for first in range(n_batches)]
    sizes = own.n_docs, own.n_tokens, run.model.n_words, n_batches
    prior = TopicPrior(word_concentration=eta)
    options = TrainingOptions(n_topics, SMALL_LAPS, prior=prior, smoothing=eta)
    rng = np.random.default_rng(run.settings.get("seed"))
    source = Batches(*sizes, True, batches.__getitem__)
    with workshop(workers) as (executor, scratch):
        found = train(source, options, scratch, executor, rng)
    assert isinstance(found, TopicPosterior), "LDA"
    return found

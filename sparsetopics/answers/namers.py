"""Names of topics from a function of the user's, such as one that asks a language model."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread

import numpy as np

from sparsetopics.answers.representatives import TopicsToShow, representatives
from sparsetopics.answers.themes import names_of_themes, themes_to_read
from sparsetopics.answers.topic_names import topic_rows, with_names
from sparsetopics.base.errors import warn_user
from sparsetopics.base.wording import excerpt, kind_and_reason_of, quantity
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.text.tokenizer_functions import name_of
from sparsetopics.measures.relevance import NAME_BALANCE
from sparsetopics.model.statistics import in_use
from sparsetopics.runs.run import AnyRun
from sparsetopics.runs.topic_identity import NAME_WORDS, problem_of_name

SECONDS = 60.0  # for the name of one topic
N_DOCUMENTS = 3

# Gets the best words of a topic, the words that set it apart, documents and the name of its theme,
# None without one.
Namer = Callable[[list[str], list[str], list[str], str | None], str]
Say = Callable[[str], None]


def named_by(
    run: AnyRun, namer: Namer, corpus: Corpus | None, workers: int, say: Say = lambda sentence: None
) -> AnyRun:
    """Return a run whose topics have the names that ``namer`` makes.

    It gets ten best words, ten that set the topic apart, the texts of three documents that
    represent it in the ``corpus``, or their words if the corpus does not keep texts, and the name
    of its theme, if the run has themes to read. A topic keeps the name that it has if the function
    raises, takes longer than ``SECONDS``, or returns anything but a short printable text without
    markup. A warning lists these topics. ``say`` tells each name.
    """
    used = np.flatnonzero(in_use(run.model.sizes)).tolist()
    best, apart = topic_rows(run, NAME_WORDS), topic_rows(run, NAME_WORDS, NAME_BALANCE)
    documents: list[list[str]] = [[] for _ in used]
    if corpus is not None:
        found = representatives(TopicsToShow.of_run(run, workers=workers), corpus, N_DOCUMENTS)
        documents = [[each.text or " ".join(each.words) for each in own] for own in found.of_topics]
    themes, ids = themes_to_read(run), [topic.id for topic in run.topics]
    theme_of = names_of_themes(themes) if themes else {}
    names, failures = dict[int | str, str](), dict[str, list[str]]()
    for topic, own in zip(used, documents, strict=True):
        words, telling = ([word for word, _ in rows[topic].words] for rows in (best, apart))
        name, problem = _answer(partial(namer, words, telling, own, theme_of.get(ids[topic])))
        say(f"topic {run.topics[topic].id}: {problem or name}")
        if problem:
            failures.setdefault(problem, []).append(run.topics[topic].id)
        else:
            names[topic] = name
    where = name_of(namer)
    if failures:
        left = "; ".join(f"{problem} ({', '.join(ids)})" for problem, ids in failures.items())
        said = f"{where} named {len(names):,} of {quantity(len(used), 'topic')}: {excerpt(left)}"
        warn_user(f"{said}. The others keep the names that they have.")
    return with_names(run, names, where)


def _answer(ask: Callable[[], str]) -> tuple[str, str]:
    """What a function returns, and what is wrong with that; "" for a name that can be used."""
    answers = SimpleQueue[tuple[str, str]]()

    def put() -> None:
        try:
            name = ask()
            name = str(name).strip() if isinstance(name, str) else name
            answers.put((name, _problem_of(name)))
        except BaseException as error:  # the user's code may raise anything
            answers.put(("", f"raised {kind_and_reason_of(error)}"))

    # A thread that hangs cannot be ended, but neither does it keep this process from ending.
    Thread(target=put, daemon=True).start()
    try:
        return answers.get(timeout=SECONDS)
    except Empty:
        return "", f"no answer in {SECONDS:g} s"


def _problem_of(name: str) -> str:  # or whatever the function returns
    if not isinstance(name, str):
        return f"returned {type(name).__name__}, not a string"
    has_markup = re.search("<[^>]*>|`", name)
    return problem_of_name(name) or ("its name has markup" if has_markup else "")

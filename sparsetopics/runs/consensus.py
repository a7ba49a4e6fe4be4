"""One model of several runs that differ in their seeds: the topics that the runs agree on.

Each topic is the mean of one topic of each run, fitted in one lap over all documents. Two such
models differ less than two runs, and predict better than each of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from threading import Event

import numpy as np

from sparsetopics.base.stopping import stop_thread_at
from sparsetopics.execution.executors import open_executor, open_threads
from sparsetopics.measures.matched_topics import matched_topics, mean_topics
from sparsetopics.model.statistics import in_use
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.found_in_runs import found_in_runs
from sparsetopics.runs.run import TopicRun
from sparsetopics.runs.session import Trained, warm_options


def seeds_of(seed: int | None, n_runs: int) -> list[int]:
    """The seeds of the runs; ``train --seed`` makes the same run of one."""
    spawned = np.random.SeedSequence(seed).spawn(n_runs)
    return [int(each.generate_state(1)[0]) for each in spawned]


def each_run(
    train: Callable[[int, int, RunHooks], TopicRun], n_runs: int, workers: int, hooks: RunHooks
) -> list[TopicRun]:
    """Train runs 0 to ``n_runs`` − 1, as many at once as there are workers, and return them.

    ``train`` gets the number of a run and of its threads. ``hooks`` are called in this thread, and
    ``hooks.on_lap`` gets the number of the run, from 1, as ``run``. After an error, or Ctrl-C, the
    other runs stop with the next batch.
    """
    n_at_once = min(n_runs, workers)
    n_last = n_runs % n_at_once or n_at_once  # at once in the end
    calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
    call: Callable[[Callable[[], None]], None] = operator.call if n_at_once == 1 else calls.put

    def one(number: int) -> TopicRun:
        def on_lap(entry: Mapping[str, float | None]) -> None:
            def tell() -> None:
                hooks.on_lap({**entry, "run": number + 1})

            call(tell)

        def on_documents(n_done: float, n_docs: int) -> None:
            call(partial(hooks.on_documents, n_done, n_docs))

        n_threads = workers // (n_last if number >= n_runs - n_last else n_at_once)
        # What single runs have to say is not about the consensus.
        own = RunHooks(on_lap, on_documents, warn=lambda sentence: None)
        return train(number, n_threads, own)

    if n_at_once == 1:
        return [one(number) for number in range(n_runs)]
    is_over = Event()
    # The outer executor keeps linear algebra to one thread until the last run is done.
    with open_executor(1), open_threads(n_at_once, partial(stop_thread_at, is_over)) as pool:
        try:
            futures = [pool.submit(one, number) for number in range(n_runs)]
            for future in futures:
                future.add_done_callback(lambda done: calls.put(lambda: None))
            while not (calls.empty() and all(future.done() for future in futures)):
                calls.get()()
                for future in filter(Future.done, futures):
                    future.result()  # raises its error
            return [future.result() for future in futures]
        finally:
            is_over.set()


def consensus_of(
    members: Sequence[TopicRun],
    options: TrainingOptions,
    learn: Callable[[TopicPosterior, TrainingOptions], Trained],
) -> Trained:
    """What runs with these ``options`` agree on; ``learn`` makes a lap that starts from a model.

    If documents chose the numbers of topics, it has the median, and the scores of that run.
    """
    numbers = [member.model.n_topics for member in members]
    first = int(np.argsort(numbers, kind="stable")[(len(members) - 1) // 2])
    middle, counts = members[first], [member.model.exact_counts for member in members]
    with open_executor(1):  # sums of linear algebra depend on its threads
        groups = matched_topics(counts, first)
        eta = middle.model.word_concentration
        start = replace(middle.model, topic_word_posterior=mean_topics(counts, groups) + eta)
        own = replace(options.filled(), guide=options.guide)
        found = learn(start, warm_options(start, own, 1))
        model, topics = found.model, (member.model.topic_word_mean for member in members)
        sure = found_in_runs(model.topic_word_mean, topics, in_use(model.sizes))
    found.kept["found_in_runs"] = sure
    if (scores := middle.settings.get("number_of_topics")) is not None:
        found.kept["number_of_topics"] = scores
    before = middle.trace[-1]["seconds"] or 0.0
    laps = [
        {**lap, "lap": len(middle.trace) + n, "seconds": before + (lap["seconds"] or 0.0)}
        for n, lap in enumerate(found.trace, start=1)
    ]
    return found._replace(trace=[*middle.trace, *laps])

"""A tour of the toolkit on a small collection that is installed with gensim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from sparsetopics.base.errors import SourceError
from sparsetopics.base.outputs import output_file, output_folder, written
from sparsetopics.base.own_folders import QUICKSTART
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.corpora.ingest import ingest
from sparsetopics.corpora.ingest_options import IngestOptions
from sparsetopics.corpora.split import split_corpus
from sparsetopics.corpora.text.pruning import PruningOptions
from sparsetopics.corpora.text.stop_words import ENGLISH, stop_words_of
from sparsetopics.evaluation.report.page import write_page
from sparsetopics.evaluation.report.report import scored_report
from sparsetopics.evaluation.scoring.fixed_topics import topics_of_run
from sparsetopics.evaluation.scoring.topic_scores import Scorecard, score_topics
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs.callbacks import RunHooks
from sparsetopics.runs.plan import RunPlan
from sparsetopics.runs.run import load_run
from sparsetopics.runs.train import train_run

RUN, REPORT = "run", "report.html"  # in the folder of the results
HELD_OUT_SHARE = 0.1
SEED = 0
TRAINING = TrainingOptions(n_topics=20, laps=12, model="hdp")  # takes less than a minute


def run_quickstart(
    out: Path, *, overwrite: bool, say: Callable[[str], None], hooks: RunHooks
) -> Scorecard:
    """Ingest, split, train, score and report; write all results to the folder ``out``, or none.

    ``say`` gets a sentence about each step. Raises OutputError if ``out`` exists and ``overwrite``
    is not set.
    """
    with written(output_folder(out, QUICKSTART, overwrite=overwrite)) as folder:
        say("Ingesting 300 news stories of the Australian Broadcasting Corporation.")
        pruning = PruningOptions(stop_words=stop_words_of(ENGLISH))
        options = IngestOptions(format="lines", pruning=pruning)
        ingest([bundled_collection()], folder / "corpus", options)
        train_corpus, heldout = folder / "train", folder / "heldout"
        rng = np.random.default_rng(SEED)
        split_corpus(folder / "corpus", train_corpus, heldout, HELD_OUT_SHARE, False, rng)
        say(
            f"Training an HDP that starts from {TRAINING.n_topics} topics (the first time, code is "
            "compiled for this machine)."
        )
        run = folder / RUN
        plan = RunPlan(train_corpus, run, TRAINING, seed=SEED, heldout=heldout, checkpoint_every=0)
        train_run(plan, hooks)
        say("Scoring the topics on the held-out stories and writing the report.")
        # The run is still in a staging folder: name it after its final place.
        topics = replace(topics_of_run(load_run(run, TopicPosterior)), name=str(out / RUN))
        documents = Corpus.open(heldout)
        card = score_topics(topics, documents, Corpus.open(train_corpus))
        page = scored_report([card], str(out / "heldout"), str(out / "train"), SEED, documents)
        write_page(output_file(folder / REPORT, overwrite=False), page)
    return card


def bundled_collection() -> Path:
    """Return the path of the Lee background collection, 300 short news stories, within gensim.

    Raises SourceError if gensim was installed without its test data.
    """
    spec = find_spec("gensim")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "test" / "test_data" / "lee_background.cor"
        if path.is_file():
            return path
    problem = "the installed gensim lacks this small collection, which it normally includes"
    raise SourceError("lee_background.cor", problem, "Reinstall gensim.")

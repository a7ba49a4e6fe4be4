"""A trained run: its model, its words, how it was trained and how training went."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar, overload

import numpy as np

from sparsetopics.base.errors import CorpusFormatError, RunError, ShapeError, VocabularyError
from sparsetopics.base.sealed_files import absence, decoded
from sparsetopics.base.showing import short_repr
from sparsetopics.base.transactions import STATE_FOLDER, refuse_pending
from sparsetopics.base.wording import quantity, reason_of
from sparsetopics.corpora.batching import begin_alike, under
from sparsetopics.corpora.corpus import AnyCorpus, Corpus, open_corpus
from sparsetopics.corpora.text.vocabulary import FILE_NAME as VOCABULARY_FILE
from sparsetopics.corpora.text.vocabulary import Vocabulary
from sparsetopics.inference.course import Model
from sparsetopics.inference.theme_tree import Merge, theme_tree
from sparsetopics.model.array_formats import StoredReader
from sparsetopics.model.mixture_posterior import MixturePosterior
from sparsetopics.model.topic_posterior import TopicPosterior
from sparsetopics.options.registry import MODELS, imported
from sparsetopics.options.training import TrainingOptions
from sparsetopics.runs import run_files
from sparsetopics.runs.callbacks import LapEntry
from sparsetopics.runs.guidance import GuideList, families_of, look_up, with_topics
from sparsetopics.runs.run_files import DAMAGE, SETTINGS_FILE, Provenance
from sparsetopics.runs.seen_documents import check_seen
from sparsetopics.runs.topic_identity import TopicIdentity, first_identities, heirs, inherited
from sparsetopics.runs.topic_path_files import PATH_FILE, load_topic_path

P_co = TypeVar("P_co", bound=Model, covariant=True)
P = TypeVar("P", bound=Model)
Trace = Sequence[LapEntry]  # one entry per lap
NO_THEMES: tuple[Merge, ...] = ()  # of a run that is saved without its tree
SWAPPED = "Are the run and the corpus swapped? The run comes first."


@dataclass(frozen=True, eq=False)
class Run(Generic[P_co]):
    """A run folder after reading; ``model`` says what kind of run it is."""

    path: Path
    model: P_co
    vocabulary: Vocabulary | None  # None for a mixture of vectors
    settings: run_files.RunSettings
    trace: Trace

    def __repr__(self) -> str:
        return short_repr(self, "path", "model", "n_laps")

    @property
    def words(self) -> Vocabulary:
        """The vocabulary; RunError for a mixture of vectors, which has none."""
        if self.vocabulary is None:
            found = f"a mixture of vectors ({self.model.likelihood_name})"
            problem = f"expected a run that was trained with documents, but found {found}"
            hint = f"`sparsetopics report {self.path}` shows its components."
            raise RunError(str(self.path), problem, hint)
        return self.vocabulary

    @property
    def n_laps(self) -> int:
        """Completed passes over the training data, at least one."""
        return max([1, *(int(entry.get("lap") or 1) for entry in self.trace)])

    @property
    def topics(self) -> tuple[TopicIdentity, ...]:
        """Ids and names of the topics, (n_topics,); ids of older runs follow from their arrays."""
        return self.settings.get("topics") or first_identities(self.model)

    def with_topics(self, topics: Sequence[TopicIdentity]) -> Run[P_co]:
        """Return the run with other names, or other ids."""
        return replace(self, settings={**self.settings, "topics": tuple(topics)})

    def carried(self, model: Model, likely: Iterable[int] = ()) -> tuple[TopicIdentity, ...]:
        """The ids and names of the topics of a model that learned on from this run.

        ``likely`` are the topics that each of them has probably been. A topic with less than half
        of the probability of each old one is new. An old topic that none continues is listed with
        the one that has at least half of its probability, if any has.
        """
        parents = heirs(self.model.topic_word_mean, model.topic_word_mean, likely)
        return inherited(self.topics, parents, model)

    def of(self, kind: type[P]) -> Run[P] | None:
        """Return this run if its model is of ``kind``, otherwise None."""
        if not isinstance(self.model, kind):
            return None
        return Run(self.path, self.model, self.vocabulary, self.settings, self.trace)

    def documents_at(self, folder: Path) -> Corpus:
        """The documents of a corpus as the model reads them; raises as ``reading``, and RunError
        for a run folder."""
        refuse_run(folder)
        return self.reading_documents(Corpus.open(folder), str(folder))

    def reading(self, corpus: AnyCorpus, where: str) -> AnyCorpus:
        """Return a corpus at ``where`` as the model reads it.

        If its vocabulary has grown since the training, words that the model does not know are left
        out. Raises VocabularyError for other words than those of the training, ShapeError for other
        columns or for vectors where documents are needed, RunError for documents where vectors are.
        """
        if isinstance(corpus, Corpus):
            return self.reading_documents(corpus, where)
        if self.vocabulary is not None:
            raise ShapeError(where, f"{self.path} was trained with documents, not with vectors")
        if corpus.n_columns != self.model.n_columns:
            columns = quantity(self.model.n_columns, "column")
            trained = f"the {columns} that {self.path} was trained with"
            raise ShapeError(where, f"expected {trained}, but found {corpus.n_columns:,}")
        if corpus.fingerprint != self.settings["corpus"].get("columns_fingerprint"):
            found = "columns of other names or another projection"
            problem = f"expected columns like those of {self.path}, but found {found}"
            hint = "Ingest the vectors again with --projection and the training corpus."
            raise ShapeError(where, problem, hint)
        return corpus

    def reading_documents(self, corpus: Corpus, where: str) -> Corpus:
        """``reading`` for documents."""
        self.check_words(corpus.vocabulary, where)
        return under(corpus, self.words)

    def check_words(self, found: Vocabulary, where: str) -> None:
        """Raise VocabularyError unless one of two vocabularies begins with the other."""
        if not begin_alike(found, self.words):
            trained = f"the {quantity(len(self.words), 'word')} that {self.path} was trained with"
            n_words = quantity(len(found), "word")
            problem = f"expected {trained}, but found another vocabulary ({n_words})"
            hint = "Ingest the documents again with --vocabulary and the training corpus."
            raise VocabularyError(where, problem, hint)

    @cached_property
    def lists(self) -> list[GuideList]:
        """The lists of words that topics began with, with the topics that are now of each."""
        guide = self.settings.get("guide", ())
        return with_topics(look_up(guide, self.words), self.model) if guide else []

    def themes(self) -> tuple[Merge, ...]:
        """The tree of topics, which is made for a run without one."""
        assert isinstance(self.model, TopicPosterior), "components have no tree"
        return self.settings.get("themes") or tree_of(self.model, self.lists)


AnyRun = Run[Model]
TopicRun = Run[TopicPosterior]
MixtureRun = Run[MixturePosterior]


def knowing(run: TopicRun, corpus: Corpus, where: str) -> TopicRun:
    """Return a run with all words of a corpus at ``where``, whose vocabulary may have grown.

    Topics have no tokens of the new words yet. Raises VocabularyError for other words, and for
    fewer.
    """
    run.check_words(corpus.vocabulary, where)
    if corpus.n_words < run.model.n_words:
        problem = f"its {corpus.n_words:,} words are fewer than the {run.model.n_words:,}"
        raise VocabularyError(where, f"{problem} of {run.path}", "Give the corpus that has grown.")
    model = run.model.with_words(corpus.n_words)
    # Ids that are not stored follow from the arrays, which change.
    return replace(run.with_topics(run.topics), model=model, vocabulary=corpus.vocabulary)


def save_run(folder: Path, run: AnyRun) -> None:
    """Write a run into ``folder``, which exists and is staged by the caller.

    The fingerprint of the words, the present versions and ids of topics that have none are added to
    the settings. Equal models give equal bytes in ``model.safetensors``. The tree of topics is
    written too. With ``NO_THEMES`` in the settings it is not, and is made when it is wanted.
    """
    model, stored, facts = run.model, run.model.stored(), run.settings.copy()
    merges = facts.pop("themes", None)
    if run.vocabulary is not None:
        run.vocabulary.save(folder)
        fingerprint = {"vocabulary_fingerprint": run.vocabulary.fingerprint}
        stored = stored._replace(settings={**stored.settings, **fingerprint})
        facts["topics"] = run.topics
        if isinstance(model, TopicPosterior) and model.n_topics > 1 and merges != NO_THEMES:
            run_files.write_themes(folder, run.topics, run.themes())
    run_files.write_run(folder, stored, facts, run.trace)


def run_in_memory(
    name: str, model: Model, vocabulary: Vocabulary | None, provenance: Provenance, trace: Trace
) -> AnyRun:
    """Return what was trained as the run that ``load_run`` would read after ``save_run``.

    ``name`` is its path, and ``vocabulary`` that of the documents, None for vectors. Sizes,
    hyperparameters and versions are added to ``provenance``.
    """
    settings = decoded(
        run_files.run_record(model.stored(), provenance), run_files.RunSettings, name, DAMAGE
    )
    return Run(Path(name), model, vocabulary, settings, trace)


KEPT_RUNS = Path("state", "runs")  # of a consensus


def runs_in(folder: Path) -> list[AnyRun]:
    """Read the runs in a folder, in the order of their names, or those that a consensus has kept.

    Raises RunError if there are none.
    """
    if (folder / SETTINGS_FILE).exists():
        folder = folder / KEPT_RUNS
    paths = sorted(file.parent for file in folder.glob(f"*/{SETTINGS_FILE}"))
    if not paths:
        hint = "Single runs of a consensus are kept with `sparsetopics train --keep-state`."
        raise RunError(str(folder), "has no runs", hint)
    return [load_run(path) for path in paths]


@overload
def load_run(path: Path) -> AnyRun: ...
@overload
def load_run(path: Path, kind: type[P]) -> Run[P]: ...
def load_run(path: Path, kind: type[P] | None = None) -> AnyRun:
    """Read a run folder; a ``kind`` of model refuses all others.

    RunError names the first thing that is missing, damaged or refused.
    """
    check_folder(path)
    file, content = path / SETTINGS_FILE, run_files.read_content(path)
    settings = decoded(content, run_files.RunSettings, str(file), DAMAGE)
    settings.pop("themes", None)  # a tree that is not in its file is not checked
    if "number_of_topics" in settings:
        settings["number_of_topics"].check(file, DAMAGE)
    posteriors = {name: imported(each.posterior) for name, each in MODELS.items()}
    known = [name for name, own in posteriors.items() if kind is None or issubclass(own, kind)]
    name = settings["model"]
    if name not in known:
        problem = f"the model must be one of {', '.join(known)}, but is {name!r}"
        raise RunError(str(file), problem)
    arrays = run_files.check_file(path, settings, run_files.ARRAYS_FILE)
    reader = StoredReader(file, content, settings, arrays, DAMAGE)
    model: Model = posteriors[name].from_stored(name, reader)
    ids = [topic.id for topic in settings.get("topics", ())]
    if "topics" in settings and not len(ids) == len(set(ids)) == model.n_topics:
        raise DAMAGE.of(f"{file}, topics", f"expected {model.n_topics:,} different ids")
    for key in ("few_documents", "likeness_of_halves", "found_in_runs"):
        entries = content.get(key)
        if isinstance(entries, list) and len(entries) != model.n_topics:
            raise DAMAGE.of(f"{file}, {key}", f"expected {model.n_topics:,} entries")
    if "seen" in settings:  # after its arrays, which prove the number of topics
        check_seen(settings["seen"], file, model.n_topics)
    vocabulary = None if model.n_words is None else load_words(path, settings)
    if vocabulary is not None and "topics" not in settings:  # an earlier version wrote it
        settings["topics"] = first_identities(model)
    if any(entry.file == run_files.THEMES_FILE for entry in settings["files"]):
        settings["themes"] = run_files.read_themes(path, settings)
    return Run(path, model, vocabulary, settings, run_files.load_trace(path, settings))


def tree_of(model: TopicPosterior, lists: Sequence[GuideList]) -> tuple[Merge, ...]:
    """The tree of the topics of a model, where those of a list are joined first."""
    counts = np.ascontiguousarray(model.exact_counts.T)
    families = families_of(lists, model.n_topics)
    return tuple(theme_tree(counts, model.word_concentration, families))


def option_record(options: TrainingOptions) -> run_files.Nested:
    """Options as model.json keeps them, with the defaults that depend on the model filled in."""
    record = asdict(options.filled())
    del record["lower_rungs"]  # each run of a topic path is a model of its own
    del record["guide"], record["n_runs"]
    return record


def recorded_options(run: Run[Model]) -> TrainingOptions:
    """The options in model.json; those that it lacks have their defaults.

    Raises RunError unless they are options of training.
    """
    name, where = run.model.name, f"{run.path / SETTINGS_FILE}, options"
    record: run_files.Nested = {"n_topics": run.model.n_topics, **run.settings.get("options", {})}
    if not MODELS[name].of_items:  # for which the other defaults are
        record["model"] = name
    if not MODELS[name].learns_number:
        record.pop("moves", None)  # in earlier versions, LDA had a move that no model has now
    return decoded(record, TrainingOptions, where, DAMAGE)


def load_words(folder: Path, settings: run_files.RunSettings) -> Vocabulary:
    """Read the vocabulary of a run; RunError unless it is that of the training."""
    path = run_files.check_file(folder, settings, VOCABULARY_FILE)
    if "n_documents" not in settings["corpus"]:
        raise DAMAGE.of(f"{folder / SETTINGS_FILE}, corpus", "n_documents is missing")
    try:
        vocabulary = Vocabulary.read(folder)
    except CorpusFormatError as error:
        problem = f"the run has no sound vocabulary ({reason_of(error)})"
        raise RunError(str(folder), problem) from error
    known = settings.get("n_words"), settings.get("vocabulary_fingerprint")
    if (len(vocabulary), vocabulary.fingerprint) != known:
        n_words = quantity(len(vocabulary), "word")
        raise DAMAGE.of(path, f"its {n_words} do not have the fingerprint in {SETTINGS_FILE}")
    return vocabulary


def refuse_run(path: Path, hint: str = "") -> None:
    """Refuse a run folder where a corpus is wanted; the corpus reader refuses anything else."""
    if os.path.lexists(path / SETTINGS_FILE):
        raise RunError(str(path), "expected a corpus folder, but found a run folder", hint)


def corpus_at(path: Path, hint: str = "") -> AnyCorpus:
    """Open a corpus of either kind; RunError, with the ``hint``, for a run folder."""
    refuse_run(path, hint)
    return open_corpus(path)


def check_folder(path: Path) -> None:
    """RunError unless ``path`` looks like a run folder."""
    refuse_pending(path, (STATE_FOLDER,))
    found, hint = absence(path / SETTINGS_FILE), "`sparsetopics train` or a model's save makes one."
    if not found:
        return
    if os.path.lexists(path / STATE_FOLDER / run_files.PLAN_FILE):
        found = "training that is not finished"
        hint = f"Continue it with `sparsetopics resume {path}`."
    elif os.path.lexists(path / PATH_FILE):
        found = "a topic path, which holds several runs"
        hint = f"Name one of them, such as {_example(path)}."
    elif os.path.lexists(path / "manifest.json"):
        found, hint = "a corpus folder", "Train on it first."
    raise RunError(str(path), f"expected a run folder, but found {found}", hint)


def _example(path: Path) -> Path:
    """The recommended run of a topic path, or else its smallest."""
    with suppress(RunError):  # the smallest run may be sound
        if recommended := load_topic_path(path).scores.recommended:
            return path / str(recommended)
    numbers = (name for name in os.listdir(path) if name.isdecimal())
    return path / min(numbers, key=int, default="50")

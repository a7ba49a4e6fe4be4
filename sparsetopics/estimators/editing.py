"""Edits of the topics of a fitted LDA or HDP, each of which makes a new model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from sparsetopics.base.errors import naming_parameters
from sparsetopics.estimators.fitted import FittedEstimator
from sparsetopics.estimators.inputs import Data
from sparsetopics.options.option import refuse
from sparsetopics.runs.callbacks import RunHooks

if TYPE_CHECKING:
    from sparsetopics.answers.changes import Change
    from sparsetopics.answers.edit_records import Edits
    from sparsetopics.answers.namers import Namer
    from sparsetopics.corpora.corpus import Corpus
    from sparsetopics.runs.run import AnyRun


@dataclass(repr=False, eq=False)
class EditableTopics(FittedEstimator):
    """Topics that people can merge, split, drop and name, as ``sparsetopics edit`` does.

    Each method returns a new model. The model that it is called on stays as it is. All raise
    UnfittedError before ``fit``, and OptionError for topics that are not there.
    """

    @naming_parameters()
    def merge(self, topics: Sequence[int | str]) -> Self:
        """Make one topic of several, with the id of the heaviest; counts add up.

        It has the name of the heaviest of those that were given a name.
        """
        from sparsetopics.answers.edit_records import Edits

        if any(isinstance(topic, list | tuple) for topic in topics):
            refuse("merge", "takes one group of topics", "Call merge once for each group, by ids.")
        return self._edited(Edits(merge=(tuple(topics),)))

    @naming_parameters()
    def themes(self, n: int) -> Self:
        """Return the ``n`` themes of the topics as a model; counts of the topics of each add up.

        Themes have ids of their own. ``rename`` of this model names them with these ids.
        """
        from sparsetopics.answers.themes import themed

        return self._with(themed(self._run(), n))

    @naming_parameters()
    def split(self, topic: int | str, corpus: Data, *, laps: int = 1) -> Self:
        """Make two topics of one, by the documents of ``corpus``, and make ``laps`` over these.

        The counts of the two add up before the laps. The part that is more like it keeps the id and
        the name.
        """
        from sparsetopics.answers.edit_records import Edits

        return self._edited(Edits(split=(topic,), laps=laps), corpus)

    @naming_parameters()
    def drop(self, topic: int | str, corpus: Data, *, laps: int = 1) -> Self:
        """Remove a topic, and give its words to others in ``laps`` over ``corpus``."""
        from sparsetopics.answers.edit_records import Edits

        return self._edited(Edits(drop=(topic,), laps=laps), corpus)

    @naming_parameters()
    def rename(self, names: Mapping[int | str, str]) -> Self:
        """Name topics; all tables and pages show the names, and ``partial_fit`` keeps them. Warns
        if several topics then have the same name."""
        return self._with(self._run(names))

    @naming_parameters()
    def name_topics(self, namer: Namer, corpus: Data | None = None) -> Self:
        """Name topics with a function (``answers.namers.Namer``); see ``sparsetopics edit``.

        It gets a topic's best words, words that set it apart, three documents of ``corpus``, and
        the name of its theme or None. A topic keeps its name if the function fails or takes more
        than a minute.
        """
        from sparsetopics.answers.namers import named_by

        documents = None if corpus is None else self._documents_of(corpus)
        return self._with(named_by(self._run(), namer, documents, self._n_threads))

    @naming_parameters()
    def update(self, corpus: Corpus) -> Self:
        """Learn the documents by which ``corpus`` has grown since this model, in one lap.

        ``corpus`` has the documents that the model was fitted to, and after these new ones; its
        vocabulary may have grown, too. An HDP gets new topics of documents that its topics explain
        badly, if they pay; ``changes`` says what has changed. A corpus in memory must be made with
        ``vocabulary=model.vocabulary_``, and has no new words. Raises CorpusError or
        VocabularyError for another corpus, and OptionError for what is no Corpus.
        """
        from sparsetopics.answers.updating import updated

        found = updated(self._run_of_topics(), corpus, "the corpus", workers=self._n_threads)
        return self._with(found.run)

    def changes(self, later: Self, corpus: Corpus | None = None) -> list[Change]:
        """Say what happened to each topic on the way to a ``later`` model; with the documents of
        both, also what the new ones tell. See ``answers.changes.Change``."""
        from sparsetopics.answers.changes import changes
        from sparsetopics.answers.new_documents import new_documents

        run, workers = self._run_of_topics(), self._n_threads
        new = None if corpus is None else new_documents(run, corpus, "the corpus", workers)
        return changes(run, later._run_of_topics(), new)

    def _edited(self, edits: Edits, corpus: Data | None = None) -> Self:
        from sparsetopics.answers.editing import edited

        run = self._run_of_topics()
        documents = None if corpus is None else self._documents_of(corpus)
        edits = edits.by_ids(run)
        return self._with(edited(run, edits, documents, self._n_threads, RunHooks()))

    def _with(self, run: AnyRun) -> Self:
        """A copy of this estimator with the topics of a run."""
        n_topics = run.model.n_topics
        sparsity = self.sparsity and min(self.sparsity, n_topics)
        new = copy(self).set_params(n_components=n_topics, sparsity=sparsity)
        new._set_run(run, run.trace)
        return new

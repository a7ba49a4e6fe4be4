"""What a fitted estimator can be asked: its topics, those of new texts, scores, pages, exports.

Each method calls the function that the command of the same name calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sparsetopics.answers.table_files import LABELS
from sparsetopics.base.errors import naming_parameters, warn_user
from sparsetopics.base.showing import html_table, shortened
from sparsetopics.base.wording import quantity
from sparsetopics.corpora.corpus import Corpus
from sparsetopics.estimators.base import Estimator, other_runs
from sparsetopics.estimators.inputs import GIVEN, Data, check_fields_of
from sparsetopics.estimators.plots import Plots
from sparsetopics.execution.executors import Crew
from sparsetopics.options.option import (
    Interval,
    OneOf,
    Tokenizer,
    check_extension,
    check_type,
    counts_from,
    path_of,
    refuse,
)
from sparsetopics.options.registry import MODELS
from sparsetopics.options.table import PAGE_EXTENSIONS

if TYPE_CHECKING:
    from sparsetopics.answers.topic_names import GivenNames
    from sparsetopics.evaluation.scoring.topic_scores import Record

MOSTLY = {"field": pa.string(), "value": pa.string(), "share": pa.float64()}
TOPICS = pa.schema(
    {"topic": pa.int64(), **LABELS, "weight": pa.float64(), "words": pa.list_(pa.string())}
    | {"documents_with_half": pa.int64(), "mostly": pa.struct(MOSTLY)}
    | {"list_name": pa.string(), "keyword_rate": pa.float64()}
    | {"n_runs": pa.int64(), "found_in_runs": pa.int64(), "similarity": pa.float64()}
)
OF_LISTS, OF_RUNS = ["list_name", "keyword_rate"], ["n_runs", "found_in_runs", "similarity"]
SHOWN_TOPICS, SHOWN_WORDS = 20, 10  # in a notebook
SHOWN_CHARACTERS = 30  # of a word


@dataclass(repr=False, eq=False)
class FittedEstimator(Estimator):
    """An estimator with the questions to ask after ``fit``.

    All methods raise UnfittedError before ``fit``.
    """

    @property
    def topic_ids_(self) -> list[str]:
        """The id of each topic or component; components of vectors have no such attribute."""
        run = self._run()
        if run.vocabulary is None:
            raise AttributeError("components of vectors have no ids")
        return [topic.id for topic in run.topics]

    def topics(
        self,
        n_words: int = 10,
        relevance: float | None = None,
        *,
        names: GivenNames | None = None,
        find: Sequence[str] | None = None,
    ) -> pa.Table:
        """Return a row for each topic or component: ``topic``, ``id``, ``name``, ``weight``,
        ``words``, ``documents_with_half``, ``mostly``; if training began with lists of words,
        ``list_name`` and ``keyword_rate``; of a consensus, ``n_runs``, ``found_in_runs`` and
        ``similarity``.

        With ``find``, a list of words, these are only the topics in which the words stand out, best
        first, with a column ``share``: p(topic | words), as ``sparsetopics topics --find`` says.

        ``topic`` is its rank, which changes with ``partial_fit``; ``id`` stays. ``name`` is that in
        ``names`` or in the run, or else the three most relevant words, ``weight`` the share of the
        training data and ``words`` a list of the ``n_words`` best words, which ``top_words``
        returns too. ``documents_with_half`` is the smallest number of training documents that hold
        half of the topic, and ``mostly`` the label or value of a kept field that has most of it in
        these; None above 50 documents or if not known. ``list_name`` is the list of ``guide`` that
        the topic is of, and ``keyword_rate`` the share of its words in the topic. ``found_in_runs``
        is the number of the ``n_runs`` with a topic that is at least 0.8 like it (Jensen–Shannon),
        and ``similarity`` the mean over all of them; None if it was joined, split or added since.
        Raises OptionError for components of vectors, for numbers out of range, for names that
        cannot be used, and for a word to find that is not in the vocabulary.
        """
        from sparsetopics.answers.found_topics import found_topics
        from sparsetopics.answers.topic_names import topic_rows

        run = self._run_of_words(names)
        counts_from(1).check("n_words", n_words)
        if relevance is not None:
            Interval(0, 1).check("relevance", relevance)
        rows = topic_rows(run, int(n_words), relevance)
        named = [row._asdict() | {"words": [word for word, _ in row.words]} for row in rows]
        table = pa.Table.from_pylist(named, TOPICS)
        for entry, columns in (("guide", OF_LISTS), ("found_in_runs", OF_RUNS)):
            table = table if entry in run.settings else table.drop_columns(columns)
        if find is None:
            return table
        found = found_topics(run, find)
        return table.take([*found]).append_column("share", [[*found.values()]])

    def top_words(self, n: int = 10, relevance: float | None = None) -> list[list[str]]:
        """Return the ``n`` best words of each topic or component, best first.

        They are the most probable words or, with ``relevance`` from 0 to 1, the most relevant ones:
        λ of Sievert & Shirley (2014), who suggest 0.6. Raises OptionError for components of
        vectors, and for numbers out of range.
        """
        counts_from(1).check("n", n)
        words: list[list[str]] = self.topics(n, relevance)["words"].to_pylist()
        return words

    @naming_parameters()
    def documents(
        self,
        topic: int | str,
        corpus: Data,
        n: int = 10,
        *,
        by: str = "label",
        names: GivenNames | None = None,
    ) -> pa.Table:
        """Return the documents that represent a topic, the best first.

        Args:
            topic: The number or id of the topic or component.
            corpus: The documents to choose from, with the fitted words.
            n: The number of documents, at most 100.
            by: The field with the groups that take turns: the label, or one that is kept.
            names: Names of topics by their numbers or ids; the others keep theirs.

        Columns: ``topic``, ``id``, ``name``, ``doc_id``, ``label``; ``group``, if ``by`` is a
        field; ``proportion`` (``responsibility`` of a mixture), ``n_tokens``, ``words`` that
        contribute most to the topic, and ``text``, which is null unless the corpus keeps it. What
        makes a document representative is described with ``sparsetopics documents``. Raises
        OptionError for components of vectors, and for a topic or a field that is not there;
        ShapeError or VocabularyError for other words.
        """
        from sparsetopics.answers.representatives import TopicsToShow, representatives
        from sparsetopics.answers.topic_names import labels_of

        run = self._run_of_words(names)
        check_type("by", by, str, "the name of a field")
        if by != "label":
            check_fields_of(corpus, {"by": by})
        chosen = TopicsToShow.of_run(run, [topic], workers=self._n_threads)
        found = representatives(chosen, self._documents_of(corpus), n, by=by)
        return found.table(labels_of(run))

    @naming_parameters()
    def infer(
        self,
        texts: Corpus | Iterable[str | Iterable[str] | None],
        *,
        top: int | None = None,
        tokens: bool = False,
        tokenizer: Tokenizer = None,
    ) -> pa.Table:
        """Return the share of each topic in new texts, cut into words as the training texts were,
        or in lists of words, which are taken as they are, or in the documents of a corpus.

        Texts are numbered from 0 in ``doc_id``, or have the index of a pandas Series. The other
        columns are those that ``sparsetopics infer`` writes: a list of ``proportions``
        (``responsibilities`` of a mixture), or with ``top`` a row for each of the largest topics
        that the text has. A text without a known word has one row, with nulls. With ``tokens``,
        there is a row for each word of each text instead, in the order of the vocabulary: ``word``,
        ``count``, its most probable ``topic`` in this text, and ``share``, the probability of that;
        a text without a known word has no row then.

        ``tokenizer`` is a function, or its MODULE:NAME, which is needed if such a function cut the
        training texts. Raises OptionError for components of vectors, for ``tokens`` of a mixture or
        with ``top``, and what ``Corpus.from_texts`` raises.
        """
        from sparsetopics.answers.proportions import share_tables
        from sparsetopics.corpora.memory_corpus import every_text

        run = self._run_of_words()
        if top is not None:
            counts_from(1).check("top", top)
        check_type("tokens", tokens, bool, "true or false")
        if isinstance(texts, Corpus):
            corpus = self._documents_of(texts)
        else:
            corpus = Corpus(**vars(every_text(self._texts_of(texts), run.words, tokenizer)))
        schema, tables = share_tables(run, corpus, top, tokens, Crew(self._n_threads))
        return pa.concat_tables([schema.empty_table(), *tables])

    @naming_parameters()
    def evaluate(
        self,
        X: Data,
        *,
        texts: Iterable[str | Iterable[str] | None] | None = None,
        coherence_corpus: Data | None = None,
    ) -> Record:
        """Return the scores of held-out documents or items that ``sparsetopics evaluate`` prints.

        X is as for ``fit``, with the fitted columns; if it is what was fitted, there is a warning.
        The coherence scores c_v and c_npmi are counted in ``texts``, which are cut into words as
        the training texts were; NPMI and u_mass are counted in ``coherence_corpus`` or, without
        it, in X. Keys are those of ``evaluate --json``. For topics they include the
        held-out likelihood, its standard error, coherence and diversity; for mixtures the mean log
        density and, if a corpus has labels, the agreement with them.
        Raises ShapeError or VocabularyError for other columns, CorpusError without a document to
        score, and OptionError for ``texts`` and ``coherence_corpus`` of a mixture.
        """
        from sparsetopics.evaluation.evaluate import score_model
        from sparsetopics.evaluation.scoring.tokenized_texts import TokenizedTexts
        from sparsetopics.evaluation.scoring.topic_scores import Scoring

        run = self._run()
        for option, value in (("texts", texts), ("coherence_corpus", coherence_corpus)):
            if value is not None and MODELS[run.model.name].of_items:
                refuse(option, f"is for topic models, but {type(self).__name__} is a mixture")
        heldout = self._more_rows(X)
        counted_in = heldout if coherence_corpus is None else self._more_rows(coherence_corpus)
        running = None if texts is None else TokenizedTexts.of(self._texts_of(texts), run.words)
        how = Scoring(texts=running, crew=Crew(self._n_threads))
        card = score_model(run, heldout, counted_in, how)
        for remark in card.remarks:
            warn_user(f"{card.name}{remark}")
        return card.as_dict()

    @naming_parameters()
    def prevalence(
        self,
        corpus: Data,
        by: str | None = None,
        over: str | None = None,
        *,
        formula: str | None = None,
        topics: Sequence[int | str] = (),
        differences: bool = False,
        runs: Sequence[FittedEstimator] = (),
        names: GivenNames | None = None,
        n_words: int = 5,
    ) -> pa.Table:
        """Return how much of each topic there is in groups of documents and over time.

        A row for each topic and group has ``topic``, ``id``, ``name``, ``mean``,
        ``standard_error``, ``low`` and ``high`` (of the 95 % interval), ``n_documents`` and
        ``words``: the table of ``sparsetopics prevalence``. Documents without a value to group by
        are left out.

        Args:
            corpus: The documents, with the fitted columns.
            by: A field whose values are the groups (column ``group``): ``"label"``, or one that
                the corpus keeps.
            over: A field of dates and a period, such as ``"date:month"``, or of numbers and the
                width of bins, such as ``"age:10"`` (columns ``from`` and ``to``).
            formula: Fields on which shares depend, such as ``"~ section * s(year)"``, instead of
                groups. Rows are of their values (columns ``at_section`` and ``at_year``).
            topics: Numbers or ids of some topics; by default, the table has all that are not empty.
            differences: Whether to compare groups instead, a row for each topic and pair of groups,
                with p-values adjusted for their number. With a formula, rows are of its
                coefficients.
            runs: Models of the same words with other seeds. Errors then also count how much
                shares differ between them.
            names: Names of topics by their numbers or ids; the others keep theirs.
            n_words: Most words of a topic to name for each group.

        Raises OptionError for a mixture, for a topic that is not there or is empty, for a field
        that the corpus lacks or that cannot be divided so, and for names that cannot be used;
        CorpusError if no document has a value.
        """
        from sparsetopics.answers.compared import compared_shares
        from sparsetopics.answers.topic_names import labels_of

        run = self._run_of_topics(names)
        check_fields_of(corpus, {"by": by, "over": over, "formula": formula})
        counts_from(0).check("n_words", n_words)
        check_type("differences", differences, bool, "true or false")
        labels, documents = labels_of(run), self._documents_of(corpus)
        found = compared_shares(
            run, documents, by, over, formula, topics=topics, n_words=int(n_words),
            differences=differences, others=other_runs(runs), crew=Crew(self._n_threads),
        )  # fmt: skip
        return found.differences(labels) if differences else found.table(labels)

    @naming_parameters()
    def correlations(self, corpus: Data, *, names: GivenNames | None = None) -> pa.Table:
        """Return how the shares of topics correlate over documents, a row for each pair of topics.

        Columns: ``topic``, ``id`` and ``name`` of both (``other_topic`` and so on),
        ``correlation``, ``standard_error``, ``low`` and ``high``: the table of ``sparsetopics
        prevalence --correlations``. Raises OptionError for a mixture.
        """
        from sparsetopics.answers.compared import topic_correlations
        from sparsetopics.answers.topic_names import labels_of

        run, documents = self._run_of_topics(names), self._documents_of(corpus)
        return topic_correlations(run, documents, labels_of(run), Crew(self._n_threads))

    @naming_parameters()
    def report(
        self,
        path: str | Path,
        *,
        corpus: Data | None = None,
        by: str | None = None,
        over: str | None = None,
        names: GivenNames | None = None,
        title: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the page, JSON or Markdown that ``sparsetopics report`` writes.

        Args:
            path: The file, whose ending says which: .html or .htm, .json or .md.
            corpus: Documents or items to take examples from and to count coherence in, with the
                fitted columns.
            by: Field of the corpus with the names of groups, to compare topics between them.
            over: Field and unit, such as "date:month", to show topics over time.
            names: Names of topics by their numbers or ids; the others keep theirs.
            title: Title of the page; by default the name of the corpus, if it has one.
            overwrite: Whether to replace the file if it exists.

        Raises OutputError, OptionError for names or a title that cannot be used and documents that
        cannot be divided, and ShapeError or VocabularyError for other columns.
        """
        from sparsetopics.base.outputs import output_file
        from sparsetopics.evaluation.report.page import write_page
        from sparsetopics.evaluation.report.report import check_title, page_grouping, run_report

        run = self._run(names)
        check_type("overwrite", overwrite, bool, "true or false")
        output = output_file(path_of("path", path), overwrite=overwrite)
        check_extension("path", output.path, PAGE_EXTENSIONS)
        check_title(title)
        check_fields_of(corpus, {"by": by, "over": over})
        grouping = page_grouping(by, over, has_corpus=corpus is not None)
        rows = None if corpus is None else self._more_rows(corpus)
        found, n_threads = self._topic_path(), self._n_threads
        page = run_report([run], rows, GIVEN, found, grouping, title, workers=n_threads)
        write_page(output, page)

    @property
    def plot(self) -> Plots:
        """Figures for papers, such as ``model.plot.themes()``; see ``Plots``."""
        return Plots(self)

    @naming_parameters()
    def export(
        self,
        path: str | Path,
        to: str,
        *,
        corpus: Data | None = None,
        names: GivenNames | None = None,
        spreadsheet_safe: bool = False,
        overwrite: bool = False,
    ) -> None:
        """Write the model in the format of another toolkit, as ``sparsetopics export`` does.

        Args:
            path: The file.
            to: "gensim", "mallet", "matrix-market", "csv", "parquet", "pyldavis", "datamapplot" or
                "names"; for a topic path also "newick", and "csv" is then the table of its tree.
            corpus: The documents to show, for "pyldavis" and "datamapplot".
            names: Names of topics by their numbers or ids, for "csv", "parquet", "datamapplot" and
                "names".
            spreadsheet_safe: Whether words that a spreadsheet would take for formulas get an
                apostrophe in front, for "csv".
            overwrite: Whether to replace the file if it exists.

        Raises OutputError, and OptionError for a combination that is not supported.
        """
        from sparsetopics.answers.exports import PATH_TARGETS, RUN_TARGETS
        from sparsetopics.answers.exports.exporting import export_model

        run, found = self._run(names), self._topic_path()
        known = RUN_TARGETS if found is None else RUN_TARGETS | PATH_TARGETS
        OneOf(list(known)).check("to", to)
        check_type("spreadsheet_safe", spreadsheet_safe, bool, "true or false")
        check_type("overwrite", overwrite, bool, "true or false")
        model = found if found is not None and to in PATH_TARGETS else run
        export_model(
            model,
            to,
            path_of("path", path),
            documents=None if corpus is None else self._more_rows(corpus),
            spreadsheet_safe=spreadsheet_safe,
            has_names=bool(names),
            overwrite=overwrite,
        )

    def _html_repr(self) -> str:
        """The arguments and, after ``fit``, the topics or components, for notebooks."""
        from sparsetopics.answers.topic_names import topic_rows

        diagram: str = super()._html_repr()
        if not hasattr(self, "model_"):
            return diagram
        run, noun = self._run(), MODELS[self._model_name].noun
        caption = f"{quantity(self.n_components_, noun)} by weight"
        if self.n_components_ > SHOWN_TOPICS:
            caption += f", the first {SHOWN_TOPICS}"
        weights = [f"{weight:.1%}" for weight in self.model_.weights[:SHOWN_TOPICS].tolist()]
        columns: dict[str, Sequence[str | int]] = {noun: range(len(weights)), "weight": weights}
        if run.vocabulary is not None:
            rows = topic_rows(run, SHOWN_WORDS)[:SHOWN_TOPICS]
            words = [[shortened(word, SHOWN_CHARACTERS) for word, _ in row.words] for row in rows]
            columns["id"] = [row.id or "" for row in rows]
            columns["name"] = [shortened(row.name, 2 * SHOWN_CHARACTERS) for row in rows]
            columns["words"] = [*map(" ".join, words)]
        return diagram + html_table(caption, [*columns], zip(*columns.values(), strict=True))

"""Figures for papers of a fitted estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparsetopics.base.errors import naming_parameters
from sparsetopics.estimators.base import Estimator, other_runs
from sparsetopics.estimators.inputs import GIVEN, Data, check_fields_of
from sparsetopics.evaluation.figures import DEFAULT_WIDTH, WIDTHS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, repr=False)
class Plots:
    """Figures of a model: those that ``sparsetopics plot`` draws.

    Each method returns a matplotlib ``Figure``, which a notebook shows and ``savefig`` writes. It
    is ``width`` inches wide, from 2 to 30, and as high as its content needs. All raise
    UnfittedError before ``fit``, and OptionError for components of vectors and for a width out of
    range.
    """

    model: Estimator

    def __repr__(self) -> str:
        return f"Figures of {self.model}: themes, tree, topics, groups, time and numbers."

    def themes(self, *, width: float = DEFAULT_WIDTH) -> Figure:
        """Draw how much of each theme there is, with its words."""
        return self._drawn("themes", width)

    def tree(self, *, width: float = DEFAULT_WIDTH) -> Figure:
        """Draw which topics become one as their number falls; OptionError for a mixture."""
        return self._drawn("tree", width)

    def topics(self, *, width: float = DEFAULT_WIDTH) -> Figure:
        """Draw the most probable words of each topic, or of each theme if there are over 24."""
        return self._drawn("topics", width)

    def groups(
        self,
        corpus: Data,
        by: str = "label",
        *,
        formula: str | None = None,
        topics: Sequence[int | str] = (),
        runs: Sequence[Estimator] = (),
        width: float = DEFAULT_WIDTH,
    ) -> Figure:
        """Draw the mean share of each theme in each group of documents, with 95 % intervals.

        ``by`` is the field of ``corpus`` with the names of groups. ``topics`` are the numbers or
        ids of some topics, to be drawn instead of themes. With a ``formula`` that has this field,
        shares are those of ``prevalence(formula=…, runs=…)``. Raises OptionError for a mixture and
        for a topic or a field that is not there, and VocabularyError for other words.
        """
        return self._drawn("groups", width, corpus, by, None, formula, topics, runs)

    def time(
        self,
        corpus: Data,
        over: str,
        by: str | None = None,
        *,
        formula: str | None = None,
        topics: Sequence[int | str] = (),
        runs: Sequence[Estimator] = (),
        width: float = DEFAULT_WIDTH,
    ) -> Figure:
        """Draw the mean share of each theme over time, with 95 % intervals.

        ``over`` is a field and a unit, such as "date:month", or a field of the ``formula``. Periods
        are joined until they have 30 documents. With ``by``, the six largest groups have a line
        each. ``topics`` are as for ``groups``. Raises what ``groups`` raises.
        """
        return self._drawn("time", width, corpus, by, over, formula, topics, runs)

    def numbers(self, *, width: float = DEFAULT_WIDTH) -> Figure:
        """Draw the scores by number of topics.

        Raises OptionError unless the model is a TopicPath, or an HDP whose number of topics was
        chosen by documents.
        """
        return self._drawn("numbers", width)

    @naming_parameters()
    def _drawn(
        self,
        kind: str,
        width: float,
        corpus: Data | None = None,
        by: str | None = None,
        over: str | None = None,
        formula: str | None = None,
        topics: Sequence[int | str] = (),
        runs: Sequence[Estimator] = (),
    ) -> Figure:
        from sparsetopics.evaluation.figures.drawing import drawn, figure_report

        WIDTHS.check("width", width)
        check_fields_of(corpus, {"by": by, "over": over, "formula": formula})
        model = self.model
        run, path = model._run_of_words(), model._topic_path()
        rows = None if corpus is None else model._more_rows(corpus)
        report = figure_report(
            run, kind, rows, GIVEN, path,
            by=by, over=over, formula=formula, topics=topics, others=other_runs(runs),
            workers=model._n_threads,
        )  # fmt: skip
        return drawn(report, kind, width)

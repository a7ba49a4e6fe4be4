"""Parts of pages that each process of tests makes once, and not for every page."""

import sys
from functools import cache, wraps

from jinja2 import Environment

COMPILED_IN = (  # what the code of a template depends on, beside its text
    *("autoescape", "finalize", "undefined", "optimized", "is_async"),
    *("trim_blocks", "lstrip_blocks", "keep_trailing_newline"),
)


def compile_templates_once() -> None:
    """Keep the code of every template, which takes as long to make as a page takes to write."""
    plain = Environment.compile
    environments = {}

    @cache
    def compiled(settings, source, name, filename):
        return plain(environments[settings], source, name, filename)

    @wraps(plain)
    def compile_once(self, source, name=None, filename=None, raw=False, defer_init=False):
        if raw or defer_init:
            return plain(self, source, name, filename, raw, defer_init)
        settings = tuple(getattr(self, each) for each in COMPILED_IN)
        environments[settings] = self
        return compiled(settings, source, name, filename)

    Environment.compile = compile_once


def draw_traces_once() -> None:
    """Keep the figures of courses of training: those of the run of most tests are the same.

    Tests that have imported the function itself draw anew, as those of figures do.
    """
    figures = sys.modules.get("sparsetopics.evaluation.report.figures")
    if figures is None:  # no test module has asked for it, nor for matplotlib
        return
    plain, drawn = figures.trace_figure, {}

    @wraps(plain)
    def drawn_once(series, label):
        key = repr(series), label
        if key not in drawn:
            drawn[key] = plain(series, label)
        return drawn[key]

    figures.trace_figure = drawn_once

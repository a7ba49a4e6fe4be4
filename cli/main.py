"""The command line: one module per command, imported only when the command is run."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TextIO

import click

from sparsetopics.base.errors import OptionError, SparsetopicsError, SparsetopicsWarning
from sparsetopics.base.wording import listed, printable, reason_of
from sparsetopics.cli.printing import say

COMMANDS = {  # a module each; described here, so that --help imports none of them
    "quickstart": "Try everything once on news stories that come with gensim.",
    "ingest": "Make a corpus from files, folders or URLs.",
    "corpus": "Describe, check, split or export a corpus.",
    "train": "Learn topics or clusters from a corpus.",
    "path": "Train models of many numbers of topics in one run, and recommend a number.",
    "resume": "Continue interrupted training.",
    "evaluate": "Score runs on held-out documents or items.",
    "topics": "Print topics with their most probable words.",
    "edit": "Merge, split, drop and name topics of a run.",
    "infer": "Compute the topic proportions of documents.",
    "prevalence": "Compare the share of each topic between groups of documents, or over time.",
    "documents": "Print the documents that represent topics.",
    "denoise": "Remove noise from grey images with a mixture of patches.",
    "export": "Write a run for gensim, MALLET, pyLDAvis and others.",
    "report": "Write an HTML page about runs.",
    "compare": "Train several models on the same data and compare them.",
    "repair": "Complete or remove what an interrupted command left.",
    "warmup": "Compile all kernels, so that later commands start at once.",
}
VERBOSE = "sparsetopics.verbose"  # of a context: whether to show tracebacks
CONTEXT = "sparsetopics.context"  # of a context: that of the innermost command
INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it
TERMINATED = 143  # 128 + SIGTERM
UNREAD = 141  # 128 + SIGPIPE


def _remember_context(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Keep the context of the innermost command, whose options errors are about."""
    ctx.meta[CONTEXT] = ctx
    if value:
        ctx.meta[VERBOSE] = True


def _verbose_option() -> click.Option:
    return click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_remember_context,
        help="Show the traceback of an error.",
    )


class LazyCommands(click.Group):
    """A group whose commands are imported on demand and whose errors end as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name not in self.commands:
            module = importlib.import_module(f"sparsetopics.cli.{cmd_name}")
            command: click.Command = module.command
            for each in (command, *getattr(command, "commands", {}).values()):
                each.params.append(_verbose_option())
            self.add_command(command, cmd_name)
        return self.commands[cmd_name]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = [] if args[0] in COMMANDS else get_close_matches(args[0], COMMANDS, n=1)
        if near and not ctx.resilient_parsing:  # click only knows the modules imported so far
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # as click declares it
    ) -> click.Context:
        if sys.stdout is None:  # closed by the caller: now writing fails, as for other commands
            sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
        if sys.stderr is None:  # closed, too: what is said goes nowhere
            sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
        with _errors_in_one_line():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> None:
        # Imported here because --help has no use for them.
        from sparsetopics.base.stopping import Terminated, stoppable

        _check_current_folder()
        # Numba makes millions of objects: looking for cycles as often as usual takes a twentieth.
        gc.set_threshold(20_000, 20, 20)
        try:
            with stoppable(), _errors_in_one_line(), _warnings_in_one_line():
                super().invoke(ctx)
        except SparsetopicsError as error:
            if VERBOSE in ctx.meta:
                for line in traceback.format_exc().splitlines():
                    say(line)
            from sparsetopics.cli.parameter_types import named_as_typed

            inner = ctx.meta.get(CONTEXT, ctx)
            said = named_as_typed(error, inner) if isinstance(error, OptionError) else error
            raise click.ClickException(printable(str(said))) from error
        except KeyboardInterrupt as stop:
            say(f"Error: {str(stop) or 'interrupted.'}")
            ctx.exit(TERMINATED if isinstance(stop, Terminated) else INTERRUPTED)


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """Turn click's errors, which take three lines, into one; wrong values end with status 1.

    A stdout that is full or closed ends a command as it ends other commands.
    """
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
            raise click.ClickException(printable(error.format_message())) from error
        raise click.UsageError(_with_advice(error)) from error  # shorter without a context
    except OSError as error:
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if frame.f_code is not click.echo.__code__:  # another file than stdout
            raise
        is_unread = error.errno == errno.EPIPE
        if not is_unread:
            say(f"Error: stdout: {reason_of(error)}.")
        for number in (1, 2):  # or Python would complain about what is left when it ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        raise click.exceptions.Exit(UNREAD if is_unread else 1) from error


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Show our own warnings as a sentence on stderr, without file and line."""
    show = warnings.showwarning

    def show_sentence(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, SparsetopicsWarning):
            say(f"Warning: {message}")
        else:
            show(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():  # restores showwarning
        warnings.showwarning = show_sentence
        yield


def _with_advice(error: click.UsageError) -> str:
    command = "" if error.ctx is None else f"{error.ctx.command_path} "
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        message = f"No such option {error.option_name!r}. {_near_option(error)}".rstrip()
    end = "" if message.endswith((".", "?")) else "."
    return printable(f"{message}{end} `{command}--help` lists what there is.")


def _near_option(error: click.NoSuchOption) -> str:
    """What may be meant by an option that does not exist, as a sentence; "" if nothing is near."""
    name = error.option_name
    if not name.startswith("--"):  # click takes -dash.jsonl for the options -d, -a, -s and so on
        files = sorted(each.name for each in Path().iterdir() if each.name.startswith(name))
        return f"For the file {files[0]} write ./{files[0]}." if files else ""
    return f"Did you mean {listed(error.possibilities, 'or')}?" if error.possibilities else ""


def _check_current_folder() -> None:
    """Refuse to work in a deleted folder, where relative paths have no meaning."""
    try:
        os.getcwd()
    except OSError as error:
        raise click.ClickException(
            f"the current folder: {error.strerror}. Change to a folder that exists."
        ) from error


@click.group(cls=LazyCommands, params=[_verbose_option()])
@click.version_option(package_name="sparsetopics", prog_name="sparsetopics")
def main() -> None:
    """Train topic models, look at their topics and score them on held-out documents.

    An error is one line. The exit status is 1 for a wrong value of an option and for data or files
    that cannot be used, and 2 for unknown options and missing arguments.

    \b
    Example:
        sparsetopics quickstart
        sparsetopics ingest news/*.txt --out corpus
        sparsetopics train corpus --out run
        sparsetopics topics run
    """

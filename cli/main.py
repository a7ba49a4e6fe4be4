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
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import click
from click.core import ParameterSource

from sparsetopics.base.errors import OptionError, SparsetopicsError, SparsetopicsWarning
from sparsetopics.base.wording import kind_and_reason_of, listed, printable, reason_of
from sparsetopics.cli.printing import LOG, QUIET, note, obeying, say

COMMANDS = {  # a module each; described here, so that --help imports none of them
    "quickstart": "Try everything once on news stories that come with gensim.",
    "ingest": "Make a corpus from files, folders or URLs.",
    "corpus": "Describe, check, split or export a corpus.",
    "train": "Learn topics or clusters from a corpus.",
    "path": "Train models of many numbers of topics in one run, and recommend a number.",
    "resume": "Continue interrupted training.",
    "evaluate": "Score runs on held-out documents or items.",
    "topics": "Print topics with their most probable words.",
    "update": "Learn the documents by which a corpus has grown, and say what changed.",
    "diff": "Say what happened to topics from one run to another.",
    "edit": "Merge, split, drop and name topics of a run.",
    "infer": "Compute the topic proportions of documents.",
    "prevalence": "Compare the share of each topic between groups of documents, or over time.",
    "documents": "Print the documents that represent topics.",
    "denoise": "Remove noise from grey images with a mixture of patches.",
    "export": "Write a run for gensim, MALLET, pyLDAvis and others.",
    "report": "Write an HTML page about runs.",
    "plot": "Draw a figure of a run for a paper.",
    "repair": "Complete or remove what an interrupted command left.",
    "warmup": "Compile all kernels, so that later commands start at once.",
}
VERBOSE = "sparsetopics.verbose"  # of a context: whether to show tracebacks
CONTEXT = "sparsetopics.context"  # of a context: that of the innermost command
TO_TELL = 3
INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it
UNREAD = 141  # 128 + SIGPIPE
TERMINATED = 143  # 128 + SIGTERM
STATUSES = {  # 1 and 2 are those of click's errors
    0: "The command is done.",
    1: "An option has a wrong value, or data or files cannot be used.",
    2: "An option or a command is unknown, or an argument is missing.",
    TO_TELL: "`diff --exit-code` found something to tell.",
    INTERRUPTED: "Ctrl-C (SIGINT) stopped the command.",
    UNREAD: "The reader of the output has gone (SIGPIPE), as in `sparsetopics topics run | head`.",
    TERMINATED: "SIGTERM stopped the command.",
}


def _remember_context(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Keep the context of the innermost command, whose options errors are about."""
    ctx.meta[CONTEXT] = ctx
    if value:
        ctx.meta[VERBOSE] = True


def _remember_quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if ctx.get_parameter_source(str(param.name)) is not ParameterSource.DEFAULT:
        ctx.meta[QUIET] = value


def _open_log(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    """Open the log until the whole command line ends, and write the command as its first entry."""
    if path is None or ctx.resilient_parsing:
        return
    from shlex import join

    from sparsetopics.base.own_folders import own_folder_around

    try:
        if folder := own_folder_around(Path(os.path.realpath(path))):
            raise OSError(f"it lies in {folder}, which commands replace")
        # Without O_NONBLOCK, a pipe that nobody reads would stop all work.
        log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o666)
    except OSError as error:
        problem = f"{path} cannot be written ({reason_of(error)}). Choose another path."
        raise click.ClickException(printable(f"--log-file: {problem}")) from error
    ctx.meta[LOG] = log
    ctx.find_root().call_on_close(partial(os.close, log))
    with obeying(ctx.meta):
        note(f"Command: {join(['sparsetopics', *ctx.obj])}")


def _common_options() -> list[click.Option]:
    """New objects for the options that every command takes, and ``sparsetopics`` itself."""
    option = partial(click.Option, expose_value=False)
    verbose = option(
        ["-v", "--verbose"],
        is_flag=True,
        is_eager=True,
        callback=_remember_context,
        help="Show the traceback of an error.",
    )
    quiet = option(
        ["--quiet/--no-quiet"],
        callback=_remember_quiet,
        help="Print nothing but errors, and JSON where --json is given.",
    )
    log_file = option(
        ["--log-file"],
        metavar="FILE",
        type=click.Path(),
        is_eager=True,
        callback=_open_log,
        help="Append all that is printed for people to this file too, with the time and INFO, "
        "WARNING or ERROR.",
    )
    return [verbose, quiet, log_file]


class LazyCommands(click.Group):
    """A group whose commands are imported on demand and whose errors end as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit statuses"):
            formatter.write_dl([(str(status), text) for status, text in STATUSES.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name not in self.commands:
            module = importlib.import_module(f"sparsetopics.cli.{cmd_name}")
            command: click.Command = module.command
            for each in (command, *getattr(command, "commands", {}).values()):
                each.params += _common_options()
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
        os.environ.pop("MPLBACKEND", None)  # Jupyter's stops matplotlib if it is not installed
        extra.setdefault("obj", [*args])  # as typed, for the log
        with _errors_in_one_line():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> None:
        # Imported here because --help has no use for them.
        from sparsetopics.base.stopping import Terminated, stoppable

        # Numba makes millions of objects: looking for cycles as often as usual takes a twentieth.
        gc.set_threshold(20_000, 20, 20)
        with obeying(ctx.meta), _end_noted():
            _check_current_folder()
            try:
                with stoppable(), _errors_in_one_line(), _warnings_in_one_line():
                    super().invoke(ctx)
            except SparsetopicsError as error:
                if VERBOSE in ctx.meta:
                    for line in traceback.format_exc().splitlines():
                        say(line, "ERROR")
                from sparsetopics.cli.parameter_types import named_as_typed

                inner = ctx.meta.get(CONTEXT, ctx)
                said = named_as_typed(error, inner) if isinstance(error, OptionError) else error
                raise click.ClickException(printable(str(said))) from error
            except KeyboardInterrupt as stop:
                say(f"Error: {str(stop) or 'interrupted.'}", "ERROR")
                status = TERMINATED if isinstance(stop, Terminated) else INTERRUPTED
                raise click.exceptions.Exit(status) from stop  # ctx.exit would close the log


@contextmanager
def _end_noted() -> Iterator[None]:
    """Log the error with which a command ends, and its exit status."""
    status = 0
    try:
        yield
    except BaseException as end:
        status = getattr(end, "exit_code", 1)  # 1 for exceptions that are not expected
        if not isinstance(end, click.exceptions.Exit):
            is_ours = isinstance(end, click.ClickException)
            note(str(end) if is_ours else kind_and_reason_of(end), "ERROR")
        raise
    finally:
        note(f"Exit status {status}.")


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
            say(f"Error: stdout: {reason_of(error)}.", "ERROR")
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
            say(f"Warning: {message}", "WARNING")
        else:
            said = f"{category.__name__}: {message}"
            say(said, "WARNING", lambda _: show(message, category, filename, lineno, file, line))

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


@click.group(cls=LazyCommands, params=_common_options())
@click.version_option(package_name="sparsetopics", prog_name="sparsetopics")
def main() -> None:
    """Train topic models, look at their topics and score them on held-out documents.

    An error is one line.

    \b
    Example:
        sparsetopics quickstart
        sparsetopics ingest news/*.txt --out corpus
        sparsetopics train corpus --out run
        sparsetopics topics run
    """

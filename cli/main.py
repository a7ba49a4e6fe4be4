"""The command line: one module per command, imported only when the command is run."""

from __future__ import annotations

import importlib
import os
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from types import FrameType
from typing import NoReturn

import click

from sparsetopics.base.errors import SparsetopicsError
from sparsetopics.cli.warmup import choose_cache_folder

COMMANDS = {  # a module each; described here, so that --help imports none of them
    "quickstart": "Try everything once on news stories that come with gensim.",
    "ingest": "Make a corpus from files, folders or URLs.",
    "corpus": "Describe, check, split or export a corpus.",
    "train": "Learn topics or clusters from a corpus.",
    "resume": "Continue interrupted training.",
    "evaluate": "Score runs on held-out documents or items.",
    "topics": "Print topics with their most probable words.",
    "infer": "Compute the topic proportions of documents.",
    "denoise": "Remove noise from grey images with a mixture of patches.",
    "export": "Write a run for gensim, MALLET, pyLDAvis and others.",
    "report": "Write an HTML page about runs.",
    "compare": "Train several models on the same data and compare them.",
    "repair": "Complete or remove what an interrupted command left.",
    "warmup": "Compile all kernels, so that later commands start at once.",
}
VERBOSE = "sparsetopics.verbose"
INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it
TERMINATED = 143  # 128 + SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM, which stops a command just as Ctrl-C does."""


def _remember_verbose(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[VERBOSE] = True


def _verbose_option() -> click.Option:
    return click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_remember_verbose,
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

    def invoke(self, ctx: click.Context) -> None:
        _check_current_folder()
        choose_cache_folder()
        try:
            with _terminable():
                super().invoke(ctx)
        except SparsetopicsError as error:
            if VERBOSE in ctx.meta:
                traceback.print_exc()
            raise click.ClickException(str(error)) from error
        except KeyboardInterrupt as stop:
            click.echo(f"Error: {str(stop) or 'interrupted.'}", err=True)
            ctx.exit(TERMINATED if isinstance(stop, Terminated) else INTERRUPTED)


def _check_current_folder() -> None:
    """Refuse to work in a deleted folder, where relative paths have no meaning."""
    try:
        os.getcwd()
    except OSError as error:
        raise click.ClickException(
            f"the current folder: {error.strerror}. Change to a folder that exists."
        ) from error


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end a command as cleanly as Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():  # others get no signals
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated


@click.group(cls=LazyCommands, params=[_verbose_option()])
@click.version_option(package_name="sparsetopics", prog_name="sparsetopics")
def main() -> None:
    """Train topic models, look at their topics and score them on held-out documents.

    \b
    Example:
        sparsetopics quickstart
        sparsetopics ingest news/*.txt --out corpus
        sparsetopics train corpus --out run
        sparsetopics topics run
    """

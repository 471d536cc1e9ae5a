"""The `disco` command: the verbs, and the one place where errors become words and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from disco_dspy.cli import ask, doctor, failures, index, init, models, program, show, status
from disco_dspy.cli.terminal import Terminal, fresh_terminal, terminal
from signatures.errors import DiscoError

_EPILOG = (
    "Exit codes: 0 fine, 1 a bug, 2 wrong usage, 3 bad input or configuration, 4 incomplete (some files failed), "
    "5 backbone or endpoint, 6 program refused, 7 index busy, 130 Ctrl-C."
)

app = typer.Typer(
    name="disco",
    help="Answers questions from your documents with the argument structure of the text in view (Disco-RAG).",
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("init")(init.init)
app.command("index")(index.index)
app.command("ask")(ask.ask)
app.command("status")(status.status)
app.add_typer(show.app, name="show")
app.add_typer(models.app, name="models")
app.add_typer(program.app, name="program")
app.command("doctor")(doctor.doctor)


def _version(value: bool) -> None:
    if value:
        try:
            found = version("disco-dspy")
        except PackageNotFoundError:
            found = "(run from source, not installed)"
        terminal().result({"version": found}, f"disco-dspy {found}")
        raise typer.Exit


@app.callback()
def root(
    debug: Annotated[
        bool, typer.Option("--debug", envvar="DISCO_DEBUG", help="Print a traceback with every error.")
    ] = False,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", envvar="DISCO_VERSION", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options of every verb."""
    terminal().debug = terminal().debug or debug


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: The arguments after `disco`; those of the process when None.

    Returns:
        The exit code; see `disco --help`.
    """
    with fresh_terminal() as screen:
        try:
            outcome = app(args=None if argv is None else list(argv), prog_name="disco", standalone_mode=False)
            # Typer turns Ctrl-C into an exit code of its own, without a word.
            return failures.show(KeyboardInterrupt(), screen) if outcome == failures.INTERRUPTED else int(outcome or 0)
        except typer.Abort:
            return failures.show(KeyboardInterrupt(), screen)
        except typer.TyperException as error:
            return _usage(error, screen)
        except BrokenPipeError:
            # `disco ... | head`: the reader has what it wanted. Closing stdout keeps Python from complaining at exit.
            sys.stdout = None  # type: ignore[assignment]
            return 0
        except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001 - the last resort: becomes words and a code
            return failures.show(error, screen)


def run() -> None:
    """Entry point of the `disco` script."""
    code = main()
    if code == failures.INTERRUPTED:
        # Python would wait at exit for threads whose calls may run for minutes. Everything durable is written by now.
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
    sys.exit(code)


def _usage(error: typer.TyperException, screen: Terminal) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "disco"
    if type(error).__name__ == "NoArgsIsHelpError":
        screen.out.file.write(error.format_message() + "\n")
        return 0
    sentence = error.format_message().rstrip(".") + "."
    return failures.show(DiscoError("usage/wrong", sentence, f"See `{path} --help`.", exit_code=failures.USAGE), screen)

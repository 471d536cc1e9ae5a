"""Every way a command can end badly, as a sentence, a remedy and an exit code."""

from __future__ import annotations

import errno
import json
import traceback

from rich.text import Text

from disco_dspy.cli.terminal import Terminal
from disco_dspy.show.text import safe
from signatures.errors import DiscoError

USAGE = 2
INCOMPLETE = 4
INTERRUPTED = 130
UNEXPECTED = 1
REPORT_AT = "the issue tracker of disco-dspy"


def explain(error: BaseException) -> tuple[DiscoError, int]:
    """Returns what to tell the user about an error, and what to exit with.

    Args:
        error: Anything that ended a command.
    """
    if isinstance(error, DiscoError):
        return error, error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return _interrupted(), INTERRUPTED
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return _disk_full(error), 3
    if isinstance(error, PermissionError):
        return _forbidden(error), 3
    return _unexpected(error), UNEXPECTED


def show(error: BaseException, terminal: Terminal) -> int:
    """Prints an error to stderr and returns the exit code."""
    told, code = explain(error)
    if terminal.json:
        body = {"code": told.code, "sentence": told.sentence, "remedy": told.remedy, "retryable": told.retryable}
        terminal.err.file.write(json.dumps({"error": body}, ensure_ascii=False) + "\n")
    else:
        line = Text()
        line.append(f"error {told.code}: ", style="bold red")
        line.append(safe(told.sentence))
        terminal.err.print(line, soft_wrap=True)
        terminal.err.print(Text(safe(told.remedy)), soft_wrap=True)
    if terminal.debug:
        terminal.err.file.write("".join(traceback.format_exception(error)))
    return code


def _interrupted() -> DiscoError:
    return DiscoError(
        "run/interrupted",
        "Stopped by Ctrl-C.",
        "What was finished is kept; run the same command again to go on.",
        retryable=True,
    )


def _disk_full(error: OSError) -> DiscoError:
    where = f" while writing {error.filename}" if error.filename else ""
    return DiscoError(
        "disk/full",
        f"The disk is full{where}.",
        "Free some space and run the same command again; what was finished is kept.",
        retryable=True,
    )


def _forbidden(error: PermissionError) -> DiscoError:
    return DiscoError(
        "disk/permission",
        f"No permission for {error.filename or 'a file'}.",
        "Change the permissions, or choose another folder.",
    )


def _unexpected(error: BaseException) -> DiscoError:
    return DiscoError(
        "internal/unexpected",
        f"Something unexpected happened: {type(error).__name__}: {error}.",
        f"This is a bug. Run the command again as `disco --debug ...` and report the output to {REPORT_AT}.",
    )

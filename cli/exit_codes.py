"""Which error family ends a command with which exit code. The numbers are part of the public contract.

A family that is not listed takes the code of the nearest family above it (``docs/reference/exit-codes.md`` shows both).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from opendatafabric import errors


class ExitCode(IntEnum):
    """What a command tells the shell; the docstring of each is its line in the reference."""

    OK = 0
    """Done."""
    FAILED = 1
    """Something failed that no other code names; of several inputs at least one was bad."""
    USAGE = 2
    """The command line itself is wrong."""
    INVALID = 3
    """Checked, and found broken: malformed bytes, a wrong hash, a rule of the chain."""
    NOT_FOUND = 4
    """No such dataset, block, object or repository (or none that the caller may see)."""
    CONFLICT = 5
    """The other side has moved on, or the name or id is taken."""
    DENIED = 6
    """Not logged in, or not allowed."""
    UNAVAILABLE = 7
    """A store or a remote repository that did not answer or is out of space; trying again may help."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C."""


EXIT_CODES: Final[dict[type[errors.OdfError], ExitCode]] = {
    errors.OdfError: ExitCode.FAILED,
    errors.MalformedInput: ExitCode.INVALID,
    errors.LimitExceeded: ExitCode.INVALID,
    errors.HashMismatch: ExitCode.INVALID,
    errors.SizeMismatch: ExitCode.INVALID,
    errors.InvalidSignature: ExitCode.INVALID,
    errors.ChainError: ExitCode.INVALID,
    errors.MalformedIdentifier: ExitCode.USAGE,
    errors.NotFound: ExitCode.NOT_FOUND,
    errors.Conflict: ExitCode.CONFLICT,
    errors.AccessDenied: ExitCode.DENIED,
    errors.AuthenticationRequired: ExitCode.DENIED,
    errors.TransferRejected: ExitCode.DENIED,
    errors.StorageError: ExitCode.UNAVAILABLE,
    errors.PeerUnavailable: ExitCode.UNAVAILABLE,
    errors.EngineUnavailable: ExitCode.UNAVAILABLE,
}


def exit_code_of(error: errors.OdfError) -> ExitCode:
    """The code of the nearest listed family of ``error``."""
    family = next(family for family in type(error).__mro__ if family in EXIT_CODES)
    return EXIT_CODES[family]

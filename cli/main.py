"""The command ``odf``: finds the module of the command that was asked for, runs it, turns errors into exit codes.

Only the module of the command asked for is imported, so that ``odf block hash`` does not wait for the HTTP server.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final

import typer

from cli.auditing import AuditedCommand
from cli.exit_codes import ExitCode, exit_code_of
from cli.output import print_error, print_note
from opendatafabric.errors import OdfError

COMMANDS: Final = (
    "serve", "init", "add", "ingest", "set-watermark", "set-transform",
    "delete", "undelete", "rename", "transfer", "policy", "sign", "reflog", "undo",
    "list", "search", "show", "log", "tail", "lineage",
    "sql", "pull", "push", "schedule", "worker", "login", "account",
    "token", "trust", "role", "team", "visibility", "webhook", "mirror", "verify", "report",
    "attestation", "witness", "gate", "promote", "fsck", "gc", "scrub", "audit", "quota", "backup", "restore",
    "export", "reindex", "engine", "car", "block", "hash", "snapshot", "ref", "did",
)  # fmt: skip
"""In the order of ``odf --help``; the module of each is ``cli/commands/<name>.py``, with ``_`` for ``-``."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the console script; ends the process."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(run(argv))


def run(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code; nothing but the command's own output is printed."""
    as_json = "--json" in argv
    try:
        build_app(argv)(args=list(argv), prog_name="odf")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else ExitCode.FAILED
    except OdfError as error:
        print_error(error, as_json=as_json)
        return exit_code_of(error)
    except KeyboardInterrupt:
        print_note("odf: interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (`odf list | head`): that is no failure, and flushing at exit must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    return ExitCode.OK


def build_app(argv: Sequence[str]) -> typer.Typer:
    """The application with the command that ``argv`` names, or with all of them for help and for errors."""
    asked = next((word for word in argv if not word.startswith("-")), None)
    names = (asked,) if asked in COMMANDS else COMMANDS
    app = typer.Typer(
        name="odf",
        help="Hold, serve, move and check Open Data Fabric datasets.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_options)
    for name in names:
        module = importlib.import_module(f"cli.commands.{name.replace('-', '_')}")
        if getattr(module, "IS_GROUP", False):
            for command in module.app.registered_commands:
                command.cls = AuditedCommand
            app.add_typer(module.app, name=name)
        else:
            app.command(name, cls=AuditedCommand)(module.command)
    return app


def _options(
    version: bool = typer.Option(False, "--version", help="Print the version and stop.", is_eager=True),
) -> None:
    if version:
        from importlib.metadata import version as version_of  # noqa: PLC0415 - costs 20 ms at every start

        typer.echo(f"odf {version_of('odf-repository')}")
        raise typer.Exit


if __name__ == "__main__":
    main()

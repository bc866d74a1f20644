"""Commands in the audit log: each one that may change a repository with a catalog is written down, done or failed.

What a command was given is kept as far as it names what it was done to: its arguments, and the names of its options,
not their values. Commands over a server's address are in the log of that server. Heads that commands moved are in the
reflog too.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import typer
from typer.core import TyperArgument, TyperCommand

from cli.output import print_note
from opendatafabric.errors import OdfError

READING: Final = frozenset(
    {
        "account list", "account show", "account identities",
        "serve", "worker", "list", "search", "show", "log", "reflog", "tail", "lineage", "sql", "schedule list",
        "token list", "role list", "team list", "mirror status", "verify", "report list", "report diff", "report show",
        "attestation verify", "attestation show", "attestation keys", "witness", "push", "audit list", "audit verify",
        "audit export", "audit archive", "quota show", "scrub", "backup", "export", "engine serve", "car export",
    }
)  # fmt: skip
"""Commands that change nothing in the repository, start what writes its deeds down itself, or do so themselves."""

_CHANGES_WITH: Final = {"fsck": "repair", "gate": "wish", "visibility": "wish", "undelete": "ref"}
"""Commands that change something only when this is given."""

MOVING: Final = frozenset({"add", "ingest", "promote", "pull", "set-transform", "set-watermark"})
"""Commands that move heads of the repository, and do not write that down themselves."""

_HARMLESS_WITH: Final = "dry_run"
_REPOSITORY: Final = "repository"
_NOT_SHOWN: Final = {_REPOSITORY, "as_json"}


class AuditedCommand(TyperCommand):
    """A command that is written down when it has ended."""

    def invoke(self, ctx: Any) -> Any:
        """As the base."""
        outcome, moved = "crashed", list[Any]()
        try:
            with _hearing(ctx, moved):
                result = super().invoke(ctx)
            outcome = "ok"
            return result
        except typer.Exit as ended:
            outcome = "ok" if not ended.exit_code else f"exit-{ended.exit_code}"
            raise
        except OdfError as error:
            outcome = error.code
            raise
        finally:
            if _changes(ctx):
                _write_down(ctx, outcome, moved)


def _hearing(context: typer.Context, moved: list[Any]) -> AbstractContextManager[None]:
    if context.command_path.partition(" ")[2] not in MOVING:
        return nullcontext()
    from storage.head_moves import hearing  # noqa: PLC0415 - other commands start sooner without

    return hearing(lambda *move: moved.append(move))


def _changes(context: typer.Context) -> bool:
    words = context.command_path.partition(" ")[2]
    if words in READING or not isinstance(context.params.get(_REPOSITORY), str):
        return False
    if context.params.get(_HARMLESS_WITH):
        return False
    return words not in _CHANGES_WITH or bool(context.params.get(_CHANGES_WITH[words]))


def _given(context: typer.Context) -> set[str]:
    """Options that stood on the command line."""
    options = {each.name or "" for each in context.command.params if not isinstance(each, TyperArgument)}
    return {name for name in options if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"}


def _arguments(context: typer.Context) -> list[str]:
    found: list[str] = []
    for each in context.command.params:
        value = context.params.get(each.name or "")
        if isinstance(each, TyperArgument) and value is not None:
            found += map(str, value) if isinstance(value, list | tuple) else [str(value)]
    return found


def _write_down(context: typer.Context, outcome: str, moved: Sequence[Any]) -> None:
    options = [f"--{name.replace('_', '-')}" for name in sorted(_given(context) - _NOT_SHOWN)]
    details = {"by": "command", "user": pwd.getpwuid(os.getuid()).pw_name, "options": options, "outcome": outcome}
    subject = " ".join(_arguments(context))
    import asyncio  # noqa: PLC0415 - costs 30 ms

    try:
        asyncio.run(_append(context.params[_REPOSITORY], context.command_path, subject, details, moved))
    except OdfError as error:
        print_note(f"odf: this could not be written to the audit log: {error.message}")


async def _append(repository: str, action: str, subject: str, details: dict[str, Any], moved: Sequence[Any]) -> None:
    from catalog.catalog import open_catalog  # noqa: PLC0415 - costs 300 ms, needed for commands that change something
    from catalog.sqlite_files import sqlite_path  # noqa: PLC0415
    from cli.catalogs import settings_for  # noqa: PLC0415
    from repo_server.logs import redacted  # noqa: PLC0415
    from storage.dataset import Dataset  # noqa: PLC0415

    try:
        url = settings_for(repository).database_url
    except OdfError:
        return  # no repository, no catalog, or a server
    file = sqlite_path(url)
    if file is None or file.exists():
        async with open_catalog(url) as catalog:
            await catalog.audit.append(action, redacted(subject), details)
            for objects, refs, move in moved:
                seed = await Dataset(objects, refs).seed()
                ends = {"expected_head": move.expected_head, "new_head": move.new_head}
                await catalog.datasets.log_move(seed.dataset_id, None, **ends)

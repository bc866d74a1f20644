"""``odf ref``: what the names and addresses of datasets that people type can mean."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from cli.bulk import run_each
from cli.options import AsJson
from cli.output import print_json, print_line
from opendatafabric.dataset_ref import (
    AmbiguousAlias,
    DatasetAlias,
    DatasetAliasRemote,
    DatasetUrl,
    RemoteDatasetId,
    parse_dataset_push_target,
    parse_dataset_ref,
    parse_dataset_ref_any,
    parse_dataset_ref_remote,
)
from opendatafabric.did import DatasetId
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.names import AccountName, DatasetName, RepoName

IS_GROUP = True
app = typer.Typer(
    help="""Read references to datasets.

\b
Example:
    odf ref parse examples/us.faa.airports
""",
    no_args_is_help=True,
)


class RefForm(StrEnum):
    """The grammars of the specification; the first four are what commands take."""

    DATASET_REF = "DatasetRef"
    DATASET_REF_REMOTE = "DatasetRefRemote"
    DATASET_REF_ANY = "DatasetRefAny"
    DATASET_PUSH_TARGET = "DatasetPushTarget"
    DATASET_ALIAS = "DatasetAlias"
    DATASET_ALIAS_REMOTE = "DatasetAliasRemote"
    DATASET_NAME = "DatasetName"
    ACCOUNT_NAME = "AccountName"
    REPO_NAME = "RepoName"


READERS: Final[dict[RefForm, Callable[[str], object]]] = {
    RefForm.DATASET_REF: parse_dataset_ref,
    RefForm.DATASET_REF_REMOTE: parse_dataset_ref_remote,
    RefForm.DATASET_REF_ANY: parse_dataset_ref_any,
    RefForm.DATASET_PUSH_TARGET: parse_dataset_push_target,
    RefForm.DATASET_ALIAS: DatasetAlias.from_text,
    RefForm.DATASET_ALIAS_REMOTE: DatasetAliasRemote.from_text,
    RefForm.DATASET_NAME: DatasetName,
    RefForm.ACCOUNT_NAME: AccountName,
    RefForm.REPO_NAME: RepoName,
}
TYPED_FORMS: Final = tuple(RefForm)[:4]


@app.command()
def parse(
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="References as people type them.")],
    form: Annotated[RefForm | None, typer.Option("--as", help="Read as this form alone.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print each reference in its canonical form and what it can mean, or say that it means nothing.

    A line holds the canonical text, the text given, and the readings; with --as only the first two.

    \b
    Example:
        odf ref parse alice/airports odf+http://127.0.0.1:8080/alice/airports
        odf ref parse --as DatasetAlias --json alice/airports
    """

    def parse_one(text: str) -> None:
        readings = {form: READERS[form](text)} if form else readings_of(text)
        canonical = str(next(iter(readings.values())))
        if as_json:
            plain = {each.value: parts_of(value) for each, value in readings.items()}
            print_json({"text": text, "canonical": canonical, "readings": plain}, indent=None)
        elif form:
            print_line(f"{canonical}  {text}")
        else:
            named = ", ".join(f"{each.value}: {variant_of(value)}" for each, value in readings.items())
            print_line(f"{canonical}  {text}  ({named})")

    run_each(texts, parse_one, as_json=as_json)


@app.callback()
def _group() -> None:
    """A group even while it has one command."""


def readings_of(text: str) -> dict[RefForm, object]:
    """Everything that ``text`` can mean where a command takes a reference.

    Raises:
        MalformedIdentifier: nothing at all.
    """
    found: dict[RefForm, object] = {}
    for form in TYPED_FORMS:
        try:
            found[form] = READERS[form](text)
        except MalformedIdentifier:
            continue
    if not found:
        raise MalformedIdentifier(
            "means no dataset", hint="write NAME, ACCOUNT/NAME, REPO/ACCOUNT/NAME, did:odf:… or scheme://…"
        )
    return found


def variant_of(value: object) -> str:
    """Which of the variants of its form a reading is."""
    if isinstance(value, DatasetId | RemoteDatasetId):
        return "id"
    if isinstance(value, DatasetUrl):
        return "url"
    if isinstance(value, AmbiguousAlias):
        return "ambiguous alias"
    if isinstance(value, DatasetAliasRemote):
        return "remote alias"
    return "alias" if isinstance(value, DatasetAlias) else "repository" if isinstance(value, RepoName) else "name"


def parts_of(value: object) -> dict[str, Any]:
    """A reading taken apart, as plain JSON values."""
    names = ("repo", "account", "name", "repo_or_account", "id", "url")
    parts = {name: getattr(value, name) for name in names if hasattr(value, name)}
    if isinstance(value, DatasetId):
        parts = {"id": value}
    elif isinstance(value, str):
        parts = {"name": value}
    plain = {name: None if part is None else str(part) for name, part in parts.items()}
    return {"variant": variant_of(value), **plain, "display": str(value)}

"""``odf trust``: runs of a CI system that may push to a dataset without a token of anybody's."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final

import typer

from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_table
from cli.trusts import add_trust, list_trusts, remove_trust, trust_of

IS_GROUP = True
app = typer.Typer(
    help="""Trust runs of a CI system to push to a dataset: odf login URL --ci gets them a token.

\b
Example:
    odf trust add weather --claim repository=alice/weather --repo my-repository
""",
    no_args_is_help=True,
)
COLUMNS: Final = ("ID", "ISSUER", "CLAIMS", "AUDIENCE", "CREATED")
Ref = Annotated[str, typer.Argument(metavar="REF", help="The dataset.")]


@app.command()
def add(
    ref: Ref,
    claims: Annotated[
        list[str],
        typer.Option("--claim", metavar="NAME=PATTERN", help="What tokens of the runs must say; * is any text."),
    ],
    issuer: Annotated[
        str, typer.Option("--issuer", metavar="URL", help="Who makes the tokens: github, gitlab, or an address.")
    ] = "github",
    audience: Annotated[
        str | None,
        typer.Option("--audience", metavar="TEXT", help="For whom they are made, if not for the server."),
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Trust runs whose tokens are like that. All conditions must hold; one says whose repository it is.

    \b
    Example:
        odf trust add weather --claim repository=alice/weather --claim ref=refs/heads/main --repo my-repository
        odf trust add https://data.example.org/alice/weather --issuer gitlab --claim project_path=alice/weather
    """
    made = asyncio.run(add_trust(ref, repository, trust_of(issuer, claims, audience)))
    if as_json:
        print_json(made)
    else:
        print_line(f"trusted {made['id']}")


@app.command("list")
def list_(ref: Ref, repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """List the runs that are trusted.

    \b
    Example:
        odf trust list weather --repo my-repository
    """
    known = asyncio.run(list_trusts(ref, repository))
    if as_json:
        print_json(known)
    else:
        print_table(COLUMNS, [_cells(each) for each in known])


@app.command()
def remove(
    ref: Ref,
    publisher: Annotated[str, typer.Argument(metavar="ID", help="As 'odf trust list' shows it.")],
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Trust them no longer. Tokens that they got already end by themselves soon.

    \b
    Example:
        odf trust remove weather 8c5e3a52-7c1e-4a53-a8a4-0c6f3b0e9d11 --repo my-repository
    """
    asyncio.run(remove_trust(ref, repository, publisher))
    if as_json:
        print_json({"removed": publisher})
    else:
        print_line(f"removed {publisher}")


def _cells(publisher: dict[str, Any]) -> tuple[str, ...]:
    claims = " ".join(f"{name}={pattern}" for name, pattern in publisher["claims"].items())
    return publisher["id"], publisher["issuer"], claims, publisher["audience"] or "", publisher["createdAt"]

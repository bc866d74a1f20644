"""``odf attestation``: signed verdicts: who has said what of a dataset, and whether it may be believed."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final

import typer

from cli.attestations import Trust, collect, judged, listed
from cli.attesters import required_attester
from cli.catalogs import catalog_of, settings_for
from cli.commands.verify import EXIT_CODES
from cli.exit_codes import ExitCode
from cli.options import AsJson, RepositoryOption
from cli.output import print_json, print_line, print_table
from opendatafabric.attestation.document import key_document
from opendatafabric.attestation.policy import Agreement, Judgement
from opendatafabric.errors import NotFound
from verify.attestation.node_key import node_key, published_keys, rotate_node_key

IS_GROUP = True
app = typer.Typer(
    help="""Signed verdicts on datasets: check them, show them, collect those of others.

\b
Example:
    odf attestation verify verdict.json --key did:key:z6Mk…
""",
    no_args_is_help=True,
)
COLUMNS: Final = ("VERIFIED", "VERDICT", "HEAD", "SIGNER", "SOURCE")
Ref = Annotated[str, typer.Argument(metavar="REF|URL", help="The dataset.")]


@app.command()
def verify(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Attestations, or lists of them; - for stdin.")],
    keys: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="KEY", help="A key that counts: did:key:…, a PEM file or a key document."),
    ] = None,
    urls: Annotated[
        list[str] | None, typer.Option("--url", metavar="URL", help="A server whose published keys count.")
    ] = None,
    require: Annotated[
        int, typer.Option("--require", metavar="N", min=1, help="So many of the keys must say the same.")
    ] = 1,
    of: Annotated[
        str | None, typer.Option("--of", metavar="REF|DIR|URL", help="It must be about the head of this dataset.")
    ] = None,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Check signed verdicts: is the signature good, by a key that counts, and what does it say?

    Ends with 0 when so many keys say that the dataset is valid, with 3 when they say that it is not or too few have
    signed, with 1 when they say that something could not be checked. Without --url nothing is asked of a network.

    \b
    Example:
        odf attestation verify verdict.json --key did:key:z6Mk… --of us.noaa.seattle-weather
        odf attestation verify all.json --require 2 --key did:key:z6MkA… --key did:key:z6MkB… --key did:key:z6MkC…
    """
    judgement = asyncio.run(judged(files, Trust(keys or [], urls or [], require), of, repository))
    if as_json:
        print_json(_plain(judgement))
    else:
        _print_for_people(judgement)
    code = EXIT_CODES[judgement.agreed.verdict]
    if code is not ExitCode.OK:
        raise typer.Exit(code)


@app.command()
def show(
    ref: Ref,
    envelope: Annotated[bool, typer.Option("--envelope", help="Print the newest one itself, to be kept.")] = False,
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Show who has signed what about a dataset, here or on a server.

    \b
    Example:
        odf attestation show us.noaa.seattle-weather --repo my-repository
        odf attestation show http://127.0.0.1:8080/examples/us.noaa.seattle-weather --envelope > verdict.json
    """
    told = asyncio.run(listed(ref, repository))
    if envelope:
        if not told["attestations"]:
            raise NotFound(f"nobody has signed a verdict on {ref}")
        print_json(told["attestations"][0]["envelope"], indent=None)
    elif as_json:
        print_json(told)
    else:
        print_table(COLUMNS, [_cells(each) for each in told["attestations"]])


@app.command("collect")
def collect_(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The dataset here.")],
    urls: Annotated[list[str], typer.Argument(metavar="URL…", help="The same dataset on other servers.")],
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Keep what other servers have signed about a dataset, beside our own, to be counted together.

    \b
    Example:
        odf attestation collect us.noaa.seattle-weather http://127.0.0.1:8081/examples/us.noaa.seattle-weather
    """
    asyncio.run(_collect_and_print(ref, urls, repository, as_json=as_json))


@app.command("keys")
def keys_(repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Show the keys that verdicts are signed with here, and from when until when; one is made if there is none.

    \b
    Example:
        odf attestation keys --repo my-repository
    """
    document = asyncio.run(_key_document(repository))
    if as_json:
        print_json(document)
    else:
        rows = [(key["kid"], key["validFrom"], key["validUntil"] or "") for key in document["keys"]]
        print_table(("KEY", "FROM", "UNTIL"), rows)


@app.command("rotate-key")
def rotate_key(repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Sign with a new key from now on. The old one stays published: what it signed until now stays good.

    \b
    Example:
        odf attestation rotate-key --repo my-repository
    """
    did = asyncio.run(_rotate(repository))
    if as_json:
        print_json({"key": did})
    else:
        print_line(did)


async def _collect_and_print(ref: str, urls: list[str], repository: str, *, as_json: bool) -> None:
    async for address, new in collect(ref, urls, repository):
        if as_json:
            print_json({"url": address, "new": new}, indent=None)
        else:
            print_line(f"{address}: {new} new")


async def _key_document(repository: str) -> dict[str, Any]:
    async with catalog_of(repository) as catalog:
        attester = required_attester(settings_for(repository), catalog)
        await node_key(attester.key_path, attester.keys)
        return key_document(await published_keys(attester.keys))


async def _rotate(repository: str) -> str:
    async with catalog_of(repository) as catalog:
        attester = required_attester(settings_for(repository), catalog)
        return (await rotate_node_key(attester.key_path, attester.keys)).did


def _plain(judgement: Judgement) -> dict[str, Any]:
    agreed, others = _plain_agreement(judgement.agreed), [_plain_agreement(each) for each in judgement.others]
    return {"datasetId": str(judgement.dataset_id), **agreed, "others": others}


def _plain_agreement(agreement: Agreement) -> dict[str, Any]:
    return {
        "head": str(agreement.head),
        "verdict": agreement.verdict.value,
        "signers": [key.did for key in agreement.signers],
        "verifiedAt": str(agreement.verified_at),
    }


def _print_for_people(judgement: Judgement) -> None:
    print_line(f"{judgement.dataset_id}: {_said(judgement.agreed)}")
    for other in judgement.others:
        print_line(f"  besides: {_said(other)}")


def _said(agreement: Agreement) -> str:
    signers = ", ".join(key.did for key in agreement.signers)
    return f"{agreement.verdict.value} up to {agreement.head}, said at {agreement.verified_at} by {signers}"


def _cells(told: dict[str, Any]) -> tuple[str, ...]:
    return told["verifiedAt"], told["verdict"], told["head"], told["signer"], told["source"] or "here"

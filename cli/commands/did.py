"""``odf did``: decentralised identifiers of datasets and accounts."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Final

import typer

from cli.bulk import run_each
from cli.options import AsJson
from cli.output import print_json, print_line
from opendatafabric.did import AccountId, DatasetId
from opendatafabric.multibase import encode_base58btc, encode_base64url

IS_GROUP = True
app = typer.Typer(
    help="""Read identifiers.

\b
Example:
    odf did parse did:odf:fed0181a6657b623a95f3794a018f0efe5861c65da9a43c2c85f0687362242966e027
""",
    no_args_is_help=True,
)


class DidForm(StrEnum):
    """The forms of an identifier."""

    DID_ODF = "did:odf"
    DID_KEY = "did:key"
    MULTIBASE = "multibase"
    ACCOUNT = "account"


@app.command()
def parse(
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="Identifiers: DIDs or a bare multibase key.")],
    form: Annotated[DidForm | None, typer.Option("--as", help="Refuse every other form.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print each identifier in its canonical form (base16), or say what is wrong with it.

    \b
    Example:
        odf did parse did:key:z6MkoBMoNYDdiH61Ev4i8gVAqpo1GX4uQ72o9cRmrJHF9boL
        odf did parse --as account did:pkh:eip155:1:0xab16a96D359eC26a11e2C2b3d8f8B8942d5Bfcdb
    """

    def parse_one(text: str) -> None:
        found = read_did(text, form or form_of(text))
        if as_json:
            print_json({"text": text, **found}, indent=None)
        else:
            print_line(f"{found['canonical']}  {text}")

    run_each(texts, parse_one, as_json=as_json)


@app.callback()
def _group() -> None:
    """A group even while it has one command."""


def form_of(text: str) -> DidForm:
    """The form that ``text`` claims to have by its beginning."""
    if text.startswith("did:pkh:"):
        return DidForm.ACCOUNT
    if text.startswith("did:key:"):
        return DidForm.DID_KEY
    return DidForm.DID_ODF if text.startswith("did:") else DidForm.MULTIBASE


def read_did(text: str, form: DidForm) -> dict[str, str]:
    """``canonical`` and every other writing of the identifier.

    Raises:
        MalformedIdentifier: not of that form.
    """
    if form is DidForm.ACCOUNT:
        account = AccountId.from_text(text)
        return {"form": form.value, "canonical": str(account), "method": account.method, "bare": account.bare}
    dataset_id = _READERS[form](text)
    return {
        "form": form.value,
        "canonical": str(dataset_id),
        "multibase": dataset_id.multibase,
        "base58btc": encode_base58btc(bytes(dataset_id)),
        "base64url": encode_base64url(bytes(dataset_id)),
        "didKey": dataset_id.did_key,
        "publicKey": dataset_id.public_key.hex(),
    }


_READERS: Final[dict[DidForm, Callable[[str], DatasetId]]] = {
    DidForm.DID_ODF: DatasetId.from_text,
    DidForm.DID_KEY: DatasetId.from_did_key,
    DidForm.MULTIBASE: DatasetId.from_multibase,
}

"""``odf attestation``: signed verdicts are checked, shown and collected; the key is shown and replaced."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog.attestations import KeptAttestation
from catalog.catalog import open_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric.attestation.dsse import Envelope
from opendatafabric.attestation.keys import SigningKey
from opendatafabric.attestation.statement import attest
from opendatafabric.did import DatasetId
from opendatafabric.multihash import Multihash
from tests.cli.runner import Ran, odf
from tests.opendatafabric.attestation.signed import VERIFICATION, key, signed
from tests.source_tree import ROOT
from verify.report import Verdict

WEATHER = "us.noaa.seattle-weather"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The weather of Seattle in a repository of its own."""
    odf("init", tmp_path / "r")
    shutil.copytree(ROOT / "examples" / "datasets" / WEATHER, tmp_path / "r" / WEATHER)
    return tmp_path / "r"


def subject(repository: Path) -> dict[str, Any]:
    """What a verdict on the weather is about."""
    told: Any = odf("show", WEATHER, "--repo", repository, "--json").json()
    return {"dataset_id": DatasetId.from_text(told["id"]), "head": Multihash.from_text(told["head"])}


def keep(repository: Path, envelope: Envelope, signer: SigningKey, about: dict[str, Any], at: float = 0.0) -> None:
    """Put a verdict into the catalog."""

    async def put() -> None:
        async with open_catalog(sqlite_url(repository / ".catalog.sqlite")) as catalog:
            kept = KeptAttestation(**about, signer=signer.public.did, verdict="valid", verified_at=at,
                                   envelope=envelope.as_json())  # fmt: skip
            await catalog.attestations.put(kept)

    asyncio.run(put())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A verdict of the first key."""
    (tmp_path / "verdict.json").write_bytes(signed(1).as_json())
    return tmp_path / "verdict.json"


def check(*arguments: object, **options: Any) -> Ran:
    return odf("attestation", "verify", *arguments, **options)


def test_a_verdict_of_a_trusted_key_is_told(file: Path) -> None:
    ran = check(file, "--key", key(1).public.did, "--json")
    assert ran.code == 0
    told: Any = ran.json()
    assert (told["verdict"], told["signers"], told["others"]) == ("valid", [key(1).public.did], [])
    assert key(1).public.did in check(file, "--key", key(1).public.did).stdout.decode()


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.VALID, 0), (Verdict.INVALID, 3), (Verdict.ERROR, 1)])
def test_the_exit_code_is_the_verdict(verdict: Verdict, code: int) -> None:
    text = signed(1, verdict=verdict).as_json().decode()
    assert check("-", "--key", key(1).public.did, stdin=text).code == code


def test_a_changed_byte_another_key_and_no_key_are_refused(file: Path) -> None:
    did = key(1).public.did
    assert check(file, "--key", key(2).public.did).code == 3
    assert check(file).code == 3
    raw = bytearray(file.read_bytes())
    raw[raw.index(b'"payload":"') + 40] ^= 1
    file.write_bytes(raw)
    refused = check(file, "--key", did, "--json")
    assert refused.code == 3
    assert orjson.loads(refused.stderr)["error"]["code"] in {"invalid-signature", "malformed-input"}


def test_two_of_three_keys_must_agree(tmp_path: Path) -> None:
    keys = [part for number in (1, 2, 3) for part in ("--key", key(number).public.did)]
    (tmp_path / "all.json").write_bytes(orjson.dumps([signed(1).as_dict(), signed(2).as_dict()]))
    (tmp_path / "one.json").write_bytes(signed(1).as_json())
    assert check(tmp_path / "all.json", "--require", "2", *keys).code == 0
    assert check(tmp_path / "all.json", "--require", "3", *keys).code == 3
    assert check(tmp_path / "one.json", tmp_path / "one.json", "--require", "2", *keys).code == 3


def test_a_verdict_must_be_about_the_head_that_is_here(repository: Path, tmp_path: Path) -> None:
    about = subject(repository)
    (tmp_path / "right.json").write_bytes(signed(1, **about).as_json())
    (tmp_path / "wrong.json").write_bytes(signed(1, dataset_id=about["dataset_id"]).as_json())
    options = ("--key", key(1).public.did, "--of", WEATHER, "--repo", repository)
    assert check(tmp_path / "right.json", *options).code == 0
    assert check(tmp_path / "wrong.json", *options).code == 3
    assert check(tmp_path / "wrong.json", tmp_path / "right.json", *options).code == 0


def test_a_file_that_is_not_there_or_no_attestation_is_told(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"keys": []}')
    did = key(1).public.did
    assert check(tmp_path / "absent.json", "--key", did).code == 4
    assert check(tmp_path / "other.json", "--key", did).code == 3
    assert check("-", "--key", did, stdin="no JSON").code == 3


def test_keys_are_shown_and_replaced(repository: Path) -> None:
    (first,) = keys_of(repository)
    new = odf("attestation", "rotate-key", "--repo", repository)
    assert new.code == 0
    now, before = keys_of(repository)
    assert ([now["kid"]], now["validUntil"], before["kid"]) == (new.lines, None, first["kid"])
    assert before["validUntil"] is not None
    assert odf("attestation", "keys", "--repo", repository).lines[1].split()[0] == now["kid"]


def keys_of(repository: Path) -> Any:
    told: Any = odf("attestation", "keys", "--repo", repository, "--json").json()
    return told["keys"]


def test_a_key_document_in_a_file_says_which_keys_count(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_bytes(odf("attestation", "keys", "--repo", repository, "--json").stdout)
    secret = bytes.fromhex((repository / ".attestation-key").read_text())
    (tmp_path / "verdict.json").write_bytes(attest(VERIFICATION, SigningKey(secret)).as_json())
    refused = check(tmp_path / "verdict.json", "--key", tmp_path / "keys.json")
    assert refused.code == 3, "it was signed before the key was made"


def test_what_was_signed_is_shown_the_newest_first(repository: Path) -> None:
    about = subject(repository)
    assert odf("attestation", "show", WEATHER, "--envelope", "--repo", repository).code == 4
    for number in (1, 2):
        keep(repository, signed(number, **about), key(number), about, at=float(number))
    shown = odf("attestation", "show", WEATHER, "--repo", repository).lines
    assert [line.split()[3] for line in shown[1:]] == [key(2).public.did, key(1).public.did]
    newest = odf("attestation", "show", WEATHER, "--envelope", "--repo", repository)
    assert newest.json() == signed(2, **about).as_dict()
    all_ = odf("attestation", "show", WEATHER, "--json", "--repo", repository).stdout.decode()
    keys = [part for number in (1, 2) for part in ("--key", key(number).public.did)]
    assert check("-", "--require", "2", *keys, stdin=all_).code == 0


def test_what_was_verified_is_signed_when_that_is_asked_for(repository: Path, tmp_path: Path) -> None:
    plain = odf("verify", "--integrity-only", "--repo", repository, WEATHER, "--json")
    signed_ = odf("verify", "--integrity-only", "--attest", "--repo", repository, WEATHER, "--json")
    assert (plain.code, signed_.code) == (0, 0)
    (told,) = signed_.json_lines()
    assert "signer" not in plain.json_lines()[0]
    assert [told["signer"]] == [each["kid"] for each in keys_of(repository)]
    (tmp_path / "verdict.json").write_bytes(
        odf("attestation", "show", WEATHER, "--envelope", "--repo", repository).stdout
    )
    (tmp_path / "keys.json").write_bytes(odf("attestation", "keys", "--repo", repository, "--json").stdout)
    ran = check(
        tmp_path / "verdict.json", "--key", tmp_path / "keys.json", "--of", WEATHER, "--repo", repository, "--json"
    )
    assert ran.code == 0
    assert ran.json()["head"] == told["head"]  # type: ignore[call-overload,index]

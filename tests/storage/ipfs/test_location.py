"""What people write for a place in IPFS."""

from __future__ import annotations

import pytest

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.ipfs.cid import Cid, cid_of_block
from opendatafabric.ipfs.ipns import IpnsName
from opendatafabric.limits import URL_CHARS_MAX
from storage.ipfs.location import DnsLink, IpfsLocation, parse_content_path, parse_location

CID = cid_of_block(b"x")
NAME = IpnsName(bytes(range(32)))


@pytest.mark.parametrize("text", [CID.text, CID.base16, CID.base36])
@pytest.mark.parametrize(("rest", "path"), [("", ()), ("/", ()), ("/a/b%20c/", ("a", "b c"))])
def test_a_cid_is_read_in_every_base_with_a_path_below(text: str, rest: str, path: tuple[str, ...]) -> None:
    assert parse_location(f"ipfs://{text}{rest}") == IpfsLocation(CID, path)


def test_an_old_cid_is_read() -> None:
    old = Cid(CID.codec, CID.function, CID.digest, 0)
    assert str(parse_location("ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG/").root).startswith("Qm")
    assert old.version == 0


@pytest.mark.parametrize("text", [NAME.text, NAME.peer_id, NAME.cid.text, NAME.cid.base16])
def test_a_name_is_read_in_every_form_and_asked_for_in_the_one_that_all_understand(text: str) -> None:
    location = parse_location(f"ipns://{text}/weather")
    assert location == IpfsLocation(NAME, ("weather",))
    assert location.content_path == f"ipns/{NAME.peer_id}/weather"


def test_a_name_with_a_dot_is_a_domain() -> None:
    assert parse_location("IPNS://Data.Example.ORG/").root == DnsLink("data.example.org")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ipfs://",
        "ipns://",
        "ipfs:///",
        f"http://{CID}/",
        f"ipfs:{CID}",
        "ipfs://data.example.org/",
        f"ipfs://{NAME.text}/",
        f"ipns://{CID}/",
        "ipns://127.0.0.1/",
        "ipns://localhost/",
        "ipns://a..b/",
        "ipns://a.b:80/",
        "ipns://user@a.org/",
        "ipns://a.org?x=1",
        f"ipns://{'a' * 64}.org/",
        f"ipfs://{CID}/../x",
        f"ipfs://{CID}/./x",
        f"ipfs://{CID}//x",
        f"ipfs://{CID}/%2e%2e/x",
        f"ipfs://{CID}/a%2Fb",
        f"ipfs://{CID}/a%00b",
        f"ipfs://{CID}/a%0ab",
        f"ipfs://{CID}/a%2541",
        f"ipfs://{CID}/" + "x" * URL_CHARS_MAX,
    ],
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(MalformedIdentifier):
        parse_location(text)


def test_a_path_of_a_record_is_read() -> None:
    assert parse_content_path(f"/ipfs/{CID}/a") == IpfsLocation(CID, ("a",))
    assert parse_content_path(f"/ipns/{NAME}") == IpfsLocation(NAME)


@pytest.mark.parametrize(
    "text", ["", "/", "/ipfs", "/ipfs/", f"ipfs/{CID}", f"//ipfs/{CID}", f"/http/{CID}", f"/ipld/{CID}"]
)
def test_another_path_is_refused(text: str) -> None:
    with pytest.raises(MalformedIdentifier):
        parse_content_path(text)

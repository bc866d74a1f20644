"""References: every form of the vectors, read and printed as the reference does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from opendatafabric.limits import IDENTIFIER_CHARS_MAX, URL_CHARS_MAX
from opendatafabric.names import AccountName, DatasetName, RepoName
from tests.opendatafabric.reference_parts import alias_parts, any_parts, local_parts, remote_alias_parts, remote_parts
from tests.opendatafabric.test_names import hostnames
from tests.vectors.load import cases

FORMS: dict[str, tuple[Callable[[str], Any], Callable[[Any], dict[str, Any]]]] = {
    "DatasetAlias": (DatasetAlias.from_text, alias_parts),
    "DatasetAliasRemote": (DatasetAliasRemote.from_text, remote_alias_parts),
    "DatasetRef": (parse_dataset_ref, local_parts),
    "DatasetRefRemote": (parse_dataset_ref_remote, remote_parts),
    "DatasetRefAny": (parse_dataset_ref_any, any_parts),
    "DatasetPushTarget": (parse_dataset_push_target, remote_parts),
}
GOOD = [
    pytest.param(form, *case.values, id=f"{form} {case.id}")
    for form in FORMS
    for case in cases("grammar.json", form, ok=True)
]
BAD = [
    pytest.param(form, *case.values, id=f"{form} {case.id}")
    for form in FORMS
    for case in cases("grammar.json", form, ok=False)
]
READERS = pytest.mark.parametrize("read", [read for read, _ in FORMS.values()], ids=FORMS)
ids = st.binary(min_size=32, max_size=32).map(DatasetId.from_public_key)
aliases = st.builds(DatasetAlias, st.none() | hostnames.map(AccountName), hostnames.map(DatasetName))


@pytest.mark.parametrize(("form", "case"), GOOD)
def test_a_reference_of_the_vectors_is_read(form: str, case: dict[str, Any]) -> None:
    read, parts_of = FORMS[form]
    found = read(case["input"])
    assert parts_of(found) == case["parsed"]
    assert str(found) == case["display"]


@pytest.mark.parametrize(("form", "case"), BAD)
def test_a_bad_reference_of_the_vectors_is_refused(form: str, case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier):
        FORMS[form][0](case["input"])


@pytest.mark.parametrize("case", cases("grammar.json", "AliasEquals"))
def test_aliases_compare_as_in_the_vectors(case: dict[str, Any]) -> None:
    one, other = DatasetAlias.from_text(case["input"]), DatasetAlias.from_text(case["candidate"])
    assert {"equal": one == other, "order": (one > other) - (one < other)} == case["parsed"]
    assert (hash(one) == hash(other)) == case["parsed"]["equal"]


@given(st.lists(aliases))
def test_aliases_sort_by_account_then_name_without_case(unsorted: list[DatasetAlias]) -> None:
    keys = [(alias.account is not None, str(alias.account).lower(), alias.name.lower()) for alias in sorted(unsorted)]
    assert keys == sorted(keys)


@given(aliases | ids)
def test_a_local_reference_is_read_from_its_own_text(original: DatasetAlias | DatasetId) -> None:
    found = parse_dataset_ref(str(original))
    assert found == original
    assert str(found) == str(original)


@given(hostnames.map(RepoName), aliases | ids)
def test_a_reference_behind_a_repository_is_read_from_its_own_text(
    repo: RepoName, local: DatasetAlias | DatasetId
) -> None:
    found = parse_dataset_ref_remote(f"{repo}/{local}")
    assert str(found) == f"{repo}/{local}"
    assert type(found) is (RemoteDatasetId if isinstance(local, DatasetId) else DatasetAliasRemote)
    assert found.repo == repo  # type: ignore[union-attr]


@given(hostnames, hostnames)
def test_two_names_mean_what_the_place_says(first: str, second: str) -> None:
    text = f"{first}/{second}"
    assert parse_dataset_ref(text) == DatasetAlias(AccountName(first), DatasetName(second))
    assert parse_dataset_ref_remote(text) == DatasetAliasRemote(RepoName(first), None, DatasetName(second))
    assert parse_dataset_ref_any(text) == AmbiguousAlias(RepoName(first), DatasetName(second))


@READERS
@given(text=st.text(alphabet=st.sampled_from("aA1.-_/:%+ \n\0é🦀did:odf:f"), max_size=40) | st.text(max_size=40))
def test_any_text_is_refused_or_read_back_from_what_it_prints(read: Callable[[str], Any], text: str) -> None:
    try:
        found = read(text)
    except MalformedIdentifier:
        return
    assert read(str(found)) == found


@READERS
@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "text",
    [
        "foo\n",
        "foo\0",
        "a/foo\n",
        "a/foo\0bar",
        "ａ/foo",
        "а/foo",
        "did:odf:fed01" + "0" * 64 + "\n",
        "did:odf:fed01" + "0" * 64 + "/",
        "did:odf:" + "f" * 5_000_000,
        "a" * 5_000_000,
        "/" * 5_000_000,
        "a/" * 2_000_000 + "a",
        "http://" + "a" * 5_000_000,
        "http://[::1",
        "http://a:b:c/",
        "http://\ud800/",
    ],
    ids=lambda text: f"{ascii(text)[:24]}-{len(text)}",
)
def test_hostile_text_is_refused_in_short_words(read: Callable[[str], Any], text: str) -> None:
    with pytest.raises(MalformedIdentifier) as refused:
        read(text)
    assert len(refused.value.message) < 1_000


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("HTTP://EXAMPLE.com:80/A/../b", "http://example.com/b"),
        ("https://example.com:443", "https://example.com/"),
        ("http://example.com:8080/%7Ea b", "http://example.com:8080/%7Ea%20b"),
        ("http://1.2.3/", "http://1.2.0.3/"),
        ("file:///tmp/data", "file:///tmp/data"),
        ("odf+http://Example.com:80/a", "odf+http://Example.com:80/a"),
        ("http://a\t/b", "http://a/b"),
    ],
)
def test_a_url_is_brought_into_its_normal_form(text: str, normal: str) -> None:
    assert str(DatasetUrl.from_text(text)) == normal


def test_the_longest_url_is_read_and_one_character_more_is_not() -> None:
    longest = "http://a/" + "b" * (URL_CHARS_MAX - 9)
    assert str(DatasetUrl.from_text(longest)) == longest
    with pytest.raises(MalformedIdentifier):
        DatasetUrl.from_text(longest + "b")


def test_a_broken_id_is_refused_as_an_id() -> None:
    with pytest.raises(MalformedIdentifier, match="public key"):
        parse_dataset_ref("did:odf:fed0100")


def test_every_part_of_an_alias_may_be_as_long_as_a_name() -> None:
    part = "a" * IDENTIFIER_CHARS_MAX
    assert str(DatasetAlias.from_text(f"{part}/{part}")) == f"{part}/{part}"

"""Manifests of people: where an error lies, what other versions are called, and texts made to do harm."""

from __future__ import annotations

import math
from typing import Any

import pytest

from opendatafabric.codec.yaml_codec import (
    read_block_manifest,
    read_event_manifest,
    read_snapshot,
    read_snapshots,
    to_plain,
    write_event_manifest,
    write_snapshot,
)
from opendatafabric.codec.yaml_scalars import resolve
from opendatafabric.errors import LimitExceeded, MalformedManifest, OdfError, UnsupportedVersion
from opendatafabric.limits import MANIFEST_BYTES_MAX, MANIFEST_DEPTH_MAX
from opendatafabric.metadata.attributes import ExtraAttributes
from opendatafabric.metadata.events import AddData, AddPushSource, SetDataSchema, SetInfo
from opendatafabric.metadata.sources import ReadStepCsv

SNAPSHOT = """\
kind: DatasetSnapshot
version: 1
content:
  name: foo
  kind: Root
  metadata:
"""
EMPTY = SNAPSHOT.rstrip() + " []\n"
PUSH_SOURCE = """\
  - kind: AddPushSource
    sourceName: s
    merge:
      kind: Append
    read:
      kind: Csv
"""


def event_of(text: str) -> str:
    """An event as the content of a manifest."""
    return "kind: MetadataEvent\nversion: 1\ncontent:\n" + "\n".join("  " + line for line in text.splitlines())


def refusal(text: str) -> OdfError:
    with pytest.raises(OdfError) as caught:
        read_snapshot(text)
    return caught.value


# Where


@pytest.mark.parametrize(
    ("metadata", "path", "place"),
    [
        ("  - kind: SetInfo\n    description: 12\n", "content.metadata[0].description", "line 8, column 18"),
        ("  - kind: SetInfo\n    keywords: [a, [b]]\n", "content.metadata[0].keywords[1]", "line 8, column 19"),
        ("  - kind: SetInfo\n    descriptin: x\n", "content.metadata[0]", "line 8, column 5"),
        ("  - kind: setinfos\n", "content.metadata[0].kind", "line 7, column 11"),
        ("  - description: x\n", "content.metadata[0]", "line 7, column 5"),
        (PUSH_SOURCE + "      header: yes\n", "content.metadata[0].read.header", "line 13, column 15"),
        (
            PUSH_SOURCE + "      schema:\n      - a INT\n      - 1\n",
            "content.metadata[0].read.schema[1]",
            "line 15, column 9",
        ),
        (PUSH_SOURCE + "      kind: Csv\n", "content.metadata[0].read", "line 13, column 7"),
    ],
)
def test_an_error_names_path_line_and_column(metadata: str, path: str, place: str) -> None:
    error = refusal(SNAPSHOT + metadata)

    assert error.message.startswith(f"{path}: ")
    assert error.message.endswith(f"({place})")


def test_an_unknown_field_gets_the_nearest_one_for_a_hint() -> None:
    error = refusal(SNAPSHOT + "  - kind: SetInfo\n    descriptin: x\n")

    assert error.hint == "did you mean description?"
    assert error.expected == "description, keywords, kind"


def test_an_unknown_kind_gets_all_kinds_there_are() -> None:
    error = refusal(SNAPSHOT + PUSH_SOURCE.replace("Csv", "CSV"))

    assert "there is no ReadStep of kind 'CSV'" in error.message
    assert error.expected == "Csv, GeoJson, EsriShapefile, Parquet, Json, NdJson, NdGeoJson"


def test_text_that_is_no_yaml_is_refused_at_its_place() -> None:
    assert "line 4, column 1" in refusal("kind: DatasetSnapshot\nversion: 1\ncontent:\n\tname: foo\n").message


# Other versions, by name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SNAPSHOT.replace("  name: foo", "  id: foo"), "older than ODF 0.22"),
        (SNAPSHOT.replace("  kind: Root", "  source:\n    kind: root\n"), "older than ODF 0.22"),
        ("apiVersion: 1\nkind: DatasetSnapshot\ncontent:\n  id: foo\n", "older than ODF 0.22"),
        (SNAPSHOT + PUSH_SOURCE.replace("sourceName", "source"), "ODF 0.33.0"),
        (SNAPSHOT + PUSH_SOURCE.replace("Csv", "JsonLines"), "older than ODF 0.32"),
        (SNAPSHOT + PUSH_SOURCE + "      multiLine: true\n", "older than ODF 0.34"),
        (SNAPSHOT + "  - kind: SetDataSchema\n    schema: AAEC\n", "ODF 0.33 to 0.36"),
        (SNAPSHOT + PUSH_SOURCE + "      schema:\n        fields: []\n", "ODF 0.38"),
        (
            SNAPSHOT + "  - kind: SetDataSchema\n    schema:\n      fields:\n      - {name: a, type: Int64}\n",
            "ODF 0.38",
        ),
        ("$schema: https://opendatafabric.org/schemas/dataset/v1alpha1/Dataset\nheaders:\n  name: a\n", "ODF 0.39"),
        (SNAPSHOT.replace("version: 1", "version: 2") + "   []\n", "version 2 of DatasetSnapshot is newer"),
        (SNAPSHOT.replace("version: 1", "version: 0") + "   []\n", "version 0 of DatasetSnapshot is obsolete"),
    ],
)
def test_a_form_of_another_version_is_refused_by_its_name(text: str, said: str) -> None:
    error = refusal(text)

    assert isinstance(error, UnsupportedVersion)
    assert said in error.message


def test_a_list_of_columns_is_read_under_its_name_of_038_too() -> None:
    event = read_snapshot(SNAPSHOT + PUSH_SOURCE + "      ddlSchema:\n      - a INT\n").metadata[0]

    assert isinstance(event, AddPushSource)
    assert event.read == ReadStepCsv(schema=("a INT",))


def test_a_manifest_of_another_kind_is_refused_by_what_it_is() -> None:
    error = refusal("kind: MetadataEvent\nversion: 1\ncontent:\n  kind: SetInfo\n")

    assert "no manifest of kind DatasetSnapshot" in error.message
    assert error.found == "'MetadataEvent'"


# What words mean


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("~", None),
        ("", None),
        ("Null", None),
        ("nULL", "nULL"),
        ("TRUE", True),
        ("yes", "yes"),
        ("+42", 42),
        ("-0", 0),
        ("0x2A", 42),
        ("-0x2a", -42),
        ("0o17", 15),
        ("0o9", "0o9"),
        ("0b101", 5),
        ("0x", "0x"),
        ("0X2A", "0X2A"),
        ("052", "052"),
        ("-052", "-052"),
        ("1_000", "1_000"),
        ("+-1", "+-1"),
        ("１", "１"),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("0e110", 0.0),
        ("1e", "1e"),
        (".", "."),
        (".e1", ".e1"),
        ("1e999", "1e999"),
        ("nan", "nan"),
        ("infinity", "infinity"),
        ("-.INF", -math.inf),
        ("+.inf", math.inf),
        (str(2**128 - 1), 2**128 - 1),
        (str(2**128), float(2**128)),
        (str(-(2**127) - 1), -float(2**127)),
        ("9" * 5000, "9" * 5000),
        ("0x" + "f" * 33, "0x" + "f" * 33),
        ("2020-01-01", "2020-01-01"),
        ("12:30:45", "12:30:45"),
    ],
)
def test_a_word_means_what_the_core_schema_says(word: str, value: Any) -> None:
    found = resolve(word)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "tagged", ["!!int x", "!!bool 1", "!!float a", "!!null a", "!local a", "!local {}", "!local []"]
)
def test_a_tag_that_does_not_fit_is_refused(tagged: str) -> None:
    with pytest.raises(MalformedManifest):
        read_event_manifest(event_of(f"kind: AddData\nextra:\n  a: {tagged}\n"))


def test_tags_of_yaml_itself_are_understood() -> None:
    text = (
        'kind: AddData\nextra: !!map\n  a: !!str 1\n  b: !!int "2"\n  c: !!float 3\n  d: !!null ~\n  e: !!bool "true"\n'
    )

    event = read_event_manifest(event_of(text + "  f: !!seq []\n"))

    assert event == AddData(extra=ExtraAttributes('{"a":"1","b":2,"c":3.0,"d":null,"e":true,"f":[]}'))


@pytest.mark.parametrize("name", ["123", "true", "null", "0x1", '"quoted"', "1.5"])
def test_around_the_events_any_word_is_text(name: str) -> None:
    assert str(read_snapshot(EMPTY.replace("foo", name)).name) == name.strip('"')


@pytest.mark.parametrize(
    ("version", "taken"), [("1", True), ("0x1", True), ("!!str 1", True), ('"1"', False), ("1.0", False)]
)
def test_around_the_events_numbers_are_their_unquoted_digits(version: str, taken: bool) -> None:
    text = EMPTY.replace("version: 1", f"version: {version}")

    if taken:
        assert read_snapshot(text).metadata == ()
    else:
        assert "version: must be a whole number" in refusal(text).message


@pytest.mark.parametrize("null", ["null", "~", ""])
@pytest.mark.parametrize("field", ["newWatermark", "rawArrowSchema"])
def test_two_optional_fields_may_be_absent_but_not_null(field: str, null: str) -> None:
    kind = "AddData" if field == "newWatermark" else "SetDataSchema"

    with pytest.raises(MalformedManifest, match=field):
        read_event_manifest(event_of(f"kind: {kind}\n{field}: {null}\n"))


@pytest.mark.parametrize("text", ["AAE", "AAEC====", "-_-_", r"AA==\n", "A A=", "QQ=", "AB==", "é==="])
def test_only_standard_base64_is_taken(text: str) -> None:
    with pytest.raises(MalformedManifest, match="base64"):
        read_event_manifest(event_of(f'kind: SetDataSchema\nrawArrowSchema: "{text}"\n'))


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 2**100])
def test_attributes_take_no_integers_over_64_bits(number: int) -> None:
    with pytest.raises(MalformedManifest, match="64 bits"):
        read_event_manifest(event_of(f"kind: AddData\nextra:\n  a: {number}\n"))


@pytest.mark.parametrize("key", ["1", "true", "null", "1.5", "[a]", "{a: b}"])
def test_attributes_take_no_keys_but_text(key: str) -> None:
    with pytest.raises(MalformedManifest, match="text"):
        read_event_manifest(event_of(f"kind: AddData\nextra:\n  a:\n    ? {key}\n    : x\n"))


# Written so that it reads back


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain text", "plain text"),
        ("yes", "yes"),
        ("null", "'null'"),
        ("0e110", "'0e110'"),
        ("052", "052"),
        ("0x1", "'0x1'"),
        ("", "''"),
        (" a", "' a'"),
        ("a: b", "'a: b'"),
        ("a #b", "'a #b'"),
        ("- a", "'- a'"),
        ("-a", "-a"),
        ("it's", "it's"),
        ("'q'", "'''q'''"),
        ("tab\t", '"tab\\t"'),
        ("nul\0", '"nul\\0"'),
        ("🚀", "🚀"),
        ("\ue000 🚀 \ue000", "\ue000 🚀 \ue000"),
        ("a\nb", "|-\n    a\n    b"),
        ("a\nb\n", "|\n    a\n    b"),
        ("a \nb", '"a \\nb"'),
        ("x" * 200 + " " + "y" * 200, "x" * 200 + " " + "y" * 200),
    ],
)
def test_text_is_quoted_where_it_must_be(text: str, written: str) -> None:
    manifest = write_event_manifest(SetInfo(text))

    assert manifest.rstrip("\n") == event_of("kind: SetInfo\ndescription:") + f" {written}".rstrip("\n")
    assert read_event_manifest(manifest) == SetInfo(text)


@pytest.mark.parametrize("key", ["a", "a b", "a: b", "", "true", "🚀", "x" * 130, "two\nlines", "<<", "*a"])
def test_any_text_can_be_a_key_of_attributes(key: str) -> None:
    event = AddData(extra=ExtraAttributes.from_mapping({key: {key: [key]}}))

    assert read_event_manifest(write_event_manifest(event)) == event


def test_plain_values_have_the_names_and_the_order_of_the_spec() -> None:
    event = AddPushSource("s", ReadStepCsv(schema=("a INT",), header=False), None, read_merge("Append"))

    assert to_plain(event) == {
        "kind": "AddPushSource",
        "sourceName": "s",
        "read": {"kind": "Csv", "schema": ["a INT"], "header": False},
        "merge": {"kind": "Append"},
    }
    assert list(to_plain(event)) == ["kind", "sourceName", "read", "merge"]


def read_merge(kind: str) -> Any:
    event = read_snapshot(SNAPSHOT + PUSH_SOURCE.replace("Append", kind)).metadata[0]
    assert isinstance(event, AddPushSource)
    return event.merge


def test_bytes_are_shown_in_base64() -> None:
    assert to_plain(SetDataSchema(b"\0\1\2")) == {"kind": "SetDataSchema", "rawArrowSchema": "AAEC"}


# Streams of documents


def test_a_stream_gives_its_snapshots_in_order() -> None:
    text = "---\n".join(SNAPSHOT.replace("foo", name) + "   []\n" for name in ("a", "b", "c"))

    assert [str(snapshot.name) for snapshot in read_snapshots(text)] == ["a", "b", "c"]
    assert "".join(write_snapshot(snapshot) for snapshot in read_snapshots(text)).count("kind: DatasetSnapshot") == 3


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", SNAPSHOT + "   []\n---\n"])
def test_a_stream_with_an_empty_document_or_none_is_refused(text: str) -> None:
    with pytest.raises(MalformedManifest):
        read_snapshots(text)


def test_where_one_manifest_is_due_two_are_refused() -> None:
    assert "more than one" in refusal(f"{SNAPSHOT}   []\n---\n{SNAPSHOT}   []\n").message


# Harm


def test_anchors_that_multiply_are_stopped() -> None:
    lines = ["kind: AddData", "extra:", "  a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"  a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12)]

    with pytest.raises(LimitExceeded, match="too much"):
        read_event_manifest(event_of("\n".join(lines)))


def test_anchors_that_nest_are_stopped() -> None:
    lines = ["kind: AddData", "extra:", "  a0: &a0 [x]"]
    lines += [f"  a{level}: &a{level} [[[[[[[[[[*a{level - 1}]]]]]]]]]]" for level in range(1, 40)]

    with pytest.raises(LimitExceeded, match="deep"):
        read_event_manifest(event_of("\n".join(lines)))


@pytest.mark.parametrize("anchor", ["&a [*a]", "&a {b: *a}", "*nowhere"])
def test_an_anchor_inside_itself_or_nowhere_is_refused(anchor: str) -> None:
    with pytest.raises(MalformedManifest, match="names nothing"):
        read_event_manifest(event_of(f"kind: AddData\nextra:\n  x: {anchor}\n"))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "? " * 100_000, "[" * 150 + "]" * 150]
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(OdfError):
        read_event_manifest(event_of("kind: AddData\nextra:\n  a: " + text))


@pytest.mark.parametrize(("levels", "stopped"), [(MANIFEST_DEPTH_MAX - 6, False), (MANIFEST_DEPTH_MAX - 5, True)])
def test_nesting_ends_at_the_limit_and_not_at_that_of_python(levels: int, stopped: bool) -> None:
    nested = "{kind: Option, inner: " * levels + "{kind: Int64}" + "}" * levels
    text = event_of(f"kind: SetDataSchema\nschema: {{fields: [{{name: a, type: {nested}}}]}}")

    if stopped:
        with pytest.raises(LimitExceeded, match="deep"):
            read_event_manifest(text)
    else:
        assert isinstance(read_event_manifest(text), SetDataSchema)


@pytest.mark.parametrize(
    "text", ["\ud83d", "a\0b", "\x07", "%YAML 3.0\n---\na", "%TAG ! x\n---\n!a b", "'", '"\\ud83d\\ude00"']
)
def test_text_no_yaml_file_can_hold_is_refused(text: str) -> None:
    with pytest.raises(MalformedManifest):
        read_block_manifest(text)


def test_a_text_over_the_limit_is_not_read() -> None:
    with pytest.raises(LimitExceeded, match="large"):
        read_block_manifest("#" * (MANIFEST_BYTES_MAX + 1))


def test_half_a_surrogate_pair_is_not_written() -> None:
    with pytest.raises(OdfError, match="UTF-8"):
        write_event_manifest(SetInfo("\ud83d"))

"""Datasets in the words of schema.org: read by another, harmless in a page, and nothing said that is not known."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import RDF, Namespace, URIRef

from catalog.facts_of_blocks import LicenseFacts
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.multihash import HashCodec, Multihash, physical_hash
from repo_server.harvest.described import Input
from repo_server.harvest.schema_org import CONTEXT, embedded, schema_org_dataset
from tests.repo_server.harvest.samples import BASE, HERE, LICENSE, described, read, text
from tests.storage.chains import dataset_id

SCHEMA = Namespace("https://schema.org/")


def test_another_reader_finds_everything_that_is_known() -> None:
    told = described(description="Days", keywords=("rain", "sun"), license=LICENSE, watermark="2024-02-03T00:00:00Z")
    graph = read(schema_org_dataset(told), vocabulary=CONTEXT)
    assert (HERE, RDF.type, SCHEMA.Dataset) in graph
    values = {name: text(graph, HERE, SCHEMA[name]) for name in ("name", "description", "identifier", "version")}
    assert values == {
        "name": "alice/weather",
        "description": "Days",
        "identifier": str(dataset_id()),
        "version": str(physical_hash(b"head")),
    }
    assert {str(each) for each in graph.objects(HERE, SCHEMA.keywords)} == {"rain", "sun"}
    assert text(graph, HERE, SCHEMA.license) == "https://example.org/by"
    assert text(graph, HERE, SCHEMA.temporalCoverage) == "../2024-02-03T00:00:00Z"
    assert text(graph, HERE, SCHEMA.datePublished) == "1970-01-01T00:01:00Z"
    assert text(graph, HERE, SCHEMA.dateModified) == "1970-01-02T00:00:00Z"
    columns = list(graph.objects(HERE, SCHEMA.variableMeasured))
    assert {text(graph, each, SCHEMA.name) for each in columns} == {"offset", "a b/ü"}


def test_what_is_not_known_is_not_said() -> None:
    told = schema_org_dataset(described())
    assert not {"license", "keywords", "temporalCoverage", "isBasedOn"} & set(told)
    assert not [each for each in told["distribution"] if "contentSize" in each or "sha256" in each]


def test_a_dataset_without_a_description_is_described_by_what_can_be_seen() -> None:
    told = schema_org_dataset(described())["description"]
    assert told == "alice/weather: 7 records with the columns offset, a b/ü. A root dataset of Open Data Fabric."
    assert len(told) >= 50  # search engines pass over shorter ones


def test_the_only_slice_has_its_size_and_the_hash_that_it_has() -> None:
    name = physical_hash(b"x")
    only = DataSlice(Multihash(HashCodec.ARROW0_SHA3_256, name.digest), name, OffsetInterval(0, 6), 123)
    told = schema_org_dataset(replace(described(), only_slice=only))
    parquet = next(each for each in told["distribution"] if each["contentUrl"].endswith(".parquet"))
    assert (parquet["contentSize"], parquet["identifier"]["value"]) == ("123 B", str(name))
    assert sum("contentSize" in each for each in told["distribution"]) == 1


def test_a_derivative_names_its_inputs_and_leads_to_those_that_are_public() -> None:
    inputs = [Input("bob/rain", "did:odf:1", f"{BASE}/bob/rain"), Input("hidden", "did:odf:2", None)]
    graph = read(schema_org_dataset(replace(described(), inputs=inputs)), vocabulary=CONTEXT)
    found = {text(graph, each, SCHEMA.name): each for each in graph.objects(HERE, SCHEMA.isBasedOn)}
    assert text(graph, found["bob/rain"], SCHEMA.url) == f"{BASE}/bob/rain"
    assert not list(graph.objects(found["hidden"], SCHEMA.url))


@pytest.mark.parametrize(
    ("license_", "told"),
    [
        (LICENSE, "https://example.org/by"),
        (LicenseFacts("x", "X", "CC0-1.0", ""), "https://spdx.org/licenses/CC0-1.0.html"),
        (LicenseFacts("x", "X", None, "https://e.org/a b"), "https://e.org/a%20b"),
        (LicenseFacts("x", "X", None, "javascript:alert(1)"), {"@type": "CreativeWork", "name": "X"}),
        (LicenseFacts("x", "X", "../evil", "no address"), {"@type": "CreativeWork", "name": "X"}),
    ],
)
def test_a_licence_is_an_address_or_a_name(license_: LicenseFacts, told: object) -> None:
    assert schema_org_dataset(described(license=license_))["license"] == told


@given(st.text(max_size=60))
def test_no_text_ends_the_script_that_holds_it(value: str) -> None:
    made = embedded({"x": value + "</script><!--<script>&amp;"})
    assert not {"<", ">", "&"} & set(made)
    assert orjson.loads(made) == {"x": value + "</script><!--<script>&amp;"}


def test_without_accounts_the_owner_has_no_page() -> None:
    creator = schema_org_dataset(described(address="weather"))["creator"]
    assert creator == {"@type": "Organization", "name": "alice"}
    graph = read(schema_org_dataset(described(address="weather")), vocabulary=CONTEXT)
    assert (URIRef(f"{BASE}/weather"), RDF.type, SCHEMA.Dataset) in graph

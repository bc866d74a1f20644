"""Croissant: what its specification and its validator ask for, and no checksum that is none."""

from __future__ import annotations

import pytest
from rdflib import RDF, Literal, Namespace, URIRef
from rdflib.namespace import DCTERMS

from catalog.facts_of_blocks import ColumnFacts
from repo_server.harvest.croissant import croissant
from tests.repo_server.harvest.samples import BASE, HERE, LICENSE, described, read, text

CR = Namespace("http://mlcommons.org/croissant/")
SCHEMA = Namespace("https://schema.org/")
FILE = URIRef(f"{BASE}/data.parquet")


def test_it_has_all_that_the_specification_requires() -> None:
    graph = read(croissant(described(license=LICENSE)))
    assert (HERE, RDF.type, SCHEMA.Dataset) in graph
    assert text(graph, HERE, DCTERMS.conformsTo) == "http://mlcommons.org/croissant/1.0"
    for name in ("name", "description", "url", "license", "creator", "datePublished"):
        assert list(graph.objects(HERE, SCHEMA[name])), name


def test_files_have_what_loaders_need() -> None:
    graph = read(croissant(described()))
    assert (FILE, RDF.type, CR.FileObject) in graph
    values = {name: text(graph, FILE, SCHEMA[name]) for name in ("name", "contentUrl", "encodingFormat")}
    assert values == {
        "name": "data.parquet",
        "contentUrl": f"{BASE}/alice/weather/data.parquet",
        "encodingFormat": "application/x-parquet",
    }


def test_files_without_a_sha256_are_allowed_to_a_dataset_that_is_live() -> None:
    graph = read(croissant(described()))
    assert (HERE, CR.isLiveDataset, Literal(True)) in graph
    assert not list(graph.objects(None, SCHEMA.sha256)) + list(graph.objects(None, CR.md5))


def test_every_field_comes_from_a_column_of_the_file() -> None:
    graph = read(croissant(described()))
    fields = {text(graph, each, SCHEMA.name): each for each in graph.subjects(RDF.type, CR.Field)}
    assert set(fields) == {"offset", "a b/ü"}
    source = next(graph.objects(fields["a b/ü"], CR.source))
    assert list(graph.objects(source, CR.fileObject)) == [FILE]
    assert text(graph, next(graph.objects(source, CR.extract)), CR.column) == "a b/ü"
    assert str(fields["a b/ü"]).endswith("/records/a%20b%2F%C3%BC")
    assert list(graph.objects(fields["a b/ü"], CR.dataType)) == [SCHEMA.DateTime]


@pytest.mark.parametrize(
    ("type_", "told"),
    [
        ("Int64", "sc:Integer"),
        ("UInt8?", "sc:Integer"),
        ("Decimal(10, 2)", "sc:Float"),
        ("String?", "sc:Text"),
        ("Bool", "sc:Boolean"),
        ("Date", "sc:Date"),
    ],
)
def test_types_are_those_of_schema_org(type_: str, told: str) -> None:
    record_set = croissant(described(columns=(ColumnFacts("x", type_),)))["recordSet"][0]
    assert record_set["field"][0]["dataType"] == told


@pytest.mark.parametrize("type_", ["Struct(a: Int64)", "List(Int64)?", "Binary", "Duration(ms)", ""])
def test_a_column_of_a_type_that_it_has_no_word_for_is_left_out(type_: str) -> None:
    assert "recordSet" not in croissant(described(columns=(ColumnFacts("x", type_),)))


def test_the_head_is_no_version_in_its_sense() -> None:
    told = croissant(described())
    assert "version" not in told
    assert "version = {" in told["citeAs"]

"""How to cite a dataset, and how to take it along: texts to copy."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from catalog.facts_of_blocks import Facts
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId

_HEAD_CHARS: Final = 21
"""Enough of a hash to tell versions apart: what it begins with says only which kind it is."""


def citation(alias: DatasetAlias, dataset_id: DatasetId, facts: Facts, base_url: str) -> str:
    """A line of text that names the version."""
    who = "" if alias.account is None else f"{alias.account}: "
    year = datetime.fromtimestamp(facts.updated_at, UTC).year
    return f"{who}{alias.name} ({year}). Version {_version(facts)}. {dataset_id}. {base_url}/{alias}"


def bibtex(alias: DatasetAlias, dataset_id: DatasetId, facts: Facts, base_url: str) -> str:
    """The same for BibTeX. Names have no characters that mean something there."""
    year = datetime.fromtimestamp(facts.updated_at, UTC).year
    rows = {
        "title": str(alias.name),
        **({} if alias.account is None else {"author": f"{{{alias.account}}}"}),
        "year": str(year),
        "version": _version(facts),
        "note": str(dataset_id),
        "url": f"{base_url}/{alias}",
    }
    fields = "".join(f",\n  {name} = {{{value}}}" for name, value in rows.items())
    return f"@misc{{{str(alias).replace('/', ':')}{fields}\n}}"


def ways_to_pull(alias: DatasetAlias, base_url: str) -> tuple[tuple[str, str], ...]:
    """What to type, by the name of the tool."""
    return (
        ("odf", f"odf pull odf+{base_url}/{alias}"),
        ("kamu", f"kamu pull odf+{base_url}/{alias}"),
        ("CSV", f"curl -O {base_url}/{alias}/data.csv"),
        ("Python", f'pandas.read_parquet("{base_url}/{alias}/data.parquet")'),
    )


def _version(facts: Facts) -> str:
    return str(facts.head)[:_HEAD_CHARS]

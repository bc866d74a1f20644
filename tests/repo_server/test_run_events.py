"""Run events of OpenLineage over HTTP: all steps, a page at a time, with what the caller may see of the inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog.datasets import DatasetRecord
from catalog.facts_refresh import refresh_facts
from catalog.visibility import Visibility
from opendatafabric.layout import block_key
from opendatafabric.multihash import Multihash
from storage.repository import DatasetEntry
from sync.pull import pull_dataset
from sync.remote import parse_remote
from sync.transfer import RepositoryTarget
from tests.pipeline.lineage.open_lineage import check_run_event
from tests.repo_server.hosted import Hosted, a_chain
from tests.source_tree import ROOT

pytestmark = pytest.mark.slow

DATASETS = ROOT / "examples" / "datasets"
WEATHER, FAHRENHEIT = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"


async def add(server: Hosted, name: str, visibility: Visibility = Visibility.PUBLIC) -> DatasetEntry:
    target = RepositoryTarget(server.repository, server.alias(name))
    await pull_dataset(server.session, parse_remote(str(DATASETS / name)), target)
    entry = await server.repository.find(server.alias(name))
    await server.catalog.datasets.put(DatasetRecord(entry.id, entry.alias, server.accounts["alice"].id, visibility))
    await refresh_facts(server.catalog.dataset_facts, entry.id, entry.dataset)
    return entry


async def events(server: Hosted, query: str = "", **options: Any) -> Any:
    answer = await server.ask("GET", f"{server.path(FAHRENHEIT)}/lineage/openlineage{query}", **options)
    assert answer.status == 200
    return orjson.loads(answer.body)


async def test_every_step_is_an_event_with_its_columns_and_its_query(multi: Hosted) -> None:
    await add(multi, WEATHER)
    entry = await add(multi, FAHRENHEIT)
    found = await events(multi)
    for each in found:
        check_run_event(each)
    facts = await multi.catalog.dataset_facts.of(entry.id)
    assert facts is not None
    (output,) = found[-1]["outputs"]
    assert sum(each["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] for each in found) == facts.records
    assert [each["name"] for each in output["facets"]["schema"]["fields"]] == [each.name for each in facts.columns]
    assert output["facets"]["symlinks"]["identifiers"][0]["name"] == f"alice/{FAHRENHEIT}"
    (weather,) = found[0]["inputs"]
    assert "temp_max" in [each["name"] for each in weather["facets"]["schema"]["fields"]]
    assert weather["facets"]["ownership"]["owners"][0]["name"] == "account:alice"
    assert "temp_max * 1.8" in found[0]["job"]["facets"]["sql"]["query"]


async def test_of_an_input_that_is_not_for_the_caller_only_what_the_chain_says(multi: Hosted) -> None:
    await add(multi, WEATHER, Visibility.PRIVATE)
    await add(multi, FAHRENHEIT)
    (weather,) = (await events(multi, who="bob"))[0]["inputs"]
    assert set(weather["facets"]) == {"version"}
    (weather,) = (await events(multi, who="alice"))[0]["inputs"]
    assert set(weather["facets"]) == {"version", "schema", "symlinks", "ownership"}


async def test_an_input_that_is_absent_or_damaged_is_told_too(multi: Hosted) -> None:
    await add(multi, FAHRENHEIT)
    (weather,) = (await events(multi))[0]["inputs"]
    assert set(weather["facets"]) == {"version"}
    entry = await add(multi, WEATHER)
    read_up_to = weather["facets"]["version"]["datasetVersion"]
    (Path(str(multi.settings.repo)) / entry.id.multibase / block_key(Multihash.from_text(read_up_to))).unlink()
    (weather,) = (await events(multi))[0]["inputs"]
    assert set(weather["facets"]) == {"version", "symlinks", "ownership"}


async def test_events_come_in_pages_and_lines(multi: Hosted) -> None:
    await add(multi, FAHRENHEIT)
    path, found = f"{multi.path(FAHRENHEIT)}/lineage/openlineage", []
    following: str | None = f"{path}?limit=1"
    while following is not None:
        answer = await multi.ask("GET", following, headers={"Accept": "application/x-ndjson"})
        assert answer.headers["Content-Type"] == "application/x-ndjson"
        found += [orjson.loads(line) for line in answer.text.splitlines()]
        link = answer.headers.get("Link")
        following = None if link is None else link.partition(">")[0].removeprefix(f"<{multi.url}")
    assert found == await events(multi)
    assert len({each["run"]["runId"] for each in found}) == len(found)


@pytest.mark.parametrize("query", ["?limit=0", "?limit=501", "?limit=x", "?after=-1", "?after=x", f"?after={'9' * 30}"])
async def test_pages_that_are_none_are_refused(multi: Hosted, query: str) -> None:
    await add(multi, FAHRENHEIT)
    assert (await multi.ask("GET", f"{multi.path(FAHRENHEIT)}/lineage/openlineage{query}")).status == 400


async def test_a_root_has_no_runs_and_what_is_private_is_not_there(multi: Hosted) -> None:
    entry = await multi.add("open", a_chain(4))
    await refresh_facts(multi.catalog.dataset_facts, entry.id, entry.dataset)
    await multi.add("secret", a_chain(5), Visibility.PRIVATE)
    assert (await multi.ask("GET", f"{multi.path('open')}/lineage/openlineage")).text == "[]"
    assert (await multi.ask("GET", f"{multi.path('secret')}/lineage/openlineage")).status == 404


async def test_a_chain_that_is_not_read_yet_is_not_said_to_have_no_steps(multi: Hosted) -> None:
    chain = a_chain(4)
    entry = await multi.add("open", chain)
    (Path(str(multi.settings.repo)) / entry.id.multibase / block_key(chain.head)).unlink()
    assert (await multi.ask("GET", f"{multi.path('open')}/lineage/openlineage")).status == 404

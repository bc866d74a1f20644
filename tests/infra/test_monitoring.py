"""infra/monitoring: what dashboard and alerts ask for is what a server tells, in words that Prometheus reads."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from repo_server.config import MetricsAccess, Tenancy
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.source_tree import ROOT, text_of

PLACE = Path("infra/monitoring")
DASHBOARD: dict[str, Any] = json.loads(text_of(PLACE / "grafana/dashboards/odf-repository.json"))
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
ASKED = [target["expr"] for panel in PANELS for target in panel["targets"]]
RULES = [rule for group in yaml.safe_load(text_of(PLACE / "rules.yml"))["groups"] for rule in group["rules"]]
ALERTS = [rule["expr"] for rule in RULES]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI, metrics_access=MetricsAccess.PUBLIC) as running:
        yield running


def names_in(query: str) -> set[str]:
    return set(re.findall(r"\bodf_\w+", query))


def promtool(*arguments: str | Path) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed (apt-get install prometheus)")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


async def test_every_metric_that_is_asked_for_is_one_that_a_server_tells(server: Hosted) -> None:
    await server.add("weather", a_chain())
    await server.ask("GET", "/alice/weather/refs/head")
    told = set(re.findall(r"^# TYPE (\S+) ", (await server.ask("GET", "/metrics")).text, re.MULTILINE))
    told |= {f"{name}_{part}" for name in told for part in ("bucket", "sum", "count")}
    asked = set().union(*map(names_in, ASKED + ALERTS))
    assert asked - told == set()


async def test_how_long_requests_took_is_told_by_the_pattern_of_their_route(server: Hosted) -> None:
    await server.add("weather", a_chain())
    for _ in range(2):
        await server.ask("GET", "/alice/weather/refs/head")
    await server.ask("GET", "/no/such/route/at/all")
    text = (await server.ask("GET", "/metrics")).text
    counts = re.findall(r'^odf_request_seconds_count\{route="(.*)"\} (\S+)$', text, re.MULTILINE)
    assert counts == [("/{account}/{name}/refs/{ref}", "2.0")]


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_says_what_it_shows_and_in_which_unit(panel: dict[str, Any]) -> None:
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]


def test_panels_do_not_lie_on_each_other() -> None:
    taken = [
        (panel["gridPos"]["x"] + right, panel["gridPos"]["y"] + down)
        for panel in PANELS
        for right in range(panel["gridPos"]["w"])
        for down in range(panel["gridPos"]["h"])
    ]
    assert len(taken) == len(set(taken))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_is_wrong_and_what_to_do(rule: dict[str, Any]) -> None:
    assert set(rule["annotations"]) == {"summary", "description"}
    assert rule["alert"] in text_of(Path("docs/how-to/monitor.md"))


@pytest.mark.slow
def test_prometheus_reads_the_alerts_and_every_query_of_the_dashboard(tmp_path: Path) -> None:
    promtool("check", "rules", ROOT / PLACE / "rules.yml")
    records = [
        {"record": f"asked:number_{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, query in enumerate(ASKED)
    ]
    (tmp_path / "asked.yml").write_text(yaml.safe_dump({"groups": [{"name": "asked", "rules": records}]}))
    promtool("check", "rules", tmp_path / "asked.yml")


@pytest.mark.slow
def test_prometheus_reads_its_settings(tmp_path: Path) -> None:
    place = tmp_path / "prometheus"
    shutil.copytree(ROOT / PLACE, place)
    (place / "token").write_text("ka_")
    settings = place / "prometheus.yml"
    settings.write_text(settings.read_text().replace("/etc/prometheus/odf-token", "token"))
    promtool("check", "config", settings)

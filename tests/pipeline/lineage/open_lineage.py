"""Whether events are as the specification of OpenLineage has them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

import jsonschema

from tests.vectors.load import FOLDER

_SCHEMA: Final = json.loads((FOLDER / "openlineage.schema.json").read_text(encoding="utf-8"))


def check_run_event(event: Mapping[str, Any]) -> None:
    """Fails where the event is none."""
    jsonschema.Draft202012Validator(_SCHEMA).validate(event)
    uuid.UUID(event["run"]["runId"])
    assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
    datasets = (*event["inputs"], *event["outputs"])
    bags = [event["run"], event["job"], *datasets]
    facets = [facet for bag in bags for kind in bag if kind.lower().endswith("facets") for facet in bag[kind].values()]
    assert facets
    for address in (event["producer"], event["schemaURL"], *(each["_schemaURL"] for each in facets)):
        assert urlsplit(address).scheme in {"urn", "https"}

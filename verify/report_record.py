"""A report as it is kept: one immutable document of one run, with the schema that is published.

The bytes are canonical JSON (RFC 8785: names sorted, no blanks, no fractions), so that one report has one hash. Making
one of what a run found is in ``report_making.py``. Later versions may add fields; unknown ones are passed over.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from opendatafabric.errors import MalformedInput, UnsupportedVersion
from opendatafabric.multihash import Multihash, physical_hash
from opendatafabric.report_limits import REPORT_BYTES_MAX
from verify.replayed import StepVerdict
from verify.report import Check, Severity, Verdict

REPORT_KIND: Final = "VerificationReport"
REPORT_VERSION: Final = 1
SCHEMA_NAME: Final = "verification-report-1.schema.json"

HashText = Annotated[str, Field(pattern=r"^f[0-9a-f]{4,74}$")]
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")]
Amount = Annotated[int, Field(ge=0)]


class Part(BaseModel):
    """Names in JSON are in camelCase; what is not known is left out."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class FindingRecord(Part):
    """One thing that is not as it should be; ``code`` is stable, ``message`` is for people."""

    check: Check
    code: str
    severity: Severity
    message: str
    offset: int | None = None
    column: str | None = None
    object_key: str | None = None
    expected: str | None = None
    found: str | None = None
    hint: str | None = None


class RowRecord(Part):
    """A value that is not the recorded one; without ``column`` the row is on one side only."""

    offset: int
    column: str | None = None
    expected: str | None = None
    found: str | None = None


class StepRecord(Part):
    """What came of repeating the step of a derivative."""

    verdict: StepVerdict
    records_expected: Amount
    records_found: Amount | None = None
    agreed: str | None = None
    """The other version of the engine that gives what the block says, where ours does not."""
    rows: tuple[RowRecord, ...] = ()


class BlockRecord(Part):
    """A block with findings, or whose step was repeated. Blocks that are not named are valid."""

    block_hash: HashText
    sequence_number: Amount | None = None
    verdict: Verdict
    findings: tuple[FindingRecord, ...] = ()
    step: StepRecord | None = None


class CheckRecord(Part):
    """A group of checks that was made."""

    check: Check
    verdict: Verdict
    findings: Amount


class CountsRecord(Part):
    """How much was looked at."""

    blocks: Amount
    objects: Amount
    object_bytes: Amount
    records: Amount
    proved_before: Amount = 0
    """Of the objects, those that an earlier run had proved before it was broken off."""


class InputRecord(Part):
    """What a derivative read of an input, and what is known of the input: by the report ``report``, if there is one."""

    dataset_id: str
    block_hash: HashText
    """The last block of it that was read."""
    verdict: Verdict | None = None
    report: HashText | None = None


class EngineRecord(Part):
    """What Spark computed with."""

    engine: str
    java: str
    arrow: str
    time_zone_data: str | None = None
    settings: HashText
    """Of the settings as canonical JSON."""
    configuration: dict[str, str] = Field(default_factory=dict)
    sandboxed: bool


class EnvironmentRecord(Part):
    """What a result may depend on."""

    software: dict[str, str]
    platform: str
    time_zone_data: str | None = None
    engine: EngineRecord | None = None


class ScopeRecord(Part):
    """What was asked for: ``replay`` to repeat the steps of a derivative."""

    replay: bool
    since: HashText | None = None


class TimingsRecord(Part):
    """How long it took, in milliseconds."""

    started_at: Moment
    ended_at: Moment
    integrity_ms: Amount
    replay_ms: Amount | None = None


class ReportRecord(Part):
    """One run over one dataset."""

    kind: Literal["VerificationReport"]
    version: Literal[1]
    dataset_id: str | None = None
    alias: str | None = None
    head: HashText | None = None
    verdict: Verdict
    scope: ScopeRecord
    counts: CountsRecord
    checks: tuple[CheckRecord, ...]
    blocks: tuple[BlockRecord, ...] = ()
    findings: tuple[FindingRecord, ...] = ()
    """Those of no block."""
    omitted_blocks: Amount = 0
    omitted_findings: Amount = 0
    inputs: tuple[InputRecord, ...] = ()
    environment: EnvironmentRecord
    timings: TimingsRecord
    redacted_from: HashText | None = None
    """Of what is told to those who may not read all inputs: the hash of the whole report. Never in one that is kept."""

    def to_bytes(self) -> bytes:
        """As canonical JSON."""
        return orjson.dumps(self.as_dict(), option=orjson.OPT_SORT_KEYS)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def hash(self) -> Multihash:
        """The name of the report."""
        return physical_hash(self.to_bytes())


def parse_report(raw: bytes) -> ReportRecord:
    """The report in the bytes.

    Raises:
        UnsupportedVersion: a report of a later version.
        MalformedInput: no report.
    """
    try:
        plain = orjson.loads(raw[: REPORT_BYTES_MAX + 1])
        if isinstance(plain, dict) and plain.get("kind") == REPORT_KIND and plain.get("version") != REPORT_VERSION:
            raise UnsupportedVersion("the report is of another version", expected=REPORT_VERSION)
        return ReportRecord.model_validate(plain)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))[:200]
        raise MalformedInput(f"no report: {place}: {first['msg'][:200]}") from None
    except orjson.JSONDecodeError:
        raise MalformedInput("no report: it is no JSON") from None


def report_schema() -> dict[str, Any]:
    """The JSON Schema of a report, as it is published."""
    schema = ReportRecord.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}

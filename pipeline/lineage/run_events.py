"""Steps of derivatives as run events of OpenLineage, for catalogs of others that read these: only what chains say.

A block that a transform brought is a run that is complete; its job is the dataset with the transform that was in
force. Datasets are called by their ids, which are the same in every repository. Which columns were computed from which
is not said: no chain says it. (OpenLineage specification 2-0-2, facets as of 1-0-0 and 1-0-1.)
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from opendatafabric.canonical_json import canonical_json
from opendatafabric.codec.yaml_codec import to_plain
from opendatafabric.did import DatasetId
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import ExecuteTransform, ExecuteTransformInput, SetTransform
from opendatafabric.metadata.transform import SqlQueryStep, TransformSql
from opendatafabric.multihash import physical_hash

NAMESPACE: Final = "did:odf"
_SPEC: Final = "https://openlineage.io/spec"
_FACETS: Final[Mapping[str, str]] = {
    "schema": "1-0-0/SchemaDatasetFacet",
    "version": "1-0-0/DatasetVersionDatasetFacet",
    "ownership": "1-0-0/OwnershipDatasetFacet",
    "symlinks": "1-0-0/SymlinksDatasetFacet",
    "lifecycleStateChange": "1-0-0/LifecycleStateChangeDatasetFacet",
    "outputStatistics": "1-0-0/OutputStatisticsOutputDatasetFacet",
    "inputStatistics": "1-0-0/InputStatisticsInputDatasetFacet",
    "sql": "1-0-1/SQLJobFacet",
    "jobType": "2-0-2/JobTypeJobFacet",
    "processing_engine": "1-1-0/ProcessingEngineRunFacet",
}
"""Where each facet is described."""


@dataclass(frozen=True, slots=True)
class SeenDataset:
    """What may be told of a dataset beside its id: ``alias`` where it is, and name and type of its columns then."""

    alias: str | None = None
    owner: str | None = None
    columns: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A block of the dataset ``dataset_id`` that a transform brought; ``transform`` is what was in force."""

    dataset_id: DatasetId
    block: HashedBlock
    event: ExecuteTransform
    transform: SetTransform | None
    output: SeenDataset
    inputs: Mapping[DatasetId, SeenDataset]


@dataclass(frozen=True, slots=True)
class Teller:
    """Who tells it: ``place`` is the address of the repository, ``producer`` a URI of the software."""

    place: str
    producer: str

    def run_event(self, step: Step) -> dict[str, Any]:
        """One event, as its JSON schema has it."""
        return {
            "eventType": "COMPLETE",
            "eventTime": str(step.block.block.system_time),
            "run": {"runId": run_id(step), "facets": self._facets(_of_run(step.transform))},
            "job": {
                "namespace": NAMESPACE,
                "name": job_name(step),
                "facets": self._facets(_of_job(step.transform)),
            },
            "inputs": [self._input(each, step) for each in step.event.query_inputs],
            "outputs": [self._output(step)],
            "producer": self.producer,
            "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
        }

    def _output(self, step: Step) -> dict[str, Any]:
        facets = self._of_dataset(step.output, str(step.block.hash))
        if step.event.prev_offset is None and step.event.new_data is not None:
            facets["lifecycleStateChange"] = {"lifecycleStateChange": "CREATE"}
        data = step.event.new_data
        written = {"rowCount": 0, "size": 0} if data is None else _amount(len(data.offset_interval), data.size)
        return {
            "namespace": NAMESPACE,
            "name": step.dataset_id.multibase,
            "facets": self._facets(facets),
            "outputFacets": self._facets({"outputStatistics": written}),
        }

    def _input(self, given: ExecuteTransformInput, step: Step) -> dict[str, Any]:
        seen = step.inputs.get(given.dataset_id, SeenDataset())
        read_up_to = given.new_block_hash or given.prev_block_hash
        return {
            "namespace": NAMESPACE,
            "name": given.dataset_id.multibase,
            "facets": self._facets(self._of_dataset(seen, None if read_up_to is None else str(read_up_to))),
            "inputFacets": self._facets({"inputStatistics": {"rowCount": _rows_read(given)}}),
        }

    def _of_dataset(self, seen: SeenDataset, version: str | None) -> dict[str, dict[str, Any]]:
        facets: dict[str, dict[str, Any]] = {}
        if version is not None:
            facets["version"] = {"datasetVersion": version}
        if seen.columns:
            facets["schema"] = {"fields": [{"name": name, "type": type_} for name, type_ in seen.columns]}
        if seen.owner is not None:
            facets["ownership"] = {"owners": [{"name": f"account:{seen.owner}", "type": "OWNER"}]}
        if seen.alias is not None:
            facets["symlinks"] = {"identifiers": [{"namespace": self.place, "name": seen.alias, "type": "TABLE"}]}
        return facets

    def _facets(self, facets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        return {
            name: {"_producer": self.producer, "_schemaURL": f"{_SPEC}/facets/{_FACETS[name]}.json", **told}
            for name, told in facets.items()
        }


def producer(version: str) -> str:
    """The URI of this software in that version."""
    return f"urn:odf-repository:{version}"


def run_id(step: Step) -> str:
    """The same for the same block, wherever it is told."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{step.dataset_id}/{step.block.hash}"))


def job_name(step: Step) -> str:
    """The dataset, and a hash of the transform by which the block was made."""
    if step.transform is None:
        return step.dataset_id.multibase
    return f"{step.dataset_id.multibase}/{physical_hash(canonical_json(to_plain(step.transform)))}"


def _of_run(transform: SetTransform | None) -> dict[str, dict[str, Any]]:
    known = None if transform is None else transform.transform
    if known is None or known.version is None:
        return {}
    return {"processing_engine": {"name": known.engine, "version": known.version}}


def _of_job(transform: SetTransform | None) -> dict[str, dict[str, Any]]:
    job_type = {"processingType": "BATCH", "integration": "ODF", "jobType": "QUERY"}
    sql = {} if transform is None else {"sql": {"query": _sql(transform.transform)}}
    return {"jobType": job_type, **sql}


def _sql(transform: TransformSql) -> str:
    """All steps, each after a line with its name; a single one as it is."""
    steps = transform.queries or (SqlQueryStep(query=transform.query or ""),)
    if len(steps) == 1:
        return steps[0].query
    return ";\n".join(f"-- {each.alias or 'the result'}\n{each.query}" for each in steps)


def _amount(rows: int, size: int) -> dict[str, int]:
    return {"rowCount": rows, "size": size}


def _rows_read(given: ExecuteTransformInput) -> int:
    if given.new_offset is None:
        return 0
    return given.new_offset - (-1 if given.prev_offset is None else given.prev_offset)

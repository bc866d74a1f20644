"""What polling sources give: one module per kind of fetch step (spec: Fetch Step).

A poll compares the source with the state that the last write left. It answers with a file to ingest and the state to
remember, or that nothing is new.
"""

from __future__ import annotations

from pathlib import Path

from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import (
    FetchStep,
    FetchStepEthereumLogs,
    FetchStepFilesGlob,
    FetchStepMqtt,
    FetchStepUrl,
)
from pipeline.fetch.container import fetch_container
from pipeline.fetch.fetched import Fetched, FetchOptions
from pipeline.fetch.files_glob import fetch_files_glob
from pipeline.fetch.mqtt import fetch_mqtt
from pipeline.fetch.url import fetch_url

__all__ = ["FetchOptions", "Fetched", "fetch"]


async def fetch(step: FetchStep, state: SourceState | None, folder: Path, options: FetchOptions) -> Fetched | None:
    """What the source has behind ``state``, as a file in ``folder`` or where it lies; ``None`` if nothing is new.

    Raises:
        NotFound: the source is not there.
        PeerUnavailable: it did not answer, or in the middle no more.
        LimitExceeded: it gave more than may be taken.
        UnsupportedOperation: a place that is not read.
        EngineUnavailable: nothing runs containers here.
        AccessDenied: a variable that the step names may not be used, or the place is not open to this poll.
        ProtocolViolation: it broke the rules of how it speaks.
        MalformedSource: it gave what can be no records.
        InvalidQuery: a filter that is none.
        Conflict: what was taken before is no longer true.
        MalformedManifest: an address, a header or a template that is none.
    """
    if isinstance(step, FetchStepUrl):
        return await fetch_url(step, state, folder, options)
    if isinstance(step, FetchStepFilesGlob):
        return await fetch_files_glob(step, state, options)
    if isinstance(step, FetchStepEthereumLogs):
        from pipeline.fetch.ethereum import fetch_ethereum_logs  # noqa: PLC0415 - takes a second to load

        return await fetch_ethereum_logs(step, state, folder / "fetched", options)
    if isinstance(step, FetchStepMqtt):
        return await fetch_mqtt(step, folder / "fetched", options)
    return await fetch_container(step, state, folder, options)

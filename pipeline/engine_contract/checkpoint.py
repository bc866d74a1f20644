"""What an engine has to remember from step to step: the watermark of each input, since a request has new ones only.

The form is that of the reference's Spark engine, so that each may go on from the other's: a tar file with a text file
``<id of the dataset>.watermark`` per input. The same watermarks give the same bytes here.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from opendatafabric.did import DatasetId
from opendatafabric.errors import LimitExceeded, MalformedData, MalformedIdentifier, MalformedInput
from opendatafabric.instant import Instant
from opendatafabric.limits import ENGINE_CHECKPOINT_BYTES_MAX
from opendatafabric.metadata.engine_messages import TransformRequestInput

Watermarks = Mapping[DatasetId, Instant]
_SUFFIX: Final = ".watermark"


def advanced(before: Watermarks, inputs: Sequence[TransformRequestInput]) -> Watermarks:
    """The watermark of each input after a step, as far as it ever had one."""
    reached = {}
    for each in inputs:
        known = [mark.event_time for mark in each.explicit_watermarks]
        known += [before[each.dataset_id]] if each.dataset_id in before else []
        if known:
            reached[each.dataset_id] = max(known)
    return reached


def slowest(watermarks: Watermarks, inputs: Sequence[TransformRequestInput]) -> Instant | None:
    """The watermark of the step: that of the slowest input. One that never had any holds it back."""
    known = [watermarks[each.dataset_id] for each in inputs if each.dataset_id in watermarks]
    return min(known) if known and len(known) == len(inputs) else None


def write_checkpoint(watermarks: Watermarks) -> bytes:
    """The file."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in sorted((each.multibase, str(moment)) for each, moment in watermarks.items()):
            content = f"{text}\n".encode()
            member = tarfile.TarInfo(name + _SUFFIX)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return sink.getvalue()


def read_checkpoint(data: bytes) -> Watermarks:
    """What ``write_checkpoint`` was given.

    Raises:
        MalformedData: a file of another engine.
        LimitExceeded: larger than such a file can be.
    """
    if len(data) > ENGINE_CHECKPOINT_BYTES_MAX:
        raise LimitExceeded("the checkpoint is too large", expected=ENGINE_CHECKPOINT_BYTES_MAX, found=len(data))
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            files = [member for member in archive if member.isfile()]
            return dict(_watermark(member.name, _content(archive, member)) for member in files)
    except (tarfile.TarError, UnicodeDecodeError, ValueError, MalformedIdentifier, MalformedInput) as error:
        raise MalformedData(
            f"the checkpoint is not one of this engine: {error}", hint="a dataset stays with the engine it began with"
        ) from None


def _watermark(path: str, content: bytes) -> tuple[DatasetId, Instant]:
    name = PurePosixPath(path).name.removesuffix(_SUFFIX)
    return DatasetId.from_multibase(name), Instant.from_rfc3339(content.decode().strip())


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file is not None  # a regular file
    return file.read()

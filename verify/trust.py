"""Whether a job is still the one that somebody scheduled: others may write the dataset, and its source or transform.

Whoever sets a schedule lends it his rights: to read inputs, or an administrator to poll what is not public. In a
dataset of somebody else they hold for what its chain said then. Datasets of administrators and of the default owner
are their own business, as are those that no catalog knows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from catalog.jobs import POLL, ClaimedJob
from catalog.permissions import Rights
from opendatafabric.codec.yaml_codec import write_event_manifest
from opendatafabric.errors import AccessDenied
from opendatafabric.metadata.events import SetPollingSource, SetTransform
from opendatafabric.multihash import physical_hash
from pipeline.commit import position_of
from storage.dataset import Dataset
from storage.repositories import DatasetRepository


async def said_by(dataset: Dataset, kind: str) -> str:
    """What the chain says now of jobs of that kind: which inputs are read, and all of it."""
    state = (await position_of(dataset)).state
    event = state.polling_source if kind == POLL else state.transform
    inputs = sorted(str(each.dataset_ref) for each in event.inputs) if isinstance(event, SetTransform) else []
    manifest = write_event_manifest(event) if isinstance(event, SetPollingSource | SetTransform) else ""
    return f"{_digest(' '.join(inputs))} {_digest(manifest)}"


def _digest(text: str) -> str:
    return str(physical_hash(text.encode()))


@dataclass(frozen=True, slots=True)
class Trust:
    """Looks at jobs of one catalog before they are done."""

    repository: DatasetRepository
    rights: Rights

    async def checked(self, job: ClaimedJob) -> ClaimedJob:
        """The job, perhaps as one of a stranger.

        Raises:
            AccessDenied: it would read other inputs than those that were looked at.
        """
        owner_id = await self.rights.stranger_who_owns(job.id.dataset_id)
        if owner_id is None:
            return job
        if job.said is None:
            return job if job.foreign else replace(job, foreign=True, account_id=owner_id)
        said = await said_by((await self.repository.find(job.id.dataset_id)).dataset, job.id.kind)
        if said.split()[0] != job.said.split()[0]:
            raise AccessDenied(
                "the transform has other inputs than when the schedule was set", hint="set the schedule again"
            )
        return job if said == job.said else replace(job, foreign=True)

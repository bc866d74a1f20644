"""How the datasets of a repository stand, by the last report on each."""

from __future__ import annotations

from collections.abc import Mapping

from cli.report_rooms import report_room
from opendatafabric.did import DatasetId
from opendatafabric.multihash import Multihash
from verify.standing import Standing, standing_of


async def standings_in(repository: str, heads: Mapping[str, str]) -> dict[str, Standing]:
    """By id, of datasets with these heads (empty if there is none). Without a catalog nothing is known of any."""
    async with report_room(repository, keep=None) as room:
        if room is None:
            return dict.fromkeys(heads, Standing.UNKNOWN)
        return {
            name: standing_of(
                await room.listed.last(DatasetId.from_text(name)), Multihash.from_text(head) if head else None
            )
            for name, head in heads.items()
        }

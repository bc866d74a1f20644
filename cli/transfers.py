"""What ``pull`` and ``push`` share: the session, the token of the other side, and how a transfer is told."""

from __future__ import annotations

from typing import Any

from cli.output import format_bytes, print_json, print_line
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.multihash import Multihash
from storage import folders
from storage.open import local_folder
from sync.ipfs_publish import IpfsMirrorState
from sync.remote import RemoteLocation
from sync.transfer import TransferResult


def local_alias(source: RemoteLocation, name: str | None) -> DatasetAlias:
    """What a pulled dataset is called here: ``name``, else what the source calls it.

    Raises:
        MalformedIdentifier: the source has no usable name and none is given.
    """
    if name is not None:
        return DatasetAlias.from_text(name)
    if not (source.is_web or source.is_in_ipfs or source.is_in_s3):
        folder = local_folder(source.url).resolve()
        described = folders.describe(folder.parent, folder)
        if described is not None:
            return DatasetAlias(None, described.alias.name)
    try:
        return DatasetAlias(None, source.dataset_name)
    except MalformedIdentifier as error:
        raise MalformedIdentifier(f"{source.url} ends in no name of a dataset", hint="give one with --as") from error


def print_transfer(name: str, result: TransferResult, *, as_json: bool) -> None:
    """One line for people, or one JSON object."""
    if as_json:
        print_json({"name": name, **_plain(result)}, indent=None)
        return
    plan = result.plan
    if result.up_to_date:
        print_line(f"{name}: up to date")
        return
    moved = f"{plan.num_blocks} blocks, {plan.num_objects} objects ({format_bytes(plan.bytes_in_raw_objects)})"
    records = f"{plan.num_records} records"
    if result.dry_run:
        print_line(f"{name}: would move {moved}, {records}")
    elif result.staged:
        print_line(f"{name}: {moved}, {records}; staged, and the head once it was verified there: {result.new_head}")
    else:
        print_line(f"{name}: {moved}, {records}; head {result.new_head}")


def print_mirrored(state: IpfsMirrorState, *, as_json: bool) -> None:
    """The two addresses that lead to a dataset in IPFS, or one JSON object."""
    if as_json:
        print_json({"head": _text(state.head), "root": str(state.root), "name": state.name}, indent=None)
    else:
        print_line(f"ipfs://{state.root}/")
        print_line(f"ipns://{state.name}/")


def _plain(result: TransferResult) -> dict[str, Any]:
    plan = result.plan
    return {
        "oldHead": _text(result.old_head),
        "newHead": _text(result.new_head),
        "upToDate": result.up_to_date,
        "dryRun": result.dry_run,
        "staged": result.staged,
        "blocks": plan.num_blocks,
        "objects": plan.num_objects,
        "records": plan.num_records,
        "blockBytes": plan.bytes_in_raw_blocks,
        "objectBytes": plan.bytes_in_raw_objects,
        "objectsMoved": result.objects_moved,
    }


def _text(head: Multihash | None) -> str | None:
    return None if head is None else str(head)

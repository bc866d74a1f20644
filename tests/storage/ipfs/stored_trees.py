"""Trees made in a test, and a source of their blocks that is as broken as the test wants it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from opendatafabric.errors import NotFound
from opendatafabric.ipfs.cid import Block, Cid
from opendatafabric.ipfs.hamt import import_folder
from opendatafabric.ipfs.ipns import IpnsName
from opendatafabric.ipfs.unixfs import KUBO_RAW_LEAVES, Profile, import_file
from opendatafabric.limits import IPFS_BLOCK_BYTES_MAX


@dataclass
class MemoryBlocks:
    """A BlockSource over a dictionary, checking as the contract has it."""

    blocks: dict[Cid, bytes] = field(default_factory=dict)
    records: dict[IpnsName, bytes] = field(default_factory=dict)
    asked: list[Cid] = field(default_factory=list)

    async def block(self, cid: Cid) -> bytes:
        self.asked.append(cid)
        if cid not in self.blocks:
            raise NotFound(f"no {cid}")
        cid.check(self.blocks[cid])
        return self.blocks[cid]

    async def record(self, name: IpnsName) -> bytes:
        if name not in self.records:
            raise NotFound(f"no record of {name}")
        return self.records[name]

    def take(self, block: Block) -> None:
        assert len(block.data) <= IPFS_BLOCK_BYTES_MAX
        self.blocks[block.cid] = block.data

    def store(self, files: Mapping[str, bytes], profile: Profile = KUBO_RAW_LEAVES) -> Cid:
        """The root of a tree with ``files`` by their path of two parts."""
        folders: dict[str, dict[str, bytes]] = {}
        for key, data in files.items():
            folder, _, name = key.partition("/")
            folders.setdefault(folder, {})[name] = data
        trees = {}
        for folder, inside in folders.items():
            entries = {name: import_file(data, self.take, profile) for name, data in inside.items()}
            trees[folder] = import_folder(entries, self.take, profile)
        return import_folder(trees, self.take, profile).cid

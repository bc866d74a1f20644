"""The IPFS node that the tests of this folder share."""

from tests.ipfs.node import ipfs_node

__all__ = ["ipfs_node"]

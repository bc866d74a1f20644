"""Check a run of blocks, oldest first, against the chain they continue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opendatafabric.chain.rules import check_block
from opendatafabric.chain.state import ChainState
from opendatafabric.metadata.block import HashedBlock

_EMPTY: Final = ChainState.empty()


def validate_chain(
    blocks_oldest_first: Iterable[HashedBlock], state: ChainState = _EMPTY, *, strict: bool = True
) -> ChainState:
    """The state after the last block, every one having been checked. Blocks are used one by one and not kept.

    Hashes are taken as given: ``decode_block`` and ``encode_block`` have computed them.

    Raises:
        ChainError: naming the first block that breaks a rule, and the rule.
    """
    for block in blocks_oldest_first:
        check_block(state, block, strict=strict)
        state = state.apply(block)
    return state

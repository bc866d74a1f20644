"""What chains establish, remembered by the hash of their last block.

A block's hash commits to everything before it, so an entry never becomes wrong and may serve any dataset; forgetting
one only costs reading the chain again.
"""

from __future__ import annotations

from collections import OrderedDict

from opendatafabric.chain.state import ChainState
from opendatafabric.limits import CHAIN_STATES_MAX
from opendatafabric.multihash import Multihash


class ChainStates:
    """The ``CHAIN_STATES_MAX`` most recently used states."""

    def __init__(self) -> None:
        self._states: OrderedDict[Multihash, ChainState] = OrderedDict()

    def get(self, head: Multihash) -> ChainState | None:
        """The state of the chain up to and including ``head``, if known."""
        if head not in self._states:
            return None
        self._states.move_to_end(head)
        return self._states[head]

    def put(self, head: Multihash, state: ChainState) -> None:
        """Remember ``state``; the one not used for longest may go."""
        self._states[head] = state
        self._states.move_to_end(head)
        while len(self._states) > CHAIN_STATES_MAX:
            self._states.popitem(last=False)

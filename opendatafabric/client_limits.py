"""Of the client for programs and notebooks."""

from __future__ import annotations

from typing import Final

CLIENT_CACHE_BYTES_MAX: Final = 20 * 1024**3
"""Room that slices take in the cache of a user, unless he says otherwise: those not used for longest go."""

CLIENT_CACHE_USED_S: Final = 3600
"""How long a slice in the cache may still be read by somebody after it was last opened: it stays so long at least."""

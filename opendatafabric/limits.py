"""Every maximum of the system: a name, a unit in the name, a reason. Nothing here is read from the environment."""

from __future__ import annotations

from typing import Final

VARINT_BYTES_MAX: Final = 9
"""unsigned-varint specification: nine bytes hold 63 bits."""

DIGEST_BYTES_MAX: Final = 32
"""The reference reads digests of at most 256 bits."""

IDENTIFIER_CHARS_MAX: Final = 1_000
"""Longest text taken as a hash, DID, name or reference; the grammar itself sets no limit, memory does."""

BLOCK_BYTES_MAX: Final = 16 * 1024 * 1024
"""Largest stored MetadataBlock. Real blocks are under a few KiB; embedded attachments are the exception."""

BLOCK_DEPTH_MAX: Final = 64
"""Deepest nesting of tables, counted from MetadataBlock = 1, as in the reference's verifier."""

BLOCK_TABLES_MAX: Final = 1_000_000
"""Most tables in one block, as in the reference's verifier."""

MANIFEST_BYTES_MAX: Final = 16 * 1024 * 1024
"""Largest YAML or JSON text read as a manifest."""

MANIFEST_DEPTH_MAX: Final = 200
"""Deepest nesting of a YAML or JSON manifest; a schema of 59 nested lists needs about 130."""

PACK_BYTES_MAX: Final = 64 * 1024 * 1024
"""Largest tar.gz of blocks taken from a peer; its JSON form is 3.6 times as long."""

PACK_UNPACKED_BYTES_MAX: Final = 512 * 1024 * 1024
"""Most bytes one pack of blocks may unpack to."""

PACK_BLOCKS_MAX: Final = 1_000_000
"""Most blocks in one pack."""

MESSAGE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Largest WebSocket message, sent or received: what the reference can receive."""

FRAME_BYTES_MAX: Final = 16 * 1024 * 1024
"""Largest WebSocket frame the reference can receive."""

OBJECT_BYTES_MAX: Final = 1024 * 1024 * 1024 * 1024
"""Largest DataSlice or Checkpoint: 1 TiB. Servers set lower ones in their configuration."""

READ_CHUNK_BYTES: Final = 1024 * 1024
"""Piece in which objects are streamed and hashed: hashing gains nothing beyond 64 KiB, thread hops cost below 256 KiB."""

INLINE_HASH_BYTES_MAX: Final = 32 * 1024
"""Up to this size hashing costs less than a hop to a thread."""

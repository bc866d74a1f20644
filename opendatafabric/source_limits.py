"""Of sources: of polled ones, and of the files they give."""

from __future__ import annotations

from typing import Final

FETCH_BYTES_MAX: Final = 256 * 1024 * 1024 * 1024
"""Most bytes taken from one polled source at a time."""

FETCH_REDIRECTS_MAX: Final = 10
"""Longest way that a polled source may send us on."""

FETCH_SILENCE_S_MAX: Final = 60
"""Longest wait for a polled source to answer, and for its next bytes."""

FETCH_S_MAX: Final = 6 * 3_600
"""Longest time for one answer of a polled source: one that never falls silent must end too."""

FTP_LINES_MAX: Final = 1_000
"""Most lines that an FTP server says for one file: a greeting of some dozens, and one for each command."""

FETCH_RECORDS_TARGET: Final = 10_000
"""Records after which a source that goes on for ever is asked no more: they become a block, as in the reference."""

MQTT_MESSAGE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Largest message taken from a broker; the protocol allows 256 MiB."""

MQTT_IDLE_S: Final = 1
"""A broker that sends nothing for so long has nothing more, as in the reference."""

MQTT_DRAIN_S_MAX: Final = 300
"""A block is made after so long, however few messages there are: a topic may trickle for ever."""

ETHEREUM_RANGE_BLOCKS: Final = 100_000
"""Blocks that a node is first asked for at once, as in the reference; many take fewer, and are asked for half."""

ETHEREUM_BLOCKS_MAX: Final = 1_000_000
"""Blocks of a chain after which a block of the dataset is made, so that little is looked at twice after a failure."""

ETHEREUM_ANSWER_BYTES_MAX: Final = 256 * 1024 * 1024
"""Largest answer of a node: some 300,000 logs."""

CONTAINER_STATE_BYTES_MAX: Final = 64 * 1024
"""Longest state that a container may leave; it is kept in a block, and given back to it as a variable."""

CONTAINER_COMMAND_S_MAX: Final = 60
"""Longest wait for podman or docker to say or end something that they have at hand."""

IMAGE_PULL_S_MAX: Final = 3_600
"""Longest time for fetching an image: those of engines with a Java have a gigabyte."""

PROGRAM_WORDS_BYTES: Final = 2_000
"""So much is told of the last that a failing program said."""

PIPE_MEMORY_BYTES_MAX: Final = 2 * 1024 * 1024 * 1024
"""Most memory of one process of a source's command."""

PIPE_S_MAX: Final = 3_600
"""Longest time for a source's command, and for what one process of it computes."""

POLL_ITERATIONS_MAX: Final = 1_000
"""Most blocks of one poll: a source that always has more goes on at the next one."""

JSON_DOCUMENT_BYTES_MAX: Final = 1024 * 1024 * 1024
"""Largest JSON or GeoJSON document: it is read whole; the kinds with one record a line have no such limit."""

INFERENCE_ROWS: Final = 1_000
"""So many rows decide the types of columns that a source does not declare."""

UNPACKED_BYTES_MAX: Final = 64 * 1024 * 1024 * 1024
"""Most bytes that one compressed file of a source may become."""

UNPACKED_BYTES_PER_BYTE_MAX: Final = 1_100
"""Most bytes that one compressed byte may become; beyond what honest DEFLATE gives, a bomb."""

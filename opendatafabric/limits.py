"""Of the format, of transfers and stores: a name, a unit in the name, a reason. Nothing is read from the environment.

The maxima of one subject each lie in the modules beside this one that are called ``…_limits.py``; the part before the
colon is what the page of limits calls them."""

from __future__ import annotations

from typing import Final

VARINT_BYTES_MAX: Final = 9
"""unsigned-varint specification: nine bytes hold 63 bits."""

DIGEST_BYTES_MAX: Final = 32
"""The reference reads digests of at most 256 bits."""

IDENTIFIER_CHARS_MAX: Final = 1_000
"""Longest text taken as a hash, DID, name or reference; the grammar itself sets no limit, memory does."""

TOKEN_DATASETS_MAX: Final = 100
"""Most patterns of datasets that a token is bound to; each request is compared with all of them."""

URL_CHARS_MAX: Final = 8_192
"""Longest URL taken from people or peers; common servers stop at this length too."""

BLOCK_BYTES_MAX: Final = 16 * 1024 * 1024
"""Largest stored MetadataBlock. Real blocks are under a few KiB; embedded attachments are the exception."""

BLOCK_DEPTH_MAX: Final = 64
"""Deepest nesting of tables, counted from MetadataBlock = 1, as in the reference's verifier."""

BLOCK_TABLES_MAX: Final = 1_000_000
"""Most tables in one block, as in the reference's verifier."""

MANIFEST_BYTES_MAX: Final = 16 * 1024 * 1024
"""Largest YAML or JSON text read as a manifest."""

MANIFEST_DEPTH_MAX: Final = 128
"""Deepest nesting of a YAML or JSON manifest, as in the reference's reader; the deepest schema of a block needs 66."""

MANIFEST_NODES_MAX: Final = 300_000
"""Most values in a manifest, counting what anchors repeat: a schema of 50,000 columns, read in a few seconds."""

ATTRIBUTES_DEPTH_MAX: Final = 120
"""Deepest nesting inside ExtraAttributes; the reference's JSON reader stops at 128, some of it spent around them."""

ATTRIBUTE_NUMBER_CHARS_MAX: Final = 4_000
"""Longest number in ExtraAttributes; Python itself converts no integers over 4,300 digits."""

PACK_BYTES_MAX: Final = 64 * 1024 * 1024
"""Largest tar.gz of blocks taken from a peer; its JSON form is 3.6 times as long."""

PACK_UNPACKED_BYTES_MAX: Final = 512 * 1024 * 1024
"""Most bytes one pack of blocks may unpack to."""

PACK_BLOCKS_MAX: Final = 1_000_000
"""Most blocks in one pack."""

PACK_KEPT_BLOCKS_MIN: Final = 1_000
"""Packs of fewer blocks are made again each time: that takes milliseconds, and there may be one for every block."""

DERIVED_NAME_CHARS_MAX: Final = 200
"""Longest name of a derived file; file systems take 255 bytes."""

DERIVED_IN_MEMORY_BYTES_MAX: Final = PACK_BYTES_MAX + 1024
"""One pack with its figures, for a server that keeps none on disk."""

MESSAGE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Largest WebSocket message, sent or received: what the reference can receive."""

MESSAGE_VALUES_MAX: Final = 2_000_000
"""Most JSON values in one message besides a pack: 130,000 objects. Python needs 100 times the memory of their text."""

FRAME_BYTES_MAX: Final = 16 * 1024 * 1024
"""Largest WebSocket frame the reference can receive."""

OBJECT_BYTES_MAX: Final = 1024 * 1024 * 1024 * 1024
"""Largest DataSlice or Checkpoint: 1 TiB. Servers set lower ones in their configuration."""

INGEST_BYTES_MAX: Final = 16 * 1024 * 1024 * 1024
"""Largest file taken over HTTP to be ingested: 16 GiB. It lies on the server's disk until that is done."""

FILE_UPLOADS_MAX: Final = 1_000
"""Files that one account may have sent and not ingested: each is two small files at least."""

UPLOAD_PIECE_BYTES: Final = 8 * 1024 * 1024
"""Part of a file that our client sends in one request: what a cut costs at most, and what is held in memory."""

FILE_NAME_BYTES_MAX: Final = 255
"""Longest name or media type of a file that is uploaded; file systems allow no longer names either."""

IDEMPOTENCY_KEY_CHARS_MAX: Final = 255
"""Longest idempotency key: room for any id that clients make, and nothing to fill a table with."""

READ_CHUNK_BYTES: Final = 1024 * 1024
"""Piece in which objects are streamed and hashed: hashing gains nothing beyond 64 KiB, hops cost below 256 KiB."""

INLINE_HASH_BYTES_MAX: Final = 32 * 1024
"""Up to this size hashing costs less than a hop to a thread."""

BODY_BUFFER_BYTES: Final = 512 * 1024
"""Bytes of an arriving body that wait before its sender is held up, so that reading goes on while they are taken."""

PIECES_IN_FLIGHT_MAX: Final = 4
"""Pieces of one upload waiting to be hashed or written: enough to overlap both, little memory for many uploads."""

FLUSH_EVERY_BYTES: Final = 64 * 1024 * 1024
"""Large files are flushed on the way in such steps, so that the last flush does not stall."""

LOCK_WAIT_S_MAX: Final = 30
"""Longest wait for the lock of a BlockRef or a repository: it is held for a few flushes of the disk."""

LEASE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Largest note of what a transfer is about to publish: eight bytes an object, so eight million objects."""

LEASE_RENEW_S: Final = 60
"""Seconds between two signs of life of a note in a store that has no locks."""

LEASE_SILENCE_S_MAX: Final = 600
"""A note there so silent has lost its holder, who stops at half of it; its work ends in ``S3_REQUEST_S_MAX``."""

LEFTOVER_GRACE_S_MIN: Final = 3_600
"""What was being written is kept so long, whatever grace is asked for: it may be written still."""

STATIC_INDEX_BYTES_MAX: Final = 64 * 1024 * 1024
"""Largest index of an exported tree: some 200 bytes a dataset, so 300,000 datasets."""

SWEEP_HOLD_S_MAX: Final = 2
"""A sweep pauses after so many seconds, so that a publisher that waits for it does not wait long."""

FOLLOW_BLOCKS_MAX: Final = 1_000
"""Blocks read in one hop to a thread when walking a chain: the hop costs nothing beyond some hundred."""

FOLLOW_BYTES_MAX: Final = 16 * 1024 * 1024
"""A batch of walked blocks ends once it holds so many bytes, however few blocks those are."""

SEGMENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Longer stretches of large blocks are read block by block: a request more weighs little then."""

CHAIN_STATES_MAX: Final = 64
"""States of chains that a process remembers, so that appending again need not read the whole chain."""

OBJECT_CHECKS_AT_ONCE: Final = 32
"""Objects that are looked up, or collected, at the same time."""

UPLOAD_STATE_BYTES_MAX: Final = 4_096
"""Largest description of a resumable upload: a key, a size and a time."""

HTTP_CONNECT_S_MAX: Final = 15
"""Longest wait for a connection to another repository."""

REMEMBERED_REF_S_MAX: Final = 5
"""Longest wait for a head elsewhere when an older one will do: readers wait for it."""

HTTP_SILENCE_S_MAX: Final = 60
"""Longest silence of another repository in the middle of an answer."""

HTTP_RESUMES_MAX: Final = 3
"""A body that breaks off is continued so often without a byte of progress, then given up."""

FINDINGS_MAX: Final = 10_000
"""Findings that one report keeps; more are counted. A person reads fewer, and a hostile chain could make millions."""

REPLAY_STEP_S_MAX: Final = 3_600.0
"""One step of a derivative is given up when repeating it takes longer; the reference's engines take seconds."""

REPLAY_ROWS_SHOWN_MAX: Final = 5
"""Rows of one step that are told when its records differ: the first ones show what is wrong."""

REPLAY_VALUE_CHARS_MAX: Final = 200
"""Of a differing value so much is told."""

PARQUET_FOOTER_BYTES_MAX: Final = 64 * 1024 * 1024
"""Largest footer of a Parquet file: some 100,000 column chunks with their statistics."""

PARQUET_FIELDS_MAX: Final = 10_000
"""Most fields of a Parquet schema, groups counted: wider tables are attacks or mistakes."""

PARQUET_DEPTH_MAX: Final = 100
"""Deepest nesting of a Parquet schema, as in Arrow: libraries walk schemas by recursion. A list takes two levels."""

PARQUET_BATCH_BYTES_MAX: Final = 4 * 1024 * 1024 * 1024
"""Most memory that one batch of records read from a Parquet file may take."""

OBJECTS_PER_REQUEST_MAX: Final = 1_000
"""Most objects our client names in one message: its answer holds about 500 bytes for each."""

PROGRESS_INTERVAL_S: Final = 10
"""Seconds of silence after which a server asks how the uploads go, as the reference does."""

PEER_SILENCE_S_MAX: Final = 1_800
"""Longest silence of a server that our client is waiting for: it may be storing a million blocks."""

CONVERSATIONS_MAX: Final = 4
"""A transfer begins so many conversations, each going on where the one before broke off, then gives up."""

TRANSFERS_AT_ONCE: Final = 10
"""Objects moved in parallel, as in the reference's simple protocol."""

INLINE_READ_BYTES_MAX: Final = 64 * 1024
"""Up to this size reading a file in the event loop costs less than a hop to a thread or to the kernel's sender."""

IPFS_BLOCK_BYTES_MAX: Final = 2 * 1024 * 1024
"""Largest block that IPFS clients fetch unless told otherwise (Bitswap's and the gateways' limit)."""

DAG_DEPTH_MAX: Final = 32
"""Deepest tree of nodes under one file or sharded folder: with 174 links a node, 5 levels hold 40 PB."""

FOLDER_SHARDS_MAX: Final = 100_000
"""Most shards of one IPFS folder: some four million names. A hostile tree could repeat one for ever."""

CAR_HEADER_BYTES_MAX: Final = 64 * 1024
"""Largest header of a CAR that is read: a thousand roots. The specification sets none, go-car 32 MiB."""

IPNS_RECORD_BYTES_MAX: Final = 10 * 1024
"""Largest IPNS record, by its specification."""

CBOR_DEPTH_MAX: Final = 16
"""Deepest nesting of the DAG-CBOR that is read: headers of CARs and IPNS records need two."""

CBOR_VALUES_MAX: Final = 4_096
"""Most values in the DAG-CBOR that is read; a header of a thousand roots has as many."""

IPFS_WORK_S_MAX: Final = 600
"""Longest silence of an IPFS node at work: pinning a large tree, publishing a name."""

RPC_ANSWER_BYTES_MAX: Final = 4 * 1024 * 1024
"""Largest JSON object taken from an IPFS node; ours are a few hundred bytes, lists of keys grow with what it holds."""

IPFS_CACHED_BYTES_MAX: Final = 16 * 1024 * 1024
"""Nodes of folders that are kept while one dataset is read from IPFS: the shards of some 100,000 names."""

IPNS_HOPS_MAX: Final = 4
"""So many names of IPNS may lead to one another; a dataset takes one, a domain in front of it two."""

IPNS_LIFETIME_S: Final = 48 * 3_600
"""How long a published IPNS record is good, as Kubo signs them itself; the public network keeps none longer."""

IPNS_RENEWAL_S: Final = 12 * 3_600
"""An IPNS record is published anew after so long: a server that is down for a day loses no name."""

IPFS_STORE_SILENCE_S_MAX: Final = 10
"""Longest silence of an IPFS node that a repository lies at: it looks for nothing elsewhere, and a client waits."""

IPFS_STORE_WORK_S_MAX: Final = 120
"""Longest silence of such a node while it takes in what it was sent."""

KNOWN_KEYS_MAX: Final = 200_000
"""Keys that a store is remembered to have, some 100 bytes each; then all are asked for again."""

IPFS_ROOTS_PER_IMPORT_MAX: Final = 500
"""Objects that go to an IPFS node in one archive, each a root of it: its header stays under 64 KiB."""

S3_PART_BYTES: Final = 8 * 1024 * 1024
"""Part of a multipart upload, unless the object needs larger ones; smaller objects go in one request."""

S3_PARTS_MAX: Final = 10_000
"""Most parts of one multipart upload."""

S3_COPY_BYTES_MAX: Final = 5 * 1024 * 1024 * 1024
"""Largest object that S3 takes or copies in one request."""

S3_WINDOW_BYTES: Final = 4 * 1024 * 1024
"""Objects are read in ranges of so many bytes, each of which can be asked for again."""

S3_WINDOWS_AHEAD: Final = 3
"""Ranges of one stream that are under way while one is being used."""

S3_REQUESTS_AT_ONCE: Final = 32
"""Requests of one operation on many objects that are under way at the same time."""

S3_REQUEST_S_MAX: Final = 120
"""Longest time for one request to S3, and for trying it again."""

S3_RETRIES_MAX: Final = 5
"""A request to S3 is tried so often again, each time after a longer wait."""

JVM_START_S_MAX: Final = 120
"""Longest wait for a JVM to answer: two seconds on an idle machine, a minute where everything else is starting too."""

ENGINE_START_S_MAX: Final = 300
"""Longest wait for a Spark session, JVM included, and for the end of one that leaves an archive of its classes."""

ENGINE_CHECKPOINT_BYTES_MAX: Final = 16 * 1024 * 1024
"""A checkpoint holds 1.5 KiB per input: enough for ten thousand of them."""

WORKER_MESSAGE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Longest message between the Spark worker and its clients; whatever is larger lies in files."""

WORKER_CLIENTS_MAX: Final = 100
"""Clients that wait for the Spark worker at the same time; it does one job after another."""

JOB_S_MAX: Final = 24 * 3_600
"""Longest time for one job of the Spark worker, unless its client says less."""

ENGINE_FILE_BYTES_MAX: Final = 256 * 1024 * 1024 * 1024
"""Largest single file that an engine may write: a disk must not be filled by one query."""

WORKER_START_S_MAX: Final = 60
"""Longest wait for the Spark worker to listen; it does so at once, before Spark is there."""

DDL_CHARACTERS_MAX: Final = 1024 * 1024
"""Longest list of column definitions of a read step."""

DDL_DEPTH_MAX: Final = 32
"""Deepest nesting of types in a column definition."""

QUERY_CHARS_MAX: Final = 100_000
"""Longest SQL text of one step of a transform; long ones people write have a few thousand."""

QUERY_DEPTH_MAX: Final = 128
"""Deepest nesting of parentheses in a query; parsers walk it by recursion, and where their stack ends is chance."""

QUERY_NODES_MAX: Final = 50_000
"""Most nodes of a parsed query: Spark's own analysis takes seconds beyond."""

WINDOWS_OF_RECORD_MAX: Final = 1_500
"""Most windows that one record is in: a day sliding by the minute. Each makes the plan of a query longer."""

QUERY_CHECK_S_MAX: Final = 120
"""Longest look at a query that is set, over no records, in seconds; Spark may take a quarter of that to start."""

STEP_RECORDS_MAX: Final = 10_000_000
"""Most records of inputs that one step of a derivative reads, but for a block that has more: they are in memory."""

QUERY_MEMORY_BYTES_MAX: Final = 2 * 1024 * 1024 * 1024
"""Most memory of a query over datasets, unless its caller says otherwise: nothing is put on disk meanwhile."""

PROJECTIONS_BYTES_MAX: Final = 16 * 1024 * 1024 * 1024
"""Most bytes of what is kept to merge quickly, over all datasets; those not used for longest go, and are made again."""

SCHEDULE_JITTER_S_MAX: Final = 86_400
"""Longest shift of a schedule's strikes, in seconds: beyond a day another schedule is meant."""

KNOWN_CHAINS_BYTES_MAX: Final = 1024 * 1024
"""Most bytes of notes on long chains, about a kilobyte each; those not used for longest go, and are made again."""

ATTESTATION_BYTES_MAX: Final = 1024 * 1024
"""Longest attestation: two kilobytes and a hundred bytes for each input are usual."""

ATTESTATION_SIGNATURES_MAX: Final = 100
"""Most signatures under one attestation; checking each costs a tenth of a millisecond for every key."""

ATTESTATIONS_BYTES_MAX: Final = 32 * 1024 * 1024
"""Longest list of attestations, or of keys, that is taken from a file or another server."""

ATTESTATIONS_PER_DATASET_MAX: Final = 1_000
"""Attestations kept of one dataset; the oldest go first."""

ATTESTATIONS_LISTED_MAX: Final = 100
"""Attestations of a dataset that are shown at once, the newest."""

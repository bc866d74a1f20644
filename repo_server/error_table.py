"""What every error code means, in one table: its HTTP status, a title, and what to do about it.

Problem documents, the pages that their ``type`` leads to, and ``docs/reference/errors.md`` are made of it. A code
without a status has that of the nearest family above it; what no family decides is our own fault, 500.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from opendatafabric.errors import OdfError

TYPES_PATH: Final = "/system/errors/"
"""Below it every code has a page."""


@dataclass(frozen=True, slots=True)
class ErrorType:
    """``remedy`` is Markdown of one line, with links from ``docs/reference``."""

    title: str
    remedy: str
    status: HTTPStatus | None = None


ERROR_TYPES: Final[Mapping[str, ErrorType]] = {
    "error": ErrorType("a failure that no other code names", "read the message", HTTPStatus.INTERNAL_SERVER_ERROR),
    "malformed-input": ErrorType(
        "bytes or text that are not what they claim to be",
        "look at the position in the message",
        HTTPStatus.BAD_REQUEST,
    ),
    "malformed-block": ErrorType(
        "bytes that are no readable metadata block", "`odf block decode FILE`; restore the block from another copy"
    ),
    "malformed-pack": ErrorType(
        "bytes that are no readable pack of blocks, sent by a peer", "report it, with both versions"
    ),
    "malformed-manifest": ErrorType(
        "YAML or JSON that is no readable manifest", "the message names line, column and field"
    ),
    "invalid-query": ErrorType(
        "a query that is no SQL, or uses what queries may not",
        "the message names the place; [what queries may use](sql.md)",
    ),
    "invalid-snapshot": ErrorType(
        "a readable snapshot from which no dataset can be made", "see [snapshots](chain-rules.md#snapshots)"
    ),
    "malformed-identifier": ErrorType(
        "a hash, id, name or reference outside its grammar", "`odf ref parse TEXT`, `odf did parse TEXT`"
    ),
    "malformed-data": ErrorType(
        "a data slice that cannot be read or hashed", "it is not Parquet, or has a type the format cannot hash"
    ),
    "malformed-source": ErrorType(
        "what a source gave is not what its read step says",
        "the message names line and column; see [sources](sources.md)",
    ),
    "incompatible-schema": ErrorType(
        "records whose columns cannot be those of the dataset",
        "select the old columns in the preprocess query or the transform",
    ),
    "malformed-dag": ErrorType(
        "a block, tree, archive or record of IPFS outside its form",
        "the copy is damaged: fetch it from another gateway",
    ),
    "unsupported-version": ErrorType(
        "a manifest of a version this software does not read", "the message names the version"
    ),
    "unprocessable-body": ErrorType(
        "a body that can be read and does not say what it should",
        "the message names the field; compare with the [HTTP API](http-api.md)",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    ),
    "key-used": ErrorType(
        "an idempotency key that stands for another request",
        "take a new key for another request",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    ),
    "unsupported-media-type": ErrorType(
        "a body in a form that is not taken here",
        "set `Content-Type`; send bodies without `Content-Encoding`",
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    ),
    "not-acceptable": ErrorType(
        "an answer in none of the forms that were asked for",
        "ask for another form in `Accept`",
        HTTPStatus.NOT_ACCEPTABLE,
    ),
    "body-too-slow": ErrorType(
        "a body that came too slowly", "send it again, in resumable pieces", HTTPStatus.REQUEST_TIMEOUT
    ),
    "limit-exceeded": ErrorType(
        "input beyond one of the named maxima", "the message names the limit", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    ),
    "hash-mismatch": ErrorType(
        "bytes whose hash is not their name",
        "the copy is damaged: `odf fsck`, then pull again",
        HTTPStatus.BAD_REQUEST,
    ),
    "invalid-signature": ErrorType(
        "a signed record that its key did not sign, or that has ended",
        "ask who publishes it to sign it again",
        HTTPStatus.BAD_REQUEST,
    ),
    "size-mismatch": ErrorType(
        "more or fewer bytes than announced",
        "as above; a cut upload is resumed by pushing again",
        HTTPStatus.BAD_REQUEST,
    ),
    "chain-error": ErrorType(
        "a block that breaks a rule of the chain",
        "the message names the block and the [rule](chain-rules.md)",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    ),
    "not-found": ErrorType("something asked for by name is not there", "check the spelling", HTTPStatus.NOT_FOUND),
    "dataset-not-found": ErrorType("no such dataset, or none that you may see", "`odf list`; log in if it is private"),
    "dataset-gone": ErrorType(
        "a dataset that lay under this name, and does no more",
        "the message says what became of it; [undelete it, or use its new name](../how-to/delete-rename-transfer.md)",
        HTTPStatus.GONE,
    ),
    "block-not-found": ErrorType("no block of that hash", "the chain is incomplete: pull again"),
    "object-not-found": ErrorType("no object of that physical hash", "the dataset is incomplete: pull again"),
    "ref-not-found": ErrorType("the dataset has no such head", "nothing was pushed yet"),
    "not-a-repository": ErrorType(
        "a folder that is no repository and no dataset", "`odf init DIR`, or `--repo` for the right folder"
    ),
    "conflict": ErrorType("the world is not what you believed", "look again, then repeat", HTTPStatus.CONFLICT),
    "ref-conflict": ErrorType("another writer moved the head first", "pull, then push again"),
    "precondition-failed": ErrorType(
        "the head in `If-Match` is not the one that is there",
        "look at what has changed, then repeat",
        HTTPStatus.PRECONDITION_FAILED,
    ),
    "precondition-required": ErrorType(
        "a request that has to say which head it is for", "send `If-Match`", HTTPStatus.PRECONDITION_REQUIRED
    ),
    "chains-diverged": ErrorType(
        "neither chain is the beginning of the other", "decide which one holds; `--force` replaces the other"
    ),
    "seed-conflict": ErrorType(
        "a forced transfer that would change id or kind of a dataset", "push under another name"
    ),
    "ref-collision": ErrorType("the dataset id exists already", "it is there under another name"),
    "name-collision": ErrorType("the name belongs to another dataset", "choose another name"),
    "access-denied": ErrorType("known, and not allowed", "ask the owner", HTTPStatus.FORBIDDEN),
    "policy-violation": ErrorType(
        "the policy of the dataset forbids that its head moves so",
        "pull, and put what you have on top; [policies](../how-to/protect-a-dataset.md)",
    ),
    "quota-exceeded": ErrorType(
        "more than the account or the dataset may have",
        "the message has the numbers; [quotas](../how-to/set-quotas.md)",
    ),
    "signature-required": ErrorType(
        "the new head is not signed by the key that the dataset asks for",
        "whoever has the key signs it first: [signatures](../how-to/protect-a-dataset.md#ask-for-signatures)",
    ),
    "authentication-required": ErrorType("not known, and has to be", "`odf login URL`", HTTPStatus.UNAUTHORIZED),
    "token-expired": ErrorType("the access token was good once", "`odf token create`, then `odf login` again"),
    "protocol-violation": ErrorType(
        "a peer broke the rules of the transfer protocol", "report it, with both versions", HTTPStatus.BAD_REQUEST
    ),
    "transfer-rejected": ErrorType("a peer refused the transfer", "the message gives its reason"),
    "storage-error": ErrorType("a store failed", "the message names the file; look at the disk"),
    "storage-full": ErrorType(
        "no space, inodes or quota left", "make room; nothing was changed", HTTPStatus.INSUFFICIENT_STORAGE
    ),
    "storage-unavailable": ErrorType("a store failed and may not fail again", "repeat", HTTPStatus.SERVICE_UNAVAILABLE),
    "server-busy": ErrorType(
        "as much goes on here as may at once", "repeat after `Retry-After` seconds", HTTPStatus.SERVICE_UNAVAILABLE
    ),
    "too-many-requests": ErrorType(
        "you ask more often than one may",
        "repeat after `Retry-After` seconds; [how much one may](limits.md)",
        HTTPStatus.TOO_MANY_REQUESTS,
    ),
    "peer-unavailable": ErrorType(
        "a remote repository did not answer", "repeat; check address and network", HTTPStatus.BAD_GATEWAY
    ),
    "peer-refusal": ErrorType(
        "the node of a source understood the question, and would not answer it", "repeat later; ask another node"
    ),
    "peer-busy": ErrorType("a remote repository asked to come back later, and did for too long", "repeat later"),
    "conversation-broken": ErrorType(
        "the connection of a push or pull was lost, several times", "repeat; what has arrived is not sent again"
    ),
    "address-expired": ErrorType(
        "the address of an object is good no longer, and no new one was given", "repeat the transfer"
    ),
    "engine-unavailable": ErrorType(
        "what runs queries is not there: no Java, no pyspark, no sandbox",
        "the hint says what to install or allow; [the Spark worker](../how-to/run-the-spark-worker.md)",
        HTTPStatus.SERVICE_UNAVAILABLE,
    ),
    "engine-failed": ErrorType(
        "an engine elsewhere could not run a query, for a reason that is not in the query",
        "the message is the engine's; its log may say more",
    ),
    "engine-died": ErrorType(
        "what runs queries ended in the middle of a job",
        "repeat: another engine is started; the message ends with its last words",
    ),
    "unsupported-operation": ErrorType(
        "a store or peer that cannot do this by its nature",
        "push by `odf+http://`, not by `http://`",
        HTTPStatus.NOT_IMPLEMENTED,
    ),
}


def status_of(family: type[OdfError]) -> HTTPStatus:
    """The status that says an error of ``family``."""
    types = (ERROR_TYPES.get(each.code) for each in family.__mro__ if issubclass(each, OdfError))
    return next(each.status for each in types if each is not None and each.status is not None)


def error_type_of(family: type[OdfError]) -> tuple[str, ErrorType]:
    """The code of the nearest family that has an entry, and the entry."""
    codes = (each.code for each in family.__mro__ if issubclass(each, OdfError))
    code = next(code for code in codes if code in ERROR_TYPES)
    return code, ERROR_TYPES[code]

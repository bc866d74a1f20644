"""The error families of the whole house.

Every error carries a stable ``code`` (kebab-case, part of the public contract), a sentence for people, what was
expected and what was found where that can be said, a hint on what to do next, and whether a retry can help. One table
turns the families into HTTP statuses (``repo_server/problems.py``), one into exit codes (``cli/exit_codes.py``).
Nothing else belongs here: no formatting, no logging.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar


class OdfError(Exception):
    """Base of every error this project raises on purpose."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        expected: object = None,
        found: object = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.expected = None if expected is None else str(expected)
        self.found = None if found is None else str(found)
        self.hint = hint

    def as_dict(self) -> dict[str, str | bool]:
        """The error as plain JSON values: ``code``, ``message`` and whatever else is known."""
        optional = {"expected": self.expected, "found": self.found, "hint": self.hint}
        return {
            "code": self.code,
            "message": self.message,
            "retryable": self.retryable,
            **{name: value for name, value in optional.items() if value is not None},
        }


class MalformedInput(OdfError):
    """Bytes or text that are not what they claim to be."""

    code = "malformed-input"


class MalformedBlock(MalformedInput):
    """Bytes that are no readable MetadataBlock."""

    code = "malformed-block"


class MalformedPack(MalformedInput):
    """An archive of blocks that breaks the form the transfer protocol gives it."""

    code = "malformed-pack"


class MalformedManifest(MalformedInput):
    """YAML or JSON that is no readable manifest; the message names the position."""

    code = "malformed-manifest"


class InvalidSnapshot(MalformedInput):
    """A readable DatasetSnapshot from which no dataset can be made."""

    code = "invalid-snapshot"


class MalformedIdentifier(MalformedInput):
    """A hash, DID, name or reference outside its grammar."""

    code = "malformed-identifier"


class MalformedData(MalformedInput):
    """A data slice that cannot be read or hashed."""

    code = "malformed-data"


class MalformedSource(MalformedInput):
    """What a source gave is not what its read step says; the message names line and column where they are known."""

    code = "malformed-source"


class IncompatibleSchema(MalformedInput):
    """Records whose columns cannot be those of the dataset."""

    code = "incompatible-schema"


class MalformedDag(MalformedInput):
    """A block, tree, archive or record of IPFS outside its form."""

    code = "malformed-dag"


class UnsupportedVersion(MalformedInput):
    """A manifest or block of a version this software does not read; the message names the version."""

    code = "unsupported-version"


class LimitExceeded(OdfError):
    """Input beyond one of the maxima of ``limits.py``."""

    code = "limit-exceeded"


class HashMismatch(OdfError):
    """Bytes whose hash is not the one they were named by."""

    code = "hash-mismatch"


class InvalidSignature(OdfError):
    """A signed record that its key did not sign, or that has ended."""

    code = "invalid-signature"


class SizeMismatch(OdfError):
    """More or fewer bytes than were announced."""

    code = "size-mismatch"


class ChainError(OdfError):
    """A block that breaks a rule of the metadata chain; ``rule`` is an id of ``chain/rules.py``."""

    code = "chain-error"

    def __init__(
        self,
        message: str,
        *,
        rule: str,
        sequence_number: int | None = None,
        expected: object = None,
        found: object = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, expected=expected, found=found, hint=hint)
        self.rule = rule
        self.sequence_number = sequence_number

    def as_dict(self) -> dict[str, str | bool]:
        """As in the base, with the rule and the number of the offending block."""
        number = {} if self.sequence_number is None else {"sequence_number": str(self.sequence_number)}
        return {**super().as_dict(), "rule": self.rule, **number}


class NotFound(OdfError):
    """Something that was asked for by name and is not there."""

    code = "not-found"


class DatasetNotFound(NotFound):
    """No such dataset, or none the caller may see."""

    code = "dataset-not-found"


class BlockNotFound(NotFound):
    """No block of that hash."""

    code = "block-not-found"


class ObjectNotFound(NotFound):
    """No object of that physical hash."""

    code = "object-not-found"


class RefNotFound(NotFound):
    """The dataset has no BlockRef of that name."""

    code = "ref-not-found"


class NotARepository(NotFound):
    """A folder that exists and is not laid out as a repository or a dataset."""

    code = "not-a-repository"


class Conflict(OdfError):
    """The world is not what the caller believed it to be."""

    code = "conflict"


class RefConflict(Conflict):
    """A compare-and-swap of a BlockRef that lost: ``expected`` and ``found`` hold the two heads."""

    code = "ref-conflict"


class ChainsDiverged(Conflict):
    """Two chains of which neither is a prefix of the other."""

    code = "chains-diverged"


class SeedConflict(Conflict):
    """A forced push or pull that would change the identity or kind of a dataset."""

    code = "seed-conflict"


class RefCollision(Conflict):
    """The DatasetId to be created exists already."""

    code = "ref-collision"


class NameCollision(Conflict):
    """The DatasetAlias to be created exists already."""

    code = "name-collision"


class AccessDenied(OdfError):
    """The caller is known and may not do this."""

    code = "access-denied"


class PolicyViolation(AccessDenied):
    """The policy of the dataset forbids that its head moves so, whoever moves it."""

    code = "policy-violation"


class SignatureRequired(PolicyViolation):
    """The policy of the dataset asks for a signature of the new head by its key, and there is none."""

    code = "signature-required"


class AuthenticationRequired(OdfError):
    """The caller is not known and has to be."""

    code = "authentication-required"


class ProtocolViolation(OdfError):
    """A peer that broke the rules of the transfer protocol."""

    code = "protocol-violation"


class TransferRejected(OdfError):
    """A peer that refused a transfer by the rules of the protocol."""

    code = "transfer-rejected"


class StorageError(OdfError):
    """A store failed; permanent unless said otherwise."""

    code = "storage-error"


class StorageFull(StorageError):
    """No space, no inodes or no quota left."""

    code = "storage-full"


class TransientStorageError(StorageError):
    """A store failed in a way that a later try may not."""

    code = "storage-unavailable"
    retryable = True


class PeerUnavailable(OdfError):
    """A remote repository that did not answer, or answered with a server error."""

    code = "peer-unavailable"
    retryable = True


class PeerRefusal(PeerUnavailable):
    """A remote source that understood the question, and would not answer it; a smaller one it may."""

    code = "peer-refusal"


class UnsupportedOperation(OdfError):
    """A store or peer that cannot do what was asked by its nature (e.g. writing to plain HTTP)."""

    code = "unsupported-operation"


class InvalidQuery(MalformedInput):
    """A query that is no SQL, or uses what queries over datasets may not; the message names the place in it."""

    code = "invalid-query"


class EngineUnavailable(OdfError):
    """What runs queries is not there: no Java, a package that is not installed, no sandbox for foreign queries."""

    code = "engine-unavailable"


class EngineFailed(EngineUnavailable):
    """What runs queries is there and could not do this one; the reason is its own, and lies not in the query."""

    code = "engine-failed"


class EngineDied(EngineUnavailable):
    """What runs queries ended in the middle; another is started for the next job."""

    code = "engine-died"
    retryable = True


def error_from(told: Mapping[str, Any]) -> OdfError:
    """The error of which ``told`` is the ``as_dict``, in the family of its code; unknown codes come out as the base."""
    family = next((family for family in _families(OdfError) if family.code == told.get("code")), OdfError)
    error = OdfError.__new__(family)
    known = {name: told.get(name) for name in ("expected", "found", "hint")}
    OdfError.__init__(error, str(told.get("message")), **known)
    if isinstance(error, ChainError):
        error.rule, error.sequence_number = str(told.get("rule")), told.get("sequence_number")
    return error


def _families(family: type[OdfError]) -> Iterator[type[OdfError]]:
    yield family
    for narrower in family.__subclasses__():
        if narrower.__module__ == __name__:
            yield from _families(narrower)

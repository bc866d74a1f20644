"""What a failing call of S3 amounts to. Messages name the deed and what the store said of it, never keys or queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)

from opendatafabric.errors import (
    ObjectNotFound,
    OdfError,
    StorageError,
    StorageFull,
    TransientStorageError,
    UnsupportedOperation,
)

_STATUS: Final = re.compile(r"status code: (\d{3})")
_CODE: Final = re.compile(r"<Code>(\w{1,60})</Code>")
_FULL: Final = frozenset(
    {"QuotaExceeded", "XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "InsufficientStorage"}
)
_LATER: Final = frozenset({408, 409, 425, 429})
_KEYS: Final = "are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, those of this store?"


_CAPABLE: Final = "use one with conditional writes, multipart uploads and copies, e.g. AWS S3 or MinIO"


class ConditionError(Exception):
    """The store holds something else than the write was conditional on."""


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn failing calls of S3 inside into store errors; an unmet condition into ``ConditionError``."""
    try:
        yield
    except (AlreadyExistsError, PreconditionError) as error:
        raise ConditionError(what) from error
    except FileNotFoundError as error:
        raise _absent(what, str(error)) from None
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise StorageError(f"{what}: the store refuses these keys", hint=_KEYS) from error
    except BaseError as error:
        raise storage_error(what, str(error)) from error
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = error.response.get("Error", {}).get("Code", "")
        if status == HTTPStatus.PRECONDITION_FAILED:
            raise ConditionError(what) from error
        raise _of_status(what, status, code) from error
    except BotoCoreError as error:
        raise TransientStorageError(f"{what}: {type(error).__name__}", hint=_KEYS) from error


def is_beyond_the_end(error: Exception) -> bool:
    """Whether a range lay outside the object, an empty one included."""
    return f"status code: {HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE.value}" in str(error)


def storage_error(what: str, text: str) -> OdfError:
    """The error in what the client library says about a failure."""
    status, code = _STATUS.search(text), _CODE.search(text)
    return _of_status(what, 0 if status is None else int(status[1]), "" if code is None else code[1])


def _of_status(what: str, status: int, code: str) -> OdfError:
    said = f"{what}: the store answered {status} {code}".rstrip()
    if code in _FULL or status == HTTPStatus.INSUFFICIENT_STORAGE:
        return StorageFull(said, hint="free space in the store or raise its quota, then repeat")
    if status == 0:
        return TransientStorageError(f"{what}: the store cannot be reached, or broke off")
    if status == HTTPStatus.NOT_IMPLEMENTED:
        return UnsupportedOperation(said, hint=f"this store cannot do that: {_CAPABLE}")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _LATER:
        return TransientStorageError(said)
    if status == HTTPStatus.NOT_FOUND:
        return _absent(what, code)
    return StorageError(said, hint=_KEYS if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN} else None)


def _absent(what: str, text: str) -> OdfError:
    if "NoSuchBucket" in text:
        return StorageError(
            f"{what}: there is no such bucket", hint="odf init ADDRESS makes one, or the provider of the store"
        )
    return ObjectNotFound(f"{what}: it is not in the store")

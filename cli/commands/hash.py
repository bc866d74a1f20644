"""``odf hash``: the two hashes of data files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.bulk import run_each
from cli.options import AsJson
from cli.output import print_json, print_line
from opendatafabric.errors import MalformedData, NotFound, StorageError
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.multihash import Hasher, Multihash

IS_GROUP = True
app = typer.Typer(
    help="""Hash data files.

\b
Example:
    odf hash physical data/f1620*
    odf hash logical slice.parquet
""",
    no_args_is_help=True,
)

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Files to hash.")]


@app.command()
def physical(files: Files, as_json: AsJson = False) -> None:
    """Print the hash of each file's bytes (sha3-256): the name of an object.

    \b
    Example:
        odf hash physical data/f1620*
    """
    run_each(files, lambda file: _print(physical_hash_of_file(file), file, as_json=as_json), as_json=as_json)


@app.command()
def logical(files: Files, as_json: AsJson = False) -> None:
    """Print the hash of each file's records (arrow0-sha3-256), which does not depend on how they are stored.

    Takes Parquet files, and Arrow IPC files by their suffix .arrow.

    \b
    Example:
        odf hash logical slice.parquet
    """
    run_each(files, lambda file: _print(logical_hash_of_file(file), file, as_json=as_json), as_json=as_json)


def physical_hash_of_file(file: Path) -> Multihash:
    """sha3-256 of the bytes of ``file``, read piece by piece."""
    hasher = Hasher()
    try:
        with file.open("rb") as stream:
            while piece := stream.read(READ_CHUNK_BYTES):
                hasher.update(piece)
    except FileNotFoundError:
        raise NotFound("no such file") from None
    except OSError as error:
        raise StorageError(f"cannot be read: {error.strerror or error}") from error
    return hasher.finish()


def logical_hash_of_file(file: Path) -> Multihash:
    """arrow0-sha3-256 of the records of a Parquet or Arrow IPC file.

    Raises:
        MalformedData: neither of both, or a type that has no hash.
    """
    # Imported here: pyarrow takes a third of a second, which the physical hash need not wait for.
    import pyarrow  # noqa: PLC0415

    from opendatafabric.data.logical_hash import logical_hash_parquet, logical_hash_table  # noqa: PLC0415

    try:
        with file.open("rb") as stream:
            if file.suffix.lower() not in {".arrow", ".feather", ".ipc"}:
                return logical_hash_parquet(stream)
            with pyarrow.ipc.open_file(stream) as reader:
                return logical_hash_table(reader.read_all())
    except FileNotFoundError:
        raise NotFound("no such file") from None
    except pyarrow.ArrowException as error:
        raise MalformedData(f"not a readable data file: {error}") from error
    except OSError as error:
        raise StorageError(f"cannot be read: {error.strerror or error}") from error


def _print(found: Multihash, file: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"file": str(file), "hash": str(found)}, indent=None)
    else:
        print_line(f"{found}  {file}")

"""``odf block``: metadata blocks as files, between the stored bytes and the manifest for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.bulk import read_file, run_each, write_beside
from cli.options import AsJson, OutFolder
from cli.output import print_bytes, print_json, print_line, print_text
from opendatafabric.codec.block_codec import decode_block, encode_block
from opendatafabric.codec.yaml_codec import read_block_manifest, to_plain, write_block_manifest
from opendatafabric.errors import MalformedManifest
from opendatafabric.multihash import physical_hash

IS_GROUP = True
app = typer.Typer(
    help="""Read and write metadata blocks as files.

\b
Example:
    odf block decode blocks/f1620*
    odf block encode --out encoded/ block.yaml
    odf block hash blocks/f1620*
""",
    no_args_is_help=True,
)

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Files to read.")]
BINARY_SUFFIXES = (".bin",)
TEXT_SUFFIXES = (".yaml", ".yml", ".json")


@app.command()
def decode(files: Files, out: OutFolder = None, as_json: AsJson = False) -> None:
    """Print stored blocks as manifests; several are parted by '---'.

    \b
    Example:
        odf block decode blocks/f1620b3ff
        odf block decode --out yaml/ blocks/*     writes yaml/<FILE>.yaml for each
    """
    printed = 0

    def decode_one(file: Path) -> None:
        nonlocal printed
        hashed = decode_block(read_file(file))
        if out is not None:
            text = write_block_manifest(hashed.block)
            write_beside(out, file, known_suffixes=BINARY_SUFFIXES, suffix=".yaml", data=text.encode())
        elif as_json:
            print_json({"file": str(file), "hash": str(hashed.hash), "block": to_plain(hashed.block)}, indent=None)
        else:
            print_text(("---\n" if printed else "") + write_block_manifest(hashed.block))
        printed += 1

    run_each(files, decode_one, as_json=as_json)


@app.command()
def encode(files: Files, out: OutFolder = None, as_json: AsJson = False) -> None:
    """Write block manifests as the bytes that are stored, to stdout one after the other or into a folder.

    \b
    Example:
        odf block encode block.yaml > block.bin
        odf block encode --out binary/ *.yaml     writes binary/<FILE>.bin for each
    """

    def encode_one(file: Path) -> None:
        hashed = encode_block(read_block_manifest(read_text(file)))
        if out is not None:
            write_beside(out, file, known_suffixes=TEXT_SUFFIXES, suffix=".bin", data=hashed.raw)
        elif as_json:
            found = {"file": str(file), "hash": str(hashed.hash), "size": len(hashed.raw), "hex": hashed.raw.hex()}
            print_json(found, indent=None)
        else:
            print_bytes(hashed.raw)

    run_each(files, encode_one, as_json=as_json)


@app.command("hash")
def hash_(files: Files, as_json: AsJson = False) -> None:
    """Print the block hash of each file: of stored bytes as they are, of a manifest (*.yaml) as it would be stored.

    Bytes that are no readable block are refused; 'odf hash physical' hashes any file.

    \b
    Example:
        odf block hash blocks/f1620*
    """

    def hash_one(file: Path) -> None:
        if file.suffix.lower() in TEXT_SUFFIXES:
            block_hash = encode_block(read_block_manifest(read_text(file))).hash
        else:
            raw = read_file(file)
            decode_block(raw)
            block_hash = physical_hash(raw)
        if as_json:
            print_json({"file": str(file), "hash": str(block_hash)}, indent=None)
        else:
            print_line(f"{block_hash}  {file}")

    run_each(files, hash_one, as_json=as_json)


def read_text(file: Path) -> str:
    """The text of a manifest file.

    Raises:
        MalformedManifest: the bytes are not UTF-8.
    """
    try:
        return read_file(file).decode()
    except UnicodeDecodeError as error:
        raise MalformedManifest(f"not UTF-8 text: byte {error.start} is {error.reason}") from None

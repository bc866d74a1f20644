"""Text by lines: where a file stops being UTF-8."""

from __future__ import annotations

from pathlib import Path

from opendatafabric.errors import MalformedSource


def check_utf8(path: Path) -> None:
    """That the file is UTF-8.

    Raises:
        MalformedSource: names line and byte of the first place that is not.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise MalformedSource(
                    f"line {number}, byte {error.start + 1}: the text is not UTF-8",
                    found=f"0x{line[error.start]:02x}",
                    hint="convert the source, other encodings are not read",
                ) from None

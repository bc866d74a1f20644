"""Results go to stdout, everything else to stderr."""

from __future__ import annotations

import json

import pytest

from cli import output
from opendatafabric.errors import ChainError, HashMismatch


def test_an_error_tells_what_was_expected_and_found_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_error(HashMismatch("slice is damaged", expected="f1", found="f2", hint="pull again"), subject="a.bin")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "odf: a.bin: slice is damaged",
        "  expected f1, found f2",
        "  hint: pull again",
    ]


def test_an_error_as_json_is_one_line_with_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_error(ChainError("bad", rule="B4", sequence_number=7), as_json=True, subject="x")
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert json.loads(line)["error"] == {
        "argument": "x",
        "code": "chain-error",
        "message": "bad",
        "retryable": False,
        "rule": "B4",
        "sequence_number": "7",
    }


def test_a_table_in_a_pipe_is_aligned_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(("NAME", "N"), [("a", "1"), ("long-name", "22")])
    assert capsys.readouterr().out == "NAME       N\na          1\nlong-name  22\n"


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536 * 1024, "1.5 MiB"), (5 * 1024**4, "5.0 TiB")],
)
def test_sizes_are_written_for_people(size: int, text: str) -> None:
    assert output.format_bytes(size) == text

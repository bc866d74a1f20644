"""Results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import output
from opendatafabric.errors import ChainError, HashMismatch
from opendatafabric.visible import visible


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


HOSTILE = "a\x1b]0;title\x07b\x9b31mc\r\x7f\u202ed\u2028e"
SHOWN = r"a\u001b]0;title\u0007b\u009b31mc\u000d\u007f\u202ed\u2028e"


@pytest.mark.parametrize("say", [output.print_line, output.print_note])
def test_what_a_terminal_would_obey_is_shown(say: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    say(f"{HOSTILE}\tend\nnext")
    captured = capsys.readouterr()
    assert captured.out + captured.err == f"{SHOWN}\tend\nnext\n"


def test_errors_show_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_error(HashMismatch(HOSTILE, expected=HOSTILE, found=HOSTILE, hint=HOSTILE), subject=HOSTILE)
    assert capsys.readouterr().err.count(SHOWN) == 5


def test_cells_cannot_make_rows_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(("N\nM",), [("a\nb\tc",), (HOSTILE,)])
    assert capsys.readouterr().out == f"N\\u000aM\na\\u000ab\\u0009c\n{SHOWN}\n"


def test_as_json_it_is_escaped_and_reads_back_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"name": f"{HOSTILE}\n"}, indent=None)
    printed = capsys.readouterr().out
    assert printed == f'{{"name": "{SHOWN}\\n"}}\n'.replace("\\u000d", "\\r")
    assert json.loads(printed) == {"name": f"{HOSTILE}\n"}


@pytest.mark.parametrize("is_terminal", [True, False])
def test_documents_and_records_are_exact_unless_they_go_to_a_terminal(
    is_terminal: bool, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    output.print_text(HOSTILE)
    with output.stdout_for_records() as sink:
        sys.stdout.flush()
        sink.write(HOSTILE.encode() + b"\xff\n")
    sys.stdout.flush()
    expected = f"{SHOWN}\n{SHOWN}\\xff\n".encode() if is_terminal else f"{HOSTILE}\n{HOSTILE}".encode() + b"\xff\n"
    assert capsysbinary.readouterr().out == expected


@given(text=st.text())
def test_whatever_is_printed_holds_no_control(text: str) -> None:
    shown = visible(text)
    assert not [mark for mark in shown if unicodedata.category(mark) == "Cc" and mark not in "\t\n"]
    assert len(shown) >= len(text)

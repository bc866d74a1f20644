"""What the pages say of the client is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ExampleServer
from tests.source_tree import text_of
from tools.client_page import page

HOW_TO = Path("docs/how-to/use-from-python.md")


def test_the_reference_is_that_of_the_code() -> None:
    assert text_of(Path("docs/reference/python-client.md")) == page(), "run .venv/bin/python -m tools.client_page"


@pytest.mark.slow
def test_the_program_of_the_page_runs(
    example_server: ExampleServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program = "\n".join(re.findall(r"^```python\n(.*?)^```", text_of(HOW_TO), re.MULTILINE | re.DOTALL))
    known: dict[str, object] = {}
    exec(program.replace("http://127.0.0.1:8080", example_server.address), known)
    assert len(known["frame"]) == 500  # type: ignore[arg-type]
    assert known["rainy"] == [(144,)]
    assert "iata" in capsys.readouterr().out

"""The program in the documentation checks our attestations with nothing of ours."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from opendatafabric.attestation.dsse import Envelope, signed_envelope
from opendatafabric.attestation.verdict import Verdict
from tests.opendatafabric.attestation.signed import HEAD, key, signed
from tests.source_tree import text_of

PAGE = Path("docs/how-to/check-an-attestation.md")
pytestmark = pytest.mark.slow


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program, in a folder where it finds none of our packages."""
    (source,) = re.findall(r"^```python\n(.*?)^```", text_of(PAGE), re.MULTILINE | re.DOTALL)
    assert len(source.splitlines()) <= 30
    (tmp_path / "check.py").write_text(source)
    return tmp_path / "check.py"


def run(program: Path, envelope: Envelope, did: str) -> subprocess.CompletedProcess[str]:
    file = program.with_name("verdict.json")
    file.write_bytes(envelope.as_json())
    command = [sys.executable, "-I", str(program), str(file), did]
    return subprocess.run(command, cwd=program.parent, capture_output=True, text=True, check=False)


def test_it_tells_what_the_owner_of_a_key_says(program: Path) -> None:
    for verdict in Verdict:
        ran = run(program, signed(verdict=verdict), key().public.did)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert f" is {verdict.value} at 2026-05-01T12:00:00Z\nhead: {HEAD}\n" in ran.stdout


def test_it_refuses_a_changed_payload_another_key_and_another_statement(program: Path) -> None:
    envelope = signed(verdict=Verdict.INVALID)
    changed = replace(envelope, payload=envelope.payload.replace(b'"invalid"', b'"valid"'))
    assert "NOT signed" in run(program, changed, key().public.did).stderr
    assert "NOT signed" in run(program, envelope, key(2).public.did).stderr
    other = signed_envelope(envelope.payload_type, b'{"predicateType": "x"}', key())
    assert "no verdict" in run(program, other, key().public.did).stderr
    assert run(program, other, key().public.did).returncode == 1

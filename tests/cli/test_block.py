"""``odf block`` and ``odf snapshot``: manifests and stored bytes agree with the vectors, in bulk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runner import odf
from tests.vectors.load import vectors

BLOCKS = vectors("blocks.json")
REJECTED = vectors("blocks_rejected.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All vectors as files: ``<number>.bin``, ``<number>.yaml``."""
    made = tmp_path_factory.mktemp("blocks")
    for number, case in enumerate(BLOCKS):
        (made / f"{number:04}.bin").write_bytes(bytes.fromhex(case["flatbuffers_hex"]))
        (made / f"{number:04}.yaml").write_text(case["yaml"])
    return made


def test_stored_blocks_hash_to_their_names(folder: Path) -> None:
    files = sorted(folder.glob("*.bin"))
    ran = odf("block", "hash", *files)
    assert ran.code == 0, ran.stderr
    assert ran.lines == [f"{case['block_hash']}  {file}" for case, file in zip(BLOCKS, files, strict=True)]


def test_manifests_hash_to_the_block_they_describe(folder: Path) -> None:
    files = sorted(folder.glob("*.yaml"))
    ran = odf("block", "hash", *files)
    assert ran.code == 0, ran.stderr
    assert [line.split("  ")[0] for line in ran.lines] == [case["block_hash"] for case in BLOCKS]


def test_manifests_are_encoded_bit_for_bit(folder: Path, tmp_path: Path) -> None:
    ran = odf("block", "encode", "--out", tmp_path, *sorted(folder.glob("*.yaml")))
    assert (ran.code, ran.stdout) == (0, b""), ran.stderr
    for number, case in enumerate(BLOCKS):
        assert (tmp_path / f"{number:04}.bin").read_bytes().hex() == case["flatbuffers_hex"], case["name"]


def test_stored_blocks_are_decoded_to_the_manifest_of_the_reference(folder: Path, tmp_path: Path) -> None:
    ran = odf("block", "decode", "--out", tmp_path, *sorted(folder.glob("*.bin")))
    assert (ran.code, ran.stdout) == (0, b""), ran.stderr
    for number, case in enumerate(BLOCKS):
        expected = case.get("yaml_canonical", case["yaml"])
        assert (tmp_path / f"{number:04}.yaml").read_text().strip() == expected.strip(), case["name"]


def test_one_block_goes_through_stdout_unchanged(folder: Path) -> None:
    assert odf("block", "encode", folder / "0000.yaml").stdout.hex() == BLOCKS[0]["flatbuffers_hex"]


def test_several_blocks_on_stdout_are_documents_of_one_stream(folder: Path) -> None:
    text = odf("block", "decode", folder / "0000.bin", folder / "0001.bin").stdout.decode()
    assert text.count("kind: MetadataBlock") == 2
    assert text.count("\n---\n") == 1


def test_manifests_outside_the_format_are_refused_and_named(tmp_path: Path) -> None:
    files = []
    for number, case in enumerate(REJECTED):
        files.append(tmp_path / f"{number}.yaml")
        files[-1].write_text(case["yaml"])
    ran = odf("block", "encode", "--out", tmp_path / "out", *files)
    assert ran.code == 1
    assert not list((tmp_path / "out").glob("*"))
    assert [str(file) for file in files if f"odf: {file}: " not in ran.stderr] == []


def test_a_bad_file_does_not_keep_the_others_from_being_hashed(folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.bin"
    broken.write_bytes(b"no block")
    ran = odf("block", "hash", broken, tmp_path / "missing.bin", tmp_path, folder / "0000.bin")
    assert (ran.code, len(ran.lines)) == (1, 1)
    assert ran.stderr.count("odf: ") == 3


def test_json_gives_a_line_per_file(folder: Path, tmp_path: Path) -> None:
    (hashed,) = odf("block", "hash", "--json", folder / "0000.bin").json_lines()
    assert hashed == {"file": str(folder / "0000.bin"), "hash": BLOCKS[0]["block_hash"]}
    (decoded,) = odf("block", "decode", "--json", folder / "0000.bin").json_lines()
    assert decoded["hash"] == BLOCKS[0]["block_hash"]
    (encoded,) = odf("block", "encode", "--json", folder / "0000.yaml").json_lines()
    assert encoded["hex"] == BLOCKS[0]["flatbuffers_hex"]


@pytest.mark.parametrize("case", vectors("snapshots.json"), ids=lambda case: case["name"])
def test_snapshot_manifests_are_taken_and_refused_as_by_the_reference(case: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "dataset.yaml"
    file.write_text(str(case["yaml"]))
    single = [] if case.get("multi_document") else ["--single"]
    ran = odf("snapshot", "check", *single, "--out", tmp_path / "out", file)
    assert ran.code == (0 if case["ok"] else 1), ran.stderr
    if case["ok"] and not case.get("multi_document"):
        written = (tmp_path / "out" / "dataset.yaml").read_text()
        assert written.strip() == str(case.get("yaml_canonical", case["yaml"])).strip()


def test_bytes_that_are_no_text_are_refused_by_position(tmp_path: Path) -> None:
    file = tmp_path / "dataset.yaml"
    file.write_bytes(b"kind: \xff")
    ran = odf("snapshot", "check", file)
    assert ran.code == 1
    assert "byte 6" in ran.stderr

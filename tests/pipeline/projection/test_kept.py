"""The folder where projections lie between ingests: what is kept is given again, and nothing that is not whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.metadata.events import SetDataSchema
from opendatafabric.metadata.sources import MergeStrategy, MergeStrategyLedger, MergeStrategySnapshot
from opendatafabric.multihash import Multihash, physical_hash
from pipeline.projection import kept as module
from pipeline.projection.kept import Kept, KeptProjection

LEDGER = MergeStrategyLedger(("k",))
IDS = [new_dataset_id(bytes([number]) * 32) for number in range(3)]
HEADS = [physical_hash(bytes([number])) for number in range(3)]


def kept(root: Path, dataset: DatasetId = IDS[0], strategy: MergeStrategy = LEDGER) -> KeptProjection:
    return KeptProjection(root / "projections", dataset, strategy, DatasetVocabulary(), SetDataSchema(b"schema"))


def keep(folder: Path, head: Multihash, into: KeptProjection | None = None, **runs: bytes | None) -> None:
    """Have runs kept that an engine made; ``None`` for those that are there already. Their names are one letter."""
    made = folder / "out" / "job" / "runs"
    made.mkdir(parents=True, exist_ok=True)
    for name, data in runs.items():
        if data is not None:
            (made / (16 * name)).write_bytes(data)
    (into or kept(folder)).keep(head, [16 * name for name in runs], made)


def given(folder: Path, projection: KeptProjection) -> tuple[Multihash | None, list[bytes]]:
    """What a job would see."""
    target = folder / f"given-{len(list(folder.iterdir()))}"
    target.mkdir()
    found = projection.give(target)
    assert all(path.parent == target for path in found.runs)
    return found.head, [path.read_bytes() for path in found.runs]


def test_what_was_kept_is_given_in_its_order(tmp_path: Path) -> None:
    keep(tmp_path, HEADS[0], b=b"1", a=b"2")
    assert given(tmp_path, kept(tmp_path)) == (HEADS[0], [b"1", b"2"])


def test_nothing_is_given_at_first(tmp_path: Path) -> None:
    assert kept(tmp_path).give(tmp_path) == Kept()


def test_runs_that_are_kept_on_stay_and_others_go(tmp_path: Path) -> None:
    keep(tmp_path, HEADS[0], a=b"1", b=b"2")
    (tmp_path / "in").mkdir()
    runs = kept(tmp_path).give(tmp_path / "in").runs
    keep(tmp_path, HEADS[1], a=None, c=b"3")
    (folder,) = (tmp_path / "projections").iterdir()
    assert {path.name for path in folder.iterdir()} == {16 * "a", 16 * "c", "state", "lock"}
    assert runs[1].exists()  # a job that was given it goes on


@pytest.mark.parametrize("dataset", IDS[1:])
def test_another_dataset_has_another_projection(tmp_path: Path, dataset: DatasetId) -> None:
    keep(tmp_path, HEADS[0], a=b"1")
    assert kept(tmp_path, dataset).give(tmp_path) == Kept()


@pytest.mark.parametrize("strategy", [MergeStrategyLedger(("k", "l")), MergeStrategySnapshot(("k",))])
def test_another_strategy_or_key_has_another_projection(tmp_path: Path, strategy: MergeStrategy) -> None:
    keep(tmp_path, HEADS[0], a=b"1")
    assert kept(tmp_path, strategy=strategy).give(tmp_path) == Kept()


@pytest.mark.parametrize("state", [b"", b"{}", b"[]", b"\xff", b'{"head": "x", "runs": []}', b'{"head": 1, "runs": 2}'])
def test_a_state_that_cannot_be_read_is_none(tmp_path: Path, state: bytes) -> None:
    keep(tmp_path, HEADS[0], a=b"1")
    (folder,) = (tmp_path / "projections").iterdir()
    (folder / "state").write_bytes(state)
    assert given(tmp_path, kept(tmp_path)) == (None, [])


def test_a_run_that_is_missing_makes_it_none(tmp_path: Path) -> None:
    keep(tmp_path, HEADS[0], a=b"1", b=b"2")
    (folder,) = (tmp_path / "projections").iterdir()
    (folder / (16 * "b")).unlink()
    assert given(tmp_path, kept(tmp_path)) == (None, [])


def test_a_state_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    keep(tmp_path, HEADS[0], a=b"1")
    (folder,) = (tmp_path / "projections").iterdir()
    (folder / "state").write_text(f'{{"head": "{HEADS[0]}", "runs": ["../../secret"]}}')
    assert given(tmp_path, kept(tmp_path)) == (None, [])


def test_a_crash_while_keeping_leaves_the_earlier_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(tmp_path, HEADS[0], a=b"1")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", crash)
        with pytest.raises(KeyboardInterrupt):
            keep(tmp_path, HEADS[1], b=b"2")
    assert given(tmp_path, kept(tmp_path)) == (HEADS[0], [b"1"])
    keep(tmp_path, HEADS[2], c=b"3")
    assert given(tmp_path, kept(tmp_path)) == (HEADS[2], [b"3"])


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROJECTIONS_BYTES_MAX", 5_000_000)
    for number, dataset in enumerate(IDS):
        keep(tmp_path, HEADS[number], kept(tmp_path, dataset), **{"abc"[number]: bytes(2_000_000)})
        newest = max((tmp_path / "projections").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)
        os.utime(newest, (number, number))
    assert [kept(tmp_path, dataset).give(tmp_path).head for dataset in IDS] == [None, *HEADS[1:]]


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "state", "", "a" * 17, "é" * 16])
def test_an_engine_cannot_name_files_elsewhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "out" / "job" / "runs").mkdir(parents=True)
    (tmp_path / "out" / "secret").write_bytes(b"secret")
    kept(tmp_path).keep(HEADS[0], [name], tmp_path / "out" / "job" / "runs")
    assert given(tmp_path, kept(tmp_path)) == (None, [])
    assert (tmp_path / "out" / "secret").exists()


@pytest.mark.parametrize("linked", ["out/job/runs", "out/job"])
def test_a_folder_of_the_engine_that_leads_elsewhere_is_not_followed(tmp_path: Path, linked: str) -> None:
    secret = tmp_path / "home" / ("runs" if linked == "out/job" else "")
    secret.mkdir(parents=True)
    (secret / (16 * "a")).write_bytes(b"secret")
    (tmp_path / linked).parent.mkdir(parents=True)
    (tmp_path / linked).symlink_to(tmp_path / "home")
    kept(tmp_path).keep(HEADS[0], [16 * "a"], tmp_path / "out" / "job" / "runs")
    assert given(tmp_path, kept(tmp_path)) == (None, [])
    assert (secret / (16 * "a")).exists()


def test_a_run_that_is_a_link_is_not_kept(tmp_path: Path) -> None:
    made = tmp_path / "out" / "job" / "runs"
    made.mkdir(parents=True)
    (tmp_path / "secret").write_bytes(b"secret")
    (made / (16 * "a")).symlink_to(tmp_path / "secret")
    kept(tmp_path).keep(HEADS[0], [16 * "a"], made)
    assert given(tmp_path, kept(tmp_path)) == (None, [])

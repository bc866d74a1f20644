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


def run(folder: Path, name: str, data: bytes = b"run") -> Path:
    (folder / "made").mkdir(exist_ok=True)
    (folder / "made" / name).write_bytes(data)
    return folder / "made" / name


def given(folder: Path, projection: KeptProjection) -> tuple[Multihash | None, list[bytes]]:
    """What a job would see."""
    target = folder / f"given-{len(list(folder.iterdir()))}"
    target.mkdir()
    found = projection.give(target)
    assert all(path.parent == target for path in found.runs)
    return found.head, [path.read_bytes() for path in found.runs]


def test_what_was_kept_is_given_in_its_order(tmp_path: Path) -> None:
    kept(tmp_path).keep(HEADS[0], [run(tmp_path, "b", b"1"), run(tmp_path, "a", b"2")])
    assert given(tmp_path, kept(tmp_path)) == (HEADS[0], [b"1", b"2"])


def test_nothing_is_given_at_first(tmp_path: Path) -> None:
    assert kept(tmp_path).give(tmp_path) == Kept()


def test_runs_that_are_kept_on_stay_and_others_go(tmp_path: Path) -> None:
    kept(tmp_path).keep(HEADS[0], [run(tmp_path, "a"), run(tmp_path, "b")])
    (tmp_path / "in").mkdir()
    runs = kept(tmp_path).give(tmp_path / "in").runs
    kept(tmp_path).keep(HEADS[1], [runs[0], run(tmp_path, "c")])
    (folder,) = (tmp_path / "projections").iterdir()
    assert {path.name for path in folder.iterdir()} == {"a", "c", "state", "lock"}
    assert runs[1].exists()  # a job that was given it goes on


@pytest.mark.parametrize("dataset", IDS[1:])
def test_another_dataset_has_another_projection(tmp_path: Path, dataset: DatasetId) -> None:
    kept(tmp_path).keep(HEADS[0], [run(tmp_path, "a")])
    assert kept(tmp_path, dataset).give(tmp_path) == Kept()


@pytest.mark.parametrize("strategy", [MergeStrategyLedger(("k", "l")), MergeStrategySnapshot(("k",))])
def test_another_strategy_or_key_has_another_projection(tmp_path: Path, strategy: MergeStrategy) -> None:
    kept(tmp_path).keep(HEADS[0], [run(tmp_path, "a")])
    assert kept(tmp_path, strategy=strategy).give(tmp_path) == Kept()


@pytest.mark.parametrize("state", [b"", b"{}", b"[]", b"\xff", b'{"head": "x", "runs": []}', b'{"head": 1, "runs": 2}'])
def test_a_state_that_cannot_be_read_is_none(tmp_path: Path, state: bytes) -> None:
    kept(tmp_path).keep(HEADS[0], [run(tmp_path, "a")])
    (folder,) = (tmp_path / "projections").iterdir()
    (folder / "state").write_bytes(state)
    assert given(tmp_path, kept(tmp_path)) == (None, [])


def test_a_run_that_is_missing_makes_it_none(tmp_path: Path) -> None:
    kept(tmp_path).keep(HEADS[0], [run(tmp_path, "a"), run(tmp_path, "b")])
    (folder,) = (tmp_path / "projections").iterdir()
    (folder / "b").unlink()
    assert given(tmp_path, kept(tmp_path)) == (None, [])


def test_a_state_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    kept(tmp_path).keep(HEADS[0], [run(tmp_path, "a")])
    (folder,) = (tmp_path / "projections").iterdir()
    (folder / "state").write_text(f'{{"head": "{HEADS[0]}", "runs": ["../../secret"]}}')
    assert given(tmp_path, kept(tmp_path)) == (None, [])


def test_a_crash_while_keeping_leaves_the_earlier_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(tmp_path).keep(HEADS[0], [run(tmp_path, "a", b"1")])

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", crash)
        with pytest.raises(KeyboardInterrupt):
            kept(tmp_path).keep(HEADS[1], [run(tmp_path, "b", b"2")])
    assert given(tmp_path, kept(tmp_path)) == (HEADS[0], [b"1"])
    kept(tmp_path).keep(HEADS[2], [run(tmp_path, "c", b"3")])
    assert given(tmp_path, kept(tmp_path)) == (HEADS[2], [b"3"])


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROJECTIONS_BYTES_MAX", 5_000_000)
    for number, dataset in enumerate(IDS):
        kept(tmp_path, dataset).keep(HEADS[number], [run(tmp_path, f"run {number}", bytes(2_000_000))])
        newest = max((tmp_path / "projections").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)
        os.utime(newest, (number, number))
    assert [kept(tmp_path, dataset).give(tmp_path).head for dataset in IDS] == [None, *HEADS[1:]]

"""What an ingest came to is measured while its progress is shown."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

from cli.ingests import print_outcome
from cli.meter import Measured, Meter
from opendatafabric.multihash import physical_hash
from pipeline.commit import Outcome
from pipeline.ingest_request import IngestAnswer, RowCounts
from tests.catalog.conftest import Clock
from tests.cli.runner import Ran

HEADS = physical_hash(b"old"), physical_hash(b"new")
ROWS = RowCounts(read=500, appended=3, retracted=2, corrected=1)
MEASURED = Measured(2_048, 0.25)


def test_bytes_and_time_are_measured_from_one_ingest_to_the_next() -> None:
    clock = Clock()
    meter = Meter(clock=clock)
    for done in (10, 20):
        meter.progress("bytes", done, 20)
        clock.now += 1
    assert meter.lap() == Measured(20, 2.0)
    clock.now += 3
    assert meter.lap() == Measured(0, 3.0)


def test_everything_is_shown_records_by_what_became_of_them() -> None:
    shown: list[tuple[str, int, int | None]] = []
    meter = Meter(lambda *told: shown.append(told))
    meter.progress("bytes", 10, None)
    meter.told({"rows": {"read": 7, "appended": 2}})
    meter.told({"something": "else"})
    assert shown == [("bytes", 10, None), ("read", 7, None), ("appended", 2, None)]


def test_a_rate_of_no_time_at_all_is_one() -> None:
    assert Measured(1, 0.0).per_s(1) > 0


def test_the_summary_says_how_much_how_long_and_how_fast() -> None:
    ran = printed(Outcome(*HEADS, IngestAnswer(ROWS), None), as_json=False)
    figures = "500 records read, +3 appended, -2 retracted, ~1 corrected"
    assert ran.lines == [f"weather: {figures}, head {HEADS[1]} (2.0 KiB in 0.2 s, 2,000 records/s)"]
    nothing = printed(Outcome(HEADS[0], HEADS[0], IngestAnswer(RowCounts(read=9)), None), as_json=False)
    assert nothing.lines == ["weather: nothing new, 9 records read (2.0 KiB in 0.2 s, 36 records/s)"]


def test_json_has_the_same_figures() -> None:
    (told,) = printed(Outcome(*HEADS, IngestAnswer(ROWS), None), as_json=True).json_lines()
    figures = ("bytes", "seconds", "records_per_s", "read", "appended", "retracted", "corrected")
    assert [told[name] for name in figures] == [2_048, 0.25, 2_000, 500, 3, 2, 1]


def printed(outcome: Outcome, *, as_json: bool) -> Ran:
    """What is said of an outcome."""
    out = io.StringIO()
    with redirect_stdout(out):
        print_outcome("weather", outcome, MEASURED, as_json=as_json)
    return Ran(0, out.getvalue().encode(), "")

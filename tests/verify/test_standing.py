"""How a dataset stands follows from its last report and its head."""

from __future__ import annotations

import pytest

from catalog.reports import KeptReport
from opendatafabric.multihash import physical_hash
from tests.storage.chains import dataset_id
from verify.report import Verdict
from verify.standing import Standing, standing_of

HEAD, OLDER = physical_hash(b"head"), physical_hash(b"older")


@pytest.mark.parametrize(
    ("verdict", "head", "standing"),
    [
        (Verdict.VALID, HEAD, Standing.VERIFIED),
        (Verdict.VALID, OLDER, Standing.STALE),
        (Verdict.INVALID, HEAD, Standing.FAILING),
        (Verdict.INVALID, OLDER, Standing.FAILING),
        (Verdict.INVALID, None, Standing.FAILING),
        (Verdict.ERROR, HEAD, Standing.UNKNOWN),
    ],
)
def test_a_dataset_stands_as_its_last_report_says(verdict: Verdict, head: object, standing: Standing) -> None:
    last = KeptReport(dataset_id(), physical_hash(b"r"), head, verdict.value, False, 0.0)  # type: ignore[arg-type]
    assert standing_of(last, HEAD) is standing


def test_of_one_that_was_never_verified_nothing_is_known() -> None:
    assert standing_of(None, HEAD) is Standing.UNKNOWN

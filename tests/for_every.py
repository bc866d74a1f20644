"""One test over many cases of a kind: golden vectors, the files of the tree. A test for each of thousands costs more
than what it checks. Every case that fails is named, with its own traceback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

Check = Callable[[Any], None]


def for_every(cases: Iterable[Any], *, ids: Callable[[Any], str] = str) -> Callable[[Check], Callable[[], None]]:
    """Let a function of one case be a test of all of them; of a ``pytest.param`` the name is its id."""
    found = [each if hasattr(each, "values") and hasattr(each, "marks") else pytest.param(each) for each in cases]

    def decorated(check: Check) -> Callable[[], None]:
        def test() -> None:
            assert found, "there are no cases"
            failures = [failure for each in found if (failure := _failure(check, each.values[0], each.id, ids))]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(found)} cases", failures)

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return decorated


def _failure(check: Check, case: Any, name: str | None, ids: Callable[[Any], str]) -> BaseException | None:
    try:
        check(case)
    except (Exception, pytest.fail.Exception) as error:
        error.add_note(f"case: {(name or ids(case))[:200]}")
        return error
    return None

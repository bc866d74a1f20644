"""Answers kept for a moment."""

from __future__ import annotations

import asyncio

import pytest

from repo_server import remembered
from repo_server.remembered import Remembered


class Questions:
    """Counts how often it was asked; answers when it is let."""

    def __init__(self) -> None:
        self.asked = 0
        self.version: int | None = 1
        self.let = asyncio.Event()
        self.let.set()
        self.answers: Remembered[str, int] = Remembered(lambda: self.version)

    async def ask(self, key: str = "key") -> int:
        return await self.answers.ask(key, self._answer)

    async def _answer(self) -> int:
        self.asked += 1
        number = self.asked
        await self.let.wait()
        return number


async def test_what_is_known_is_not_asked_again() -> None:
    questions = Questions()
    assert [await questions.ask(), await questions.ask()] == [1, 1]


async def test_a_change_is_noticed_at_once() -> None:
    questions = Questions()
    await questions.ask()
    questions.version = 2
    assert await questions.ask() == 2


async def test_an_answer_is_too_old_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "REMEMBERED_S", 0)
    questions = Questions()
    assert [await questions.ask(), await questions.ask()] == [1, 2]


async def test_where_changes_cannot_be_seen_nothing_is_remembered() -> None:
    questions = Questions()
    questions.version = None
    assert [await questions.ask(), await questions.ask()] == [1, 2]


async def test_many_at_the_same_moment_ask_once() -> None:
    questions = Questions()
    assert await asyncio.gather(*(questions.ask() for _ in range(20))) == [1] * 20


async def test_who_asks_after_a_change_gets_no_answer_from_before() -> None:
    questions = Questions()
    questions.let.clear()
    early = asyncio.create_task(questions.ask())
    await asyncio.sleep(0)
    questions.version = 2
    late = asyncio.create_task(questions.ask())
    await asyncio.sleep(0)
    questions.let.set()
    assert (await early, await late) == (1, 2)


async def test_who_goes_away_does_not_take_the_answer_from_others() -> None:
    questions = Questions()
    questions.let.clear()
    first, second = asyncio.create_task(questions.ask()), asyncio.create_task(questions.ask())
    await asyncio.sleep(0)
    first.cancel()
    questions.let.set()
    assert await second == 1


async def test_settling_waits_for_questions_nobody_waits_for_any_more() -> None:
    questions = Questions()
    questions.let.clear()
    asking = asyncio.create_task(questions.ask())
    await asyncio.sleep(0)
    asking.cancel()
    settling = asyncio.create_task(questions.answers.settle())
    await asyncio.sleep(0)
    assert not settling.done()
    questions.let.set()
    await settling


async def test_errors_are_not_remembered() -> None:
    answers: Remembered[str, int] = Remembered(lambda: 1)

    async def fail() -> int:
        raise LookupError

    async def succeed() -> int:
        return 1

    with pytest.raises(LookupError):
        await answers.ask("key", fail)
    assert await answers.ask("key", succeed) == 1


async def test_what_is_not_worth_keeping_is_asked_again() -> None:
    questions = Questions()
    await questions.answers.ask("key", questions._answer, keep=lambda _: False)
    assert await questions.ask() == 2


async def test_a_bounded_number_of_answers_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "ENTRIES_MAX", 2)
    questions = Questions()
    for key in ("a", "b", "c"):
        await questions.ask(key)
    assert await questions.ask("c") == 3
    assert await questions.ask("a") == 4

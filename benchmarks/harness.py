"""How a benchmark measures: interleaved rounds, medians, ratios, one table.

A benchmark is a module ``benchmarks/<question>.py`` with functions ``(quick: bool) -> Question``; ``main(ask, …)``
makes it a command (``--json``, ``--rounds N``, ``--quick``, ``--only WORD``). The ways to do the same work are measured
in turns, round after round, because the machine is never as quiet in one minute as in the next; CPU seconds are the
figure to trust, wall seconds are shown beside them. Every goal is a ratio of two ways measured in the same rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
ROUNDS = 5
_PARENT, _TIMES = 1, slice(11, 15)


@dataclass(frozen=True)
class Done:
    """What a way returns that works for a fixed time: how much of ``Question.unit`` it got done."""

    units: float


@dataclass(frozen=True)
class Way:
    """One way to do the work: ``run`` does it once; ``units`` is how much of ``Question.unit`` that is.

    ``cpu`` gives the CPU seconds used so far by those who do the work, when that is not this process: a server's.
    """

    name: str
    run: Callable[[], object]
    units: float = 1.0
    cpu: Callable[[], float] | None = None


@dataclass(frozen=True)
class Goal:
    """A ratio that has to hold: ``of / to`` by ``measure``, at least (or at most) ``target``.

    ``measure`` is ``cpu`` or ``wall`` (seconds for one unit) or ``speed`` (units a CPU second) or ``wall_speed``.
    ``id`` is the number of the goal, where it has one.
    """

    id: str
    text: str
    of: str
    to: str
    target: float
    at_least: bool = True
    measure: str = "speed"


@dataclass(frozen=True)
class Question:
    """What is asked: ways to compare, goals to hold them to, and what could not be measured here and why."""

    title: str
    unit: str
    ways: Sequence[Way]
    goals: Sequence[Goal] = ()
    skipped: Sequence[str] = ()


@dataclass(frozen=True)
class Measured:
    """Medians over the rounds, in seconds for one unit; ``spread`` is the largest CPU time over the smallest."""

    name: str
    cpu_s: float
    wall_s: float
    best_wall_s: float
    spread: float

    def value(self, measure: str) -> float:
        """The figure a goal compares."""
        figures = {"cpu": self.cpu_s, "wall": self.wall_s, "speed": 1 / self.cpu_s, "wall_speed": 1 / self.wall_s}
        return figures[measure]


@dataclass(frozen=True)
class Verdict:
    """A goal with its ratio."""

    goal: Goal
    ratio: float

    @property
    def met(self) -> bool:
        """Whether the goal holds."""
        return self.ratio >= self.goal.target if self.goal.at_least else self.ratio <= self.goal.target


@dataclass
class Result:
    """All figures of one question."""

    question: Question
    measured: dict[str, Measured] = field(default_factory=dict)

    @property
    def verdicts(self) -> list[Verdict]:
        """Every goal whose two ways were measured."""
        known = [goal for goal in self.question.goals if {goal.of, goal.to} <= self.measured.keys()]
        return [
            Verdict(goal, self.measured[goal.of].value(goal.measure) / self.measured[goal.to].value(goal.measure))
            for goal in known
        ]


def cpu_seconds() -> float:
    """User and system time of this process and of its children that have ended."""
    mine, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + children.ru_utime + children.ru_stime


def cpu_with_copies() -> float:
    """CPU seconds of this process, its children and those that they waited for: copies are children of a child."""
    running = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_bytes().rpartition(b")")[2].split()
            if int(fields[_PARENT]) == os.getpid():
                running += sum(map(int, fields[_TIMES]))
    return cpu_seconds() + running / os.sysconf("SC_CLK_TCK")


def timed(way: Way) -> tuple[float, float]:
    """CPU and wall seconds for one unit; garbage is collected before, not meanwhile."""
    gc.collect()
    gc.disable()
    used = way.cpu or cpu_seconds
    try:
        wall, cpu = time.perf_counter(), used()
        done = way.run()
        wall, cpu = time.perf_counter() - wall, used() - cpu
    finally:
        gc.enable()
    units = done.units if isinstance(done, Done) else way.units
    return cpu / units, wall / units


def measure(question: Question, rounds: int = ROUNDS) -> Result:
    """Warm every way up once, then measure all of them in each round, in alternating order."""
    for way in question.ways:
        way.run()
    samples: dict[str, list[tuple[float, float]]] = {way.name: [] for way in question.ways}
    for number in range(rounds):
        for way in question.ways if number % 2 == 0 else reversed(question.ways):
            samples[way.name].append(timed(way))
    return Result(question, {name: _summary(name, taken) for name, taken in samples.items()})


def _summary(name: str, taken: list[tuple[float, float]]) -> Measured:
    cpu, wall = [max(row[0], 1e-9) for row in taken], [max(row[1], 1e-9) for row in taken]
    return Measured(name, statistics.median(cpu), statistics.median(wall), min(wall), max(cpu) / min(cpu))


def table(result: Result) -> str:
    """The figures for people."""
    unit = result.question.unit
    width = max(len(name) for name in result.measured)
    lines = [result.question.title, f"  {'':{width}}  CPU s/{unit}   wall s/{unit}   {unit}/CPU s   spread"]
    lines.extend(
        f"  {row.name:{width}}  {row.cpu_s:9.4f}  {row.wall_s:10.4f}  {1 / row.cpu_s:12.3f}   {row.spread:5.2f}x"
        for row in result.measured.values()
    )
    for verdict in result.verdicts:
        goal, sign = verdict.goal, ">=" if verdict.goal.at_least else "<="
        state = "met" if verdict.met else "NOT MET"
        lines.append(f"  {goal.id:4} {goal.text}: {verdict.ratio:.3f} (goal {sign} {goal.target}) {state}")
    lines.extend(f"  SKIPPED: {reason}" for reason in result.question.skipped)
    return "\n".join(lines)


def as_dict(result: Result) -> dict[str, object]:
    """The figures for machines."""
    goals = [{**asdict(verdict.goal), "ratio": verdict.ratio, "met": verdict.met} for verdict in result.verdicts]
    return {
        "title": result.question.title,
        "unit": result.question.unit,
        "cpus": os.cpu_count(),
        "ways": [asdict(row) for row in result.measured.values()],
        "goals": goals,
        "skipped": list(result.question.skipped),
    }


def main(*questions: Callable[[bool], Question]) -> None:
    """The command line of a benchmark; each question is a function of ``quick`` (small data, for a first look)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true", help="small data, for a first look: no results are kept")
    parser.add_argument("--only", metavar="WORD", default="", help="the questions whose function has it in its name")
    arguments = parser.parse_args()
    results = []
    for ask in (each for each in questions if arguments.only in each.__name__):
        result = measure(ask(arguments.quick), arguments.rounds)
        results.append(as_dict(result))
        if not arguments.json:
            print(table(result), flush=True)
    if arguments.json:
        print(json.dumps(results, indent=2))
    if not arguments.quick:
        keep(RESULTS / f"{Path(sys.argv[0]).stem}.json", results, are_all=not arguments.only)


def keep(file: Path, results: list[dict[str, object]], *, are_all: bool = True) -> None:
    """In the place of what was found before, of the same questions if these are not all."""
    file.parent.mkdir(exist_ok=True)
    known = [] if are_all or not file.exists() else json.loads(file.read_text())
    titled = {each["title"]: each for each in [*known, *results]}
    file.write_text(json.dumps(list(titled.values()), indent=2) + "\n")

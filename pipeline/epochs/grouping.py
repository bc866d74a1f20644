"""The part of a plan that groups, taken apart in the JVM and put together again with filters around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from pipeline.epochs.aggregates import Aggregated
from pipeline.epochs.plan_tree import Plan, plan_tree
from pipeline.epochs.positions import Carrier, plan_of
from pipeline.gate import Node
from pipeline.spark_api import frame_of

_START, _END = 0, 1
_HIDDEN = "__odf_edge"


@dataclass(frozen=True, slots=True)
class Grouping:
    """The grouping of ``frame``, by a window among others, whose place among those is ``grouped_at``.

    Ends of windows are compared in microseconds; they lie after the first bound, and not after the second.
    """

    frame: DataFrame
    grouped_at: int

    def by_record(self) -> DataFrame:
        """A record counts in windows whose end lies within its own bounds, the hidden column of the inputs."""
        grouping, make = self._node, self._make
        below, (bounds,) = Carrier(self.frame.sparkSession).carried(grouping.child())
        wanted = make.within(self._end, make.field(bounds, 0), make.field(bounds, 1))
        return self._replaced(make.aggregate(grouping, make.filtered(wanted, below), None))

    def by_window(self, after: int, until: int) -> DataFrame:
        """Sessions whose end lies within the bounds alone.

        The end is that of all records of a session: a condition on the window itself would be moved to each of them.
        """
        grouping, make = self._node, self._make
        last = make.named(make.highest(self._end))
        more = make.aggregate(grouping, None, grouping.aggregateExpressions().appended(last))
        found = make.filtered(make.within(last.toAttribute(), make.number(after), make.number(until)), more)
        return self._replaced(make.projected(grouping.output(), found))

    def sessions(self) -> DataFrame:
        """Where sessions begin and end, in microseconds."""
        make = self._make
        first = make.named(make.lowest(make.microseconds(make.field(self._window, _START))))
        edges = make.list_of(first, make.named(make.highest(self._end)))
        return frame_of(self.frame.sparkSession, make.aggregate(self._node, None, edges))

    @property
    def _node(self) -> Any:
        plan = plan_of(self.frame)
        while plan.nodeName() != "Aggregate":
            plan = plan.children().apply(0)
        return plan

    @property
    def _window(self) -> Any:
        return self._node.groupingExpressions().apply(self.grouped_at)

    @property
    def _end(self) -> Any:
        return self._make.microseconds(self._make.field(self._window, _END))

    @property
    def _make(self) -> _Parts:
        return _Parts(self.frame)

    def _replaced(self, grouping: Any) -> DataFrame:
        """The whole plan with another grouping."""

        def replaced(plan: Any) -> Any:
            if plan.nodeName() == "Aggregate":
                return grouping
            return plan.withNewChildren(self._make.list_of(replaced(plan.children().apply(0))))

        return frame_of(self.frame.sparkSession, replaced(plan_of(self.frame)))


def aggregates_of(frame: DataFrame, nodes: Sequence[Node]) -> list[Aggregated]:
    """The aggregates of a query that groups; ``nodes`` are those of its plan."""
    below = plan_tree(nodes)
    while below.kind != "Aggregate":
        below = below.below[0]
    expressions = Grouping(frame, 0)._node.aggregateExpressions()
    found = [each for at in range(expressions.size()) for each in _functions_in(expressions.apply(at))]
    return [_aggregated(each, below.below[0]) for each in found]


def _functions_in(expression: Any) -> Iterator[Any]:
    if _kind(expression) == "AggregateExpression":
        yield expression.aggregateFunction()
        return
    for part in _children(expression):
        yield from _functions_in(part)


def _aggregated(function: Any, below: Plan) -> Aggregated:
    given = _children(function)
    plain = [_kind(each) == "AttributeReference" and each.exprId().id() in below.origins for each in given]
    return Aggregated(_kind(function), tuple(each.dataType().simpleString() for each in given), all(plain))


def _children(expression: Any) -> list[Any]:
    found = expression.children()
    return [found.apply(at) for at in range(found.size())]


def _kind(expression: Any) -> str:
    return str(expression.getClass().getSimpleName())


class _Parts:
    """Makes nodes of plans and expressions."""

    def __init__(self, frame: DataFrame) -> None:
        java: Any = frame.sparkSession.sparkContext._jvm
        self._java = java
        self._expressions = java.org.apache.spark.sql.catalyst.expressions
        self._plans = java.org.apache.spark.sql.catalyst.plans.logical

    def list_of(self, *parts: Any) -> Any:
        return self._java.PythonUtils.toSeq([*parts])

    def field(self, struct: Any, place: int) -> Any:
        return self._expressions.GetStructField(struct, place, self._java.scala.Option.empty())

    def microseconds(self, moment: Any) -> Any:
        return self._expressions.UnixMicros(moment)

    def number(self, value: int) -> Any:
        """A literal; small ones would come over as integers of less bits."""
        return self._expressions.Literal.create(self._java.java.lang.Long.valueOf(str(value)), self._long)

    def highest(self, value: Any) -> Any:
        return self._expressions.aggregate.Max(value).toAggregateExpression()

    def lowest(self, value: Any) -> Any:
        return self._expressions.aggregate.Min(value).toAggregateExpression()

    def named(self, value: Any) -> Any:
        nothing = self._java.scala.Option.empty()
        number = self._expressions.NamedExpression.newExprId()
        return self._expressions.Alias(value, _HIDDEN, number, self.list_of(), nothing, self.list_of())

    def within(self, moment: Any, after: Any, until: Any) -> Any:
        later = self._expressions.GreaterThan(moment, after)
        return self._expressions.And(later, self._expressions.LessThanOrEqual(moment, until))

    def filtered(self, condition: Any, below: Any) -> Any:
        return self._plans.Filter(condition, below)

    def projected(self, columns: Any, below: Any) -> Any:
        return self._plans.Project(columns, below)

    def aggregate(self, like: Any, below: Any | None, columns: Any | None) -> Any:
        """The same grouping of something else, or into other columns."""
        below = like.child() if below is None else below
        columns = like.aggregateExpressions() if columns is None else columns
        return like.copy(like.groupingExpressions(), columns, below, like.hint())

    @property
    def _long(self) -> Any:
        return getattr(self._java.org.apache.spark.sql.types, "LongType$").__getattr__("MODULE$")

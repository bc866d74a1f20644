"""Carries a hidden column of the inputs through a query, so that what is made of a record still says which one it was.

For plans of ``classify``, and what windows add to them: it is added to every list of columns on the way up. The text of
the query cannot reach it, and ``*`` does not give it.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pipeline.epochs.classify import check_stateless
from pipeline.gate import AnalyzedQuery, Node, class_of
from pipeline.spark_api import frame_of


def check_query(query: AnalyzedQuery) -> None:
    """``check_stateless`` of the plan that Spark has of it."""
    check_stateless(query.sql, nodes_of(query))


def nodes_of(query: AnalyzedQuery) -> list[Node]:
    """The nodes of its plan; parts by WITH stand where they are used."""
    if not any(class_of(node).endswith(".WithCTE") for node in query.nodes):
        return query.nodes
    nodes: list[Node] = json.loads(plan_of(query.frame).toJSON())
    return nodes


def with_positions(frame: DataFrame) -> DataFrame:
    """The same rows in the same order, the hidden column behind the others; of a join the left and then the right one.

    DISTINCT leaves all rows.
    """
    session: Any = frame.sparkSession
    return frame_of(session, Carrier(session).on_top(plan_of(frame))[0])


def plan_of(frame: DataFrame) -> Any:
    """With names looked up; parts by WITH stand where they are used."""
    java: Any = frame.sparkSession.sparkContext._jvm
    inline = java.org.apache.spark.sql.catalyst.optimizer.InlineCTE(True, False, False)
    return inline.apply(frame._jdf.queryExecution().analyzed())


class Carrier:
    """Rewrites a plan from its leaves upward; each part comes with the attributes that are carried in it."""

    def __init__(self, session: SparkSession) -> None:
        java: Any = session.sparkContext._jvm
        self._project = java.org.apache.spark.sql.catalyst.plans.logical.Project
        self._to_seq = java.PythonUtils.toSeq

    def on_top(self, plan: Any) -> tuple[Any, list[Any]]:
        """The plan with its own columns and the hidden ones last."""
        inner, hidden = self.carried(plan)
        return self._project(self._with(plan.output(), hidden), inner), hidden

    def carried(self, plan: Any) -> tuple[Any, list[Any]]:
        """The plan with the hidden ones among its columns, where they need not be the last."""
        children = plan.children()
        below = [children.apply(index) for index in range(children.size())]
        if not below:
            return plan, [plan.output().last()]
        if len(below) > 1:
            return self._joined(plan, below) if plan.nodeName() == "Join" else self._united(plan, below)
        child, hidden = self.carried(below[0])
        if plan.nodeName() in ("Distinct", "SubqueryAlias", "View"):
            return child, hidden
        if plan.nodeName() == "Project":
            return self._project(self._with(plan.projectList(), hidden), child), hidden
        if plan.nodeName() == "Expand":
            return self._expanded(plan, child, hidden), hidden
        return plan.withNewChildren(self._to_seq([child])), hidden

    def _expanded(self, expand: Any, child: Any, hidden: list[Any]) -> Any:
        """Of rows that become several, each has it."""
        before = expand.projections()
        lists = self._to_seq([self._with(before.apply(index), hidden) for index in range(before.size())])
        return expand.copy(lists, self._with(expand.output(), hidden), child)

    def _joined(self, join: Any, below: list[Any]) -> tuple[Any, list[Any]]:
        parts = [self.carried(each) for each in below]
        plan = join.withNewChildren(self._to_seq([part for part, _ in parts]))
        return plan, [each for _, hidden in parts for each in hidden]

    def _united(self, union: Any, below: list[Any]) -> tuple[Any, list[Any]]:
        """Columns are united by their places; the first part gives them their names."""
        parts = [self.on_top(each) for each in below]
        return union.withNewChildren(self._to_seq([part for part, _ in parts])), parts[0][1]

    def _with(self, columns: Any, hidden: list[Any]) -> Any:
        for each in hidden:
            columns = columns.appended(each)
        return columns

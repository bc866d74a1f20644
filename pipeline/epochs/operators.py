"""Which operator computes a query that remembers records: decided on its plan, before anything is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opendatafabric.errors import InvalidQuery
from opendatafabric.metadata.transform import TemporalTable
from pipeline.epochs.as_of_join import looked_up
from pipeline.epochs.as_of_plan import as_of_join_of
from pipeline.epochs.classify import check_stateless
from pipeline.epochs.distinct import check_distinct, distinct
from pipeline.epochs.found_rows import Operator
from pipeline.epochs.interval_join import joined
from pipeline.epochs.join_plan import PlannedJoin, interval_join_of, planned_join
from pipeline.epochs.plan_tree import Plan, plan_tree
from pipeline.gate import Node, short

Tables = Mapping[str, TemporalTable]


def operator_of(sql: str, plan: Sequence[Node], event_times: Mapping[str, str], tables: Tables) -> Operator | None:
    """``None`` if ``sql`` has neither a join nor rows that are given once.

    ``event_times`` are the columns of all inputs, in their order; ``tables`` those inputs that are temporal tables.

    Raises:
        InvalidQuery: nothing computes it; names the place in ``sql``, and what to write instead.
    """
    if not any(short(node) in ("Distinct", "Join") for node in plan):
        return None
    top = plan_tree(plan)
    planned = planned_join(sql, top)
    if planned is not None:
        check_stateless(sql, plan, but_for=["Join"])
        return _joining(planned, event_times, tables)
    check_stateless(sql, plan, but_for=["Distinct"])
    _check_no_table(top, tables)
    check_distinct(sql, top, event_times)
    return distinct


def _joining(planned: PlannedJoin, event_times: Mapping[str, str], tables: Tables) -> Operator:
    as_of = as_of_join_of(planned, event_times, tables)
    if as_of is not None:
        return lambda step, query: looked_up(step, as_of, query)
    interval = interval_join_of(planned, event_times)
    return lambda step, query: joined(step, interval, query)


def _check_no_table(top: Plan, tables: Tables) -> None:
    for each in top.inputs:
        if each in tables:
            raise InvalidQuery(
                f"'{each}' is a temporal table, and the query joins nothing with it",
                hint="leave it out of temporalTables, or join records with it",
            )

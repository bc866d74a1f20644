"""The rules of a metadata chain: one small function each, in ``RULES`` with its id, in the order they are asked.

The order, and therefore the rule that a bad block is refused by, is the reference's: the block alone (B), against the
blocks before it (P), then by kind of event (A, E, S). Rules of our own (X) come last, so that what both refuse is
refused alike; but X3 stands before S1, which would accept. An event of an unknown kind passes with the rules that
apply to every block.
"""

from __future__ import annotations

from typing import Final, get_args

from opendatafabric.chain.rules import add_data, block_alone, continuity, data_schema, execute_transform, strict
from opendatafabric.chain.rules.rule import Broken, Candidate, Effect, ErrorName, Outcome, Rule, Verdict
from opendatafabric.chain.state import ChainState
from opendatafabric.errors import ChainError
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import (
    AddData,
    AddPushSource,
    DisablePollingSource,
    DisablePushSource,
    ExecuteTransform,
    MetadataEvent,
    Seed,
    SetDataSchema,
    SetPollingSource,
    SetTransform,
    UnknownEvent,
)

__all__ = ["RULES", "Effect", "ErrorName", "Rule", "check_block", "warnings_of"]

_ALL: Final = ()
_SEED: Final = (Seed,)
_DATA: Final = (AddData, ExecuteTransform)
_DISABLE: Final = (DisablePollingSource, DisablePushSource)
_SOURCE: Final = (AddPushSource, SetPollingSource)
_ADD: Final = (AddData,)
_EXECUTE: Final = (ExecuteTransform,)
_SCHEMA: Final = (SetDataSchema,)
_ACCEPTS: Final = Effect.ACCEPTS

_E = ErrorName

RULES: Final[tuple[Rule, ...]] = (
    Rule("B1", _E.INVALID_EVENT, "Data Ingestion", _DISABLE, block_alone.source_is_not_disabled),
    Rule(
        "B2", _E.APPENDING_SEED_BLOCK_TO_NON_EMPTY_CHAIN, "Metadata Chain", _SEED, block_alone.seed_has_no_predecessor
    ),
    Rule("B3", _E.FIRST_BLOCK_MUST_BE_SEED, "Metadata Chain", _ALL, block_alone.first_block_is_seed),
    Rule("B4", _E.SEQUENCE_INTEGRITY, "Metadata Chain", _ALL, block_alone.first_block_is_number_zero),
    Rule("B5", _E.NO_OP_EVENT, "Data Ingestion", _ADD, block_alone.added_data_is_not_empty),
    Rule("B6", _E.NO_OP_EVENT, "Derivative Transformations", _EXECUTE, block_alone.executed_transform_is_not_empty),
    Rule("B7", _E.OFFSETS_ARE_NOT_SEQUENTIAL, "Offset", _DATA, block_alone.data_continues_previous_offset),
    Rule("B8", _E.INVALID_EVENT, "Offset", _DATA, block_alone.data_does_not_end_before_start),
    Rule("B9", _E.INVALID_EVENT, "Source Types", _SOURCE, block_alone.preprocess_is_normal),
    Rule("B10", _E.INVALID_EVENT, "Polling Sources", (SetPollingSource,), block_alone.ethereum_source_names_its_chain),
    Rule("B11", _E.INVALID_EVENT, "Derivative Transformations", (SetTransform,), block_alone.transform_is_normal),
    Rule("P0", _E.PREV_BLOCK_NOT_FOUND, "Metadata Chain", _ALL, continuity.previous_block_exists),
    Rule("P1", _E.SEQUENCE_INTEGRITY, "Metadata Chain", _ALL, continuity.sequence_number_follows),
    Rule("P2", _E.SYSTEM_TIME_IS_NOT_MONOTONIC, "System Time", _ALL, continuity.system_time_does_not_go_back),
    Rule("P3", _E.WATERMARK_IS_NOT_MONOTONIC, "Watermark", _DATA, continuity.watermark_does_not_go_back),
    Rule("P4", _E.INVALID_EVENT, "Offset", _DATA, continuity.previous_offset_is_last_offset),
    Rule("P5", _E.INVALID_EVENT, "Source Types", (AddPushSource,), continuity.push_source_may_be_added),
    Rule("P5", _E.NO_OP_EVENT, "Source Types", (AddPushSource,), continuity.push_source_is_new_or_changed),
    Rule("P6", _E.INVALID_EVENT, "Source Types", (SetPollingSource,), continuity.polling_source_may_be_set),
    Rule("A1", _E.INVALID_EVENT, "Schema", _ADD, add_data.added_data_has_schema),
    Rule("A2", _E.INVALID_EVENT, "Checkpoint", _ADD, add_data.added_data_continues_checkpoint),
    Rule("A3", _E.NO_OP_EVENT, "Data Ingestion", _ADD, add_data.added_data_changes_something),
    Rule("E1", _E.INVALID_EVENT, "Schema", _EXECUTE, execute_transform.derived_data_have_schema),
    Rule("E2", _E.INVALID_EVENT, "Query Evolution", _EXECUTE, execute_transform.inputs_are_those_of_transform),
    Rule("E3", _E.INVALID_EVENT, "Derivative Transformations", _EXECUTE, execute_transform.input_blocks_advance),
    Rule("E4", _E.INVALID_EVENT, "Derivative Transformations", _EXECUTE, execute_transform.input_offsets_advance),
    Rule("E5", _E.INVALID_EVENT, "Derivative Transformations", _EXECUTE, execute_transform.input_blocks_continue),
    Rule("E6", _E.INVALID_EVENT, "Derivative Transformations", _EXECUTE, execute_transform.input_offsets_continue),
    Rule("E7", _E.INVALID_EVENT, "Derivative Transformations", _EXECUTE, execute_transform.input_records_need_blocks),
    Rule("E8", _E.INVALID_EVENT, "Checkpoint", _EXECUTE, execute_transform.transform_continues_checkpoint),
    Rule("E9", _E.NO_OP_EVENT, "Derivative Transformations", _EXECUTE, execute_transform.transform_changes_something),
    Rule("X3", _E.NONE, "Schema Format", _SCHEMA, strict.schema_has_one_form, strict=True),
    Rule("S1", _E.NONE, "Schema Format", _SCHEMA, data_schema.legacy_schema_is_taken_as_it_is, _ACCEPTS),
    Rule("S2", _E.NONE, "Common Data Schema", _SCHEMA, data_schema.system_columns_are_typed, Effect.WARNS),
    Rule("S3", _E.NONE, "Schema Evolution", _SCHEMA, data_schema.first_schema_is_free, _ACCEPTS),
    Rule("S9", _E.INVALID_EVENT, "Schema Format", _SCHEMA, data_schema.earlier_legacy_schema_is_readable),
    Rule("S4", _E.NO_OP_EVENT, "Schema Evolution", _SCHEMA, data_schema.schema_is_not_identical),
    Rule("S5", _E.NONE, "Schema Evolution", _SCHEMA, data_schema.attributes_and_order_may_change, _ACCEPTS),
    Rule("S6", _E.INVALID_EVENT, "Schema Evolution", _SCHEMA, data_schema.added_fields_are_optional),
    Rule("S7", _E.INVALID_EVENT, "Schema Evolution", _SCHEMA, data_schema.fields_keep_name_and_type),
    Rule("S8", _E.INVALID_EVENT, "Schema Evolution", _SCHEMA, data_schema.nested_fields_evolve_alike),
    Rule("X1", _E.NONE, "Dataset", tuple(strict.KIND_OF_EVENT), strict.event_fits_kind_of_dataset, strict=True),
    Rule("X2", _E.NONE, "Offset", _DATA, strict.first_data_start_at_zero, strict=True),
)


def _rules_by_kind(*, strict: bool) -> dict[type, tuple[Rule, ...]]:
    asked = [rule for rule in RULES if strict or not rule.strict]
    kinds = (*get_args(MetadataEvent), UnknownEvent)
    return {kind: tuple(rule for rule in asked if rule.applies(kind)) for kind in kinds}


_RULES_BY_KIND: Final = {strict: _rules_by_kind(strict=strict) for strict in (False, True)}


def check_block(state: ChainState, block: HashedBlock, *, strict: bool = True) -> None:
    """Check that ``block`` may follow the chain that ``state`` describes; without ``strict``, as the reference does.

    Raises:
        ChainError: naming the first rule that the block breaks.
    """
    candidate = Candidate(state, block.block, block.event)
    for rule in _RULES_BY_KIND[strict][type(block.event)]:
        if rule.effect is not Effect.WARNS:
            outcome = rule.check(candidate)
            if outcome is Verdict.ACCEPTED:
                return
            if isinstance(outcome, Broken):
                raise _chain_error(rule, block, outcome)


def warnings_of(state: ChainState, block: HashedBlock) -> list[ChainError]:
    """What is odd about ``block`` without being refused."""
    candidate = Candidate(state, block.block, block.event)
    found: list[ChainError] = []
    for rule in _RULES_BY_KIND[True][type(block.event)]:
        outcome: Outcome = None if rule.effect is Effect.REFUSES else rule.check(candidate)
        if outcome is Verdict.ACCEPTED:
            break
        if isinstance(outcome, Broken):
            found.append(_chain_error(rule, block, outcome))
    return found


def _chain_error(rule: Rule, block: HashedBlock, broken: Broken) -> ChainError:
    number = block.sequence_number
    verb = "is odd by" if rule.effect is Effect.WARNS else "breaks"
    name = "" if rule.error is ErrorName.NONE else f" ({rule.error.value})"
    return ChainError(
        f"block {number} ({block.hash}) {verb} rule {rule.id}{name}: {broken.message}",
        rule=rule.id,
        sequence_number=number,
        expected=broken.expected,
        found=broken.found,
        hint=broken.hint,
    )

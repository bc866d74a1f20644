"""Names of the system columns of a dataset (spec: Common Data Schema). ``SetVocab`` may change them."""

from __future__ import annotations

from dataclasses import dataclass

from opendatafabric.metadata.events import SetVocab


@dataclass(frozen=True, slots=True)
class DatasetVocabulary:
    """What a dataset calls its system columns."""

    offset_column: str = "offset"
    operation_type_column: str = "op"
    system_time_column: str = "system_time"
    event_time_column: str = "event_time"

    @classmethod
    def from_event(cls, event: SetVocab | None) -> DatasetVocabulary:
        """The names in force after ``event``; what it leaves out, and ``None``, mean the defaults."""
        if event is None:
            return cls()
        return cls(
            event.offset_column or cls().offset_column,
            event.operation_type_column or cls().operation_type_column,
            event.system_time_column or cls().system_time_column,
            event.event_time_column or cls().event_time_column,
        )

    @property
    def system_columns(self) -> tuple[str, str, str, str]:
        """All four in the order in which they stand in a slice."""
        return self.offset_column, self.operation_type_column, self.system_time_column, self.event_time_column

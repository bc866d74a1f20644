"""Names of the system columns."""

from __future__ import annotations

from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.metadata.events import SetVocab


def test_the_defaults_are_those_of_the_specification() -> None:
    assert DatasetVocabulary().system_columns == ("offset", "op", "system_time", "event_time")
    assert DatasetVocabulary.from_event(None) == DatasetVocabulary()


def test_an_event_changes_only_what_it_names() -> None:
    vocabulary = DatasetVocabulary.from_event(SetVocab(event_time_column="date", offset_column=""))
    assert vocabulary.system_columns == ("offset", "op", "system_time", "date")

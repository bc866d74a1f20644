"""What a report says in words."""

from __future__ import annotations

from dataclasses import replace

from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.multihash import physical_hash
from repo_server.pages.verdict_words import in_words
from tests.verify.reports import BLOCK, DAMAGE, OF_NO_BLOCK, WARNING, WRONG, record
from verify.report import Check, Severity


def test_a_sound_report_advises_nothing() -> None:
    words = in_words(record(WARNING))
    assert words.sentence.startswith("Everything that was looked at")
    assert (words.places, words.reasons, words.advice) == ((), (), ())


def test_the_block_the_reason_and_what_to_do_are_told() -> None:
    words = in_words(record(DAMAGE, OF_NO_BLOCK))
    (place,) = words.places
    assert (place.sequence_number, place.block_hash) == (3, str(BLOCK))
    assert place.reasons == ("a file is missing, or does not have the bytes that its block says",)
    assert words.reasons == ("the head is missing or leads to nothing",)
    assert len(words.advice) == 1
    assert "sound copy" in words.advice[0]


def test_the_first_record_that_is_concerned_is_told() -> None:
    damages = [replace(DAMAGE, check=Check.RECORDS, offset=offset) for offset in (70, 30)]
    assert in_words(record(*damages)).places[0].first_offset == 30


def test_the_records_of_the_block_are_told() -> None:
    interval = OffsetInterval(10, 19)
    assert in_words(record(DAMAGE), {str(BLOCK): interval}).places[0].records == interval


def test_what_follows_from_a_damaged_file_is_not_told_again() -> None:
    words = in_words(record(DAMAGE, replace(DAMAGE, check=Check.RECORDS)))
    assert len(words.places[0].reasons) == len(words.advice) == 1


def test_a_step_that_gives_other_records_names_the_first_of_them() -> None:
    finding = replace(DAMAGE, check=Check.TRANSFORMS, code="replay-mismatch")
    words = in_words(record(finding, steps=[WRONG]))
    assert words.places[0].first_offset == 7
    assert words.places[0].reasons == ("a step gives other records when it is repeated",)


def test_what_could_not_be_checked_is_told_as_that() -> None:
    words = in_words(record(replace(DAMAGE, severity=Severity.UNCHECKED, message="no answer")))
    assert words.sentence.startswith("No damage was found, but")
    assert words.places[0].reasons == ("it could not be checked: no answer",)
    assert len(words.advice) == 1


def test_many_damaged_blocks_are_told_in_few_lines() -> None:
    many = [replace(DAMAGE, block_hash=physical_hash(bytes([number]))) for number in range(50)]
    words = in_words(record(*many))
    assert (len(words.places), words.more) == (20, 30)

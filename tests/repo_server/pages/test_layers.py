"""Boxes of a drawing: what something is made of stands to its left, nothing lies on anything else, and every graph
ends up the same each time."""

from __future__ import annotations

import re
import time
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from repo_server.pages.layers import HEIGHT, WIDTH, Layout, layout_of

NAMES = "abcdefghij"
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=30)


def columns(layout: Layout) -> str:
    """Names from the left to the right, from the top to the bottom; a blank between layers."""
    found: dict[int, list[tuple[int, str]]] = {}
    for box in layout.boxes:
        found.setdefault(box.x, []).append((box.y, box.name))
    return " ".join("".join(name for _, name in sorted(found[x])) for x in sorted(found))


def test_inputs_stand_to_the_left_and_a_way_round_takes_as_many_layers_as_it_has_steps() -> None:
    assert columns(layout_of("abcd", [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")])) == "a b c d"


def test_what_begins_somewhere_stands_beside_what_is_made_of_it() -> None:
    assert columns(layout_of("abcx", [("a", "b"), ("b", "c"), ("x", "c")])) == "a bx c"


def test_lines_do_not_cross_where_they_need_not() -> None:
    assert columns(layout_of("abcdef", [("a", "f"), ("b", "e"), ("c", "d")])) in {"abc fed", "cba def"}


def test_one_alone_and_nothing_at_all_can_be_drawn() -> None:
    alone = layout_of(["a"], [("a", "a")])
    assert (alone.width, alone.height, alone.lines) == (WIDTH, HEIGHT, [])
    assert layout_of([], []).boxes == []


def test_a_line_ends_at_its_boxes() -> None:
    layout = layout_of("ab", [("a", "b")])
    left, right = layout.boxes
    middle = left.y + HEIGHT // 2
    assert layout.lines[0].startswith(f"M{left.x + WIDTH} {middle}C")
    assert layout.lines[0].endswith(f" {right.x} {right.y + HEIGHT // 2}")


@given(PAIRS)
def test_nothing_lies_on_anything_else_whatever_the_graph(pairs: list[tuple[str, str]]) -> None:
    layout = layout_of(NAMES, pairs)
    assert [box.name for box in layout.boxes] == list(NAMES)
    for box in layout.boxes:
        assert 0 <= box.x <= layout.width - WIDTH
        assert 0 <= box.y <= layout.height - HEIGHT
    for one, other in combinations(layout.boxes, 2):
        assert one.x != other.x or abs(one.y - other.y) >= HEIGHT
    assert len(layout.lines) == len({pair for pair in pairs if pair[0] != pair[1]})
    assert all(re.fullmatch(r"[MCHV0-9. -]+", line) for line in layout.lines)


@given(PAIRS)
def test_without_circles_inputs_are_always_to_the_left(pairs: list[tuple[str, str]]) -> None:
    ascending = [pair for pair in pairs if pair[0] < pair[1]]
    layout = layout_of(NAMES, ascending)
    x = {box.name: box.x for box in layout.boxes}
    assert all(x[left] < x[right] for left, right in ascending)
    assert layout == layout_of(NAMES, ascending)


def test_long_chains_and_crowds_are_drawn_in_no_time() -> None:
    names = [str(number) for number in range(120)]
    began = time.process_time()
    layout_of(names, list(pairwise(names)) + [(names[0], name) for name in names[2:]])
    layout_of(names, [(left, right) for left in names[:20] for right in names[20:40]])
    assert time.process_time() - began < 5

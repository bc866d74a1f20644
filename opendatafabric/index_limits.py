"""Of the index: of what the catalog repeats of chains."""

from __future__ import annotations

from typing import Final

INDEXED_TEXT_CHARS_MAX: Final = 10_000
"""How much of a description, a name or a type the catalog repeats; the whole stands in the block."""

INDEXED_ITEMS_MAX: Final = 1_000
"""Keywords, columns and push sources of a dataset that the catalog repeats; all of them stand in the blocks."""

LINEAGE_NODES_MAX: Final = 1_000
"""Datasets in a lineage that is told; the nearest come first, and nobody overlooks more."""

LINEAGE_DEPTH_MAX: Final = 100
"""Steps that a lineage is followed in either direction: each is a question to the catalog."""

LINEAGE_EDGES_MAX: Final = 5_000
"""Edges in a lineage that is told: datasets may have a thousand inputs each."""

SEARCH_CHARS_MAX: Final = 200
"""How much of what is typed into a search is looked at: as much as the field of the page takes."""

SEARCH_WORDS_MAX: Final = 10
"""Words of a search; more are not looked at. Each costs a look at the index."""

COUNTED_DATASETS_MAX: Final = 2_000
"""How many datasets are counted by kind, licence and standing for one answer, which takes some 10 ms; of more than
that only that they are more is told."""

LINEAGE_ANSWER_BYTES_MAX: Final = 16 * 1024 * 1024
"""Longest answer about lineage that is taken from a server: a thousand datasets, or a hundred steps with their SQL."""

"""Hypothesis strategies for programs, mostly of one family of operators."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from random_programs.builder import Builder, Family
from random_programs.convolutions import CONVOLUTIONS
from random_programs.elementwise import ELEMENTWISE
from random_programs.indexing import INDEXING
from random_programs.normalizations import NORMALIZATIONS
from random_programs.products import PRODUCTS
from random_programs.program import Program
from random_programs.reductions import REDUCTIONS
from random_programs.types import TYPES
from random_programs.views import VIEWS

FAMILIES: dict[str, Family] = {
    "elementwise": ELEMENTWISE,
    "reductions": REDUCTIONS,
    "views": VIEWS,
    "products": PRODUCTS,
    "convolutions": CONVOLUTIONS,
    "normalizations": NORMALIZATIONS,
    "indexing": INDEXING,
    "types": TYPES,
}
_EVERY = [operator for family in FAMILIES.values() for operator in family]


@st.composite
def builders(draw, family: str) -> Builder:
    """Draws the Builder of a program of 1 to 8 statements, two in three of them of the family."""
    builder = Builder(draw)
    for _ in range(draw(st.sampled_from([1, 1, 2, 2, 3, 3, 4, 5, 8]))):
        own = draw(st.integers(0, 2)) < 2
        builder.apply(draw(st.sampled_from(FAMILIES[family] if own else _EVERY)))
    assume(builder.lines and builder.inputs)
    return builder


def programs(family: str) -> st.SearchStrategy[Program]:
    """Returns a strategy for programs, mostly of one family of operators."""
    return builders(family).map(Builder.program)

"""Hypothesis strategies for programs, mostly of one family of operators."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from unmess.conformance.programs.builder import Builder, Family
from unmess.conformance.programs.convolutions import CONVOLUTIONS
from unmess.conformance.programs.elementwise import ELEMENTWISE
from unmess.conformance.programs.indexing import INDEXING
from unmess.conformance.programs.normalizations import NORMALIZATIONS
from unmess.conformance.programs.products import PRODUCTS
from unmess.conformance.programs.program import Program
from unmess.conformance.programs.reductions import REDUCTIONS
from unmess.conformance.programs.types import TYPES
from unmess.conformance.programs.views import VIEWS

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

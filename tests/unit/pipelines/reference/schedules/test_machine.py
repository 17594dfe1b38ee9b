import pytest

from pipelines.reference.schedules.machine import AVX2, AVX512, NEON, SSE


@pytest.mark.parametrize("machine", [AVX512, AVX2, SSE, NEON])
@pytest.mark.parametrize("columns", [None, 1, 7, 16, 49, 56, 3136])
@pytest.mark.parametrize("rows", [None, 1, 3, 8, 64, 1000])
@pytest.mark.parametrize("item", [4, 8])
def test_a_tile_leaves_registers_for_its_operands(machine, item, columns, rows):
    width, height = machine.tile(item, columns, rows)
    registers = height * -(-width * item // machine.vector_bytes)
    assert 0 < registers <= machine.registers - 4
    assert rows is None or height <= rows


def test_columns_that_fill_two_registers():
    assert AVX512.tile(4, 3136, 64) == (32, 8)
    assert AVX2.tile(4, 3136, 64) == (16, 6)
    assert NEON.tile(4, 3136, 64) == (8, 8)


def test_few_columns_take_a_short_vector():
    assert AVX512.tile(4, 7, 64)[0] == 8


def test_rows_are_cut_into_equal_tiles():
    # Two tiles of 5, not one of 8 and one of 2.
    assert AVX512.tile(4, 64, 10) == (32, 5)

"""Compares `overlap` with the sets of elements, for random boxes."""

import itertools
import random
from dataclasses import replace

import pytest
from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.reference.analysis.regions import Region, overlap, regions


def elements(region, part):
    first = region.start + region.step * part
    ranges = [range(0, size * stride, stride) for stride, size in region.axes]
    return {first + sum(place) for place in itertools.product(*ranges)}


def box(shape, offsets, sizes, step, *, writes=True):
    """Returns a part of a dense buffer; `step` is the axis along which parts differ."""
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    start = sum(offset * stride for offset, stride in zip(offsets, strides, strict=True))
    axes = [(n, size) for n, size in zip(strides, sizes, strict=True) if size != 1]
    return Region("block", start, strides[step] * sizes[step], tuple(axes), writes, 0)


def test_overlap_finds_every_common_element():
    generator = random.Random(0)
    apart = 0
    for _ in range(3000):
        parts = generator.choice((2, 3))
        shape = [generator.choice((parts, 2 * parts, 6)) for _ in range(3)]
        pair = []
        for _ in range(2):
            # The same elements in other shapes, as after a collapse of axes.
            form = generator.choice(([*shape], [shape[0], shape[1] * shape[2]]))
            step = generator.randrange(len(form))
            sizes = [generator.randint(1, size) for size in form]
            sizes[step] = form[step] // parts
            offsets = [
                generator.randint(0, size - used) for size, used in zip(form, sizes, strict=True)
            ]
            offsets[step] = 0
            pair.append(box(form, offsets, sizes, step))
        # Some pairs have equal parts of one buffer, or all of it in each part of the other.
        pair[1] = generator.choice((pair[1], pair[1], pair[0], replace(pair[1], step=0)))
        common = any(
            elements(pair[0], i) & elements(pair[1], j)
            for i, j in itertools.permutations(range(parts), 2)
        )
        found = overlap(*pair, parts)
        assert found or not common
        apart += not found
    # Parts of a buffer along the same axis, in any form, have no common element.
    assert apart > 1000


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Halves of the channels of an image, and of the same image with its rows collapsed.
        (box([4, 6, 6], [0, 0, 0], [2, 6, 6], 0), box([4, 36], [0, 0], [2, 36], 0), False),
        # Halves of the channels, and halves of the rows.
        (box([4, 6, 6], [0, 0, 0], [2, 6, 6], 0), box([4, 6, 6], [0, 0, 0], [4, 3, 6], 1), True),
        # Halves of all rows, and of the rows inside of a border of one element.
        (box([4, 8, 8], [0, 0, 0], [4, 4, 8], 1), box([4, 8, 8], [0, 1, 1], [4, 3, 6], 1), False),
        # Rows with those around them.
        (box([4, 8, 8], [0, 0, 0], [4, 4, 8], 1), box([4, 8, 8], [0, 0, 0], [4, 5, 8], 1), True),
    ],
)
def test_parts_of_images(first, second, expected):
    assert overlap(first, second, 2) is expected


def test_two_reads_do_not_conflict():
    read = box([4, 4], [0, 0], [4, 4], 0, writes=False)
    assert not overlap(read, read, 2)


BLOCK = "memref<2x2xf32, strided<[6, 1], offset: ?>>"
PROGRAM = f"""
func.func @main(%x: memref<8x6xf32>) {{
  %c = arith.constant 0.0 : f32
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %four = arith.constant 4 : index
  scf.for %part = %zero to %two step %one {{
    %start = arith.muli %part, %four : index
    %end = arith.addi %start, %four : index
    scf.for %row = %start to %end step %two {{
      %view = memref.subview %x[%row, 3] [2, 2] [1, 1] : memref<8x6xf32> to {BLOCK}
      linalg.fill ins(%c : f32) outs(%view : {BLOCK})
    }}
  }}
  return
}}
"""


def test_regions_of_loops_in_a_part():
    with ir.Context():
        module = ir.Module.parse(PROGRAM)
        inner, outer = find_operations(module, lambda each: each.name == "scf.for")
        body = outer.regions[0].blocks[0]
        (found,) = regions(inner, body.arguments[0])
        # From row 4 * part, two blocks of 2 x 2 elements that are two rows apart.
        assert (found.start, found.step) == (3, 24)
        assert sorted(found.axes) == [(1, 2), (6, 2), (12, 2)]
        assert found.writes and found.bytes == 8 * 6 * 4
        # Outside of a part, its index is unknown.
        assert regions(inner) is None


@pytest.mark.parametrize(
    "operation",
    [
        "func.call @other(%x) : (memref<4xf32>) -> ()",
        'cf.assert %flag, "wrong"',
        "memref.dealloc %x : memref<4xf32>",
    ],
)
def test_other_effects_are_unknown(operation):
    with ir.Context():
        module = ir.Module.parse(
            "func.func private @other(memref<4xf32>)\n"
            f"func.func @main(%x: memref<4xf32>, %flag: i1) {{ {operation} return }}"
        )
        block = module.body.operations[1].regions[0].blocks[0]
        assert regions(block.operations[0].operation) is None

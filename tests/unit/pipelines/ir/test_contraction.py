import pytest
from torch_mlir import ir

from pipelines.ir.contraction import find_contraction


def generic(maps: str, kinds: str, types: str, body: str) -> str:
    a, b, c = types.split()
    return f"""
    func.func @f(%a: {a}, %b: {b}, %c: {c}) {{
      linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
          ins(%a, %b : {a}, {b}) outs(%c : {c}) {{
        ^bb0(%x: f32, %y: f32, %z: f32):
          {body}
      }}
      return
    }}"""


PRODUCT = """%0 = arith.mulf %x, %y : f32
%1 = arith.addf %0, %z : f32
linalg.yield %1 : f32"""
MATMUL = (
    "affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,"
    "affine_map<(i, j, k) -> (i, j)>"
)
PPR = '"parallel", "parallel", "reduction"'
SHAPES = "memref<4x8xf32> memref<8x?xf32> memref<4x?xf32>"


def found(text: str):
    with ir.Context():
        module = ir.Module.parse(text)
        operation = module.body.operations[0].regions[0].blocks[0].operations[0].operation
        return find_contraction(operation)


def test_matmul():
    contraction = found(generic(MATMUL, PPR, SHAPES, PRODUCT))
    assert contraction.rows == (0,)
    assert contraction.columns == (1,)
    assert contraction.depth == (2,)
    assert contraction.batch == ()
    assert contraction.column == 1
    assert (contraction.lhs, contraction.rhs) == (0, 1)
    assert contraction.sizes == (4, None, 8)
    assert not contraction.windows


def test_operand_with_the_result_columns_is_the_rhs():
    maps = (
        "affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, k)>,"
        "affine_map<(i, j, k) -> (i, j)>"
    )
    shapes = "memref<8x5xf32> memref<4x8xf32> memref<4x5xf32>"
    contraction = found(generic(maps, PPR, shapes, PRODUCT))
    assert (contraction.lhs, contraction.rhs) == (1, 0)


def test_windows():
    maps = (
        "affine_map<(f, p, c, k) -> (c, p * 2 + k)>, affine_map<(f, p, c, k) -> (f, c, k)>,"
        "affine_map<(f, p, c, k) -> (f, p)>"
    )
    kinds = '"parallel", "parallel", "reduction", "reduction"'
    shapes = "memref<3x9xf32> memref<4x3x3xf32> memref<4x4xf32>"
    contraction = found(generic(maps, kinds, shapes, PRODUCT))
    assert contraction.windows
    assert contraction.rows == (0,)
    assert contraction.columns == (1,)
    assert contraction.depth == (2, 3)


@pytest.mark.parametrize(
    "body",
    [
        "%0 = arith.addf %x, %y : f32\n%1 = arith.addf %0, %z : f32\nlinalg.yield %1 : f32",
        "%0 = arith.mulf %x, %x : f32\n%1 = arith.addf %0, %z : f32\nlinalg.yield %1 : f32",
        "%0 = arith.mulf %x, %y : f32\nlinalg.yield %0 : f32",
        "%0 = arith.mulf %x, %y : f32\n%1 = arith.addf %0, %0 : f32\nlinalg.yield %1 : f32",
    ],
)
def test_other_bodies_are_no_contraction(body):
    assert found(generic(MATMUL, PPR, SHAPES, body)) is None


def test_elementwise_products_are_no_contraction():
    maps = ", ".join(["affine_map<(i, j) -> (i, j)>"] * 3)
    shapes = "memref<4x8xf32> memref<4x8xf32> memref<4x8xf32>"
    assert found(generic(maps, '"parallel", "parallel"', shapes, PRODUCT)) is None

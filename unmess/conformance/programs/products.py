"""Matrix products of all forms."""

from __future__ import annotations

from unmess.conformance.programs.builder import Builder, Family
from unmess.conformance.programs.values import COMPLEX, FLOATS, SIGNED

PRODUCTS = Family()
_NUMBERS = (*FLOATS, *FLOATS, *SIGNED, *COMPLEX)


def _operand(b: Builder, dtype, *shape: int) -> str:
    """Draws an operand of this shape: an earlier value, or a new input."""
    fitting = [n for n, v in b.values.items() if v.shape == shape and v.dtype == dtype]
    if fitting and b.chance(60):
        return b.use(b.pick(*fitting))
    return b.new(shape, dtype, b.pick("small", "generic"))


def _left(b: Builder, rank: int) -> str:
    """Draws an earlier value of this rank, or a new one, often with sizes near those of tiles."""
    x = [n for n, v in b.values.items() if v.dim() == rank and v.dtype in _NUMBERS]
    if x and b.chance(60):
        return b.use(b.pick(*x))
    outer = [b.pick(1, 2, 3) for _ in range(rank - 2)]
    tiles = b.chance(60)
    return b.new(
        (*outer, *b.shape(min(rank, 2), tiles)), b.pick(*_NUMBERS), b.pick("small", "generic")
    )


@PRODUCTS.add(exact=True)
def matrix_product(b: Builder) -> str:
    x = _left(b, 2)
    y = _operand(b, b[x].dtype, b[x].shape[1], b.size(b.chance(60)))
    return b.pick(f"torch.mm({x}, {y})", f"{x} @ {y}", f"({y}.T @ {x}.T)")


@PRODUCTS.add(exact=True)
def batched_product(b: Builder) -> str:
    x = _left(b, 3)
    y = _operand(b, b[x].dtype, b[x].shape[0], b[x].shape[2], b.size())
    return f"torch.bmm({x}, {y})"


@PRODUCTS.add(exact=True)
def product_of_any_ranks(b: Builder) -> str:
    x = _left(b, b.integer(1, 4))
    depth = b[x].shape[-1]
    outer = tuple(1 if b.chance(40) else n for n in b[x].shape[:-2])
    shape = b.pick((depth,), (depth, b.size()), (*outer, depth, b.size()), (2, *outer, depth, 3))
    if len(shape) > 4:
        shape = shape[-4:]
    return f"torch.matmul({x}, {_operand(b, b[x].dtype, *shape)})"


@PRODUCTS.add(exact=True)
def product_and_sum(b: Builder) -> str:
    x = _left(b, 2)
    dtype, (rows, depth), columns = b[x].dtype, b[x].shape, b.size(b.chance(40))
    y = _operand(b, dtype, depth, columns)
    z = _operand(b, dtype, *b.pick((rows, columns), (columns,), (1, columns), (rows, 1), ()))
    scale = b.pick("", ", beta=2", ", alpha=3", ", beta=0", ", beta=2, alpha=-1")
    return f"torch.addmm({z}, {x}, {y}{scale})"


@PRODUCTS.add(exact=True)
def batched_product_and_sum(b: Builder) -> str:
    x = _left(b, 3)
    dtype, (batch, rows, depth), columns = b[x].dtype, b[x].shape, b.size()
    y = _operand(b, dtype, batch, depth, columns)
    z = _operand(b, dtype, *b.pick((batch, rows, columns), (columns,), (rows, columns)))
    return f"torch.baddbmm({z}, {x}, {y}{b.pick('', ', beta=2', ', alpha=3')})"


@PRODUCTS.add(exact=True)
def linear(b: Builder) -> str:
    x = _left(b, b.integer(1, 4))
    columns = b.size(b.chance(60))
    w = _operand(b, b[x].dtype, columns, b[x].shape[-1])
    bias = f", {_operand(b, b[x].dtype, columns)}" if b.chance(60) else ""
    return f"F.linear({x}, {w}{bias})"


@PRODUCTS.add(exact=True)
def vectors(b: Builder) -> str:
    x = _left(b, 1)
    y = _operand(b, b[x].dtype, *b[x].shape)
    return b.pick(
        f"torch.dot({x}, {y})",
        f"torch.outer({x}, {y})",
        f"torch.inner({x}, {y})",
        f"torch.vdot({x}, {y})",
    )


@PRODUCTS.add(exact=True)
def matrix_and_vector(b: Builder) -> str:
    x = _left(b, 2)
    y = _operand(b, b[x].dtype, b[x].shape[1])
    return f"torch.mv({x}, {y})"


_EQUATIONS = (
    ("ij,jk->ik", 2),
    ("ij,kj->ik", 2),
    ("ij,ij->i", 2),
    ("ij,jk->ki", 2),
    ("bij,bjk->bik", 3),
    ("bij,bkj->bik", 3),
    ("bij,jk->bik", 3),
    ("bij,bij->", 3),
    ("bhqd,bhkd->bhqk", 4),
    ("bqhd,bkhd->bhqk", 4),
    ("bhid,hde->bhie", 4),
    ("ij->ji", 2),
    ("ij->j", 2),
    ("bii->bi", 3),
    ("i,j->ij", 1),
)


@PRODUCTS.add(exact=True)
def einstein_sum(b: Builder) -> str:
    equation, rank = b.pick(*_EQUATIONS)
    x = _left(b, rank)
    operands = equation.split("->")[0].split(",")
    sizes = dict(zip(operands[0], b[x].shape, strict=True))
    names = [x]
    for letters in operands[1:]:
        shape = [sizes.setdefault(letter, b.size()) for letter in letters]
        names.append(_operand(b, b[x].dtype, *shape))
    return f"torch.einsum('{equation}', {', '.join(names)})"


@PRODUCTS.add(exact=True)
def tensor_product(b: Builder) -> str:
    x = _left(b, b.integer(2, 3))
    if b.chance(30):
        return f"torch.kron({x}, {_operand(b, b[x].dtype, 2, 2)})"
    y = _operand(b, b[x].dtype, b[x].shape[-1], b.size())
    return f"torch.tensordot({x}, {y}, dims=1)"

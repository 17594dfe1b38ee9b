"""Finds loops in the torch dialect with a known trip count."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.torch_operations import element_of, maker_of, sizes_of

LOOP = "torch.prim.Loop"
SUMS = ("torch.aten.add.Scalar", "torch.aten.add.Tensor")


@dataclass(frozen=True)
class CountedLoop:
    """A `torch.prim.Loop` that only its trip count ends, with a state that counts its rounds.

    Attributes:
        loop: the operation.
        position: the position of the counter in the loop's state.
        start: the first value of the counter, which increases by one.
    """

    loop: ir.Operation
    position: int
    start: int

    @classmethod
    def find(cls, loop: ir.Operation) -> CountedLoop | None:
        """Returns the description of a loop, or None if it is not such a loop."""
        body = loop.regions[0].blocks[0]
        *_, end = body.operations
        if constant(loop.operands[1]) != 1 or constant(end.operands[0]) != 1:
            return None
        starts, ends = list(loop.operands)[2:], list(end.operands)[1:]
        states = zip(starts, list(body.arguments)[1:], ends, strict=True)
        for position, (start, counter, after) in enumerate(states):
            first = constant(start)
            if first is not None and _counts(after, counter):
                return cls(loop, position, first)
        return None

    @property
    def body(self) -> ir.Block:
        """The block of the loop. Its first argument is the number of the round."""
        return self.loop.regions[0].blocks[0]

    @property
    def counter(self) -> ir.Value:
        """The counter in the body, an si64 tensor without dimensions."""
        return self.body.arguments[self.position + 1]


def _counts(after: ir.Value, counter: ir.Value) -> bool:
    for name in SUMS:
        made = maker_of(after, name)
        if made is not None and made.operands[0] == counter:
            return constant(made.operands[1]) == 1 and constant(made.operands[2]) == 1
    return False


def constant(value: ir.Value) -> int | None:
    """Returns a constant integer or boolean, or the value of a literal with one integer."""
    for name in ("torch.constant.int", "torch.constant.bool"):
        made = maker_of(value, name)
        if made is not None:
            return int(made.attributes["value"].value)
    literal = maker_of(value, "torch.vtensor.literal")
    if literal is None or sizes_of(value.type) != [] or element_of(value.type) != "si64":
        return None
    return int(ir.DenseElementsAttr(literal.attributes["value"]).get_splat_value().value)

"""Lowers a custom operator without a decomposition by a user pass."""

import torch
from torch_mlir import ir

import unmess


@torch.library.custom_op("mylib::swish", mutates_args=())
def swish(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x)


@swish.register_fake
def _(x):
    return torch.empty_like(x)


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(torch.ops.mylib.swish(x), 1)


def model():
    return Model(), (torch.randn(2, 4),)


def lower_swish(module: ir.Module) -> None:
    """Replaces every `mylib.swish` by `aten.silu`, which the next pipeline decomposes."""
    found = []

    def visit(operation):
        name = operation.attributes["name"] if operation.name == "torch.operator" else None
        if name is not None and ir.StringAttr(name).value == "torch.mylib.swish":
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for operation in found:
        with module.context, operation.location, ir.InsertionPoint(operation):
            types, operands = [operation.result.type], list(operation.operands)
            silu = ir.Operation.create("torch.aten.silu", types, operands)
        operation.result.replace_all_uses_with(silu.result)
        operation.erase()


if __name__ == "__main__":
    module, args = model()
    program = unmess.capture(module, args)
    for violation in unmess.contract.check(unmess.lower(program, to="raw")):
        print(violation)
    lowered = unmess.lower(program, to="linalg", insert_passes=[("raw", lower_swish)])
    difference = (unmess.load(lowered, on="reference")(*args) - module(*args)).abs().max()
    print(f"largest difference from eager {difference:.1e}")

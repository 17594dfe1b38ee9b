"""User-defined passes: functions that change a module in place."""

import os
import signal

from torch_mlir import ir


def relu_to_tanh(module):
    found = []

    def visit(operation):
        if operation.name == "torch.aten.relu":
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for relu in found:
        tanh = ir.Operation.create(
            "torch.aten.tanh",
            [relu.result.type],
            list(relu.operands),
            loc=relu.location,
            ip=ir.InsertionPoint(relu),
        )
        relu.result.replace_all_uses_with(tanh.result)
        relu.erase()


def mark(module):
    module.operation.attributes["my.mark"] = ir.StringAttr.get("first")


def mark_again(module):
    before = ir.StringAttr(module.operation.attributes["my.mark"]).value
    module.operation.attributes["my.mark"] = ir.StringAttr.get(f"{before}, second")


def crash(module):
    os.kill(os.getpid(), signal.SIGSEGV)


def fail(module):
    raise ValueError("not today")


def spoil(module):
    function = module.body.operations[0]
    wrong = ir.Type.parse("(!torch.vtensor<[2],f32>) -> !torch.int")
    function.attributes["function_type"] = ir.TypeAttr.get(wrong)

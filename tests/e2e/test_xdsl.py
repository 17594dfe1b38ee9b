"""Tests that xDSL reads the generic form, and torch-mlir reads the output of xDSL."""

from io import StringIO
from pathlib import Path

import pytest
import torch
import xdsl.dialects
from torch import nn
from xdsl.context import Context
from xdsl.parser import Parser
from xdsl.printer import Printer

import unmess
from unmess.core.ir.parsing import parse
from unmess.core.module.module import Module


def read(text, unknown=()):
    """Returns a verified xDSL module. Exactly the operations in `unknown` must be unregistered."""
    context = Context(allow_unregistered=True)
    for name, dialect in xdsl.dialects.get_all_dialects().items():
        context.register_dialect(name, dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    found = {each.op_name.data for each in module.walk() if each.name == "builtin.unregistered"}
    assert found == set(unknown)
    return module


def through_xdsl(module, unknown=(), generic=False):
    """Returns a linalg module that xDSL has parsed and printed, and torch-mlir has parsed again."""
    printed = StringIO()
    xdsl_module = read(module.text(generic=True), unknown)
    Printer(printed, print_generic_format=generic).print_op(xdsl_module)
    ir = parse(printed.getvalue(), module.name)
    return Module(module.name, module.stage, ir, module.signature, module.weights)


def check(model, args, unknown=(), **options):
    """Compares eager with the reference runner on a module that went through xDSL."""
    program = unmess.capture(model, args)
    expected = model(*args)
    for generic in (False, True):
        module = through_xdsl(unmess.lower(program, **options), unknown, generic)
        torch.testing.assert_close(unmess.load(module)(*args), expected)


def test_a_network_survives_a_round_trip():
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    network = nn.Sequential(*layers, nn.Linear(36, 5), nn.Softmax(-1)).eval()
    check(network, (torch.randn(2, 3, 8, 8),))


@pytest.mark.parametrize(
    ("upstream_only", "unknown"),
    [(False, ["tm_tensor.scan", "tm_tensor.sort", "tm_tensor.yield"]), (True, [])],
)
def test_upstream_only_leaves_no_unknown_operations(upstream_only, unknown):
    x = torch.randperm(12).float().reshape(3, 4)
    check(lambda x: (x.topk(2), x.cumsum(0)), (x,), unknown, upstream_only=upstream_only)


def test_operations_that_xdsl_lacks_pass_through():
    args = torch.randn(2, 3, 4), torch.randn(2, 4, 3)
    check(torch.bmm, args, ["linalg.batch_matmul"])


INTERPRETER = Path(__file__).parents[2] / "examples/backends/xdsl_interpreter.py"


def test_the_interpreter_is_a_backend():
    on, x = f"{INTERPRETER}:XdslInterpreter", torch.randn(2, 3)
    program = unmess.capture(lambda x, y: torch.relu(x) * y + x, (x, torch.randn(3)))
    report = unmess.check(program, on=on, calls=1)
    assert report.ok, report.error
    run = unmess.load(unmess.capture(torch.exp, (x,)), on=on)
    with pytest.raises(unmess.Error, match=r"xdsl fails: .* for op math\.exp") as caught:
        run(x)
    assert caught.value.stage == "run"

"""Tests of `--upstream-only` IR, run by upstream MLIR's bindings alone, compared with eager."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves
from torch_mlir import ir

import unmess
from pipelines.upstream.lowering import lower_to_upstream
from unmess.core.ir.dialects import context_of_all

CHILD = Path(__file__).parents[2] / "examples" / "upstream_mlir.py"


def run_upstream(text, arguments, folder):
    """Runs a module in a new process without this project's code, and returns the results."""
    names = [str(folder / name) for name in ("module.mlir", "arguments.npz", "results.npz")]
    (folder / "module.mlir").write_text(text)
    np.savez(folder / "arguments.npz", *(each.detach().numpy() for each in arguments))
    done = subprocess.run([sys.executable, "-I", CHILD, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with np.load(folder / "results.npz") as results:
        return [torch.from_numpy(results[name]) for name in results.files]


def check(model, args, folder, dynamic_shapes=None, call=None):
    """Compares a model on upstream MLIR with eager, for the arguments in `call` or else `args`."""
    program = unmess.capture(model, args, dynamic_shapes=dynamic_shapes)
    module = unmess.lower(program, upstream_only=True)
    call = call or args
    inputs = iter(tree_leaves(call))
    arguments = [
        next(inputs) if each.kind == "input" else program.weights[each.name]
        for each in module.signature.arguments
    ]
    before = [argument.detach().clone() for argument in arguments]
    results = run_upstream(module.text(), arguments, folder)
    for result, expected in zip(results, tree_leaves(model(*call)), strict=True):
        torch.testing.assert_close(result, expected, equal_nan=True)
    for argument, old in zip(arguments, before, strict=True):
        torch.testing.assert_close(argument, old, rtol=0, atol=0, equal_nan=True)


def test_convolutional_network(tmp_path):
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(4 * 4 * 4, 5),
        nn.Softmax(-1),
    ).eval()
    check(network, (torch.randn(2, 3, 8, 8),), tmp_path)


class Decoder(nn.Module):
    """A small transformer: embedding, causal attention and a feed-forward network."""

    def __init__(self):
        super().__init__()
        self.tokens, self.norm = nn.Embedding(11, 8), nn.LayerNorm(8)
        self.attention = nn.Linear(8, 24)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, tokens):
        x = self.tokens(tokens)
        parts = self.attention(self.norm(x)).unflatten(-1, (2, 12)).transpose(1, 2)
        query, key, value = parts.chunk(3, -1)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + mixed.transpose(1, 2).flatten(2)
        return self.down(nn.functional.gelu(self.up(x))).argmax(-1), x


def test_transformer(tmp_path):
    torch.manual_seed(0)
    check(Decoder().eval(), (torch.randint(0, 11, (2, 5)),), tmp_path)


def order(x, y):
    """Sorts rows with ties and NaN, at dynamic sizes."""
    return torch.sort(x, stable=True), torch.sort(y, dim=0, descending=True, stable=True), x.topk(2)


def test_sort_and_topk(tmp_path):
    sizes = ({1: torch.export.Dim("columns", min=2, max=99)}, {})
    nan = float("nan")
    x = torch.tensor([[3.0, nan, 1.0, 7.0, nan, -torch.inf, 0.5], [5.0, 4.0, 3.0, 2.0, 1.0, 0, -1]])
    y = torch.randint(0, 4, (6, 2))
    check(order, (torch.randn(2, 4), y), tmp_path, sizes, (x, y))


def accumulate(x, places, updates):
    """Returns scans and scatters, with repeated and negative indices."""
    scattered = x.scatter_add(1, places, updates)
    replaced = x.index_put((places[:, 0],), updates.repeat(1, 2)[:, :4], accumulate=True)
    negative = x.index_put((places[:, 0] - 3, places[:, 1]), updates[:, 0])
    return x.cumsum(-2), x.cumprod(1), scattered, replaced, negative, torch.nonzero(x > 0)


def test_scan_and_scatter(tmp_path):
    torch.manual_seed(0)
    places = torch.tensor([[0, 0], [2, 0], [0, 2]])
    check(accumulate, (torch.randn(3, 4), places, torch.randn(3, 2)), tmp_path)


def test_random_numbers_are_those_of_the_reference_runner(tmp_path):
    program = unmess.capture(lambda x: x + torch.rand(3, 4), (torch.zeros(3, 4),))
    module = unmess.lower(program, upstream_only=True)
    (drawn,) = run_upstream(module.text(), [torch.zeros(3, 4)], tmp_path)
    torch.testing.assert_close(drawn, unmess.load(program)(torch.zeros(3, 4)), rtol=0, atol=0)
    assert 0 <= drawn.min() < drawn.max() < 1


ATTENTION = """
func.func @main(%q: tensor<2x3x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x6xf32>,
                %mask: tensor<2x3x?xf32>, %o: tensor<2x3x6xf32>) -> tensor<2x3x6xf32> {
  %0 = tm_tensor.attention
    ins(%q, %k, %v, %mask : tensor<2x3x8xf32>, tensor<2x?x8xf32>, tensor<2x?x6xf32>,
        tensor<2x3x?xf32>) outs(%o : tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
  return %0 : tensor<2x3x6xf32>
}
"""


def test_attention_that_is_one_operation(tmp_path):
    """IR from other tools may contain `tm_tensor.attention`.

    One row is fully masked, and large scores overflow `exp`.
    """
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 3, 8) * 100, torch.randn(2, 5, 8), torch.randn(2, 5, 6)
    mask = torch.zeros(2, 3, 5).masked_fill(torch.rand(2, 3, 5) > 0.5, -torch.inf)
    mask[0, 1] = -torch.inf
    with context_of_all():
        module = ir.Module.parse(ATTENTION)
        lower_to_upstream(module)
        text = str(module)
    arguments = [query, key, value, mask, torch.full((2, 3, 6), 7.0)]
    (result,) = run_upstream(text, arguments, tmp_path)
    expected = nn.functional.scaled_dot_product_attention(query, key, value, mask)
    assert expected[0, 1].eq(0).all()
    torch.testing.assert_close(result, expected)


def test_only_linalg_is_rewritten():
    program = unmess.capture(torch.relu, (torch.randn(2),))
    with pytest.raises(unmess.Error, match="--upstream-only applies to linalg, not to tosa"):
        unmess.lower(program, "tosa", upstream_only=True)

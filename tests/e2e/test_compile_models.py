"""Tests how models under `torch.compile` are compared with eager PyTorch, and the table of them."""

import copy
from argparse import Namespace

import pytest

# Inductor imports setuptools. That fails if another test has already imported distutils.
import setuptools  # noqa: F401
import torch
from torch._inductor import config as inductor_config

from importers.recipes import Recipe
from importers.sources.source import Source
from tools import compile_models as tool
from unmess.isolated import shared_parent
from unmess.row_log import appending, read_rows
from unmess.torch_compile.model_check import ModelCheck, check_source


class Product(torch.nn.Module):
    def __init__(self, last=torch.relu):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.last = last

    def forward(self, x):
        return self.last(self.linear(x))


def checked(model, compiler="unmess"):
    check = ModelCheck("model", compiler)
    source = Source("model", model.eval(), (torch.ones(8, 8),))
    check_source(source, copy.deepcopy(model), check)
    return check


@pytest.mark.parametrize("compiler", ("unmess", "inductor"))
def test_model_that_compiles_as_a_whole(compiler):
    # Inductor would first compile C++ headers, which takes longer than the model.
    with inductor_config.patch(cpp_cache_precompile_headers=False):
        check = checked(Product(), compiler)
    assert (check.ok, check.stage, check.graphs, check.outside) == (True, "done", 1, [])
    assert check.share == (1.0 if compiler == "unmess" else None)
    assert check.seconds.keys() == {"compile", "run"}


@pytest.mark.filterwarnings("ignore:graph")
def test_operators_that_do_not_compile_lower_the_share():
    check = checked(Product(lambda x: torch.linalg.eigvals(x).abs().sort().values))
    assert check.ok
    assert 0.5 < check.share < 1
    (reason,) = check.outside
    assert reason.startswith("aten.linalg_eig")


@torch.compiler.disable
def product_in_eager(x):
    return x @ x


def test_products_outside_of_graphs_lower_the_share():
    check = checked(Product(product_in_eager))
    # Both products have as many operations; adding the bias has few.
    assert check.ok
    assert 0.5 < check.share < 0.55
    assert check.breaks == ["Skip calling `torch.compiler.disable()`d function"]


def test_products_without_use_do_not_count():
    assert checked(Product(lambda x: (x @ x, x.relu())[1])).share == 1.0


def test_wrong_result():
    check = checked(Product(lambda x: x + torch.compiler.is_compiling()))
    assert (check.ok, check.stage) == (False, "compare")
    assert check.error.startswith("result: differs by 1")


def test_exception_of_eager():
    check = ModelCheck("model", "unmess")
    with pytest.raises(RuntimeError):
        check_source(Source("model", Product(), (torch.ones(3),)), Product(), check)
    assert check.stage == "eager"


def test_only_missing_models_run(tmp_path):
    known = ModelCheck("hf:known", "unmess", stage="compare")
    results = {("hf:known", "unmess"): known}
    options = Namespace(again=None, memory=8000, timeout=100)
    with appending(tmp_path / "results.jsonl") as log:
        tool.run_missing(shared_parent(), ["hf:known", "hf:no_such_type"], results, log, options)
    (stored,) = read_rows(tmp_path / "results.jsonl", ModelCheck)
    assert stored == results["hf:no_such_type", "unmess"]
    assert (stored.ok, stored.stage) == (False, "source")
    assert "no_such_type" in stored.error


def test_page():
    recipes = [Recipe(f"hf:{name}", "hf", "decoder") for name in "abcd"]
    checks = [
        ModelCheck("hf:a", "unmess", True, "done", max_rel_error=2e-7, graphs=1, share=1.0),
        ModelCheck(
            *("hf:b", "unmess", True, "done"),
            **{"max_rel_error": 0.0, "graphs": 2, "share": 0.9994, "outside": ["op: no lowering"]},
        ),
        ModelCheck("hf:c", "unmess", stage="compare", error="x | y", seconds={"compile": 3.4}),
        ModelCheck("hf:c", "inductor", True, "done", max_rel_error=0.0),
    ]
    text = tool.page(recipes, {(check.model, check.compiler): check for check in checks})
    assert "- Hugging Face: 2 of 3 match eager (66.7%), 1 of them with all" in text
    assert "; 1 stop in compare\n" in text
    assert "0 have no compiled graph; in the others, 100.0% of the operations" in text
    assert "on average, and at least 99.9%" in text
    assert "Inductor matches eager and unmess does not for 1 models" in text
    assert "- 1 models have not been run" in text
    assert "| `hf:a` | decoder | 2e-07 | 100% | 1 |  |  |\n" in text
    assert "| `hf:b` | decoder | equal | 99.9% | 2 |  |  |\n" in text
    assert "| `hf:c` | decoder | compare: x \\| y |  |  | 3 | equal |\n" in text
    assert "hf:d" not in text
    assert "- op: no lowering: `hf:b`\n" in text

"""Compares the check of the backend contract with torch-mlir's, which stops at the first error."""

import pytest
import torch
from torch_mlir import ir
from torch_mlir.passmanager import PassManager

import unmess
from pipelines.contract import KINDS, NOT_DECOMPOSED, check
from pipelines.lower import Changes, lower
from unmess.core.ir.dialects import context_of_all
from unmess.core.module.module import Module

OPERATORS = {
    "unknown rank": "torch.aten.relu %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<*,f32>",
    "unknown dtype": "torch.aten.relu %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],unk>",
    "not value-semantic": "torch.copy.to_tensor %x : !torch.tensor<[2,3],f32>",
    "not decomposed": "torch.aten.t %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[3,2],f32>",
    "unknown operator": 'torch.operator "torch.mylib.op"(%x) : (!torch.vtensor<[2,3],f32>) -> '
    "!torch.vtensor<[2,3],f32>",
    "unsupported type": '"torch.constant.number"() {value = 1 : i64} : () -> !torch.number',
}


def parse(*operations, result="!torch.vtensor<[2,3],f32>"):
    lines = [f'%{i} = {text} loc("user.py":{i + 1}:0)' for i, text in enumerate(operations)]
    body = "\n".join(lines)
    with context_of_all():
        return ir.Module.parse(
            f"func.func @main(%x: !torch.vtensor<[2,3],f32>) -> {result} "
            f"{{\n{body}\nreturn %x : {result}\n}}"
        )


def first_of_torch_mlir(module):
    """Returns the first violation that torch-mlir's own check reports, or None."""
    with module.context as context:
        context.emit_error_diagnostics = False
        passes = PassManager.parse(
            "builtin.module(torch-lower-to-backend-contract{max-iterations=0})"
        )
        try:
            passes.run(module.operation)
        except ir.MLIRError as problem:
            return next((d.message for d in problem.error_diagnostics), None)
    return None


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_that_torch_mlir_finds_is_found(kind):
    module = parse(OPERATORS[kind])
    (found,) = check(module)
    assert (found.kind, found.where) == (kind, "user.py:1")
    assert first_of_torch_mlir(module) is not None


def test_all_violations_are_found_without_changing_the_module():
    module = parse(*OPERATORS.values())
    before = str(module)
    found = check(module)
    assert [violation.kind for violation in found] == list(OPERATORS)
    assert [violation.where for violation in found] == [
        f"user.py:{line + 1}" for line in range(len(OPERATORS))
    ]
    check(module, at="raw")
    assert str(module) == before


@pytest.mark.parametrize("rank", range(1, 5))
def test_matmul_is_composite_for_the_same_ranks_as_in_torch_mlir(rank):
    shape = f"!torch.vtensor<[{','.join('2' * rank)}],f32>"
    zero = "torch.constant.int 0"
    sizes, types = ", ".join(["%0"] * rank), ", ".join(["!torch.int"] * rank)
    list_ = f"torch.prim.ListConstruct {sizes} : ({types}) -> !torch.list<int>"
    view = f"torch.aten.view %x, %1 : !torch.vtensor<[2,3],f32>, !torch.list<int> -> {shape}"
    result = "!torch.vtensor<[],f32>" if rank == 1 else shape
    product = f"torch.aten.matmul %2, %2 : {shape}, {shape} -> {result}"
    module = parse(zero, list_, view, product)
    kinds = [violation.kind for violation in check(module)]
    assert kinds == ([NOT_DECOMPOSED] if first_of_torch_mlir(module) else [])
    assert bool(kinds) == (rank in (2, 3))


def test_lowered_model_fulfills_the_contract():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

        def forward(self, x):
            return torch.var(self.layer(x), 1)

    program = unmess.capture(Model().eval(), (torch.randn(2, 3, 8),))
    assert unmess.contract.check(unmess.lower(program, to="raw")) == []
    assert unmess.contract.check(unmess.lower(program, to="torch")) == []


@pytest.mark.parametrize("to", ["linalg", "tosa", "stablehlo"])
def test_error_names_the_first_violation_and_counts_the_others(to):
    kinds = ("not value-semantic", "unknown rank", "unknown dtype")
    module = Module("model", "torch", parse(*(OPERATORS[kind] for kind in kinds)), None, {})
    with pytest.raises(unmess.Error) as caught:
        lower(module, to)
    assert (caught.value.stage, caught.value.where) == (to, "user.py:1")
    assert caught.value.cause == (
        "the IR violates the backend contract: copy.to_tensor has a tensor that is not "
        "value-semantic (result 0: !torch.tensor<[2,3],f32>), and 2 more"
    )


def test_violation_that_a_lowering_folds_is_no_error():
    module = Module("model", "torch", parse(OPERATORS["unsupported type"]), None, {})
    assert check(module) != []
    assert lower(module, "linalg").stage == "linalg"


def test_backend_legal_operators_are_not_decomposed():
    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.softmax(x, 1)

    program = unmess.capture(Model(), (torch.randn(2, 3),), backend_legal_ops=("aten.softmax.int",))
    text = unmess.lower(program, to="torch", backend_legal_ops=("aten.softmax.int",)).text()
    assert "torch.aten.softmax.int" in text
    # The pipeline decomposes operators that only the capture has kept.
    assert "softmax" not in unmess.lower(program, to="torch").text()
    # A kept operator fails in an output dialect that has no lowering for it.
    with pytest.raises(unmess.Error, match=r"no lowering for aten\.softmax\.int"):
        unmess.lower(program, to="linalg", backend_legal_ops=("aten.softmax.int",))


@pytest.mark.parametrize("name", ["aten.linear", "aten.layer_norm", "aten.gelu", "aten.t"])
def test_operators_that_pytorch_decomposes_can_be_kept(name):
    class Model(torch.nn.Module):
        def forward(self, x):
            normal = torch.nn.functional.layer_norm(x, (3,))
            linear = torch.nn.functional.linear(normal, x)
            return torch.nn.functional.gelu(linear, approximate="tanh").t()

    args = (torch.randn(2, 3),)
    program = unmess.capture(Model(), args, backend_legal_ops=(name,))
    module = unmess.lower(program, to="torch", backend_legal_ops=(name,))
    assert f"= torch.{name} " in module.text()
    assert check(module, backend_legal_ops=(name,)) == []
    apart = unmess.lower(unmess.capture(Model(), args), to="torch")
    assert f"= torch.{name} " not in apart.text()


def test_legal_operators_may_be_custom_but_not_misspelled():
    module = Module("model", "raw", parse(OPERATORS["unknown operator"]), None, {})
    with pytest.raises(unmess.Error, match=r"there is no operator 'mylib\.op'") as caught:
        lower(module, "torch", Changes(backend_legal_ops=("mylib.op",)))
    assert caught.value.stage == "usage"
    with torch.library._scoped_library("mylib", "DEF") as library:
        library.define("op(Tensor x) -> Tensor")
        lower(module, "torch", Changes(backend_legal_ops=("mylib.op.default",)))
    assert check(module, backend_legal_ops=("mylib.op",)) == []
    assert [violation.operation for violation in check(module)] == ["mylib.op.default"]

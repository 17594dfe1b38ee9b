"""`unmess.triage`: seeded failures of each kind become programs of at most five operators."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from unmess.isolated import Options, shared_parent
from unmess.triage import triage
from unmess.triage.running import in_workers
from unmess.triage.stability import UNINITIALIZED, unstable_call

BACKENDS = Path(__file__).parents[1] / "shared" / "failing_backends.py"
# Two blocks, and between them the operation that a test seeds.
MODEL = """
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 4))

    def forward(self, x):
        for _ in range(LAYERS):
            x = torch.relu(x @ self.weight + x)
        return x

class Between(torch.nn.Module):
    def forward(self, x):
        return SEEDED

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between, self.after = Block(), Between(), Block()

    def forward(self, x):
        return self.after(self.between(self.before(x)))

def model():
    return Model().eval(), (torch.randn(4, 4),)
"""
LINE = 1 + MODEL.splitlines().index("        return SEEDED")
PRODUCT = "x * x"
SPARSE = "x.to_sparse().to_dense()"


def seeded(tmp_path, expression, layers=2, header=""):
    file = tmp_path / "seeded.py"
    file.write_text(header + MODEL.replace("SEEDED", expression).replace("LAYERS", str(layers)))
    return f"{file}:model"


def reduced(
    tmp_path, expression, runner="reference", layers=2, header="", numerics=False, **options
):
    finding, interrupted = triage(
        shared_parent(),
        seeded(tmp_path, expression, layers, header),
        f"{BACKENDS}:{runner}" if runner[0].isupper() else runner,
        Options(**options),
        120.0,
        tmp_path / "out",
        numerics=numerics,
        run_file=in_workers(shared_parent()),
    )
    assert not interrupted
    return finding


# The seeded expression, the options, and the expected stage, kind and operator.
CASES = {
    "export": (SPARSE, {}, "capture", "error", "Tensor.to_sparse"),
    "export-memory": ("torch.from_dlpack(x)", {}, "capture", "error", "Tensor.__dlpack__"),
    "import": (
        "x.to(torch.uint16).to(torch.float32)",
        {},
        "import",
        "error",
        "prims.convert_element_type.default",
    ),
    "contract": ("torch.linalg.eig(x)[0].real", {}, "torch", "error", "aten.linalg_eig.default"),
    "tosa": ("x.copysign(x)", {"via": "tosa"}, "tosa", "error", "aten.view.dtype"),
    "compile-error": (PRODUCT, {"runner": "CompileError"}, "compile", "error", "aten.mul.Tensor"),
    "crash": (PRODUCT, {"runner": "Crash"}, "compile", "crash", "aten.mul.Tensor"),
    "hang": (
        PRODUCT,
        {"runner": "Hang", "timeout": 4.0, "layers": 1},
        "run",
        "hang",
        "aten.mul.Tensor",
    ),
    "out-of-memory": (
        PRODUCT,
        {"runner": "OutOfMemory", "memory_mb": 4000.0},
        "compile",
        "out of memory",
        "aten.mul.Tensor",
    ),
    "wrong-result": (
        PRODUCT,
        {"runner": "WrongResult"},
        "compare",
        "wrong result",
        "aten.mul.Tensor",
    ),
    "wrong-dtype": (PRODUCT, {"runner": "WrongDtype"}, "run", "wrong dtype", "aten.mul.Tensor"),
    "wrong-shape": (PRODUCT, {"runner": "WrongShape"}, "run", "wrong shape", "aten.mul.Tensor"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_seeded_failure_becomes_a_small_program(case, tmp_path):
    expression, options, stage, kind, operator = case
    finding = reduced(tmp_path, expression, **options)
    assert (finding.stage, finding.kind) == (stage, kind)
    assert finding.before > 6 * options.get("layers", 2)
    assert finding.after <= 5
    assert finding.operator == operator
    assert finding.where == f"{tmp_path / 'seeded.py'}:{LINE}"
    assert finding.reproduces
    assert finding.is_complete
    issue = (tmp_path / "out" / "issue.md").read_text()
    assert f"{tmp_path / 'seeded.py'}:{LINE}" in issue
    assert (tmp_path / "out" / "repro.py").read_text() in issue


def test_a_module_that_no_trace_reproduces(tmp_path):
    finding = reduced(tmp_path, "{1: 2.0}.get(x.argmax().item(), 3.0) * x", layers=1)
    assert (finding.stage, finding.module, finding.after) == ("capture", "between", None)
    assert finding.reproduces
    assert "only='between'" in (tmp_path / "out" / "repro.py").read_text()


def test_a_model_that_matches_eager_leaves_no_folder(tmp_path):
    assert reduced(tmp_path, "x + x", layers=1) is None
    assert not (tmp_path / "out").exists()


def test_the_command_writes_a_file_that_needs_only_the_failing_tool(unmess_command, tmp_path):
    model = seeded(tmp_path, "torch.linalg.eig(x)[0].real", layers=1)
    folder = tmp_path / "out"
    done = unmess_command("triage", model, "--on", "reference", "-o", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["operators_after"] == 1
    assert (document["tool"], document["reproduces"]) == ("torch-mlir", True)
    # The script must run without unmess: isolated mode ignores PYTHONPATH, where unmess is.
    command = [sys.executable, "-I", "repro.py"]
    repeated = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert repeated.returncode != 0
    assert "linalg_eig" in repeated.stderr
    ir = (folder / "repro.mlir").read_text().splitlines()
    assert ir[0].endswith("repro.mlir")
    # The files of an earlier run stay.
    again = unmess_command("triage", model, "--on", "reference", "-o", str(folder))
    assert again.returncode == 2


WRONG_DECOMPOSITION = """
import torch, unmess

@unmess.decomposition(torch.ops.aten.atan2.default)
def atan2(a, b):
    return a + b
"""


@pytest.mark.parametrize(
    ("expression", "runner", "origin"),
    [
        (PRODUCT, "NaN", "the result is right on reference"),
        (PRODUCT, "Imprecise", "precision"),
        ("x + torch.rand_like(x)", "reference", "the model itself: it draws random numbers"),
        ("torch.atan2(x, x + 1)", "reference", "the capture"),
    ],
    ids=["compiler", "precision", "random", "capture"],
)
def test_the_first_wrong_value_and_its_origin(expression, runner, origin, tmp_path):
    header = WRONG_DECOMPOSITION if origin == "the capture" else ""
    finding = reduced(tmp_path, expression, runner, numerics=True, header=header)
    assert (finding.stage, finding.kind) == ("compare", "wrong result")
    assert origin in finding.origin
    assert finding.origin in (tmp_path / "out" / "issue.md").read_text()
    if expression == PRODUCT:
        assert finding.after == 1
        assert finding.value.startswith("mul, the result of aten.mul.Tensor at ")
        assert "(6 values before it are right)" in finding.value
    if runner == "NaN":
        assert "NaN or infinity" in finding.value


def test_a_wrong_result_of_iree(tmp_path):
    # IREE's runtime takes subnormal numbers as 0, whose square root is not NaN.
    finding = reduced(
        tmp_path,
        "torch.sqrt(x * 0 + torch.tensor([-1e-40, 1.0, 4.0, 9.0]))",
        "iree-cpu",
        layers=1,
        numerics=True,
    )
    assert (finding.kind, finding.tool, finding.reproduces) == ("wrong result", "IREE", True)
    assert finding.operator == "aten.sqrt.default"
    assert finding.origin.startswith("the compiler or the runtime of iree-cpu")
    assert finding.dispatch == "none differs from IREE's interpreter, whose result is wrong, too"
    program = (tmp_path / "out" / "repro.py").read_text()
    assert "iree.compiler" in program and "unmess" not in program


def test_a_model_that_reads_uninitialized_memory(tmp_path):
    class Reads(torch.nn.Module):
        def forward(self, x):
            unused = torch.empty(3)
            return torch.relu(x) + torch.empty(3), unused.shape[0]

    operator, where, reason = unstable_call(Reads(), (torch.ones(3),), {}, tmp_path)
    line = Reads.forward.__code__.co_firstlineno + 2
    assert (operator, where, reason) == ("Tensor.add", f"{__file__}:{line}", UNINITIALIZED)


def test_a_model_whose_calls_are_alike_is_stable(tmp_path):
    def fills(x):
        return torch.empty(3).copy_(x)

    assert unstable_call(fills, (torch.ones(3),), {}, tmp_path) is None

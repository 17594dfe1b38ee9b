"""Tests that every runner refuses MLIR files that call `system` before it compiles anything."""

import pytest
import torch

import unmess
from importers.sources import find_source

RUNNERS = ("reference", "iree-cpu")

# The text of the command is an array of i8, passed by its address.
SYSTEM = """
module {{
  llvm.mlir.global internal constant @command("touch {marker}\\00")
  llvm.func @system(!llvm.ptr) -> i32
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
    %command = llvm.mlir.addressof @command : !llvm.ptr
    %status = llvm.call @system(%command) : (!llvm.ptr) -> i32
    return %x : tensor<4xf32>
  }}
}}
"""

IDENTITY = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "marker"


@pytest.fixture
def exploit(tmp_path, marker):
    path = tmp_path / "exploit.mlir"
    path.write_text(SYSTEM.format(marker=marker))
    return path


@pytest.mark.parametrize("runner", RUNNERS)
def test_system_is_not_called_without_trust(exploit, marker, runner):
    with pytest.raises(unmess.Error) as caught:
        unmess.load(str(exploit), on=runner)
    assert caught.value.stage == "source"
    assert "llvm." in caught.value.cause
    assert caught.value.where == f"{exploit}:3"
    assert "--trust" in caught.value.hint
    assert not marker.exists()


def test_system_is_called_with_trust(exploit, marker):
    """The file is a real exploit: the reference runner's JIT finds `system` in the process."""
    unmess.load(str(exploit), on="reference", trust=True)(torch.ones(4))
    assert marker.exists()


@pytest.mark.parametrize("command", ["run", "check", "import", "package"])
def test_commands_refuse_it_without_a_prompt(exploit, marker, command, tmp_path, unmess_command):
    output = ["-o", str(tmp_path / "out")] if command == "package" else []
    done = unmess_command(command, exploit, *output)
    assert done.returncode == 2
    assert "could run any code" in done.stdout + done.stderr
    assert "--trust" in done.stdout + done.stderr
    assert not marker.exists()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"func.func private @system(i64) -> i32\n{IDENTITY}", "the function system"),
        ("llvm.mlir.global_ctors ctors = [], priorities = [], data = []\n" + IDENTITY, "llvm."),
        (
            "func.func @main(%x: i64) -> i64 {\n  %p = llvm.inttoptr %x : i64 to !llvm.ptr\n"
            "  %y = llvm.load %p : !llvm.ptr -> i64\n  return %y : i64\n}",
            "llvm.inttoptr",
        ),
        (
            "func.func @main(%x: i64) -> i64 {\n"
            '  %y = llvm.inline_asm "syscall", "=r,r" %x : (i64) -> i64\n  return %y : i64\n}',
            "llvm.inline_asm",
        ),
        (
            "module attributes {transform.with_named_sequence} {\n"
            "  transform.named_sequence @__transform_main(%r: !transform.any_op "
            "{transform.readonly}) {\n    transform.yield\n  }\n" + IDENTITY + "\n}",
            "transform.",
        ),
        (
            "func.func @main(%x: memref<4xf32>) -> index {\n"
            "  %p = memref.extract_aligned_pointer_as_index %x : memref<4xf32> -> index\n"
            "  return %p : index\n}",
            "memref.",
        ),
        (IDENTITY.replace(" {", ' attributes {passthrough = ["naked"]} {', 1), "passthrough"),
        (IDENTITY.replace("32>)", "32> {llvm.align = 4096 : i64})"), "llvm.align"),
        (IDENTITY.replace(" {", " attributes {hal.device.targets = []} {", 1), "hal.device"),
        (
            "#map = affine_map<(i) -> (i)>\n"
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
            '  %y = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"], '
            'library_call = "system"} outs(%x : tensor<4xf32>) {\n  ^bb0(%a: f32):\n'
            "    linalg.yield %a : f32\n  } -> tensor<4xf32>\n  return %y : tensor<4xf32>\n}",
            "library_call",
        ),
    ],
)
def test_operations_that_could_run_any_code_are_refused(tmp_path, text, what):
    path = tmp_path / "model.mlir"
    path.write_text(text)
    with pytest.raises(unmess.Error) as caught:
        find_source(str(path))
    assert what in caught.value.cause
    assert "could run any code" in caught.value.cause


@pytest.mark.parametrize("stage", ["raw", "torch", "linalg", "tosa", "stablehlo"])
def test_exported_files_need_no_trust(tmp_path, stage):
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.GELU())
    program = unmess.capture(net.eval(), (torch.randn(1, 3, 8, 8),))
    unmess.lower(program, to=stage).save(tmp_path / "net.mlir")
    assert find_source(str(tmp_path / "net.mlir")).args


def test_a_file_that_changes_after_the_check(tmp_path, exploit, marker):
    path = tmp_path / "model.mlir"
    path.write_text(IDENTITY)
    program = unmess.capture(str(path), (torch.ones(4),))
    path.write_text(exploit.read_text())
    with pytest.raises(unmess.Error, match="could run any code"):
        unmess.load(program, on="reference")
    assert not marker.exists()

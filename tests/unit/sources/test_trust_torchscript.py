"""Tests TorchScript files whose code writes files when it is called or loaded."""

import pytest
import torch

import importers.sources.torchscript as source
import unmess


class Writes(torch.nn.Module):
    def __init__(self, path):
        super().__init__()
        self.path = path

    def forward(self, x):
        torch.save(x, self.path)
        return x + 1


class WritesWhenLoaded(torch.nn.Module):
    def __init__(self, path):
        super().__init__()
        self.path = path

    def forward(self, x):
        return x + 1

    @torch.jit.export
    def __getstate__(self) -> tuple[str, bool]:
        return (self.path, self.training)

    @torch.jit.export
    def __setstate__(self, state: tuple[str, bool]):
        self.path = state[0]
        self.training = state[1]
        torch.save(torch.ones(1), self.path)


@pytest.mark.parametrize("kind", [Writes, WritesWhenLoaded])
def test_files_are_written_only_with_trust(tmp_path, kind):
    marker = tmp_path / "marker"
    path = tmp_path / "writes.pt"
    torch.jit.save(torch.jit.script(kind(str(marker)).eval()), path)
    with pytest.raises(unmess.Error) as caught:
        source.find(str(path))
    assert "side effects (save)" in caught.value.cause
    assert "--trust" in caught.value.hint
    assert not marker.exists()
    source.find(str(path), trust=True).model(torch.ones(2))
    assert marker.exists()


def with_code(tmp_path, line):
    """Returns a TorchScript file into which a line of code is inserted, as an attacker would."""
    import zipfile

    torch.jit.save(torch.jit.script(torch.nn.Identity()), tmp_path / "plain.pt")
    path = tmp_path / "edited.pt"
    with zipfile.ZipFile(tmp_path / "plain.pt") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("__torch__/torch/nn/modules/linear.py"):
                content = content.replace(b"return input", line.encode() + b"\n    return input")
                assert line.encode() in content
            new.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "line",
    [
        "ops.c10d.barrier(input, group, ids, False, 1)",
        'input.save("f")',
        'torch.from_file("f", True, 4)',
        "(torch. # a comment\n    save)(input, f)",
        "o = ops",
        "o = ops.image",
        'getattr(torch, "sa" + "ve")(input, f)',
        "x = __torch__.torch.classes.profiling.InstructionStats()",
        "ops.prim.rpc_sync(to, f)",
    ],
)
def test_every_spelling_is_rejected(tmp_path, line):
    with pytest.raises(unmess.Error) as caught:
        source.find(str(with_code(tmp_path, line)))
    assert "could run any code" in caught.value.cause


def test_operators_that_compute_need_no_trust(tmp_path):
    source.find(str(with_code(tmp_path, "x = ops.quantized.relu6(input)")))


def test_a_module_that_only_computes_needs_no_trust(tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.saved = torch.nn.Linear(3, 2)

        def forward(self, x, cache: list[torch.Tensor]):
            with torch.no_grad():
                cache.append(self.saved(x))
            return {"last": cache[-1], "device": torch.zeros(1, device=x.device)}

    path = tmp_path / "net.pt"
    torch.jit.save(torch.jit.script(Net().eval()), path)
    assert source.find(str(path)).without_example is not None

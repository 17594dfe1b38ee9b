"""Tests `.pt2` files that run code: each one creates a file unless it is rejected."""

import contextlib
import io
import json
import os
import zipfile

import pytest
import torch

import importers.sources.exported_program as source
import unmess


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.linear(x).relu()


class Evil:
    """An object that runs a command when it is unpickled."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.fixture
def saved(tmp_path):
    rows = torch.export.Dim("rows", min=2, max=64)
    exported = torch.export.export(Net(), (torch.randn(5, 3),), dynamic_shapes={"x": {0: rows}})
    torch.export.save(exported, tmp_path / "saved.pt2")
    return tmp_path / "saved.pt2"


def rewritten(saved, edit):
    """Copies the archive. `edit` maps the name and content of a record to its new content."""
    path = saved.with_name("edited.pt2")
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, edit(name, old.read(name)))
    return path


def with_program(saved, change):
    """Copies the archive. `change` edits the program's description or returns a new one."""

    def edit(name, content):
        if "/models/" not in name:
            return content
        document = json.loads(content)
        return json.dumps(change(document) or document).encode()

    return rewritten(saved, edit)


def pickled_example(saved, command):
    def edit(name, content):
        if "/sample_inputs/" not in name:
            return content
        stream = io.BytesIO()
        torch.save(((Evil(command),), {}), stream)
        return stream.getvalue()

    return rewritten(saved, edit)


def pickled_weights(saved, command):
    def edit(name, content):
        if "weights_config" in name:
            config = json.loads(content)
            for meta in config["config"].values():
                meta["use_pickle"] = True
            return json.dumps(config).encode()
        if "/weights/weight_" in name:
            stream = io.BytesIO()
            torch.save(Evil(command), stream)
            return stream.getvalue()
        return content

    return rewritten(saved, edit)


def code(command):
    return f"__import__('os').system({command!r})"


def size(saved, command):
    def change(document):
        for tensor in document["graph_module"]["graph"]["tensor_values"].values():
            for each in tensor["sizes"]:
                if "as_expr" in each:
                    each["as_expr"]["expr_str"] = code(command)

    return with_program(saved, change)


def name_of_an_input(saved, command):
    """PyTorch writes the name into a function's signature, so a default value is evaluated."""
    name = json.dumps(f"x, y={code(command)}")

    def change(document):
        return json.loads(json.dumps(document).replace('"x"', name))

    return with_program(saved, change)


@pytest.mark.parametrize("forge", [pickled_example, pickled_weights, size, name_of_an_input])
def test_code_runs_only_with_trust(saved, tmp_path, forge):
    marker = tmp_path / "marker"
    path = forge(saved, f"touch {marker}")
    with pytest.raises(unmess.Error) as caught:
        unmess.capture(str(path))
    assert not marker.exists()
    assert caught.value.stage == "source"
    assert "--trust" in caught.value.hint
    # The file is a real exploit. Whether PyTorch can load the rest does not matter.
    with contextlib.suppress(unmess.Error):
        unmess.capture(str(path), trust=True)
    assert marker.exists()


def compiled_library(saved, _command):
    path = saved.with_name("library.pt2")
    path.write_bytes(saved.read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        folder = archive.namelist()[0].partition("/")[0]
        archive.writestr(f"{folder}/data/aotinductor/model/model.so", b"")
    return path


def custom_object(saved, _command):
    def edit(name, content):
        if "constants_config" not in name:
            return content
        meta = {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True}
        return json.dumps({"config": {"c": meta | {"tensor_meta": None}}}).encode()

    path = rewritten(saved, edit)
    with zipfile.ZipFile(path, "a") as archive:
        folder = archive.namelist()[0].partition("/")[0]
        archive.writestr(f"{folder}/data/constants/opaque_obj_0", b"x")
    return path


def target(text):
    def forge(saved, _command):
        def change(document):
            document["graph_module"]["graph"]["nodes"][-1]["target"] = text

        return with_program(saved, change)

    return forge


def guard(saved, command):
    return with_program(saved, lambda document: document.update(guards_code=[code(command)]))


@pytest.mark.parametrize(
    ("forge", "what"),
    [
        (compiled_library, "native code"),
        (custom_object, "custom class"),
        (guard, "guards_code"),
        (target("torch.os.system"), "target"),
        (target("_operator.methodcaller"), "target"),
        (target("torch.ops.aten.from_file.default"), "target"),
        (target("torch.ops.aten.add.__call__"), "target"),
        (target("torch.ops.load_library"), "target"),
        (target("torch.ops.higher_order.triton_kernel_wrapper_functional"), "target"),
    ],
)
def test_other_ways_to_code_are_refused(saved, forge, what):
    path = forge(saved, "true")
    with pytest.raises(unmess.Error) as caught:
        source.find(str(path))
    assert what in caught.value.cause
    assert "could run any code" in caught.value.cause


class Branches(torch.nn.Module):
    def forward(self, x, y):
        half = x.shape[0] // 2
        positive = torch.cond(y.sum() > 0, lambda v: v.sin(), lambda v: v.cos(), (y,))
        return {"a": x[:half], "b": [torch.einsum("ij,kj->ik", x, y), positive]}


def test_files_of_usual_programs_need_no_trust(tmp_path):
    args = (torch.randn(6, 3), torch.randn(4, 3))
    sizes = {0: torch.export.Dim.AUTO}
    exported = torch.export.export(Branches(), args, dynamic_shapes=(sizes, sizes))
    torch.export.save(exported, tmp_path / "usual.pt2")
    found = source.find(str(tmp_path / "usual.pt2"))
    torch.testing.assert_close(found.model.module()(*args), Branches()(*args))


def test_environment_variables_are_restored(saved):
    before = dict(os.environ)
    source.find(str(saved))
    assert dict(os.environ) == before

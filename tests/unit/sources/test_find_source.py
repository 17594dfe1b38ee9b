"""Tests which source handles a model string, and the errors of invalid ones."""

import pytest
import torch

import unmess
from importers.recipes import list_recipes
from importers.sources import find_source
from unmess.core.errors.error import Error


def fails(model) -> Error:
    with pytest.raises(Error) as caught:
        find_source(str(model))
    assert caught.value.stage == "source"
    assert caught.value.exit_status == 2
    return caught.value


@pytest.mark.parametrize(
    "model, hint",
    [
        ("resnet18", "did you mean torchvision:resnet18?"),
        ("bert", "did you mean hf:bert?"),
        ("torchvison:resnet18", "did you mean torchvision:resnet18?"),
        ("huggingface:bert", "a model string is file.py:name, torchvision:NAME"),
        ("zzzzzz", "a model string is file.py:name, torchvision:NAME"),
        ("", "a model string is file.py:name, torchvision:NAME"),
    ],
)
def test_unknown_model(model, hint):
    assert fails(model).hint.startswith(hint)


@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
def test_missing_ir(suffix, tmp_path):
    (tmp_path / "model.mlir").touch()
    error = fails(tmp_path / f"modell{suffix}")
    assert error.cause == f"no file {tmp_path / f'modell{suffix}'}"
    assert str(tmp_path / "model.mlir") in error.hint


def test_model_folder_without_its_prefix(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    assert fails(tmp_path).hint == f"did you mean hf:{tmp_path}?"


def test_other_folder(tmp_path):
    assert fails(tmp_path).cause == f"{tmp_path} is not a model"


def test_list_recipes_has_sources_and_tasks():
    listed = {entry.model: (entry.source, entry.task) for entry in list_recipes()}
    assert listed["torchvision:resnet18"] == ("torchvision", "classification")
    assert listed["torchvision:fcn_resnet50"] == ("torchvision", "segmentation")
    assert listed["torchvision:r3d_18"] == ("torchvision", "video")
    assert listed["hf:bert"] == ("hf", "encoder")
    assert listed["hf:llama"] == ("hf", "decoder")
    assert listed["hf:t5"] == ("hf", "encoder-decoder")
    assert listed["hf:vit"] == ("hf", "image classification")
    assert len(listed) == len(list_recipes())


def test_notes_of_the_source_are_in_the_program(tmp_path):
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\nclass Net(torch.nn.Linear):\n"
        "    example_args = torch.ones(2, 3)\n"
        "    def __init__(self):\n        super().__init__(3, 4)\n"
    )
    notes = [note for note in unmess.capture(f"{file}:Net").notes if note.kind == "source"]
    assert [note.text for note in notes] == [
        "Net() has the weights of its constructor with seed 0, and is in evaluation mode"
    ]


@pytest.fixture
def saved(tmp_path):
    exported = torch.export.export(torch.nn.Linear(3, 4), (torch.ones(2, 3),))
    torch.export.save(exported, tmp_path / "linear.pt2")
    return tmp_path / "linear.pt2"


def test_saved_exported_program(saved):
    source = find_source(str(saved))
    assert isinstance(source.model, torch.export.ExportedProgram)
    assert source.name == "linear"
    assert torch.equal(source.args[0], torch.ones(2, 3))


def test_missing_saved_program(saved):
    error = fails(saved.with_name("liner.pt2"))
    assert error.cause.startswith("no file ")
    assert error.hint == f"did you mean {saved}?"


@pytest.mark.parametrize("keep", [0, 100, 0.5])
def test_damaged_saved_program(saved, keep):
    whole = saved.read_bytes()
    saved.write_bytes(whole[: keep if isinstance(keep, int) else int(len(whole) * keep)])
    error = fails(saved)
    assert "is not a complete ExportedProgram" in error.cause
    assert "torch.export.save" in error.hint


def test_other_file_called_pt2(saved):
    torch.save({"weight": torch.ones(1)}, saved)
    assert "is not a complete ExportedProgram" in fails(saved).cause

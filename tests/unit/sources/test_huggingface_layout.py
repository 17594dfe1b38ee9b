"""Tests layout inputs that become constants, and values computed from them at capture."""

import copy

import pytest
import torch

from importers.sources.huggingface.adjust import FixedLayout, fix_layout


class Patches(torch.nn.Module):
    """Sums the patches of each image. Finds the images in Python, as real models do."""

    def forward(self, pixel_values, image_grid_thw):
        counts = image_grid_thw.prod(-1)
        places = torch.arange(len(counts)).repeat_interleave(counts)
        parts = pixel_values.split(counts.tolist())
        return torch.stack([part.sum(0) for part in parts]), pixel_values[:, 0] + places


CALL = {
    "pixel_values": torch.randn(10, 3),
    "image_grid_thw": torch.tensor([[1, 2, 2], [1, 3, 2]]),
}


def operators(exported):
    return {str(node.target) for node in exported.graph.nodes if node.op == "call_function"}


def test_layout_inputs_are_removed_from_the_arguments():
    model, kwargs, notes = fix_layout(Patches(), CALL)
    assert list(kwargs) == ["pixel_values"]
    assert notes == ("fixed to the example's values: image_grid_thw",)
    for own, other in zip(model(**kwargs), Patches()(**CALL), strict=True):
        torch.testing.assert_close(own, other)


def test_model_without_layout_inputs_is_not_changed():
    model = Patches()
    assert fix_layout(model, {"pixel_values": 1})[0] is model


def test_capture_computes_values_that_depend_only_on_layout():
    found = {"aten.prod.dim_int", "aten.item.default"}
    assert found <= operators(torch.export.export(Patches(), (), CALL, strict=False))
    model, kwargs, _ = fix_layout(Patches(), CALL)
    exported = torch.export.export(model, (), kwargs, strict=False)
    assert not found & operators(exported)
    other = {"pixel_values": torch.randn(10, 3)}
    for own, expected in zip(exported.module()(**other), model(**other), strict=True):
        torch.testing.assert_close(own, expected)


class Padded(torch.nn.Module):
    """Pads by amounts that it stores as tensors, as audio codecs do."""

    def __init__(self):
        super().__init__()
        self.register_buffer("stride", torch.tensor(4), persistent=False)
        self.left = self.stride // 2

    def forward(self, x):
        frames = torch.ceil(x.shape[-1] / self.stride).to(torch.int64)
        padded = torch.nn.functional.pad(x, (self.left, frames * self.stride - x.shape[-1]))
        return padded[:, self.left :] if padded.shape[-1] > 8 else padded


def test_integers_of_modules_are_constants():
    call = {"x": torch.randn(2, 7)}
    model, kwargs, notes = fix_layout(Padded(), call)
    assert kwargs == call and notes == ()
    exported = torch.export.export(model, (), kwargs, strict=False)
    assert operators(exported) <= {"aten.pad.default", "aten.slice.Tensor"}
    torch.testing.assert_close(exported.module()(**call), Padded()(**call))
    # The capture restores the module's own tensors.
    assert type(model.model.stride) is torch.Tensor and "stride" in model.model._buffers


class Writes(torch.nn.Module):
    def forward(self, pixel_values, image_sizes):
        image_sizes[0] = pixel_values.sum()
        return image_sizes + pixel_values


def test_writing_traced_values_into_a_constant_raises():
    """Without the error, the write would be lost silently."""
    call = {"pixel_values": torch.ones(3), "image_sizes": torch.zeros(3)}
    model, kwargs, _ = fix_layout(Writes(), call)
    with pytest.raises(RuntimeError, match="writes traced values into a constant"):
        torch.export.export(model, (), kwargs, strict=False)
    model(**kwargs)
    torch.testing.assert_close(call["image_sizes"], torch.zeros(3))


def test_copy_has_its_own_forward():
    model = FixedLayout(torch.nn.Linear(2, 2), {}, ("input",), [])
    other = copy.deepcopy(model)
    torch.nn.init.zeros_(other.model.weight)
    x = torch.ones(1, 2)
    torch.testing.assert_close(other(input=x), other.model.bias.expand(1, 2))
    assert not torch.equal(model(input=x), other(input=x))

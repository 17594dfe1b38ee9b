"""Keeps the weights of quantized folders packed: GPTQ, AWQ, compressed-tensors and MXFP4.

transformers needs packages for these folders, with layers of their own for each kind of device, or
unpacks MXFP4. Here, it loads the model as if it were not quantized, with placeholders for packed
matrices.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import torch

from importers.packed import LAYOUTS, Layout
from importers.packed.layers import (
    can_hold_packed,
    can_hold_packed_experts,
    packed_note,
    put_packed,
    put_packed_experts,
)
from importers.packed.layout import PackedMatrix
from unmess.core.errors.error import Error, first_line


def packed_layout(path: str, config: Any) -> PackedFolder | None:
    """Returns the packed weights that the configuration of a model declares, or None.

    Removes `quantization_config` from the configuration, so that transformers needs no package.

    Raises:
        Error: stage `source`, if this variant of the layout is not supported.
    """
    for part in (config, config.get_text_config()):
        about = getattr(part, "quantization_config", None)
        layout = LAYOUTS.get(about.get("quant_method")) if isinstance(about, dict) else None
        if layout is None:
            continue
        if problem := layout.unsupported(about):
            raise Error(
                "source",
                f"{path} is quantized by {layout.method} with {problem}, which is not supported",
                hint="docs/quantization.md lists what is supported",
            )
        del part.quantization_config
        return PackedFolder(path, layout, about, config.get_text_config().dtype)
    return None


class PackedFolder:
    """The packed matrices of a folder, which transformers does not unpack.

    transformers loads a placeholder without memory for each of them, and all other tensors as
    always. `put_into` then replaces the layers. Matrices whose layer is of another kind, or has
    another name in the file, are unpacked.
    """

    def __init__(
        self, path: str, layout: Layout, about: Mapping[str, Any], dtype: torch.dtype | None
    ) -> None:
        self._path, self._layout, self._about, self._dtype = path, layout, about, dtype
        self._found: dict[str, PackedMatrix] = {}
        self._unpacked: list[str] = []

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Makes transformers load placeholders inside the `with` block."""
        import transformers

        load = transformers.PreTrainedModel._load_pretrained_model

        def load_placeholders(model: Any, state: Any, files: Any, options: Any) -> Any:
            with contextlib.ExitStack() as opened:
                return load(model, self._state(model, files, opened), files, options)

        target = transformers.PreTrainedModel
        with mock.patch.object(target, "_load_pretrained_model", staticmethod(load_placeholders)):
            yield

    def put_into(self, model: Any) -> tuple[str, ...]:
        """Replaces the layers of the matrices, and returns notes."""
        found = {name: (lambda m=matrix: m) for name, matrix in self._found.items()}
        notes: tuple[str, ...] = ()
        if self._layout.is_of_experts and found:
            notes += packed_note(put_packed_experts(model, found))
            # Other implementations use the matrices of all experts.
            model.set_experts_implementation("batched_mm")
            notes += ("experts are computed by batched_mm, which selects packed weights",)
        else:
            notes += packed_note(put_packed(model, found))
        if self._dtype not in (None, torch.float32):
            notes += (f"computes in float32; config.json says {self._dtype}".replace("torch.", ""),)
        if self._unpacked:
            some = ", ".join(self._unpacked[:3]) + (", …" if len(self._unpacked) > 3 else "")
            notes += (f"weights that do not stay packed ({len(self._unpacked)}): {some}",)
        return notes

    def _state(self, model: Any, files: list[str], opened: contextlib.ExitStack) -> dict[str, Any]:
        """Returns what transformers loads, by the names in the files."""
        from safetensors import safe_open

        state: dict[str, Any] = {}
        for path in files:
            file = opened.enter_context(safe_open(path, framework="pt"))
            state |= {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        layout, suffix = self._layout, self._layout.suffix
        stems = [name.removesuffix(suffix) for name in state if name.endswith(suffix)]
        if not stems:
            raise self._error(f"there is no tensor whose name ends in {suffix}")
        for stem in stems:
            self._take(stem, state, _layer(model, layout.weight_name(stem)))
        ends = tuple(layout.tensor_name("", part) for part in (layout.main, *layout.required))
        for name in state:
            # AWQ also scales activations of some models, such as BLOOM.
            if name.endswith(ends):
                raise self._error(f"the tensor {name} belongs to no matrix")
        return state

    def _take(self, stem: str, state: dict[str, Any], layer: torch.nn.Module | None) -> None:
        """Replaces the tensors of a matrix by a placeholder, or by the unpacked matrix."""
        layout, weight = self._layout, self._layout.weight_name(stem)
        tensors = {}
        for part in (layout.main, *layout.required, *layout.optional):
            name = layout.tensor_name(stem, part)
            if name in state:
                tensors[part] = state.pop(name)[...]
            elif part not in layout.optional:
                raise self._error(f"there is no tensor {name}")
        bias = f"{stem}.bias"
        has_bias = layer is None or getattr(layer, "bias", None) is not None
        # Some versions of AutoGPTQ write a bias of zeros for each layer without bias.
        if not has_bias and bias in state and not state[bias][...].any():
            del state[bias]
        try:
            can_hold = can_hold_packed_experts if layout.is_of_experts else can_hold_packed
            if layer is not None and can_hold(layer):
                matrix = layout.read(tensors, self._about)
                self._found[weight] = matrix
                state[weight] = torch.zeros(()).expand(matrix.shape)
                return
            unpacked = torch.from_numpy(layout.truth(tensors, self._about))
        except (KeyError, ValueError, IndexError) as problem:
            raise self._error(
                f"the tensors of {stem} do not fit: {first_line(problem)}"
            ) from problem
        # The weight of transformers' Conv1D (GPT-2) is transposed.
        is_transposed = type(layer).__name__ == "Conv1D"
        state[weight] = unpacked.T.contiguous() if is_transposed else unpacked
        self._unpacked.append(weight)

    def _error(self, problem: str) -> Error:
        return Error(
            "source",
            f"cannot read the weights of {self._path}, quantized by {self._layout.method}: "
            f"{problem}",
            hint="the folder is damaged, or its layout is another one than config.json says",
        )


def _layer(model: torch.nn.Module, weight: str) -> torch.nn.Module | None:
    """Returns the layer that has a weight of this name."""
    try:
        return model.get_submodule(weight.rpartition(".")[0])
    except AttributeError:
        return None

"""Checks and speeds up transformers' reading of GGUF files, and keeps their weights packed."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import torch

from importers.packed import FORMATS
from importers.packed.layers import can_hold_packed, packed_note, put_packed
from importers.packed.layout import PackedMatrix
from unmess.core.errors.error import Error


def need_gguf() -> None:
    """Raises an Error (`source`) if a package that transformers needs for GGUF is missing."""
    missing = [name for name in ("accelerate", "gguf") if importlib.util.find_spec(name) is None]
    if missing:
        raise Error(
            "source",
            f"GGUF files need {' and '.join(missing)}",
            hint="pip install 'unmess[gguf]' (the locked environment has it)",
        )


@contextlib.contextmanager
def parse_once() -> Iterator[None]:
    """Makes transformers parse a GGUF file once inside the `with` block.

    transformers parses the whole file, vocabulary included, for the configuration, the weights and
    the tokenizer. It makes a table of all tensor names for each submodule of the model. For
    SmolLM2-135M, this takes longer than reading the weights. It converts each string of the
    vocabulary four times, and the reader slices a memory map: 4 s of CPU time together.
    """
    import gguf
    from transformers import modeling_gguf_pytorch_utils as reading

    class Reader(gguf.GGUFReader):
        def _get(self, *args: Any, **options: Any) -> np.ndarray:
            # A slice of an `np.memmap` is an `np.memmap`, too, and takes several times as long to
            # create as a slice of an array.
            self.data = self.data.view(np.ndarray)
            return super()._get(*args, **options)

    parse_value, parsed = reading._gguf_parse_value, {}

    def parse(part: np.ndarray, kinds: list[gguf.GGUFValueType]) -> Any:
        # The readers keep their arrays, so no two arrays have the same id.
        if id(part) not in parsed:
            is_text = kinds[-1] == gguf.GGUFValueType.STRING
            parsed[id(part)] = part.tobytes().decode() if is_text else parse_value(part, kinds)
        return parsed[id(part)]

    with (
        mock.patch.object(gguf, "GGUFReader", functools.cache(Reader)),
        mock.patch.object(gguf, "get_tensor_name_map", functools.cache(gguf.get_tensor_name_map)),
        mock.patch.object(reading, "_gguf_parse_value", parse),
    ):
        yield


class PackedTensors:
    """The quantized matrices of a GGUF file, which transformers does not unpack.

    transformers loads a placeholder without memory for each of them, and all other tensors as
    always. `put_into` then replaces the layers.
    """

    def __init__(self) -> None:
        self._found: dict[str, _Matrix] = {}

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Makes transformers load placeholders inside the `with` block."""
        from transformers import modeling_gguf_pytorch_utils as reading

        load = functools.partial(self._load, reading, reading.load_gguf_checkpoint)
        with mock.patch.object(reading, "load_gguf_checkpoint", load):
            yield

    def put_into(self, model: torch.nn.Module) -> tuple[str, ...]:
        """Replaces the layers of the matrices, and returns a note if there are any."""
        return packed_note(put_packed(model, self._found))

    def _load(
        self,
        reading: Any,
        load: Any,
        path: str,
        return_tensors: bool = False,
        model_to_load: Any = None,
        torch_dtype: torch.dtype | None = None,
    ) -> dict[str, Any]:
        import gguf

        options = {"model_to_load": model_to_load, "torch_dtype": torch_dtype}
        if not return_tensors:
            return load(path, **options)
        reader = gguf.GGUFReader(path)
        config = load(path)["config"]
        kind = reading.TENSOR_PROCESSORS.get(_architecture(reader), reading.TensorProcessor)
        processor = kind(config=config)
        names = reading.get_gguf_hf_weights_map(model_to_load, processor)
        packed, others = {}, []
        for tensor in reader.tensors:
            name = names.get(tensor.name)
            matrix = _matrix(tensor, model_to_load, name, processor)
            if matrix is None:
                others.append(tensor)
            else:
                packed[name] = torch.zeros((), dtype=torch_dtype).expand(matrix.shape)
                self._found[name] = matrix
        with mock.patch.object(reader, "tensors", others):
            loaded = load(path, return_tensors=True, **options)
        loaded["tensors"] |= packed
        return loaded


class _Matrix:
    """The bytes of a quantized matrix in the file; calling it returns the packed matrix.

    Attributes:
        shape: the number of rows and columns of weights.
    """

    def __init__(self, tensor: Any, order: np.ndarray):
        self._format = FORMATS[tensor.tensor_type.name]
        self._data = tensor.data
        self._order = order
        self.shape = (
            len(order),
            tensor.data.shape[1] // self._format.bytes * self._format.elements,
        )

    def __call__(self) -> PackedMatrix:
        is_ordered = np.array_equal(self._order, np.arange(len(self._order)))
        data = self._data if is_ordered else self._data[self._order]
        return PackedMatrix(self._format, self._format.parts(data))


def _architecture(reader: Any) -> str:
    return reader.fields["general.architecture"].contents()


def _matrix(tensor: Any, model: Any, name: str | None, processor: Any) -> _Matrix | None:
    """Returns a tensor as a matrix that can stay packed, or None."""
    if tensor.tensor_type.name not in FORMATS or tensor.data.ndim != 2 or name is None:
        return None
    path, _, parameter = name.rpartition(".")
    if parameter != "weight":
        return None
    layer = model.get_submodule(path)
    if not can_hold_packed(layer):
        return None
    order = _row_order(tensor, processor)
    matrix = None if order is None else _Matrix(tensor, order)
    is_fitting = matrix is not None and matrix.shape == tuple(layer.weight.shape)
    return matrix if is_fitting else None


def _row_order(tensor: Any, processor: Any) -> np.ndarray | None:
    """Returns the order in which transformers puts the rows of a tensor.

    Converts a probe that contains its own row numbers. Returns None if the conversion does anything
    but reorder rows, such as transpose the matrix.
    """
    rows = tensor.data.shape[0]
    # Two columns: a transposed or reshaped matrix has another shape or other numbers.
    probe = np.stack([np.arange(rows), np.full(rows, -1)], axis=1)
    try:
        result = processor.process(weights=probe, name=tensor.name)
    except Exception:
        # The processor needs the real tensor or further tensors, so its order is unknown.
        return None
    moved = result.weights
    is_moved = moved.shape == probe.shape and (moved[:, 1] == -1).all()
    is_order = is_moved and np.array_equal(np.sort(moved[:, 0]), probe[:, 0])
    return moved[:, 0] if is_order and result.name == tensor.name else None

"""Packs random matrices in the layouts of GPTQ, AWQ, compressed-tensors and FP8."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

GROUP = 32
# AWQ packs the numbers of eight rows into one integer. The row of each field, the lowest field
# first.
AWQ_ROWS = [0, 2, 4, 6, 1, 3, 5, 7]


@dataclass(frozen=True)
class Case:
    """A variant of a layout.

    Attributes:
        config: the `quantization_config` of config.json.
        group: columns with the same scale; None for all columns of a row.
        symmetric: whether all zero points are in the middle of the integers.
        shuffled: whether the columns of a group are not adjacent.
    """

    config: dict[str, Any]
    bits: int = 4
    group: int | None = GROUP
    symmetric: bool = False
    shuffled: bool = False
    dtype: torch.dtype = field(default=torch.float16)

    @property
    def method(self):
        return self.config["quant_method"]

    @property
    def packing(self):
        return f"int{self.bits}"

    def matrix(self, rows, columns, seed=0):
        """Returns the tensors of a random matrix by the end of their names, and the matrix."""
        random = np.random.default_rng(seed)
        groups = 1 if self.group is None else columns // self.group
        numbers = random.integers(0, 1 << self.bits, (rows, columns))
        of_column = np.arange(columns) // (columns // groups)
        if self.shuffled:
            of_column = random.permutation(of_column)
        # The largest weights are about 0.3.
        sizes = random.uniform(0.005, 0.02, (rows, groups)) * 16 / (1 << self.bits)
        scales = torch.from_numpy(sizes).to(self.dtype)
        zero_points = random.integers(0, 1 << self.bits, (rows, groups))
        if self.symmetric:
            zero_points[:] = 1 << (self.bits - 1)
        pack = {"gptq": self._gptq, "awq": self._awq, "compressed-tensors": self._compressed}
        tensors = pack[self.method](numbers, zero_points, of_column.astype(np.int32))
        # Integers of up to 9 bits times f16 numbers are exact in f32.
        differences = numbers - zero_points[:, of_column]
        weights = scales.float().numpy()[:, of_column] * differences.astype(np.float32)
        is_compressed = self.method == "compressed-tensors"
        tensors |= {"weight_scale": scales} if is_compressed else {"scales": scales.T.contiguous()}
        return tensors, weights

    def _gptq(self, numbers, zero_points, of_column):
        if self.config.get("checkpoint_format") != "gptq_v2":
            zero_points = (zero_points - 1) % (1 << self.bits)
        return {
            "qweight": packed(numbers, self.bits).T.contiguous(),
            "qzeros": packed(zero_points.T, self.bits),
            "g_idx": torch.from_numpy(of_column),
        }

    def _awq(self, numbers, zero_points, of_column):
        shuffled = (each.T.reshape(-1, each.shape[0] // 8, 8) for each in (numbers, zero_points))
        shuffled = (each[..., AWQ_ROWS].reshape(len(each), -1) for each in shuffled)
        return dict(zip(("qweight", "qzeros"), (packed(each, 4) for each in shuffled), strict=True))

    def _compressed(self, numbers, zero_points, of_column):
        rows, columns = numbers.shape
        middle = 1 << (self.bits - 1)
        if self.config["format"] == "int-quantized":
            found = {"weight": torch.from_numpy((numbers - middle).astype(np.int8))}
            if not self.symmetric:
                found["weight_zero_point"] = torch.from_numpy(
                    (zero_points - middle).astype(np.int8)
                )
            return found
        found = {
            "weight_packed": packed(numbers, self.bits),
            "weight_shape": torch.tensor([rows, columns]),
        }
        if not self.symmetric:
            found["weight_zero_point"] = packed(zero_points.T, self.bits).T.contiguous()
        if self.shuffled:
            found["weight_g_idx"] = torch.from_numpy(of_column)
        return found


def packed(numbers, bits):
    """Packs numbers along the last axis, padded with zeros, into int32. The first is lowest."""
    count = 32 // bits
    padding = [(0, 0)] * (numbers.ndim - 1) + [(0, -numbers.shape[-1] % count)]
    fields = np.pad(numbers, padding).reshape(*numbers.shape[:-1], -1, count)
    words = (fields.astype(np.uint64) << (np.arange(count, dtype=np.uint64) * bits)).sum(-1)
    return torch.from_numpy(np.ascontiguousarray(words.astype(np.uint32)).view(np.int32))


def compressed(form, bits, strategy, group=None, **others):
    """Returns a `quantization_config` of compressed-tensors."""
    weights = {"type": "int", "num_bits": bits, "strategy": strategy, "group_size": group}
    groups = {"group_0": {"targets": ["Linear"], "weights": {**weights, **others}}}
    return {
        "quant_method": "compressed-tensors",
        "format": form,
        "quantization_status": "compressed",
        "config_groups": groups,
        "ignore": ["lm_head"],
    }


def gptq(bits=4, group=GROUP, **others):
    return {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": False, **others}


CASES = {
    "gptq": Case(gptq(sym=True), symmetric=True),
    "gptq, asymmetric, act-order": Case(gptq(desc_act=True), shuffled=True),
    "gptq_v2, asymmetric": Case(gptq(checkpoint_format="gptq_v2")),
    "gptq, 8 bits": Case(gptq(bits=8), bits=8),
    "gptq, 8 bits, a group per row": Case(
        gptq(bits=8, group=-1), bits=8, group=None, symmetric=True
    ),
    "awq": Case({"quant_method": "awq", "bits": 4, "group_size": GROUP, "version": "gemm"}),
    "pack-quantized": Case(compressed("pack-quantized", 4, "group", GROUP), symmetric=True),
    "pack-quantized, asymmetric": Case(
        compressed("pack-quantized", 4, "group", GROUP, symmetric=False), dtype=torch.bfloat16
    ),
    "pack-quantized, act-order": Case(
        compressed("pack-quantized", 4, "group", GROUP, actorder="group"),
        symmetric=True,
        shuffled=True,
    ),
    "pack-quantized, 4 bits, a group per row": Case(
        compressed("pack-quantized", 4, "channel"), group=None, symmetric=True
    ),
    "pack-quantized, 8 bits": Case(
        compressed("pack-quantized", 8, "group", GROUP, symmetric=False), bits=8
    ),
    "int-quantized": Case(
        compressed("int-quantized", 8, "channel"), bits=8, group=None, symmetric=True
    ),
}


@dataclass(frozen=True)
class FloatCase:
    """A variant of FP8.

    Attributes:
        config: as for `Case`.
        block: rows and columns with the same scale, in a matrix of at least this size; None for the
            whole matrix.
        scale: the end of the name of the scales.
        stored: the dtype of the scales in the file.
    """

    config: dict[str, Any]
    block: tuple[int, int] | None
    scale: str
    stored: torch.dtype = torch.float32
    packing = "float8"
    symmetric = True
    shuffled = False
    dtype = torch.float32

    @property
    def method(self):
        return self.config["quant_method"]

    def matrix(self, rows, columns, seed=0):
        """Returns the tensors of a random matrix by the end of their names, and the matrix."""
        random = np.random.default_rng(seed)
        # All numbers but NaN. The largest is 448.
        signs = random.integers(0, 2, (rows, columns)) << 7
        bits = (random.integers(0, 127, (rows, columns)) | signs).astype(np.uint8)
        weight = torch.from_numpy(bits).view(torch.float8_e4m3fn)
        block_rows, block_columns = self.block or (rows, columns)
        shape = -(-rows // block_rows), -(-columns // block_columns)
        sizes = torch.from_numpy(random.uniform(0.0005, 0.002, shape))
        exponents = sizes.log2().round()
        if self.stored == torch.uint8:
            scales, numbers = (exponents + 127).to(torch.uint8), exponents.exp2().float()
        elif self.stored == torch.float8_e8m0fnu:
            scales, numbers = exponents.exp2().to(self.stored), exponents.exp2().float()
        else:
            scales = sizes.to(self.stored)
            numbers = scales.float()
        of_each = numbers.repeat_interleave(block_rows, 0)[:rows]
        of_each = of_each.repeat_interleave(block_columns, 1)[:, :columns]
        stored = scales if self.block else scales.reshape(())
        return {"weight": weight, self.scale: stored}, (weight.float() * of_each).numpy()


def fp8(block, **others):
    config = {"quant_method": "fp8", "weight_block_size": block, **others}
    return {**config, "modules_to_not_convert": ["lm_head"]}


FLOAT_CASES = {
    "fp8": FloatCase(fp8([16, 32]), (16, 32), "weight_scale_inv"),
    "fp8, one scale": FloatCase(fp8(None), None, "weight_scale_inv", torch.bfloat16),
    "fp8, exponents": FloatCase(
        fp8([32, 32], scale_fmt="ue8m0"), (32, 32), "weight_scale_inv", torch.float8_e8m0fnu
    ),
    "fp8, exponents as bytes": FloatCase(
        fp8([1, 32], scale_fmt="ue8m0"), (1, 32), "weight_scale_inv", torch.uint8
    ),
    "float-quantized": FloatCase(
        compressed("float-quantized", 8, "channel", type="float"),
        (1, 1 << 20),
        "weight_scale",
        torch.bfloat16,
    ),
    "float-quantized, one scale": FloatCase(
        compressed("float-quantized", 8, "tensor", type="float"), None, "weight_scale"
    ),
    "float-quantized, groups": FloatCase(
        compressed("float-quantized", 8, "group", GROUP, type="float"), (1, GROUP), "weight_scale"
    ),
    "float-quantized, blocks": FloatCase(
        compressed("float-quantized", 8, "block", type="float", block_structure=[16, 32]),
        (16, 32),
        "weight_scale",
    ),
}

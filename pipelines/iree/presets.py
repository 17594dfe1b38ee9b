"""Named presets of the compiler that make programs faster on the CPU, and how to choose one.

A measurement justifies each: `./pixiw run bench presets` repeats it. `unmess tune` measures them on
one program, and its choice is used from then on.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.iree.boolean_bytes import KEEP_BOOLEANS_IN_BYTES
from pipelines.iree.channels_last import CHANNELS_LAST, CHANNELS_LAST_FEW_REGISTERS
from pipelines.iree.image_tiles import TILE_IMAGES, TILE_IMAGES_FEW_REGISTERS
from pipelines.iree.packed_operands import SEPARATE_PACKING
from pipelines.iree.packed_results import SEPARATE_UNPACKING
from pipelines.iree.row_tiles import TILE_ROWS, TILE_ROWS_FEW_REGISTERS
from pipelines.pipeline import Step
from unmess.core.cache import artifacts
from unmess.core.errors.error import Error
from unmess.core.module.module import Module

_DATA_TILING = ("--iree-opt-data-tiling",)
# Maps steps to those that replace them for a CPU with 16 vector registers.
_FEW_REGISTERS = {
    CHANNELS_LAST: CHANNELS_LAST_FEW_REGISTERS,
    TILE_IMAGES: TILE_IMAGES_FEW_REGISTERS,
    TILE_ROWS: TILE_ROWS_FEW_REGISTERS,
}


@dataclass(frozen=True)
class Preset:
    """A named way to compile a program.

    Attributes:
        about: what it does.
        default: when it is chosen automatically; None if it never is.
        options: options of `iree-compile`.
        steps: change IR at `linalg` in place, in this order, before it is
            compiled.
        otherwise: the preset to try if the compiler fails with this one.
    """

    about: str
    default: str | None = None
    options: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    otherwise: str | None = None

    def steps_for(self, *, few_registers: bool) -> tuple[Step, ...]:
        """Returns the steps for a CPU with 16 vector registers, or with more."""
        if not few_registers:
            return self.steps
        return tuple(_FEW_REGISTERS.get(step, step) for step in self.steps)


PLAIN = "plain"
PRESETS = {
    PLAIN: Preset(
        "IREE's default options",
        "there are dynamic sizes, or no operation that another preset makes faster",
    ),
    "channels-last": Preset(
        "layout NHWC for images",
        "there are convolutions with a dynamic number of images",
        steps=(CHANNELS_LAST,),
        otherwise=PLAIN,
    ),
    "dynamic-tiles": Preset(
        "images and matrices of dynamic size in tiles, and layout NHWC for images of static size",
        "there are dynamic sizes, and convolutions or matrix multiplications",
        steps=(CHANNELS_LAST, TILE_IMAGES, TILE_ROWS),
        otherwise="channels-last",
    ),
    "data-tiling": Preset(
        "matrices packed into tiles",
        "there are matrix multiplications",
        options=_DATA_TILING,
        steps=(SEPARATE_PACKING, SEPARATE_UNPACKING, KEEP_BOOLEANS_IN_BYTES),
        otherwise=PLAIN,
    ),
    "channels-last-data-tiling": Preset(
        "layout NHWC for images, and matrices packed into tiles",
        "there are convolutions",
        options=_DATA_TILING,
        steps=(CHANNELS_LAST, SEPARATE_PACKING, SEPARATE_UNPACKING, KEEP_BOOLEANS_IN_BYTES),
        otherwise="channels-last",
    ),
}


def check_preset(name: str | None) -> None:
    """Raises an Error (`usage`) if there is no preset of that name. None is allowed."""
    if name is not None and name not in PRESETS:
        raise Error("usage", f"unknown preset {name!r}", hint=f"use one of {', '.join(PRESETS)}")


def check_fit(name: str, module: Module) -> None:
    """Raises an Error (`usage`) if IREE cannot compile a program with a preset.

    With dynamic sizes, IREE's data tiling makes invalid IR, crashes, or computes wrong results.
    """
    preset = PRESETS[name]
    if preset.options == _DATA_TILING and _is_dynamic(module):
        raise Error(
            "usage",
            f"the preset {name} requires static sizes, but the program has dynamic ones",
            hint=f"use --preset {PLAIN} or channels-last, or capture without dynamic dimensions",
        )


def preset_for(module: Module) -> str:
    """Returns the default preset for the operations of a program at `linalg`."""
    if _is_dynamic(module):
        # IREE's data tiling needs static sizes.
        convolution = product = "dynamic-tiles"
    else:
        convolution, product = "channels-last-data-tiling", "data-tiling"
    if find_operations(module.ir, _is_convolution):
        return convolution
    if find_operations(module.ir, _is_product):
        return product
    return PLAIN


def tuned_preset(program_key: str | None) -> str | None:
    """Returns the preset that `keep_tuned` stored for a program, target and processor, or None."""
    if program_key is None:
        return None
    content = artifacts.read_artifact(tuned_key(program_key))
    name = None if content is None else content.decode()
    return name if name in PRESETS else None


def keep_tuned(program_key: str | None, name: str, runner: str, model: str) -> bool:
    """Stores the preset to use for this program from now on, also in other processes.

    Args:
        program_key: the key of the program, target and processor; independent of the preset.

    Returns:
        Whether it was stored.
    """
    return program_key is not None and artifacts.write_artifact(
        tuned_key(program_key), name.encode(), runner=runner, model=model
    )


def tuned_key(program_key: str) -> str:
    """Returns the key of the artifact in which `keep_tuned` stores the preset."""
    return hashlib.sha256(f"tuned {program_key}".encode()).hexdigest()


def _is_convolution(operation) -> bool:
    return operation.name.startswith("linalg.") and "conv" in operation.name


def _is_product(operation) -> bool:
    return operation.name.startswith("linalg.") and "matmul" in operation.name


def _is_dynamic(module: Module) -> bool:
    """Returns whether any tensor has a dynamic size."""
    return bool(find_operations(module.ir, _has_dynamic_result))


def _has_dynamic_result(operation) -> bool:
    return any(
        isinstance(result.type, ir.RankedTensorType) and not result.type.has_static_shape
        for result in operation.results
    )

"""Properties of processors that schedules use."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass, replace
from functools import cache

from pipelines.reference.tile_registers import allow_tiles
from unmess.core.options.processor import processor_flags


@dataclass(frozen=True)
class Machine:
    """A processor's vector registers.

    Attributes:
        vector_bytes: the size of a register.
        registers: the number of registers.
        fuses: whether it multiplies and adds in one instruction. If not, `vector.fma` would call
            the C library for each element.
        dots: whether one instruction multiplies four unsigned bytes by four signed ones in each
            lane of 32 bits, and adds the products to the lane (x86's VNNI).
        pairs: whether one instruction multiplies two pairs of bf16 in each lane of 32 bits, and
            adds the products to the lane (AVX512_BF16).
        tiles: whether one instruction multiplies matrices of bf16 in registers of 16 rows (AMX).
    """

    vector_bytes: int
    registers: int
    fuses: bool
    dots: bool = False
    pairs: bool = False
    tiles: bool = False

    def tile(self, item: int, columns: int | None, rows: int | None) -> tuple[int, int]:
        """Returns the columns and rows of a tile of sums that fits into the registers.

        Args:
            item: bytes of an element.
            columns: the number of columns of the whole result, `None` if dynamic.
            rows: the number of rows of the whole result, `None` if dynamic.
        """
        lanes = self.vector_bytes // item
        # Four registers are for the operands. With 16 sums, no addition waits for an earlier one.
        sums = min(self.registers - 4, 16)
        # Two vectors per row for each broadcast number, and narrower ones for few columns. The last
        # tile of a row is narrower, so other widths need as many vectors.
        while columns is not None and lanes > 2 and columns <= lanes // 2:
            lanes //= 2
        width = lanes if columns is not None and columns <= lanes else 2 * lanes
        vectors = max(width * item // self.vector_bytes, 1)
        most = max(sums // vectors, 1)
        if rows is None:
            return width, most
        # As few tiles as possible, and equal ones.
        return width, max(math.ceil(rows / math.ceil(rows / most)), 1) if rows else 1


AVX512 = Machine(vector_bytes=64, registers=32, fuses=True)
AVX2 = Machine(vector_bytes=32, registers=16, fuses=True)
SSE = Machine(vector_bytes=16, registers=16, fuses=False)
NEON = Machine(vector_bytes=16, registers=32, fuses=True)
AVX512_VNNI = replace(AVX512, dots=True)
AVX2_VNNI = replace(AVX2, dots=True)
AVX512_BF16 = replace(AVX512_VNNI, pairs=True)
AMX = replace(AVX512_VNNI, tiles=True)
MACHINES = {
    "amx": AMX,
    "avx512-bf16": AVX512_BF16,
    "avx512-vnni": AVX512_VNNI,
    "avx2-vnni": AVX2_VNNI,
    "avx512": AVX512,
    "avx2": AVX2,
    "sse": SSE,
    "neon": NEON,
}


@cache
def host_machine() -> Machine:
    """Returns the machine that this process runs on."""
    if platform.machine() in ("aarch64", "arm64"):
        return NEON
    flags = processor_flags()
    if "avx512f" in flags and "avx512vl" in flags:
        return replace(
            AVX512,
            dots="avx512_vnni" in flags,
            # On CPUs with AMX, it takes longer than conversions to f32 and fused additions.
            pairs="avx512_bf16" in flags and "amx_bf16" not in flags,
            tiles="amx_bf16" in flags and allow_tiles(),
        )
    if "avx2" in flags and "fma" in flags:
        return AVX2_VNNI if "avx_vnni" in flags else AVX2
    return SSE

"""This computer's CPU, as the system describes it."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

# CPU features that matter to compiled code: Linux's names, mapped to LLVM's.
_SAME = (
    "aes adx avx avx2 avx512bw avx512cd avx512dq avx512f avx512ifma avx512vbmi avx512vl bf16 bmi2 "
    "cx16 f16c fma gfni i8mm mmx movbe popcnt sse sse2 sse4a ssse3 sve sve2 vaes vpclmulqdq"
)
_FEATURES = {name: name for name in _SAME.split(" ")} | {
    "abm": "lzcnt",
    "amx_bf16": "amx-bf16",
    "amx_fp16": "amx-fp16",
    "amx_int8": "amx-int8",
    "amx_tile": "amx-tile",
    "asimd": "neon",
    "asimddp": "dotprod",
    "asimdfhm": "fp16fml",
    "asimdhp": "fullfp16",
    "asimdrdm": "rdm",
    "atomics": "lse",
    "avx512_bf16": "avx512bf16",
    "avx512_bitalg": "avx512bitalg",
    "avx512_fp16": "avx512fp16",
    "avx512_vbmi2": "avx512vbmi2",
    "avx512_vnni": "avx512vnni",
    "avx512_vpopcntdq": "avx512vpopcntdq",
    "avx_ifma": "avxifma",
    "avx_ne_convert": "avxneconvert",
    "avx_vnni": "avxvnni",
    "avx_vnni_int8": "avxvnniint8",
    "bmi1": "bmi",
    "crc32": "crc",
    "pclmulqdq": "pclmul",
    "pni": "sse3",
    "sha_ni": "sha",
    "sse4_1": "sse4.1",
    "sse4_2": "sse4.2",
}
FEATURES = frozenset(_FEATURES.values())


def machine() -> str:
    """Returns the architecture: `x86_64`, `aarch64`."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def processor() -> str:
    """Returns the properties by which LLVM decides on code for this CPU: model and features."""
    found = _first_processor()
    names = ("vendor_id", "cpu family", "model", "stepping", "flags")
    names += ("CPU implementer", "CPU part", "CPU variant", "Features")
    return repr((platform.machine(), [found.get(name) for name in names]))


def processor_flags() -> frozenset[str]:
    """Returns the CPU's features by Linux's names; none if the system does not report them."""
    found = _first_processor()
    return frozenset((found.get("flags") or found.get("Features") or "").split())


def processor_features() -> frozenset[str]:
    """Returns the CPU's features that are in `FEATURES`; none if the system reports none."""
    return frozenset(_FEATURES[flag] for flag in processor_flags() if flag in _FEATURES)


@cache
def _first_processor() -> dict[str, str]:
    info = Path("/proc/cpuinfo")
    text = info.read_text().split("\n\n")[0] if info.exists() else ""
    fields = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in fields}

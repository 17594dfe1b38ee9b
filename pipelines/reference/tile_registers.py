"""Asks the system for the matrix registers of x86-64 CPUs (AMX)."""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache

from unmess.core.options.processor import processor_flags

# From Linux's `asm/unistd_64.h` and `asm/prctl.h`, and the number of the registers' state.
_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XTILEDATA = 158, 0x1023, 18


@cache
def allow_tiles() -> bool:
    """Returns whether this process may use the registers. Linux allows it only if asked."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    if "amx_tile" not in processor_flags():
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XTILEDATA) == 0

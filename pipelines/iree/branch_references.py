"""Corrects how branches of a VM module pass references to buffers and fences.

A branch moves a reference if it is the last use: it clears the register that it reads. If the
branch passes the same reference twice, and the register of one copy is also its destination, IREE
moves the other one. This clears the first (iree-org/iree pull request 24781). The program then
stops at a missing buffer, or does not wait for the kernel that writes one. Loops do this often,
because IREE allocates one buffer for several tensors.

The branches of the result copy references. A register keeps its reference until it is written
again, or until the call ends.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

# A branch to a block, such as `^bb3(%R1->%r2, %i4->%i5)`. An R in place of an r is a move.
_TARGET = re.compile(r"\^bb(\d+)\(([^()]+)\)")
_COPY = re.compile(r"%([irR])(\d+)->%([irR])(\d+)")
_FUNCTION = re.compile(r"^vm\.func ", re.MULTILINE)
# The start of a block, with its offset in the function.
_BLOCK = re.compile(r"^\[([0-9A-F]+)\]\^bb(\d+):", re.MULTILINE)
# Bits in the code of a register.
_BITS = {"i": 0, "r": 0x8000, "R": 0xC000}


def copy_references(code: bytes) -> bytes:
    """Returns a VM module whose branches copy references instead of moving them."""
    changed = bytearray(code)
    for moving, copying in dict(_moves(_disassembled(code))).items():
        found = list(re.finditer(moving, code))
        if not found:
            raise ValueError("a branch in the disassembly is not in the VM module")
        for match in found:
            changed[match.start(1) : match.end(1)] = copying
    return bytes(changed)


def _disassembled(code: bytes) -> str:
    import iree._runtime_libs as libraries

    tool = Path(libraries.__path__[0]) / "iree-dump-module"
    with tempfile.NamedTemporaryFile(suffix=".vmfb") as file:
        file.write(code)
        file.flush()
        command = [tool, "--output=disassembly", "--bytecode_offsets=true", file.name]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _moves(text: str) -> Iterator[tuple[bytes, bytes]]:
    """Yields a pattern for each list of copies with a move, and the list without moves."""
    for function in _FUNCTION.split(text)[1:]:
        offsets = {number: int(offset, 16) for offset, number in _BLOCK.findall(function)}
        for block, passed in _TARGET.findall(function):
            if "%R" in passed:
                # The list follows the offset of the block, at an even offset.
                start = re.escape(struct.pack("<I", offsets[block])) + b"\0?"
                yield start + b"(" + re.escape(_encoded(passed)) + b")", _encoded(passed.lower())


def _encoded(passed: str) -> bytes:
    """Returns the code of a list of copies: their number, and the registers of each."""
    copies = _COPY.findall(passed)
    registers = [
        int(number) | _BITS[kind]
        for source, source_number, target, target_number in copies
        for kind, number in ((source, source_number), (target, target_number))
    ]
    return struct.pack(f"<{1 + len(registers)}H", len(copies), *registers)

"""Loads object code that LLVM's JIT made for x86-64 into this process.

The JIT compiles for the large code model: all references, also to functions of other libraries,
are 64-bit addresses. Loading therefore only copies the sections and writes these addresses. It
needs no linker.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Mapping

import numpy

_HEADER = numpy.dtype(
    [
        ("magic", "S4"),
        ("bits", "u1"),
        ("order", "u1"),
        ("", "V10"),
        ("type", "<u2"),
        ("machine", "<u2"),
        ("", "V20"),
        ("sections", "<u8"),
        ("", "V12"),
        ("section_count", "<u2"),
        ("", "V2"),
    ]
)
_SECTION = numpy.dtype(
    [
        ("name", "<u4"),
        ("type", "<u4"),
        ("flags", "<u8"),
        ("address", "<u8"),
        ("offset", "<u8"),
        ("size", "<u8"),
        ("link", "<u4"),
        ("info", "<u4"),
        ("alignment", "<u8"),
        ("entry_size", "<u8"),
    ]
)
_SYMBOL = numpy.dtype(
    [
        ("name", "<u4"),
        ("info", "u1"),
        ("other", "u1"),
        ("section", "<u2"),
        ("value", "<u8"),
        ("size", "<u8"),
    ]
)
_RELOCATION = numpy.dtype(
    [("offset", "<u8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8")]
)
# Names from the ELF specification and its supplement for x86-64.
_EM_X86_64 = 62
_ET_REL = 1
_SHT_SYMTAB, _SHT_RELA, _SHT_NOBITS, _SHT_X86_64_UNWIND = 2, 4, 8, 0x70000001
_SHF_WRITE, _SHF_ALLOC, _SHF_EXECINSTR, _SHF_TLS = 1, 2, 4, 0x400
_SHN_UNDEF = 0
_R_X86_64_64, _R_X86_64_PC64 = 1, 24
_PROTECTIONS = (
    mmap.PROT_READ | mmap.PROT_EXEC,
    mmap.PROT_READ,
    mmap.PROT_READ | mmap.PROT_WRITE,
)

_process = ctypes.CDLL(None, use_errno=True)


class Unloadable(Exception):
    """Object code is damaged, for another machine, or of an unsupported kind."""


class ObjectCode:
    """Functions in memory of their own, which is freed with the object."""

    def __init__(self, data: bytes, symbols: Mapping[str, int]):
        """Loads a relocatable ELF file.

        Args:
            data: the content of the file.
            symbols: the addresses of its undefined symbols, by name. The others are looked up in
                the process.

        Raises:
            Unloadable
        """
        try:
            sections, table, names = _read(data)
            starts, ends = _laid_out(sections)
            self._memory = mmap.mmap(
                -1, max(ends[-1], 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
            )
            image = numpy.frombuffer(self._memory, dtype=numpy.uint8)
            base = image.ctypes.data
            for section, start in starts.items():
                if sections[section]["type"] != _SHT_NOBITS:
                    content = _content(data, sections[section])
                    image[start : start + len(content)] = content
            addresses = _addresses(table, names, {i: base + s for i, s in starts.items()}, symbols)
            for section in sections[sections["type"] == _SHT_RELA]:
                if (target := int(section["info"])) in starts:
                    relocations = _content(data, section).view(_RELOCATION)
                    _relocate(image, base, starts[target], relocations, addresses)
        except (IndexError, ValueError) as problem:
            raise Unloadable(f"the object file is damaged: {problem}") from problem
        except OSError as problem:
            raise Unloadable(f"cannot allocate memory for the code: {problem}") from problem
        _protect(base, ends)
        self._addresses = dict(zip(names, addresses.tolist(), strict=True))

    def address(self, name: str) -> int:
        """Returns the address of a function that the code defines."""
        return self._addresses[name]


def _read(data: bytes) -> tuple[numpy.ndarray, numpy.ndarray, list[str]]:
    """Returns the sections, the symbols, and the names of the symbols."""
    header = numpy.frombuffer(data, _HEADER, 1)[0]
    kind = (header["magic"], header["bits"], header["order"], header["type"], header["machine"])
    if kind != (b"\x7fELF", 2, 1, _ET_REL, _EM_X86_64):
        raise Unloadable("the object file is not a relocatable file for x86-64")
    sections = numpy.frombuffer(data, _SECTION, header["section_count"], int(header["sections"]))
    if (sections["flags"] & _SHF_TLS).any():
        raise Unloadable("the code has thread-local variables")
    (symbols,) = sections[sections["type"] == _SHT_SYMTAB]
    table = _content(data, symbols).view(_SYMBOL)
    strings = _content(data, sections[symbols["link"]]).tobytes()
    names = [strings[start : strings.index(0, start)].decode() for start in table["name"].tolist()]
    return sections, table, names


def _content(data: bytes, section: numpy.void) -> numpy.ndarray:
    return numpy.frombuffer(data, numpy.uint8, int(section["size"]), int(section["offset"]))


def _laid_out(sections: numpy.ndarray) -> tuple[dict[int, int], list[int]]:
    """Returns the offset of each section that is needed at run time, by its index.

    Code comes first, then constants, then variables. The second result is the end offset of each
    of the three, rounded up to a page.
    """
    starts, ends, end = {}, [], 0
    for wanted in range(len(_PROTECTIONS)):
        for index, section in enumerate(sections):
            flags = int(section["flags"])
            # Nothing unwinds the stack through this code.
            if not flags & _SHF_ALLOC or section["type"] == _SHT_X86_64_UNWIND:
                continue
            if wanted == (2 if flags & _SHF_WRITE else 0 if flags & _SHF_EXECINSTR else 1):
                starts[index] = _aligned(end, max(int(section["alignment"]), 1))
                end = starts[index] + int(section["size"])
        end = _aligned(end, mmap.PAGESIZE)
        ends.append(end)
    return starts, ends


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _addresses(
    table: numpy.ndarray, names: list[str], sections: dict[int, int], symbols: Mapping[str, int]
) -> numpy.ndarray:
    """Returns the address of each symbol; 0 if its section is not loaded."""
    addresses = numpy.zeros(len(table), numpy.uint64)
    for index, (name, symbol) in enumerate(zip(names, table, strict=True)):
        section = int(symbol["section"])
        if section == _SHN_UNDEF:
            addresses[index] = symbols.get(name) or _in_process(name) if name else 0
        elif section in sections:
            addresses[index] = sections[section] + int(symbol["value"])
    return addresses


def _in_process(name: str) -> int:
    try:
        return ctypes.cast(_process[name], ctypes.c_void_p).value or 0
    except AttributeError as problem:
        raise Unloadable(f"the code refers to {name}, which is not in this process") from problem


def _relocate(
    image: numpy.ndarray,
    base: int,
    start: int,
    relocations: numpy.ndarray,
    addresses: numpy.ndarray,
) -> None:
    """Writes the addresses that a section's code and data contain."""
    kinds = relocations["kind"]
    if not numpy.isin(kinds, (_R_X86_64_64, _R_X86_64_PC64)).all():
        raise Unloadable(
            f"the code has unsupported kinds of relocations: {numpy.unique(kinds).tolist()}"
        )
    places = start + relocations["offset"]
    targets = addresses[relocations["symbol"]]
    if not targets.all():
        raise Unloadable("the code refers to an undefined symbol")
    # Differences and negative addends wrap around, as addresses do.
    values = targets + relocations["addend"].view(numpy.uint64)
    values -= numpy.where(kinds == _R_X86_64_PC64, base + places, numpy.uint64(0))
    image[places[:, None] + numpy.arange(8, dtype=numpy.uint64)] = values.view(numpy.uint8).reshape(
        -1, 8
    )


def _protect(base: int, ends: list[int]) -> None:
    for start, end, protection in zip([0, *ends], ends, _PROTECTIONS, strict=False):
        if end > start and _process.mprotect(
            ctypes.c_void_p(base + start), ctypes.c_size_t(end - start), protection
        ):
            raise Unloadable(f"cannot make memory executable: {os.strerror(ctypes.get_errno())}")

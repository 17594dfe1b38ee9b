"""A digest of MLIR bytecode, equal in all checkouts of the project."""

from __future__ import annotations

import hashlib
import os

from unmess.core.errors.portable_paths import portable_path

# The format: https://mlir.llvm.org/docs/BytecodeFormat/
_MAGIC = b"ML\xefR"
_STRINGS = 0
_IS_ALIGNED = 0x80


class BytecodeDigest:
    """A file object that computes a SHA-256 of bytecode and stores only its strings.

    Bytecode has all strings in one section, with their lengths, and refers to them by number.
    Strings that are paths, such as those of source locations, are made portable.
    """

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._is_bytecode = False
        # The current header, as far as it is written.
        self._header = bytearray()
        # The number of bytes before the current header or section.
        self._offset = 0
        # The number of bytes left in the current section.
        self._left = 0
        self._strings: bytearray | None = None

    def write(self, data: bytes) -> None:
        """Takes the next bytes of the file."""
        rest = memoryview(data)
        while rest:
            if self._left:
                part, rest = rest[: self._left], rest[self._left :]
                self._take(part)
            else:
                self._header += rest[:1]
                rest = rest[1:]
                self._read_header()

    def hexdigest(self) -> str:
        """Returns the digest of all bytes so far."""
        digest = self._digest.copy()
        # Not empty if the file is no bytecode.
        digest.update(self._header)
        return digest.hexdigest()

    def _take(self, part: memoryview) -> None:
        """Takes bytes of the current section."""
        self._left -= len(part)
        self._offset += len(part)
        if self._strings is None:
            self._digest.update(part)
            return
        self._strings += part
        if not self._left:
            for text in _strings(self._strings):
                text = os.fsencode(portable_path(os.fsdecode(text)))
                self._digest.update(b"%d " % len(text) + text)
            self._strings = None

    def _read_header(self) -> None:
        """Starts the next section if the header is complete."""
        header = bytes(self._header)
        if not self._is_bytecode:
            # The version, which has no zero byte, and the name of the producer.
            if header.startswith(_MAGIC) and header.endswith(b"\0"):
                self._is_bytecode = True
                self._end_header(header)
            return
        try:
            size, position = _integer(header, 1)
            if header[0] & _IS_ALIGNED:
                alignment, position = _integer(header, position)
                position += -(self._offset + position) % alignment
        except IndexError:
            return
        if len(header) < position:
            return
        number = header[0] & ~_IS_ALIGNED
        self._strings = bytearray() if number == _STRINGS and size else None
        self._left = size
        # The length of the section of strings depends on the paths.
        self._end_header(bytes([number]) if number == _STRINGS else b"%d %d " % (number, size))

    def _end_header(self, meaning: bytes) -> None:
        self._digest.update(meaning)
        self._offset += len(self._header)
        self._header.clear()


def _strings(section: bytes) -> list[bytes]:
    """Returns the strings of a section: their number, the lengths in reverse order, the strings."""
    count, position = _integer(section, 0)
    lengths = []
    for _ in range(count):
        length, position = _integer(section, position)
        lengths.append(length)
    found = []
    for length in reversed(lengths):
        found.append(bytes(section[position : position + length]))
        position += length
    return found


def _integer(data: bytes, position: int) -> tuple[int, int]:
    """Returns a variable-length integer, and the position after it.

    The number of zero bits at the end of the first byte is the number of bytes that follow it.

    Raises:
        IndexError: the integer is not complete.
    """
    first = data[position]
    following = 8 if first == 0 else (first & -first).bit_length() - 1
    end = position + following + 1
    if len(data) < end:
        raise IndexError(end)
    if first == 0:
        return int.from_bytes(data[position + 1 : end], "little"), end
    return int.from_bytes(data[position:end], "little") >> (following + 1), end

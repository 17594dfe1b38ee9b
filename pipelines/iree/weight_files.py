"""Files of weights that IREE maps into memory: processes share their pages, and none is copied.

Code on the CPU reads weights where they are, but only from addresses that are multiples of 64
bytes. Those of a safetensors file hardly ever are: its header ends anywhere. So they are written
once more, aligned, as IREE's parameter archive (`.irpa`), which keeps names and bytes and leaves
types to the program.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import iree.runtime as rt
import numpy as np
import torch

from pipelines.iree.packing import PACKED, Packer, read_as_they_are
from unmess.core.cache import make_private, say, weights_folder
from unmess.core.eviction import UNFINISHED, evict, limit_of
from unmess.core.private import open_private
from unmess.core.writing import replacing

SIZE = "UNMESS_WEIGHTS_MB"
_DEFAULT_MB = 8192
ALIGNMENT = 64
# Less than this is copied in no time.
_WORTH = 16 << 20
# An archive ends with a checksum of what is before, which IREE does not look at. It is to find what
# a disk or another program has done to a file, and is taken at every load: hence no digest.
_CHECKSUM, _PIECE = 4, 1 << 20


def write_weights(
    path: str | Path,
    weights: Mapping[str, torch.Tensor],
    fill: Callable[[Path], None] = lambda path: None,
) -> None:
    """Writes tensors to a parameter archive, whole or not at all.

    Args:
        weights: on the CPU, contiguous; each is written once for each of its names.
        fill: given the archive, to write into, before it is where others see it.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    with replacing(path, UNFINISHED, 0o600) as unfinished:
        write_archive(unfinished, weights)
        try:
            fill(unfinished)
        except (IndexError, RuntimeError, ValueError) as problem:
            raise OSError(errno.EIO, f"the archive cannot be written: {problem}") from problem
        with unfinished.open("ab") as file:
            file.write(_checksum(unfinished, unfinished.stat().st_size))


def write_archive(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes tensors to a parameter archive. IREE maps it: each tensor begins at a multiple of 64.

    Args:
        path: a new file, or an empty one, which keeps its permissions.
        tensors: on the CPU, contiguous.

    Raises:
        OSError: the file cannot be written.
    """
    index = rt.ParameterIndex()
    for name, tensor in tensors.items():
        index.add_buffer(name, _bytes(tensor))
    # IREE writes through a mapping. On a full disk that is a signal, and not an error.
    needed = sum(tensor.nbytes + 2 * ALIGNMENT + 256 for tensor in tensors.values()) + (1 << 20)
    room = os.statvfs(path.parent)
    if room.f_bavail * room.f_frsize < needed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    try:
        index.create_archive_file(str(path))
    except (IndexError, RuntimeError, ValueError) as problem:
        cause = str(problem).splitlines()[0]
        raise OSError(errno.EIO, f"the archive cannot be written: {cause}") from problem


def map_weights(path: str | Path) -> rt.ParameterIndex:
    """The parameters of an archive, read by memory map.

    Raises:
        OSError: there is no such file, or it is no archive.
    """
    index = rt.ParameterIndex()
    try:
        index.load(str(path), format="irpa", mmap=True)
    except (IndexError, RuntimeError, ValueError) as problem:
        raise OSError(errno.EIO, f"{path} is no parameter archive") from problem
    return index


def are_large(weights: Mapping[str, torch.Tensor]) -> bool:
    """Whether they are worth a file of their own; the others are copied in no time."""
    return sum(tensor.nbytes for tensor in weights.values()) >= _WORTH


def aligned_file(weights: Mapping[str, torch.Tensor]) -> Path | None:
    """The archive that holds these weights, in the cache folder; written where it is not there.

    It is found by what the tensors hold now, not by the file that they came from.

    Returns:
        None where there is little to align, no room, or no folder that can be written.

    Raises:
        Error: stage `usage`, where `UNMESS_WEIGHTS_MB` is not a number, or another user can change
            the file.
    """
    if not are_large(weights):
        return None
    size = sum(tensor.nbytes for tensor in weights.values())
    return _file(
        _digest(weights),
        size,
        lambda found: found == {name: tensor.nbytes for name, tensor in weights.items()},
        lambda path: write_weights(path, weights),
    )


def packed_file(weights: Mapping[str, torch.Tensor], code: bytes, packer: bytes) -> Path | None:
    """The archive that holds what a program with a packer reads, as `aligned_file` keeps it."""
    as_they_are = read_as_they_are(code, weights)

    def write(path: Path) -> None:
        made = Packer(packer, weights)
        # Pages of zeros, which are no memory until they are written.
        contents = {PACKED: torch.from_numpy(np.zeros(made.size, np.uint8)), **as_they_are}
        write_weights(path, contents, lambda path: _pack(made, path))

    return _file(
        _digest(weights, packer, ",".join(as_they_are).encode()),
        sum(tensor.nbytes for tensor in weights.values()),
        lambda found: found.keys() == {PACKED, *as_they_are},
        write,
    )


def _file(
    name: str,
    size: int,
    is_whole: Callable[[dict[str, int]], bool],
    write: Callable[[Path], None],
) -> Path | None:
    """The archive of a name, of some `size` in bytes; None where there can be none.

    Args:
        is_whole: told the sizes of what is in it, by name.
        write: makes the file of a path.
    """
    limit = limit_of(SIZE, _DEFAULT_MB, "with 0, IREE copies the weights")
    if size > limit:
        return None
    folder = weights_folder()
    path = folder / f"{name}.irpa"
    try:
        if not _is_whole(path, is_whole):
            make_private(folder)
            evict([folder], limit - size)
            write(path)
        # A folder of somebody else's stays as it is.
        with contextlib.suppress(OSError):
            os.utime(path)
    except OSError as problem:
        say(f"weights are not kept in {folder}: {problem.strerror}")
        return None
    return path


def _pack(packer: Packer, path: Path) -> None:
    """Writes to the place of PACKED in an archive. It is not mapped: that would take memory."""
    _, offset = dict(map_weights(path).items())[PACKED].file_storage
    with path.open("r+b") as file:
        packer.pack(rt.FileHandle.wrap_fd(file.fileno(), readable=True, writable=True), offset)


def _is_whole(path: Path, is_whole: Callable[[dict[str, int]], bool]) -> bool:
    """Whether an archive is there and is what was written; says so where it is something else."""
    try:
        file = open_private(path)
    except FileNotFoundError:
        return False
    try:
        with file:
            size = os.fstat(file.fileno()).st_size - _CHECKSUM
            file.seek(max(size, 0))
            is_right = file.read() == _checksum(path, size)
        if is_right and is_whole({n: entry.length for n, entry in map_weights(path).items()}):
            return True
    except OSError:
        pass
    say(f"a file of weights in the cache is damaged, and written again: {path}")
    return False


def _checksum(path: str | Path, size: int) -> bytes:
    """CRC-32 of the CRC-32 of each piece of the first `size` bytes of a file."""
    with open(path, "rb") as file, ThreadPoolExecutor() as threads:

        def of_piece(start: int) -> bytes:
            piece = os.pread(file.fileno(), min(_PIECE, size - start), start)
            return zlib.crc32(piece).to_bytes(_CHECKSUM)

        pieces = b"".join(threads.map(of_piece, range(0, size, _PIECE)))
    return zlib.crc32(pieces).to_bytes(_CHECKSUM)


def _digest(weights: Mapping[str, torch.Tensor], *more: bytes) -> str:
    digest = hashlib.sha256(b"\0".join(more))
    names = sorted(weights)
    # Digests let other threads run meanwhile.
    with ThreadPoolExecutor() as threads:
        contents = threads.map(lambda name: hashlib.sha256(_bytes(weights[name])).digest(), names)
        for name, content in zip(names, contents, strict=True):
            digest.update(f"{name}\0{weights[name].nbytes}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def _bytes(tensor: torch.Tensor):
    return tensor.reshape(-1).view(torch.uint8).numpy()

"""Files of weights that IREE maps into memory: processes share their pages without a copy.

Code on the CPU reads weights in place, but only from addresses that are multiples of 64 bytes. In a
safetensors file, weights are hardly ever aligned so, because the header may have any length. So the
weights are written again, aligned, to IREE's parameter archive (`.irpa`). It stores names and
bytes; the program knows their types.
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

from pipelines.compiled import Compiled
from pipelines.iree.packing import PACKED, Packer, unpacked_names
from pipelines.rearranged import with_rearranged
from unmess.core.cache.eviction import UNFINISHED, evict, limit_of
from unmess.core.cache.folder import make_private, say, weights_folder
from unmess.core.files.private import open_private
from unmess.core.files.writing import replacing

SIZE = "UNMESS_WEIGHTS_MB"
_DEFAULT_MB = 8192
ALIGNMENT = 64
# Copying fewer bytes than this takes too little time to be worth a file.
_WORTH = 16 << 20
# An archive ends with a checksum of all preceding bytes, which IREE ignores. It detects damage by a
# disk or another program. It is computed at each load, so a digest would be too slow.
_CHECKSUM, _PIECE = 4, 1 << 20


def write_weights(
    path: str | Path,
    weights: Mapping[str, torch.Tensor],
    fill: Callable[[Path], None] = lambda path: None,
) -> None:
    """Writes tensors to a parameter archive atomically.

    Args:
        weights: contiguous tensors on the CPU. A tensor is written once for each of its names.
        fill: called with the archive to write into, before the archive gets its final path.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    with replacing(path, UNFINISHED, 0o600) as unfinished:
        write_archive(unfinished, weights)
        try:
            fill(unfinished)
        except (IndexError, RuntimeError, ValueError) as problem:
            raise OSError(errno.EIO, f"cannot write the archive: {problem}") from problem
        with unfinished.open("ab") as file:
            file.write(_checksum(unfinished, unfinished.stat().st_size))


def write_archive(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes tensors to a parameter archive, each at an offset that is a multiple of 64.

    Args:
        path: a new file, or an empty one, which keeps its permissions.
        tensors: contiguous tensors on the CPU.

    Raises:
        OSError: the file cannot be written.
    """
    index = rt.ParameterIndex()
    for name, tensor in tensors.items():
        index.add_buffer(name, as_bytes(tensor))
    # IREE writes through a mapping. On a full disk, that raises a signal instead of an error.
    needed = sum(tensor.nbytes + 2 * ALIGNMENT + 256 for tensor in tensors.values()) + (1 << 20)
    room = os.statvfs(path.parent)
    if room.f_bavail * room.f_frsize < needed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    try:
        index.create_archive_file(str(path))
    except (IndexError, RuntimeError, ValueError) as problem:
        cause = str(problem).splitlines()[0]
        raise OSError(errno.EIO, f"cannot write the archive: {cause}") from problem


def map_weights(path: str | Path) -> rt.ParameterIndex:
    """Maps an archive into memory and returns its parameters.

    Raises:
        OSError: the file does not exist, or is not an archive.
    """
    index = rt.ParameterIndex()
    try:
        index.load(str(path), format="irpa", mmap=True)
    except (IndexError, RuntimeError, ValueError) as problem:
        raise OSError(errno.EIO, f"{path} is not a parameter archive") from problem
    return index


def are_large(weights: Mapping[str, torch.Tensor]) -> bool:
    """Returns whether weights are large enough for a file; copying smaller ones takes no time."""
    return sum(tensor.nbytes for tensor in weights.values()) >= _WORTH


def aligned_file(weights: Mapping[str, torch.Tensor]) -> Path | None:
    """Returns the archive of these weights in the cache folder; writes it if it is missing.

    Its name depends on the current content of the tensors, not on the file that they came from.

    Returns:
        The path; None if the weights are small, exceed the limit, or cannot be written.

    Raises:
        Error: stage `usage`, if `UNMESS_WEIGHTS_MB` is not a number, or if another user can change
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


def packed_file(weights: Mapping[str, torch.Tensor], compiled: Compiled) -> Path | None:
    """Returns the archive of a program's converted weights, cached like that of `aligned_file`.

    Args:
        compiled: a program that converts weights.
    """
    if not are_large(weights):
        return None
    packer, rearranged = compiled.packer, compiled.rearranged
    own = [] if packer is None else [PACKED]
    read = unpacked_names(compiled.code, [*weights, *(each.name for each in rearranged)])

    def write(path: Path) -> None:
        tensors = with_rearranged(weights, rearranged)
        contents = {name: tensors[name] for name in read}
        if packer is None:
            write_weights(path, contents)
            return
        made = Packer(packer, tensors)
        # Pages of zeros take no memory until they are written.
        contents[PACKED] = torch.from_numpy(np.zeros(made.size, np.uint8))
        write_weights(path, contents, lambda path: _pack(made, path))

    return _file(
        _digest(weights, packer or b"", ",".join(read).encode(), str(rearranged).encode()),
        sum(tensor.nbytes for tensor in weights.values()),
        lambda found: found.keys() == {*own, *read},
        write,
    )


def _file(
    name: str,
    size: int,
    is_whole: Callable[[dict[str, int]], bool],
    write: Callable[[Path], None],
) -> Path | None:
    """Returns the path of an archive of about `size` bytes; None if it cannot be written.

    Args:
        is_whole: returns whether the sizes of an archive's parameters, by name, are right.
        write: writes the archive to a path.
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
        # Ignore errors: the folder may belong to another user.
        with contextlib.suppress(OSError):
            os.utime(path)
    except OSError as problem:
        say(f"cannot store weights in {folder}: {problem.strerror}")
        return None
    return path


def _pack(packer: Packer, path: Path) -> None:
    """Writes the packed weights to PACKED in an archive, without a mapping, to save memory."""
    _, offset = dict(map_weights(path).items())[PACKED].file_storage
    with path.open("r+b") as file:
        packer.pack(rt.FileHandle.wrap_fd(file.fileno(), readable=True, writable=True), offset)


def _is_whole(path: Path, is_whole: Callable[[dict[str, int]], bool]) -> bool:
    """Returns whether an archive exists and is intact; reports a damaged one."""
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
    say(f"a file of weights in the cache was damaged and is written again: {path}")
    return False


def _checksum(path: str | Path, size: int) -> bytes:
    """Returns the CRC-32 of the CRC-32s of each piece of the first `size` bytes of a file."""
    with open(path, "rb") as file, ThreadPoolExecutor() as threads:

        def of_piece(start: int) -> bytes:
            piece = os.pread(file.fileno(), min(_PIECE, size - start), start)
            return zlib.crc32(piece).to_bytes(_CHECKSUM)

        pieces = b"".join(threads.map(of_piece, range(0, size, _PIECE)))
    return zlib.crc32(pieces).to_bytes(_CHECKSUM)


def _digest(weights: Mapping[str, torch.Tensor], *more: bytes) -> str:
    digest = hashlib.sha256(b"\0".join(more))
    names = sorted(weights)
    # hashlib releases the GIL, so threads compute digests in parallel.
    with ThreadPoolExecutor() as threads:
        contents = threads.map(lambda name: hashlib.sha256(as_bytes(weights[name])).digest(), names)
        for name, content in zip(names, contents, strict=True):
            digest.update(f"{name}\0{weights[name].nbytes}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def as_bytes(tensor: torch.Tensor) -> np.ndarray:
    """Returns a contiguous tensor's memory as an array, which keeps it alive."""
    return tensor.reshape(-1).view(torch.uint8).numpy()

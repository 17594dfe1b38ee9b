"""Files of weights that IREE maps into memory: processes share their pages, and none is copied.

Code on the CPU reads weights where they are, but only from addresses that are multiples of 64
bytes. Those of a safetensors file hardly ever are: its header ends anywhere. So they are written
once more, aligned, as IREE's parameter archive (`.irpa`), which keeps names and bytes and leaves
types to the program.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import iree.runtime as rt
import torch

from unmess.core.cache import cache_folder
from unmess.core.error import Error

SIZE = "UNMESS_WEIGHTS_MB"
_DEFAULT_MB = 8192
ALIGNMENT = 64
# Less than this is copied in no time.
_WORTH = 16 << 20


def write_weights(path: str | Path, weights: Mapping[str, torch.Tensor]) -> None:
    """Writes tensors to a parameter archive, whole or not at all.

    Args:
        weights: on the CPU, contiguous; each is written once for each of its names.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    path = Path(path)
    index = rt.ParameterIndex()
    for name, tensor in weights.items():
        index.add_buffer(name, _bytes(tensor))
    # The archive is written through a mapping, where a full disk is no error but a signal.
    needed = sum(tensor.nbytes + 2 * ALIGNMENT + 256 for tensor in weights.values()) + (1 << 20)
    room = os.statvfs(path.parent)
    if room.f_bavail * room.f_frsize < needed:
        raise OSError(28, "No space left on device")
    handle, unfinished = tempfile.mkstemp(prefix="unfinished-", dir=path.parent)
    os.close(handle)
    try:
        index.create_archive_file(unfinished)
        os.replace(unfinished, path)
    except (RuntimeError, ValueError) as problem:
        raise OSError(5, f"the archive cannot be written: {problem}") from problem
    finally:
        Path(unfinished).unlink(missing_ok=True)


def map_weights(path: str | Path) -> rt.ParameterIndex:
    """The parameters of an archive, read by memory map.

    Raises:
        OSError: there is no such file, or it is no archive.
    """
    index = rt.ParameterIndex()
    try:
        index.load(str(path), format="irpa", mmap=True)
    except (IndexError, RuntimeError, ValueError) as problem:
        raise OSError(5, f"{path} is no parameter archive") from problem
    return index


def aligned_file(weights: Mapping[str, torch.Tensor]) -> Path | None:
    """The archive that holds these weights, in the cache folder; written where it is not there.

    It is found by what the tensors hold now, not by the file that they came from.

    Returns:
        None where there is little to align, no room, or no folder that can be written.

    Raises:
        Error: stage `usage`, where `UNMESS_WEIGHTS_MB` is not a number.
    """
    size = sum(tensor.nbytes for tensor in weights.values())
    limit = _limit()
    if not _WORTH <= size <= limit:
        return None
    folder = cache_folder() / "weights"
    path = folder / f"{_digest(weights)}.irpa"
    with contextlib.suppress(OSError):
        if not _is_whole(path, weights):
            folder.mkdir(parents=True, exist_ok=True)
            _make_room(folder, limit - size)
            write_weights(path, weights)
        os.utime(path)
        return path
    return None


def _limit() -> int:
    text = os.environ.get(SIZE) or str(_DEFAULT_MB)
    if not text.isdecimal():
        raise Error(
            "usage",
            f"{SIZE} is {text!r}, not a number of megabytes",
            hint=f"the default is {_DEFAULT_MB}; with 0, IREE copies the weights",
        )
    return int(text) << 20


def _is_whole(path: Path, weights: Mapping[str, torch.Tensor]) -> bool:
    try:
        found = {name: entry.length for name, entry in map_weights(path).items()}
    except OSError:
        return False
    return found == {name: tensor.nbytes for name, tensor in weights.items()}


def _digest(weights: Mapping[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        digest.update(f"{name}\0{tensor.nbytes}\0".encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()


def _make_room(folder: Path, limit: int) -> None:
    """Removes the files that were not used for longest, until the rest takes at most `limit`."""
    files = sorted(
        ((stat := path.stat()).st_mtime, stat.st_size, path) for path in folder.glob("*.irpa")
    )
    total = sum(size for _, size, _ in files)
    for _, size, path in files:
        if total <= limit:
            return
        # A process that has it mapped keeps its pages.
        path.unlink(missing_ok=True)
        total -= size


def _bytes(tensor: torch.Tensor):
    return tensor.reshape(-1).view(torch.uint8).numpy()

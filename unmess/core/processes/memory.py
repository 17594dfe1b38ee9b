"""Limits the memory of this process."""

from __future__ import annotations

import resource


def limit_memory(megabytes: float | None) -> None:
    """Makes allocations fail that need more memory than this process has now, plus a limit.

    Child processes inherit the limit.

    Args:
        megabytes: in 10**6 bytes; None: no limit.
    """
    if megabytes is None:
        return
    with open("/proc/self/status") as file:
        kilobytes = next(line.split()[1] for line in file if line.startswith("VmData:"))
    limit = int(kilobytes) * 1024 + int(megabytes * 1e6)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))

"""Queries IREE's drivers for their devices, each in its own process, since a driver may crash.

    python -m pipelines.iree.probe vulkan cuda

It prints one JSON object per driver: `driver`, and one of `devices` (the driver's description of
each, the default one first), `problem` (the driver's message) or `crash` (the fork's exit status).
"""

from __future__ import annotations

import json
import os
import sys

from unmess.core.processes.children import end_with_parent


def main() -> None:
    """Queries the drivers named on the command line in parallel."""
    # One import and four forks take a quarter of the time of four processes that import it.
    import iree.runtime  # noqa: F401

    forks = {}
    for driver in sys.argv[1:]:
        pid = os.fork()
        if not pid:
            end_with_parent()
            _print({"driver": driver, **_ask(driver)})
            os._exit(0)
        forks[pid] = driver
    for pid, driver in forks.items():
        _, status = os.waitpid(pid, 0)
        if status:
            _print({"driver": driver, "crash": os.waitstatus_to_exitcode(status)})


def _ask(name: str) -> dict:
    import iree.runtime as rt

    try:
        driver = rt.get_driver(name)
        # Open the default device: one that cannot be opened does not count.
        found = driver.query_available_devices()
        if found:
            driver.create_device(found[0])
        return {
            "devices": [
                {"name": device["name"], "report": driver.dump_device_info(device["device_id"])}
                for device in found
            ]
        }
    except (RuntimeError, ValueError) as problem:
        return {"problem": str(problem)}


def _print(answer: dict) -> None:
    """Prints an answer in one write, because other forks and drivers print at the same time."""
    sys.stdout.flush()
    os.write(1, f"\n{json.dumps(answer)}\n".encode())


if __name__ == "__main__":
    main()

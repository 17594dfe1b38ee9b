"""A process of its own that asks one of IREE's drivers for its devices: a driver may crash.

    python -m pipelines.iree.probe vulkan

It prints one JSON object: `devices`, the driver's own description of each, the default one first;
or `problem`, one line.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Asks the driver named on the command line."""
    import iree.runtime as rt

    try:
        driver = rt.get_driver(sys.argv[1])
        # A device that cannot be opened is no device.
        found = driver.query_available_devices()
        if found:
            driver.create_device(found[0])
        answer = {
            "devices": [
                {"name": device["name"], "report": driver.dump_device_info(device["device_id"])}
                for device in found
            ]
        }
    except (RuntimeError, ValueError) as problem:
        answer = {"problem": str(problem)}
    # Drivers print to stdout, too; the answer is the last line.
    sys.stdout.write(f"\n{json.dumps(answer)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

"""The devices that this process has opened, and the errors of devices."""

from __future__ import annotations

import threading

import iree.runtime as rt

from unmess.core.errors.error import Error
from unmess.core.errors.iree_runtime import short_problem

# Status codes in IREE's messages. The drivers of GPUs use the first one for lost devices.
_LOST, _EXHAUSTED = "DATA_LOSS", "RESOURCE_EXHAUSTED"

_open: dict[str, rt.HalDevice] = {}
# Lost devices. They must outlive their buffers, to which programs and exceptions may refer.
_lost: list[rt.HalDevice] = []
_lock = threading.Lock()


def open_device(driver: str) -> rt.HalDevice:
    """Returns the default device of a driver. All programs of a process share it.

    Args:
        driver: `local-task`, `vulkan`, `cuda` or `hip`.
    """
    if driver.startswith("local-"):
        return rt.get_device(driver)  # bundles share it
    with _lock:
        if driver not in _open:
            _open[driver] = rt.get_device(driver, cache=False)
        return _open[driver]


def close_device(driver: str) -> None:
    """Closes the device of a driver as soon as no program uses it. The next program opens it again.

    Call it only if no state or exception of a program still refers to a buffer of the device.
    """
    with _lock:
        _open.pop(driver, None)


def replace_device(driver: str) -> None:
    """Stops using a lost device. The next program opens the driver's device again."""
    with _lock:
        if driver in _open:
            _lost.append(_open.pop(driver))


def is_lost(problem: Exception) -> bool:
    """Returns whether the driver lost the device. All later calls on it fail."""
    return _LOST in str(problem)


def is_of_device(problem: Exception) -> bool:
    """Returns whether the device caused the error: it is lost, or has too little memory."""
    return is_lost(problem) or _EXHAUSTED in str(problem)


def device_error(problem: Exception, driver: str, doing: str, stage: str = "run") -> Error:
    """Returns the Error for an exception of IREE that occurred while `doing` something.

    If the device is lost, the next program opens it again.
    """
    if is_lost(problem):
        replace_device(driver)
        hint = "the driver lost the device: load the program again, or call with smaller tensors"
    elif _EXHAUSTED in str(problem):
        hint = "the device ran out of memory: call with smaller tensors"
    else:
        hint = "run `unmess doctor` to test the device"
    return Error(stage, f"IREE failed while {doing}: {short_problem(str(problem))}", hint=hint)

"""Frees objects of IREE in the right order when Python exits."""

from __future__ import annotations

import atexit
import sys
import time
import weakref

import iree.runtime as rt

# The name in `sys` of the set of used devices.
_DEVICES = "_unmess_iree_devices"
# Objects that IREE has not released, by the id of the reference.
_held: dict[int, weakref.ref[object]] = {}
# Seconds to wait for IREE's threads at exit. They need some milliseconds.
_LONGEST_WAIT = 1.0


def keep_alive(device: rt.HalDevice) -> None:
    """Keeps a device until Python has cleared all other modules at exit.

    The device frees the memory of results, which may be in global variables of the user's script.
    Python clears `sys` last.
    """
    sys.__dict__.setdefault(_DEVICES, set()).add(device)


def release_at_exit(owner: object) -> None:
    """Deletes the attributes of an object at exit, if it still exists then.

    TorchDynamo and TorchScript keep the functions of a user's script, and thereby its global
    variables, such as a loaded program. IREE's bindings print a line for each of their objects
    that still exists at exit.
    """
    weakref.finalize(owner, owner.__dict__.clear)


def wait_at_exit(held: object) -> None:
    """Makes Python wait at exit until an object is released that only IREE refers to.

    One of IREE's threads may release an operand after the call has returned. This needs the GIL. If
    Python is exiting, it ends a thread that takes the GIL, and C++ does not allow this inside a
    destructor: the process ended with "terminate called without an active exception".
    """
    reference = weakref.ref(held, lambda each: _held.pop(id(each), None))
    _held[id(reference)] = reference


@atexit.register
def _wait_for_release() -> None:
    end = time.monotonic() + _LONGEST_WAIT
    while _held and time.monotonic() < end:
        # Sleeping releases the GIL.
        time.sleep(1e-3)

"""Frees objects of IREE in the right order when Python exits."""

from __future__ import annotations

import sys
import weakref

import iree.runtime as rt

# The name in `sys` of the set of used devices.
_DEVICES = "_unmess_iree_devices"


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

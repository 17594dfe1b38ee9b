"""Runs `python ARGUMENTS` for `client.py`, in forks of processes that have imported the libraries.

    python server.py DESCRIPTOR

DESCRIPTOR is a listening socket. Importing PyTorch takes several seconds, and the tests start about
three hundred tools. There are two processes to fork from, each started when it is first needed: one
for `unmess-opt`, which only needs MLIR, and one for everything else.
"""

from __future__ import annotations

import json
import os
import runpy
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unmess.core.processes.children import end_with_parent
from unmess.core.processes.workers import Parent
from unmess.isolated import libraries_of

_MLIR = (
    "unmess.cli.arguments",
    "pipelines.registry",
    "pipelines.user_passes",
    "unmess.core.ir.parsing",
    # Passes import the dialects at first use, and most tests need some of them.
    *(f"torch_mlir.dialects.{name}" for name in ("arith", "cf", "func", "linalg", "llvm")),
    *(f"torch_mlir.dialects.{name}" for name in ("math", "memref", "scf", "tensor", "torch")),
)


def main(descriptor: int) -> None:
    end_with_parent()
    parents = {
        "unmess.opt": Parent(_MLIR),
        None: Parent((*_MLIR, *libraries_of((), ("iree-cpu",)))),
    }
    lock = threading.Lock()
    with socket.socket(fileno=descriptor) as listening:
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=_answer, args=(connection, parents, lock)).start()


def _answer(
    connection: socket.socket, parents: dict[str | None, Parent], lock: threading.Lock
) -> None:
    with connection:
        data, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
        while not data.endswith(b"\n"):
            data += connection.recv(1 << 16)
        request = json.loads(data)
        arguments = request["arguments"]
        # `python -m MODULE`, or a script that runs a module (tools/mutations.py).
        module = arguments[arguments.index("-m") + 1] if "-m" in arguments else None
        with lock:
            worker = parents.get(module, parents[None]).start(
                "server:run",
                arguments,
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                folder=request["folder"],
                environment=request["environment"],
            )
        for descriptor in streams:
            os.close(descriptor)
        with worker:
            connection.sendall(b"%d" % worker.wait())


def run(send: Callable[[Any], None], arguments: list[str]) -> None:
    """Runs a script or `-m MODULE` as `python ARGUMENTS` does."""
    if arguments[0] == "-m":
        sys.argv[:] = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = arguments
        sys.path.insert(0, str(Path(arguments[0]).parent))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(int(sys.argv[1]))

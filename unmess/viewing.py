"""A module as a graph, in Netron."""

from __future__ import annotations

import logging
from pathlib import Path

from unmess.core.error import Error
from unmess.core.module import Module


def serve(module: Module, port: int | None = None, browse: bool = True) -> str:
    """Shows a module in Netron, which serves it from this process until that ends.

    Args:
        port: of this machine; by default one that is free.
        browse: whether to open it in the user's browser.

    Returns:
        The address of the page.

    Raises:
        Error: stage `usage`, where Netron is not installed or the port is taken.
    """
    try:
        import netron
    except ImportError as problem:
        raise Error(
            "usage",
            "the graph viewer Netron is not installed",
            hint="pip install 'unmess[view]' (the locked environment has it)",
        ) from problem
    # It logs where it serves, which is for the caller to say.
    logging.getLogger("netron").setLevel(logging.WARNING)
    # As text: Netron does not read the bytecode of every dialect.
    file = f"{Path(module.name).stem}.{module.stage}.mlir"
    try:
        host, number = netron.serve(file, module.text().encode(), ("localhost", port), browse)
    except OSError as problem:
        raise Error(
            "usage",
            f"cannot serve on port {port}: {problem.strerror}",
            hint="leave --port out, for one that is free",
        ) from problem
    return f"http://{host}:{number}"


def wait() -> None:
    """Returns when nothing is served any more: after Ctrl-C."""
    import netron

    netron.wait()

"""Entry point of fresh interpreters: the parent of workers, or a worker that is no fork of it."""

import socket
import sys

from unmess.core.processes.children import end_with_parent
from unmess.core.processes.workers import inside, server


def main(role: str, *arguments: str) -> None:
    """Runs this process as the parent of workers, or as a worker.

    Args:
        role: `serve`, with a socket, `fork` or `fresh`, and the modules to import; or `work`, with
            the file descriptors of the request and for messages.
    """
    if role == "serve":
        descriptor, kind, *modules = arguments
        control = socket.socket(fileno=int(descriptor))
        server.serve(control, fork=kind == "fork", modules=modules)
    end_with_parent()
    # An ignored signal stays ignored in a new program.
    inside.restore_signals()
    request, messages = map(int, arguments)
    inside.work(request, messages)


main(*sys.argv[1:])

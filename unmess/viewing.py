"""Serves one module and the page of the graph viewer Netron to a browser on this machine."""

from __future__ import annotations

import html
import http.server
import importlib.util
import re
import secrets
import socketserver
import threading
from http import HTTPStatus
from pathlib import Path

from unmess.core.errors.error import Error
from unmess.core.module.module import Module

_LOOPBACK = "127.0.0.1"
# The only types of file in Netron's package that its page asks for.
_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
}
_MODEL = "data/model.mlir"
_HEADERS = {
    # The IR stays on this machine: the page can connect to this server only.
    "Content-Security-Policy": "connect-src 'self'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Viewer:
    """A server on the loopback interface with one module, in memory, and Netron's own files.

    Netron's own server is not used: it serves every file below the current folder, to any `Host`.
    Every path of this server starts with a random key, so that other users of the machine and other
    pages in the browser cannot read the IR.

    Args:
        port: the port to listen on; by default a free one.

    Raises:
        Error: stage `usage`, if Netron is not installed or the port is not available.
    """

    def __init__(self, port: int | None = None):
        found = importlib.util.find_spec("netron")
        if found is None:
            raise Error(
                "usage",
                "the graph viewer Netron is not installed",
                hint="run `pip install 'unmess[view]'`; the locked environment has it",
            )
        self._netron = Path(found.submodule_search_locations[0])
        try:
            self._server = _Server((_LOOPBACK, port or 0), _Handler)
        except OSError as problem:
            raise Error(
                "usage",
                f"cannot serve on port {port}: {problem.strerror}",
                hint="omit --port to use a free port",
            ) from problem
        number = self._server.server_address[1]
        self._server.hosts = {f"{_LOOPBACK}:{number}", f"localhost:{number}"}
        key = f"/{secrets.token_urlsafe(16)}/"
        self._key = key
        self.address = f"http://{_LOOPBACK}:{number}{key}"
        self._thread = threading.Thread(
            # The interval, in seconds, at which the server checks whether to stop.
            target=lambda: self._server.serve_forever(poll_interval=0.1),
            daemon=True,
        )

    def show(self, module: Module) -> None:
        """Starts serving a module at `address`."""
        # Serve text: Netron does not read the bytecode of every dialect.
        name = f"{Path(module.name).stem}.{module.stage}.mlir"
        pages = {
            path.name: (_TYPES[path.suffix], path.read_bytes())
            for path in self._netron.iterdir()
            if path.suffix in _TYPES
        }
        pages[""] = ("text/html", _with_model(pages.pop("index.html")[1], name))
        pages[_MODEL] = ("application/octet-stream", module.text().encode())
        self._server.pages = {self._key + path: page for path, page in pages.items()}
        self._thread.start()

    def wait(self) -> None:
        """Waits until `close` is called. Ctrl-C raises KeyboardInterrupt."""
        self._thread.join()

    def close(self) -> None:
        """Stops serving and frees the port."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_) -> None:
        self.close()


class _Server(socketserver.ThreadingTCPServer):
    """Serves `pages`, types and contents by path, to requests for one of its `hosts`."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    hosts: set[str]
    pages: dict[str, tuple[str, bytes]]

    def handle_error(self, request, client_address) -> None:
        """Ignores errors: a browser may close a connection early."""


class _Handler(http.server.BaseHTTPRequestHandler):
    # Seconds until an idle connection is closed.
    timeout = 60

    def do_GET(self) -> None:
        # Prevent DNS rebinding: a page whose host name now resolves to this address sends its name.
        if self.headers.get_all("Host", []) not in ([host] for host in self.server.hosts):
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        # Paths are compared, not resolved: no path leads to another file.
        page = self.server.pages.get(self.path.partition("?")[0])
        if page is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        kind, content = page
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_HEAD = do_GET

    def log_message(self, format, *args) -> None:
        """Logs no requests: stderr is for the command."""


def _with_model(page: bytes, name: str) -> bytes:
    """Returns Netron's page with the file to open and the name to show."""
    fields = {"type": "Python", "file": f"/{_MODEL}", "identifier": name}
    lines = "".join(
        f'<meta name="{field}" content="{html.escape(value)}">\n' for field, value in fields.items()
    )
    return re.sub(rb"</head>", lambda end: lines.encode() + end[0], page, count=1)

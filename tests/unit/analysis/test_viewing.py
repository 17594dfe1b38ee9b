"""`unmess view`: Netron's graph in a real browser, and which requests the server answers."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest

from pipelines.files import read_module
from unmess.core.errors.error import Error
from unmess.viewing import Viewer

FILE = """
func.func @main(
    %x: !torch.vtensor<[2,3],f32> {unmess.input = "x"},
    %w: !torch.vtensor<[3,4],f32> {unmess.weight = "w"}) -> !torch.vtensor<[2,4],f32> {
  %0 = torch.aten.mm %x, %w : !torch.vtensor<[2,3],f32>, !torch.vtensor<[3,4],f32>
      -> !torch.vtensor<[2,4],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
  return %1 : !torch.vtensor<[2,4],f32>
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.mlir"
    path.write_text(FILE)
    return path


@pytest.fixture
def viewer(file):
    with Viewer() as viewer:
        viewer.show(read_module(file))
        yield viewer


def request(viewer, path, *, host=None, method="GET"):
    """Sends a raw request, because HTTP libraries normalize the path; returns status and body."""
    address = urlsplit(viewer.address)
    host = f"Host: {host or address.netloc}\r\n" if host != "" else ""
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(f"{method} {path} HTTP/1.0\r\n{host}\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize(
    ("stage", "operations"),
    [("torch", {"mm", "relu"}), ("linalg", {"matmul", "generic", "fill"})],
)
def test_netron_draws_the_operations(browser, file, stage, operations):
    with Viewer() as viewer:
        viewer.show(read_module(file, stage))
        browser.open(viewer.address)
        # Netron asks for consent to cookies first.
        asks = "[...document.querySelectorAll('button')].find(b => b.innerText === 'Accept')"
        drawn = "[...document.querySelectorAll('.node-item text')].map(text => text.textContent)"
        browser.wait_for(f"({asks})?.click() || {drawn}.length > 0")
        labels = " ".join(browser.evaluate(drawn))
        assert all(operation in labels for operation in operations), labels
        outside = [url for url in browser.requests if not url.startswith(viewer.address)]
        # The browser also reports requests that the page's Content-Security-Policy blocks.
        refused = " ".join(browser.messages)
        assert all(url in refused for url in outside), (outside, refused)


def test_the_page_and_the_model_are_served(viewer):
    key = urlsplit(viewer.address).path
    status, page = request(viewer, key)
    assert status == 200 and b'content="model.torch.mlir"' in page
    status, model = request(viewer, f"{key}data/model.mlir")
    assert status == 200 and b"torch.aten.mm" in model
    assert request(viewer, f"{key}browser.js?version=1")[0] == 200
    assert request(viewer, key, method="HEAD") == (200, b"")


def test_nothing_else_is_served(viewer, tmp_path, monkeypatch):
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "link.json").symlink_to(secret)
    monkeypatch.chdir(tmp_path)
    key = urlsplit(viewer.address).path
    up = "../" * 20
    paths = [
        "/",
        "/index.html",
        "/data/model.mlir",
        "/browser.js",
        key[:-1],
        f"/{'A' * (len(key) - 2)}/",
        f"http://{urlsplit(viewer.address).netloc}{key}",
    ]
    names = [
        secret.name,
        f"data/{secret.name}",
        "data/link.json",
        "data/../secret.json",
        f"data/{secret}",
        f"data/{up}{secret}",
        f"data/{str(secret).replace('/', '%2f')}",
        f"data/{'%2e%2e%2f' * 20}etc/passwd",
        f"{up}etc/passwd",
        "/etc/passwd",
        "data/",
        "data",
        "server.py",
        "__init__.py",
        "./browser.js",
        "%62rowser.js",
        "browser.js%00",
    ]
    for path in [*paths, *(key + name for name in names)]:
        assert request(viewer, path)[0] == 404, path


@pytest.mark.parametrize(
    "host", ["", "example.com", "example.com:{port}", "127.0.0.1", "127.0.0.1:1", "[::1]:{port}"]
)
def test_other_hosts_are_refused(viewer, host):
    address = urlsplit(viewer.address)
    status, body = request(viewer, address.path, host=host.format(port=address.port))
    assert status == 403 and b"mlir" not in body


def test_two_hosts_are_refused(viewer):
    address = urlsplit(viewer.address)
    both = f"{address.netloc}\r\nHost: example.com"
    assert request(viewer, address.path, host=both)[0] == 403


def test_localhost_is_an_allowed_host(viewer):
    address = urlsplit(viewer.address)
    assert request(viewer, address.path, host=f"localhost:{address.port}")[0] == 200


def test_only_the_loopback_interface_is_served(viewer):
    # 127.0.0.0/8 is all local. A server that listens on all interfaces accepts 127.0.0.2.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", urlsplit(viewer.address).port), timeout=30)


def test_methods_that_change_something_are_refused(viewer):
    assert request(viewer, urlsplit(viewer.address).path, method="POST")[0] == 501


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(Error, match=f"cannot serve on port {port}: Address already in use"):
            Viewer(port)


def test_a_port_that_needs_a_privilege(monkeypatch):
    def bind(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(socket.socket, "bind", bind)
    with pytest.raises(Error, match="cannot serve on port 1: Permission denied") as caught:
        Viewer(1)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(
    ("end", "status"),
    [(signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_the_server_ends_with_the_command(file, end, status):
    command = [sys.executable, "-m", "unmess", "view", str(file), "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            lines = iter(process.stdout.readline, "}\n")
            address = urlsplit(json.loads("".join(lines) + "}")["url"])
            # The command runs in a fork. SIGKILL ends only its parent, which the user started.
            process.send_signal(end)
            assert process.wait(timeout=30) == status
        finally:
            process.kill()
    deadline = time.monotonic() + 30
    with pytest.raises(ConnectionRefusedError):
        while time.monotonic() < deadline:
            socket.create_connection((address.hostname, address.port), timeout=30).close()
            time.sleep(0.05)


def test_missing_netron_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "netron", None)
    with pytest.raises(Error, match="Netron is not installed") as caught:
        Viewer()
    assert caught.value.hint.startswith("run `pip install 'unmess[view]'`")

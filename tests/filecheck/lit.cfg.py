"""lit configuration: `lit -v tests/filecheck`, in the project's environment."""

# ruff: noqa: F821 -- lit defines `config` before it reads this file.

import os
import shlex
import sys
import tempfile
from pathlib import Path

import lit.formats

ROOT = Path(__file__).resolve().parents[2]

config.name = "unmess"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".py", ".txt"]
config.excludes = ["lit.cfg.py", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(tempfile.gettempdir(), f"unmess-lit-{os.getuid()}")

# The tools of this checkout, whether or not they are on the PATH.
python = shlex.quote(sys.executable)
inputs = ROOT / "tests" / "filecheck" / "Inputs"
# `--param mutation=NAME`: with a pipeline that lacks a step, which tests are to notice.
mutation = lit_config.params.get("mutation")
start = python
if mutation:
    start = shlex.join([sys.executable, str(ROOT / "tools" / "mutations.py"), "run", mutation])
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
config.environment["PYTHONPATH"] = str(ROOT)
config.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
config.environment["UNMESS_CACHE"] = os.path.join(config.test_exec_root, "cache")
# One thread per tool: lit runs several tests at once.
config.environment["OMP_NUM_THREADS"] = "1"
for name in ("HOME", "XDG_CACHE_HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

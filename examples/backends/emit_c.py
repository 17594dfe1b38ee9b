"""A compiler that prints C: one source file, one header, a static memory plan, no heap.

    unmess check MODEL --on examples/backends/emit_c.py:EmitC
    python examples/backends/emit_c.py MODEL FOLDER

The second command writes the C files of a model to a folder. The program has static sizes, and
elements of 64, 32, 16 or 8 bits, without 16-bit floats and complex numbers. Large weights are in a
file of their own, whose content the caller passes.
"""

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import unmess

# The file may be loaded by its path, from any folder.
sys.path.append(str(Path(__file__).parent))

from c_printer import sources, types

FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-fPIC", "-shared")
_FILES = (Path(__file__), *sorted((Path(__file__).parent / "c_printer").iterdir()))


@dataclass(frozen=True)
class Library:
    """A compiled program: its C sources, and the shared library."""

    sources: sources.Sources
    signature: object
    file: Path


class EmitC:
    """Prints C, compiles it with the C compiler of this machine, and calls it by ctypes.

    Args:
        unchecked: whether checks of indices and divisors are omitted.
    """

    name = "emit-c"
    input = unmess.BackendInput(
        stage="linalg", weights="external", upstream_only=True, tensors="numpy"
    )

    def __init__(self, unchecked=False):
        self._unchecked = unchecked

    def configured(self, target, unchecked):
        """Returns the backend with the options of `unmess.load`. It compiles for this machine."""
        return EmitC(unchecked)

    def compile(self, module, folder):
        """Writes the C files and the shared library to the folder."""
        printed = sources.print_c(module, self._unchecked)
        printed.write(folder)
        library = folder / f"lib{printed.name}.so"
        command = [*compiler(), *FLAGS, str(folder / f"{printed.name}.c"), "-lm", "-o", library]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), "")
            raise unmess.Error("compile", f"{command[0]} failed: {first}")
        return Library(printed, module.signature, library)

    def load(self, artifact):
        """Returns a function of arrays and numbers."""
        name = artifact.sources.name
        library = ctypes.CDLL(str(artifact.file))
        function, message = getattr(library, f"{name}_run"), getattr(library, f"{name}_message")
        message.restype = ctypes.c_char_p
        specs = [each.spec for each in artifact.signature.results]
        kinds = [_numpy(each) for each in specs]
        weights = np.frombuffer(artifact.sources.weights, np.uint8)

        def run(*arguments):
            results = [
                np.empty(getattr(spec, "shape", ()), kind)
                for spec, kind in zip(specs, kinds, strict=True)
            ]
            # Keep all arrays alive until the call ends, because the pointers do not own the memory.
            given = [_argument(each) for each in arguments]
            passed = [*given, *results, *([weights] if weights.size else [])]
            status = function(*(_pointer(each) for each in passed))
            if status:
                raise unmess.Error("run", message(status).decode())
            return results

        return run

    def supports(self, operation):
        """Returns whether C has the types of an operation, and their sizes are static."""
        try:
            for value in (*operation.operands, *operation.results):
                types.check_value(value)
        except unmess.Error:
            return False
        return True

    def devices(self):
        """Returns this machine's processor."""
        compiler()
        return ["cpu"]

    def describe(self):
        """Returns the first line of the compiler's version."""
        return f"C by way of loops, {_version()}"

    def identity(self):
        """Returns a digest of this printer and the C compiler's version."""
        digest = hashlib.sha256(_version().encode())
        for file in _FILES:
            if file.is_file():
                digest.update(file.read_bytes())
        return digest.hexdigest()


def compiler():
    """Returns the command of the C compiler: the variable CC, or cc.

    Raises:
        unmess.Error: stage `compile`, if there is none.
    """
    command = shlex.split(os.environ.get("CC", "cc"))
    if not command or shutil.which(command[0]) is None:
        raise unmess.Error(
            "compile", "there is no C compiler", hint="install gcc or clang, or set CC"
        )
    return command


def _version():
    done = subprocess.run([*compiler(), "--version"], capture_output=True, text=True)
    return done.stdout.partition("\n")[0]


def _numpy(spec):
    """Returns the NumPy type of a result in C. Tensors of booleans are bytes."""
    if hasattr(spec, "dtype"):
        return str(spec.dtype).removeprefix("torch.")
    return {bool: np.bool_, int: np.int64, float: np.float64}[spec.type]


def _argument(value):
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value)
    if isinstance(value, bool):
        return ctypes.c_bool(value)
    return ctypes.c_int64(value) if isinstance(value, int) else ctypes.c_double(value)


def _pointer(value):
    return ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else value


def main():
    """Writes the C files of a model."""
    model, folder = sys.argv[1:]
    module = unmess.lower(unmess.capture(model), "linalg", upstream_only=True)
    printed = sources.print_c(module)
    Path(folder).mkdir(parents=True, exist_ok=True)
    printed.write(folder)
    print(
        f"{printed.name}.c, {printed.name}.h: {printed.buffer_bytes} bytes of buffers in "
        f"{printed.arena_bytes}, {len(printed.weights)} bytes of weights in a file"
    )


if __name__ == "__main__":
    main()

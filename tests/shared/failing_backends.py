"""Backends that fail in one way each, if the program multiplies elements. Tests load them by file.

They interpret the torch dialect as `numpy_backend` does.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import unmess

# A backend is loaded by its file, so its folder is not on the search path.
sys.path.append(str(Path(__file__).parent))
import numpy_backend

MULTIPLY = "torch.aten.mul.Tensor"


def multiplies(module):
    return MULTIPLY in module.text()


class CompileError(numpy_backend.NumpyBackend):
    name = "compile-error"

    def compile(self, module, folder):
        if multiplies(module):
            raise unmess.Error("compile", f"cannot select code for {MULTIPLY}")
        return super().compile(module, folder)


class Crash(numpy_backend.NumpyBackend):
    name = "crash"

    def compile(self, module, folder):
        if multiplies(module):
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().compile(module, folder)


class OutOfMemory(numpy_backend.NumpyBackend):
    name = "out-of-memory"

    def compile(self, module, folder):
        if multiplies(module):
            np.ones(1 << 36, np.int8)
        return super().compile(module, folder)


class Changed(numpy_backend.NumpyBackend):
    """Changes the results of a call."""

    def compile(self, module, folder):
        return super().compile(module, folder), multiplies(module)

    def load(self, artifact):
        compiled, multiplied = artifact
        run = super().load(compiled)

        def call(*arguments):
            results = run(*arguments)
            return [self.change(each) for each in results] if multiplied else results

        return call


class Hang(Changed):
    name = "hang"

    def change(self, result):
        time.sleep(600)


class WrongResult(Changed):
    name = "wrong-result"

    def change(self, result):
        return result * np.float32(1.01)


class WrongDtype(Changed):
    name = "wrong-dtype"

    def change(self, result):
        return result.astype(np.float64)


class WrongShape(Changed):
    name = "wrong-shape"

    def change(self, result):
        return result[None]


class NaN(numpy_backend.NumpyBackend):
    """Returns NaN for products that are not positive. All other results are right."""

    name = "nan"

    def compile(self, module, folder):
        calls, results = super().compile(module, folder)
        return [(self.wrong if f is np.multiply else f, operands) for f, operands in calls], results

    def wrong(self, a, b):
        return np.where(a * b > 0, np.multiply(a, b), np.float32("nan"))


class Imprecise(NaN):
    """Loses some digits of products in float32, and in no other dtype."""

    name = "imprecise"

    def wrong(self, a, b):
        factor = 1 + 1e-4 * (a.dtype == np.float32)
        return (np.multiply(a, b) * factor).astype(a.dtype)

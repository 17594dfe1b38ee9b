"""A backend in Python: interprets the torch dialect with NumPy. Tests load it by its file."""

import numpy as np
from torch_mlir import ir

import unmess


def _add(a, b, alpha):
    return a + alpha * b


_OPERATORS = {
    "torch.aten.add.Tensor": _add,
    "torch.aten.mul.Tensor": np.multiply,
    "torch.aten.mm": np.matmul,
    "torch.aten.relu": lambda x: np.maximum(x, 0),
    "torch.constant.int": None,
}


class NumpyBackend:
    """Compiles an entry function to a list of NumPy calls."""

    name = "numpy"
    input = unmess.BackendInput(stage="torch", tensors="numpy")

    def compile(self, module, folder):
        (function,) = module.ir.body.operations
        block = function.regions[0].blocks[0]
        (folder / "input.mlir").write_text(module.text())
        # Values by the number of the argument or result.
        numbers = {value: number for number, value in enumerate(block.arguments)}
        calls = []
        for operation in block.operations:
            if not self.supports(operation):
                raise unmess.Error("compile", f"no {operation.operation.name}")
            name, operands = operation.operation.name, [numbers[v] for v in operation.operands]
            if name == "func.return":
                return calls, operands
            if name == "torch.constant.int":
                value = ir.IntegerAttr(operation.attributes["value"]).value
                calls.append((lambda value=value: value, ()))
            else:
                calls.append((_OPERATORS[name], operands))
            numbers[operation.results[0]] = len(numbers)
        return None

    def supports(self, operation):
        name = operation.operation.name
        return name in _OPERATORS or name == "func.return"

    def load(self, artifact):
        calls, results = artifact

        def run(*arguments):
            values = list(arguments)
            for function, operands in calls:
                values.append(function(*(values[number] for number in operands)))
            return [values[number] for number in results]

        return run


class Overwrites(NumpyBackend):
    """Writes to the first argument of a call after it has computed the right results."""

    name = "overwrites"

    def load(self, artifact):
        run = super().load(artifact)

        def overwrite(*arguments):
            results = [np.array(result) for result in run(*arguments)]
            arguments[0][...] = 0
            return results

        return overwrite


class Inline(NumpyBackend):
    """Takes linalg with weights as literals, and runs it on the reference runner."""

    name = "numpy-inline"
    input = unmess.BackendInput(stage="linalg", weights="inline")

    def compile(self, module, folder):
        assert not any(a.kind == "weight" for a in module.signature.arguments)
        return unmess.load(module, on="reference")

    def load(self, artifact):
        (entry,) = artifact.signatures
        return lambda *arguments: artifact._invoke(entry, arguments)


class Broken(NumpyBackend):
    """Raises an exception in each call."""

    name = "numpy-broken"

    def load(self, artifact):
        def run(*arguments):
            raise ZeroDivisionError("no reason")

        return run

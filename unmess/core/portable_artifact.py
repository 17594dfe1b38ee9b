"""StableHLO's portable artifacts: VHLO, the versioned form in which `jax.export` saves programs."""

from __future__ import annotations

import re

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo
from torch_mlir.passmanager import PassManager

from unmess.core.error import Error

_DIALECT = "vhlo."
_PRODUCER = re.compile(r"produced by: StableHLO_v([\d.]+)")


def to_stablehlo(module: ir.Module, name: str) -> None:
    """Converts VHLO to StableHLO in place. Leaves other modules unchanged.

    Args:
        name: name of the file, for the message.

    Raises:
        Error: stage `usage`; this version of StableHLO cannot express the VHLO.
    """
    if not any(each.operation.name.startswith(_DIALECT) for each in module.body.operations):
        return
    version = _stablehlo.get_current_version()
    steps = f"builtin.module(vhlo-to-version{{target={version}}},vhlo-legalize-to-stablehlo)"
    try:
        with module.context:
            PassManager.parse(steps).run(module.operation)
    except ir.MLIRError as problem:
        first = problem.error_diagnostics
        cause = first[0].message.splitlines()[0] if first else "no diagnostic"
        raise Error(
            "usage",
            f"{name} has VHLO that StableHLO {version} cannot express: {cause}",
            hint="write the file with the version of StableHLO that this environment has",
        ) from problem


def newer_version(problem: ir.MLIRError) -> str | None:
    """Returns the StableHLO version of a file that does not parse, if it is newer than ours."""
    texts = [note.message for each in problem.error_diagnostics for note in each.notes]
    version = next((match[1] for text in texts if (match := _PRODUCER.search(text))), None)
    if version is None or _numbers(version) <= _numbers(_stablehlo.get_current_version()):
        return None
    return version


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part]

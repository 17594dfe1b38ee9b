"""The protocol of backends: compilers whose programs can be called."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from unmess.core.errors.error import Error, first_line
from unmess.core.errors.stages import IR_STAGES
from unmess.core.options.names import check_name

if TYPE_CHECKING:
    from pipelines.user_passes import UserPass
    from unmess.core.module.module import Module

WEIGHTS = ("arguments", "inline", "external")
TENSORS = ("torch", "numpy", "native")
# The names of dtypes whose results are rounded.
_INEXACT = ("float64", "float32", "float16", "bfloat16", "complex64", "complex128")


@dataclass(frozen=True)
class BackendInput:
    """The IR and the tensors that a backend takes.

    Attributes:
        stage: the stage of the IR: `raw`, `torch`, `linalg`, `tosa` or `stablehlo`. None: the
            module comes at the stage that it has, and the backend lowers it.
        weights: `arguments` (the weights are arguments of the entry function and of each call),
            `inline` (the weights are literals in the IR) or `external` (the weights are arguments
            of the entry function, and the backend takes them from `module.weights`; a call does not
            pass them).
        fold_constants: as for `unmess.lower`; for programs that are captured when they are loaded.
        unpack_weights: whether packed weights are unpacked once, when a captured program is loaded.
            Otherwise, the IR unpacks them in each call.
        upstream_only: rewrite operations that upstream MLIR does not have; for `linalg` only.
        passes: passes to run at the end, in MLIR's syntax, or functions that change an `ir.Module`
            in place.
        several_entries: whether one module may have several entry functions. Otherwise, each entry
            function is compiled alone, and `load` returns a callable.
        tensors: `torch`, `numpy` (bfloat16 tensors are arrays of uint16 with the same bits), or
            `native` (as `torch`, but results are neither checked nor converted).
    """

    stage: str | None = "linalg"
    weights: str = "arguments"
    fold_constants: bool = False
    unpack_weights: bool = False
    upstream_only: bool = False
    passes: tuple[UserPass, ...] = ()
    several_entries: bool = False
    tensors: str = "torch"

    def __post_init__(self) -> None:
        if self.stage is not None:
            check_name("stage", self.stage, IR_STAGES)
        check_name("weights", self.weights, WEIGHTS)
        check_name("kind of tensors", self.tensors, TENSORS)
        if self.upstream_only and self.stage != "linalg":
            raise Error(
                "usage",
                f"upstream_only is for linalg, not for {self.stage}",
                hint='take the input at stage "linalg"',
            )


@dataclass(frozen=True)
class Numerics:
    """Rounding of a backend that differs from PyTorch's by design. Conformance allows for it.

    Attributes:
        flushes_subnormals: whether subnormal numbers count as 0.
        units_of_one: the error of elementary functions that is relative to 1 rather than to the
            result, in units in the last place.
    """

    flushes_subnormals: bool = False
    units_of_one: float = 0.0

    def __str__(self) -> str:
        texts = ["subnormal numbers count as 0"] if self.flushes_subnormals else []
        if self.units_of_one:
            texts.append(f"elementary functions: {self.units_of_one:g} units of 1")
        return ", ".join(texts)


# A compiled entry function. It takes the tensors and Python numbers of the IR's arguments in order,
# and returns those of the IR's results, in a sequence unless there is exactly one.
Function = Callable[..., Any]


class Backend(Protocol):
    """A compiler whose programs can be called.

    A backend may have these methods and attributes as well:

    - `supports(operation) -> bool`: whether it compiles an operation of the IR.
    - `devices() -> Sequence[str]`: the devices that it runs on; empty if it does not run here. It
      raises an `unmess.Error` that says why.
    - `describe() -> str`: one line about the backend, such as its version.
    - `identity() -> str`: a digest of the compiler. Conformance results of another one are not
      continued.
    - `tolerances: Mapping[str, float]`: by the name of a dtype, such as `float16`, the largest
      difference allowed, relative to the largest magnitude of the result. Reports print it.
    - `numerics: Numerics`: how it rounds elements, for level 1 of conformance. Reports print it.
    - `configured(target, unchecked) -> Backend`: the backend with the options of `unmess.load`.
    - `reproducer(module) -> tuple[str, str]`: the command that repeats a compilation, and the text
      of its input.

    The artifact may have the attributes `notes` (a sequence of `Note` about choices that the user
    did not make), `preset` (the name of a set of options), and `has_globals` (whether calls change
    memory that the next call reads; without it, calls run one after the other).

    Attributes:
        name: the name that users write.
        input: the IR and the tensors that the backend takes.
    """

    name: str
    input: BackendInput

    def compile(self, module: Module, folder: Path) -> Any:
        """Compiles a module.

        Args:
            module: in the form of `input`. Its `entries` have the signature of each entry function.
                It may be changed.
            folder: an empty folder for files, which exists as long as the artifact.

        Returns:
            The artifact, for `load`.

        Raises:
            Error: stage `compile`. Other exceptions become one.
        """

    def load(self, artifact: Any) -> Function | Mapping[str, Function]:
        """Loads an artifact.

        Returns:
            The entry function, or the entry functions by name if `input.several_entries` is set.

        Raises:
            Error: stage `load`. Other exceptions become one.
        """


def check_backend(value: object, place: str) -> Backend:
    """Returns `value` if it is a backend, or calls it first if it is a class or a function.

    Args:
        place: where the value comes from, for messages.

    Raises:
        Error: stage `usage`, if it is not a backend.
    """
    makes_one = isinstance(value, type) or (callable(value) and not hasattr(value, "compile"))
    try:
        backend = value() if makes_one else value
    except Error:
        raise
    except Exception as problem:
        raise Error(
            "usage",
            f"{place} cannot be created: {first_line(problem)}",
            hint="a backend is created without arguments",
        ) from problem
    missing = [name for name in ("name", "input", "compile", "load") if not hasattr(backend, name)]
    if missing:
        raise Error(
            "usage",
            f"{place} is not a backend: {_listed(missing)} missing",
            hint="docs/backends.md describes the protocol unmess.Backend",
        )
    if not isinstance(backend.name, str) or not isinstance(backend.input, BackendInput):
        raise Error(
            "usage",
            f"{place} is not a backend: name must be a str, and input an unmess.BackendInput",
            hint="docs/backends.md describes the protocol unmess.Backend",
        )
    check_tolerances(getattr(backend, "tolerances", {}), place)
    if not isinstance(getattr(backend, "numerics", Numerics()), Numerics):
        raise Error(
            "usage",
            f"{place} is not a backend: numerics must be an unmess.Numerics",
            hint="docs/backends.md describes the protocol unmess.Backend",
        )
    return backend


def check_tolerances(tolerances: object, place: str) -> None:
    """Raises an Error (`usage`) unless each tolerance is a number for the name of a dtype."""
    if not isinstance(tolerances, Mapping):
        tolerances = {"tolerances": tolerances}
    for dtype, value in tolerances.items():
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if dtype not in _INEXACT or not is_number or not 0 <= value < math.inf:
            raise Error(
                "usage",
                f"{place} declares the tolerance {value!r} for {dtype!r}",
                hint=f"a tolerance is a finite number from 0, by dtype: {', '.join(_INEXACT)}",
            )


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"

"""The protocol of loaded programs: Executables on torch tensors, Bundles on NumPy arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from unmess.core.errors.error import Error
from unmess.core.errors.failure import only_errors
from unmess.core.signature.signature import Signature

# Name of the entry point, if the model has only one.
ENTRY = "main"


@dataclass(frozen=True)
class EntryPoint:
    """One of the entry points of a loaded program. It is called like a program with only this one.

    Attributes:
        executable: the loaded program.
        name: the name of the entry point.
    """

    executable: Any
    name: str

    @only_errors("run")
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the entry point once; see the loaded program's own `__call__`."""
        return self.executable._call(self.name, args, kwargs)


_EntryPoint = TypeVar("_EntryPoint", bound=EntryPoint)


class EntryPoints(ABC, Generic[_EntryPoint]):
    """A loaded program, or several that share weights and state.

    A single program is called like the model itself, `run(…)`. Several are called by the names of
    their entry points, `run.decode(…)` or `run["decode"](…)`.

    Attributes:
        name: the name of the model.
        signatures: the signature of each entry point by name.
    """

    name: str
    signatures: Mapping[str, Signature]

    @only_errors("run")
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program once.

        Args: the same containers, dtypes and shapes as at capture (a dynamic dimension may have any
            size in its range).

        Returns:
            The model's own containers of new tensors or arrays, which own their memory, and of
            numbers.

        Raises:
            Error: stage `run`, if the arguments do not fit or a check inside the program fails;
                stage `usage`, if there are several entry points.
        """
        if len(self.signatures) > 1:
            raise Error(
                "usage",
                f"{self.name} has several entry points: {', '.join(self.signatures)}",
                hint=f"call one by name: run.{next(iter(self.signatures))}(…)",
            )
        return self._call(next(iter(self.signatures)), args, kwargs)

    @only_errors()
    def __getitem__(self, entry: str) -> _EntryPoint:
        """Returns the entry point with a name.

        Raises:
            Error: stage `usage`, if there is none.
        """
        if entry not in self.signatures:
            raise Error(
                "usage",
                f"{self.name} has no entry point {entry!r}",
                hint=f"the entry points are {', '.join(self.signatures)}",
            )
        return self._entry_point(entry)

    def __getattr__(self, entry: str) -> _EntryPoint:
        # Copying and unpickling look up special methods before `signatures` is set.
        if entry.startswith("_") or entry not in self.__dict__.get("signatures", ()):
            raise AttributeError(f"{type(self).__name__} has no attribute {entry!r}")
        return self[entry]

    def __iter__(self) -> Iterator[_EntryPoint]:
        """Iterates over the entry points in order."""
        return map(self.__getitem__, self.signatures)

    @abstractmethod
    def _entry_point(self, entry: str) -> _EntryPoint:
        """Returns the entry point with a name, which exists."""

    @abstractmethod
    def _call(self, entry: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs an entry point once."""

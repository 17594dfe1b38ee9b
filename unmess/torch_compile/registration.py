"""Makes `torch.compile(model, backend="unmess")` work once unmess has been imported.

An installed package declares its backends as entry points, which PyTorch reads. A checkout that is
only on the path has none. This module adds the same entry to PyTorch's registry of backends, as
soon as PyTorch imports its registry. `import unmess` imports this module, so it must cost next to
nothing.
"""

import sys
from importlib.machinery import PathFinder

NAME = "unmess"
# As in pyproject.toml.
GROUP = "torch_dynamo_backends"
BACKEND = "unmess.torch_compile.backend:backend"
_REGISTRY = "torch._dynamo.backends.registry"


# No base class: importing importlib.abc would take longer than the rest.
class Finder:
    """An import hook that finds PyTorch's registry as usual, and then adds the backend to it."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """Returns the spec of the registry, else None; see importlib.abc.MetaPathFinder."""
        if fullname != _REGISTRY:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                add_to(module)

            spec.loader.exec_module = exec_module
        return spec


def add_to(registry) -> None:
    """Adds the backend to PyTorch's registry, which imports it when it is first used."""
    from importlib.metadata import EntryPoint

    registry._BACKENDS.setdefault(NAME, EntryPoint(NAME, BACKEND, GROUP))


def register() -> None:
    """Adds the backend now if PyTorch's registry is imported already, or when it is."""
    registry = sys.modules.get(_REGISTRY)
    if registry is not None:
        add_to(registry)
    elif Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)

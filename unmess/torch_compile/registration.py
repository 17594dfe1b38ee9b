"""Makes `torch.compile(model, backend="unmess")` work once unmess has been imported.

An installed package declares its backends as entry points, which PyTorch reads. A checkout that is
only on the path has none. This module adds the same entry to PyTorch's registry of backends, as
soon as PyTorch imports its registry. `import unmess` imports this module, so it must cost next to
nothing.
"""

import sys

from unmess.import_hook import ImportHook

NAME = "unmess"
# As in pyproject.toml.
GROUP = "torch_dynamo_backends"
BACKEND = "unmess.torch_compile.backend:backend"
_REGISTRY = "torch._dynamo.backends.registry"


def add_to(registry) -> None:
    """Adds the backend to PyTorch's registry, which imports it when it is first used."""
    from importlib.metadata import EntryPoint

    registry._BACKENDS.setdefault(NAME, EntryPoint(NAME, BACKEND, GROUP))


def _execute(registry, execute):
    """Executes PyTorch's registry, and then adds the backend to it."""
    execute()
    add_to(registry)


_HOOK = ImportHook((_REGISTRY,), _execute)


def register() -> None:
    """Adds the backend now if PyTorch's registry is imported already, or when it is."""
    registry = sys.modules.get(_REGISTRY)
    if registry is not None:
        add_to(registry)
    else:
        _HOOK.install()

"""Runs code around the import of a module of another package.

The environment imports hooks in each of its processes, so this module must cost next to nothing.
"""

import sys
from importlib.machinery import PathFinder


# No base class: importing importlib.abc would take ten times as long as the rest.
class ImportHook:
    """Finds some modules as usual, and calls a function in place of their execution."""

    def __init__(self, names, execute):
        """Describes a hook; `install` makes it effective.

        Args:
            names: the full names of the modules.
            execute: called with a new, empty module, and a function without arguments that executes
                it.
        """
        self._names = names
        self._execute = execute

    def install(self) -> None:
        """Makes the hook effective for modules that are not imported yet."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(self, fullname, path=None, target=None):
        """Returns the spec of one of the modules, else None; see importlib.abc.MetaPathFinder."""
        if fullname not in self._names:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            usual = spec.loader.exec_module
            spec.loader.exec_module = lambda module: self._execute(module, lambda: usual(module))
        return spec

"""Drops the messages that torchao logs about itself while it is imported.

transformers imports torchao if it is installed. torchao then reports that its kernels for GPUs do
not load, and PyTorch that torchao calls a deprecated function. Importing this module installs an
import hook. The environment imports it in each of its processes, so it must cost next to nothing.
"""

import sys
from importlib.machinery import PathFinder

# The second module imports parts of torchao that torchao itself does not.
_MODULES = ("torchao", "transformers.quantizers.quantizer_torchao")


# No base class: importing importlib.abc would take ten times as long as the rest.
class Finder:
    """An import hook that finds modules as usual, and turns logging off while they are executed."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        """Returns the spec of one of the modules, else None; see importlib.abc.MetaPathFinder."""
        if fullname not in _MODULES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                import logging

                before = logging.root.manager.disable
                logging.disable(logging.WARNING)
                try:
                    execute(module)
                finally:
                    logging.disable(before)

            spec.loader.exec_module = exec_module
        return spec


if Finder not in sys.meta_path:
    sys.meta_path.insert(0, Finder)

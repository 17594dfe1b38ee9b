"""Drops the messages that torchao logs about itself while it is imported.

transformers imports torchao if it is installed. torchao then reports that its kernels for GPUs do
not load, and PyTorch that torchao calls a deprecated function. Importing this module installs an
import hook. The environment imports it in each of its processes, so it must cost next to nothing.
"""

from unmess.import_hook import ImportHook

# The second module imports parts of torchao that torchao itself does not.
_MODULES = ("torchao", "transformers.quantizers.quantizer_torchao")


def _execute(module, execute):
    """Executes a module while logging is off."""
    import logging

    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        execute()
    finally:
        logging.disable(before)


ImportHook(_MODULES, _execute).install()

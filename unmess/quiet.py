"""Keeps what libraries say about themselves out of a command's output."""

from __future__ import annotations

import logging
import os
import sys
import warnings


def quiet_libraries() -> None:
    """Silences Python warnings and logging in this process, unless the user asked for them.

    PyTorch and transformers warn about their own internals; what concerns the user's model is in
    the Program's notes.
    """
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    if not os.environ.get("TORCH_LOGS"):
        logging.disable(logging.CRITICAL)

"""torchao reports nothing about itself when it or transformers is imported."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["torchao", "transformers.modeling_utils", "torchao.quantization.pt2e.quantize_pt2e"]
)
def test_an_import_writes_nothing(module):
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_logging_works_after_the_import():
    program = "import torchao, logging; logging.getLogger('a').warning('still here')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == "still here\n"

"""torchao reports nothing about itself when it or transformers is imported."""

import pytest


@pytest.mark.parametrize(
    "module", ["torchao", "transformers.modeling_utils", "torchao.quantization.pt2e.quantize_pt2e"]
)
def test_an_import_writes_nothing(run_with_torch, module):
    done = run_with_torch(f"import {module}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_logging_works_after_the_import(run_with_torch):
    program = "import torchao, logging; logging.getLogger('a').warning('still here')"
    assert run_with_torch(program).stderr == "still here\n"

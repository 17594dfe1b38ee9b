"""`unmess view`: what Netron makes of the project's modules, in a real browser."""

import sys

import netron
import pytest

from pipelines.files import read_module
from unmess.core.error import Error
from unmess.viewing import serve

FILE = """
func.func @main(
    %x: !torch.vtensor<[2,3],f32> {unmess.input = "x"},
    %w: !torch.vtensor<[3,4],f32> {unmess.weight = "w"}) -> !torch.vtensor<[2,4],f32> {
  %0 = torch.aten.mm %x, %w : !torch.vtensor<[2,3],f32>, !torch.vtensor<[3,4],f32>
      -> !torch.vtensor<[2,4],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
  return %1 : !torch.vtensor<[2,4],f32>
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.mlir"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("stage", "operations"),
    [("torch", {"mm", "relu"}), ("linalg", {"matmul", "generic", "fill"})],
)
def test_netron_draws_the_operations(browser, file, stage, operations):
    address = serve(read_module(file, stage), browse=False)
    try:
        browser.open(address)
        # Where it cannot find out which country this is, it asks about cookies first.
        asks = "[...document.querySelectorAll('button')].find(b => b.innerText === 'Accept')"
        drawn = "[...document.querySelectorAll('.node-item text')].map(text => text.textContent)"
        browser.wait_for(f"({asks})?.click() || {drawn}.length > 0")
        labels = " ".join(browser.evaluate(drawn))
        assert all(operation in labels for operation in operations), labels
    finally:
        netron.stop()


def test_what_to_install_where_netron_is_missing(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "netron", None)
    with pytest.raises(Error, match="Netron is not installed") as caught:
        serve(read_module(file), browse=False)
    assert caught.value.hint.startswith("pip install 'unmess[view]'")

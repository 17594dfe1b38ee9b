"""Commands on a model with several entry points. The model string names this file."""

import json

import pytest
import torch

import unmess
import unmess.api
from unmess.__main__ import main


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2, bias=False)
        self.register_buffer("count", torch.zeros(1))

    def up(self, x):
        self.count.add_(1)
        return self.layer(x)

    def down(self, y):
        return {"x": y @ self.layer.weight, "count": self.count + 0}


@pytest.fixture(autouse=True)
def net(monkeypatch):
    net = Net().eval()
    programs = unmess.combine(
        {
            "up": unmess.capture(net.up, (torch.ones(2),)),
            "down": unmess.capture(net.down, (torch.ones(3, 2),)),
        }
    )
    monkeypatch.setattr(unmess.api, "capture", lambda *args, **kwargs: programs)


@pytest.fixture
def run(capfd):
    def run(*arguments):
        status = main([*arguments, "--json"])
        return status, json.loads(capfd.readouterr().out)

    return run


def test_import_describes_every_entry_function(run):
    status, document = run("import", __file__, "--no-cache", "--to", "raw")
    assert status == 0
    assert list(document["entries"]) == ["up", "down"]
    assert document["entries"]["up"]["weights"] == {"layer.weight": 1, "count": 2}
    (leaf,) = document["entries"]["down"]["inputs"]
    assert (leaf["name"], leaf["shape"], leaf["argument"]) == ("y", [3, 2], 0)
    assert "@up(" in document["ir"] and "@down(" in document["ir"]


@pytest.mark.parametrize("options, paths", [((), ["result"]), (("--entry", "down"), None)])
def test_run_calls_one_entry_point(run, options, paths):
    status, document = run("run", __file__, "--no-cache", "--repeat", "0", *options)
    assert status == 0
    found = [leaf["path"] for leaf in document["results"]]
    assert found == (paths or ["result['x']", "result['count']"])


def test_an_entry_point_that_is_not_there(run):
    status, document = run("run", __file__, "--no-cache", "--entry", "sideways")
    assert status == 2 and "sideways" in document["error"] and "up, down" in document["hint"]

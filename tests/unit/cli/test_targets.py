"""`unmess targets`, as text and as JSON."""

import json

from pipelines.backends.table import COMPILE_ONLY, RUNNERS
from pipelines.iree import devices
from unmess.__main__ import main


def test_every_runner_is_listed(capsys, monkeypatch):
    asked = devices.ask_drivers

    def some(drivers):
        return {
            **dict.fromkeys(drivers, devices.Devices(problem="no library")),
            **asked(["local-task"]),
            "vulkan": devices.Devices((devices.Device("a card", ""),)),
        }

    monkeypatch.setattr(devices, "ask_drivers", some)
    assert main(["targets", "--json"]) == 0
    rows = {row["runner"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == ["eager", *RUNNERS, *COMPILE_ONLY]
    assert all(row["compiles"] for row in rows.values())
    assert [name for name, row in rows.items() if row["runs"]] == [
        "eager",
        "reference",
        "iree-cpu",
        "iree-vulkan",
    ]
    assert rows["iree-vulkan"]["device"] == "a card"
    assert rows["iree-cuda"]["reason"] == "no library"
    assert "libcuda" in rows["iree-cuda"]["remedy"]
    assert main(["targets"]) == 0
    text = capsys.readouterr().out
    assert "a card" in text and "no library" in text and "needs an AMD GPU" in text


def test_without_iree(capsys, monkeypatch):
    monkeypatch.setattr("unmess.environment.targets._is_there", lambda name: "iree" not in name)
    assert main(["targets", "--json"]) == 0
    rows = {row["runner"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == ["eager", *RUNNERS, *COMPILE_ONLY]
    assert [name for name, row in rows.items() if row["runs"]] == ["eager", "reference"]
    assert "iree-base-compiler" in rows["metal"]["remedy"]

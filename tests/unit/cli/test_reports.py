"""`models` and `doctor` print the library's results as text and as JSON."""

import json

import pytest

from importers.recipes import Recipe
from importers.recipes.limits import Limit
from unmess.__main__ import main
from unmess.environment.doctor import Finding

LIMIT = Limit("torch", "no way", "reference", "https://example.org/1")
LISTED = [
    Recipe("hf:bert", "hf", "encoder", (LIMIT,)),
    Recipe("torchvision:resnet18", "torchvision", "c"),
    Recipe("torchvision:x", "torchvision", "c", not_built=Limit("source", "it has no forward")),
]


@pytest.fixture
def listed(monkeypatch):
    monkeypatch.setattr("importers.recipes.list_recipes", lambda: LISTED)
    # `quiet_libraries` changes the whole process, which is pytest's here. Patch the command line's
    # own reference first: if a command imported that module later, it would keep the patch.
    monkeypatch.setattr("unmess.cli.cached.quiet_libraries", lambda: None)
    monkeypatch.setattr("unmess.core.errors.quiet.quiet_libraries", lambda pytorch: None)


def test_models(listed, capsys):
    assert main(["models"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "hf:bert               encoder; stops in torch on reference: no way (https://example.org/1)",
        "torchvision:resnet18  c",
        "torchvision:x         c; not built: it has no forward",
    ]


def test_models_of_a_source(listed, capsys):
    assert main(["models", "--source", "hf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "model": "hf:bert",
            "source": "hf",
            "task": "encoder",
            "limits": [
                {
                    "stage": "torch",
                    "cause": "no way",
                    "runner": "reference",
                    "link": "https://example.org/1",
                }
            ],
            "not_built": None,
        }
    ]


def test_models_of_an_unknown_source(listed, capsys):
    assert main(["models", "--source", "tv"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "usage: unknown source 'tv'\n  hint: use one of hf, torchvision\n"


FINE = Finding("tools", "lit", True, "/bin/lit")
OFF = Finding("tools", "FileCheck", False, "not found", "install it")


@pytest.mark.parametrize(("findings", "status"), [([FINE], 0), ([FINE, OFF], 1)])
def test_doctor(monkeypatch, capsys, findings, status):
    monkeypatch.setattr("unmess.environment.doctor.examine", lambda: findings)
    assert main(["doctor"]) == status
    text = capsys.readouterr().out
    assert text.count("ok ") == 1
    assert ("remedy: install it" in text) == (status == 1)
    assert main(["doctor", "--json"]) == status
    document = json.loads(capsys.readouterr().out)
    assert [entry["ok"] for entry in document] == [finding.ok for finding in findings]

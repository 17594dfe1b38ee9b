"""The recorded model names match the installed libraries."""

import pytest
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from importers.sources import models
from importers.sources.model_string import check_model_string

SOURCES = list(models.LIBRARIES)


@pytest.mark.parametrize("source", SOURCES)
def test_recorded_names_match_the_library(source):
    # After an upgrade, run: ./pixiw run sweep SOURCE --record
    assert models.recorded_models(source) == models.ask_library(source)


def test_recorded_types_without_a_model_match_transformers():
    types = CONFIG_MAPPING_NAMES.keys() - models.ask_library("hf").keys()
    assert models.types_without_model() == sorted(types)


def test_another_version_of_the_library_lists_its_own_names(monkeypatch):
    monkeypatch.setattr(models, "_version", lambda source: "0.0")
    monkeypatch.setattr(models, "ask_library", lambda source: {"new_net": "encoder"})
    assert models.recorded_models("hf") is None
    assert models.named_models("hf") == {"new_net": "encoder"}


@pytest.mark.parametrize("end", ["", "#generate"])
def test_a_folder_is_accepted_without_the_recorded_names(monkeypatch, tmp_path, end):
    """Reading the names takes a tenth of a second, at each start of a command."""
    monkeypatch.setattr(models, "_read", lambda path: pytest.fail("the names were read"))
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    check_model_string(f"hf:folder{end}")
    check_model_string(f"hf:{tmp_path / 'folder'}{end}")


def test_recording_one_source_keeps_the_others(monkeypatch, tmp_path):
    file = tmp_path / "models.yaml"
    file.write_text("# A header.\nhf: {version: '1', models: {bert: encoder}}\n")
    monkeypatch.setattr(models, "FILE", file)
    monkeypatch.setattr(models, "_version", lambda source: "1")
    monkeypatch.setattr(models, "ask_library", lambda source: {"a_net": "video"})
    models.record_models("torchvision", file)
    assert file.read_text().startswith("# A header.\n")
    assert models.recorded_models("hf") == {"bert": "encoder"}
    assert models.recorded_models("torchvision") == {"a_net": "video"}

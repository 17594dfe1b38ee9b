"""Tests that the types with their own sizes exist, and that the sizes make a model tiny."""

import pytest
import torch

from importers.sources import find_source
from importers.sources.huggingface.tasks import model_types
from importers.sources.huggingface.tiny_sizes import TinySizes, read_tiny_sizes


def test_every_entry_names_a_type():
    assert read_tiny_sizes().keys() <= model_types().keys()


def test_a_dot_leads_to_a_part():
    values = {"width": 8, "vision_config": {"depth": 9}}
    TinySizes({"width": 4, "vision_config.depth": 1, "text_config.size": 2}).apply(values)
    assert values == {"width": 4, "vision_config": {"depth": 1}, "text_config": {"size": 2}}


def test_inputs():
    call = TinySizes(
        inputs={
            "images": {"floats": [2, 3]},
            "ids": {"ids": [1, 8], "tokens": {500: [2, 4]}},
            "mask": {"ones": [1, 2], "dtype": "bool"},
            "states": {"layer": [{"zeros": [1]}, {"values": [[3, 4]]}]},
            "sample": False,
        }
    ).example()
    assert call["images"].shape == (2, 3) and call["images"].dtype == torch.float32
    assert call["ids"].shape == (1, 8) and call["ids"].dtype == torch.int64
    assert (call["ids"] == 500).tolist() == [[False] * 2 + [True] * 2 + [False] * 4]
    assert call["mask"].tolist() == [[True, True]]
    assert [state.tolist() for state in call["states"]["layer"]] == [[0], [[3, 4]]]
    assert call["sample"] is False


@pytest.mark.parametrize("model_type", ["dbrx", "granite_docling", "seggpt", "vibevoice", "zamba"])
def test_a_type_with_its_own_sizes(model_type):
    source = find_source(f"hf:{model_type}")
    assert sum(weight.numel() for weight in source.model.parameters()) < 1_000_000
    with torch.no_grad():
        source.model(**source.kwargs)

"""Tests the tasks of all model types, and that the parts of tiny configurations agree."""

import pytest
import torch
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

from importers.sources import find_source
from importers.sources.huggingface.tasks import class_name, model_types
from importers.sources.huggingface.tiny_config import LEVELS, tiny_config


def test_every_type_with_a_base_model_has_a_task():
    types = model_types()
    assert MODEL_MAPPING_NAMES.keys() <= types.keys()
    assert all(types.values())


@pytest.mark.parametrize(
    "model_type, task, name",
    [
        ("vit", "image classification", "ViTForImageClassification"),
        ("t5", "encoder-decoder", "T5ForConditionalGeneration"),
        ("bert", "encoder", "BertModel"),
        ("llama", "decoder", "LlamaForCausalLM"),
        ("llava", "vision-language", "LlavaModel"),
        ("whisper", "speech recognition", "WhisperModel"),
        ("detr", "object detection", "DetrModel"),
        ("timesfm", "time series", "TimesFmModel"),
        ("clip", "zero-shot image classification", "CLIPModel"),
        ("splinter", "feature extraction", "SplinterModel"),
    ],
)
def test_task_and_class(model_type, task, name):
    assert model_types()[model_type] == task
    assert class_name(model_type) == name


def test_widths_agree_across_parts():
    config = tiny_config(CONFIG_MAPPING["qwen2_5_vl"], LEVELS[1])
    assert config.vision_config.out_hidden_size == config.text_config.hidden_size == 64


def test_sections_of_rotary_embeddings_fit_the_head():
    text = tiny_config(CONFIG_MAPPING["qwen2_vl"]).text_config
    pairs = text.hidden_size // text.num_attention_heads // 2
    assert sum(text.rope_parameters["mrope_section"]) == pairs


@pytest.mark.parametrize("model_type", ["llava", "qwen2_vl", "voxtral"])
def test_text_has_one_placeholder_token_per_feature(model_type):
    """In eager, the model itself raises if the numbers differ."""
    source = find_source(f"hf:{model_type}")
    ids = source.kwargs["input_ids"]
    config = getattr(source.model, "model", source.model).config
    names = ("image_token_id", "image_token_index", "audio_token_id")
    token = next(getattr(config, name) for name in names if getattr(config, name, None))
    assert int((ids == token).sum()) == ids.numel() - 16
    with torch.no_grad():
        source.model(**source.kwargs)


@pytest.mark.parametrize(
    "model_type, inputs",
    [
        ("blip_2_qformer", {"query_embeds", "encoder_hidden_states"}),
        ("decision_transformer", {"states", "actions", "returns_to_go", "timesteps"}),
        ("dots1", {"input_ids"}),  # its counts of experts are None by default
        ("lxmert", {"input_ids", "visual_feats", "visual_pos"}),
        ("xmod", {"input_ids", "lang_ids"}),
    ],
)
def test_types_with_unusual_inputs_and_sizes(model_type, inputs):
    source = find_source(f"hf:{model_type}")
    assert inputs <= set(source.kwargs)
    with torch.no_grad():
        source.model(**source.kwargs)

"""A model type of each modality matches eager PyTorch on the source's own example."""

import copy

import pytest
import torch
from torch.utils import _pytree as pytree
from transformers import (
    DynamicCache,
    LlamaConfig,
    LlamaForCausalLM,
    PretrainedConfig,
    PreTrainedModel,
)

import unmess

TYPES = {
    "mixtral": ("input_ids", "attention_mask"),  # a mixture of experts
    "bart": ("input_ids", "attention_mask", "decoder_input_ids"),
    "patchtst": ("past_values", "past_observed_mask"),
    "wav2vec2": ("input_values",),
    "clip": ("input_ids", "pixel_values", "attention_mask"),
    "llava": ("input_ids", "pixel_values", "attention_mask"),
    "qwen2_vl": ("input_ids", "pixel_values", "attention_mask", "mm_token_type_ids"),
}


@pytest.mark.parametrize("model_type, inputs", TYPES.items(), ids=TYPES)
def test_type_matches_eager(model_type, inputs):
    program = unmess.capture(f"hf:{model_type}")
    assert set(inputs) <= set(program.kwargs)
    report = unmess.check(program, on="reference", calls=1)
    assert report.ok, report.error
    assert report.max_abs_error < 1e-4


@pytest.mark.parametrize(
    "model_type",
    [
        "glm_ocr_vision",  # transformers.exporters omits the norms of its queries and keys
        "aimv2",  # its text attention is causal only if the mask has padding
    ],
)
def test_captured_program_matches_eager(model_type):
    program = unmess.capture(f"hf:{model_type}")
    ours = program.exported.module()(**program.kwargs)
    torch.testing.assert_close(ours, program.eager(**program.kwargs), rtol=1e-4, atol=1e-5)


def test_layout_of_an_image_is_part_of_the_program():
    """The grid of patches determines loops and shapes. It becomes a constant, with a note."""
    program = unmess.capture("hf:siglip2_vision_model")
    assert list(program.kwargs) == ["pixel_values"]
    fixed = "fixed to the example's values: pixel_attention_mask, spatial_shapes"
    assert fixed in [note.text for note in program.notes]
    run = unmess.load(program, on="reference")
    other = torch.randn_like(program.kwargs["pixel_values"])
    expected = program.eager(pixel_values=other).last_hidden_state
    torch.testing.assert_close(run(pixel_values=other).last_hidden_state, expected)


@torch.no_grad()
def test_a_decoder_returns_its_cache_and_takes_it_again():
    config = LlamaConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=50,
    )
    model = LlamaForCausalLM(config).eval()
    # Models of the source hf: have registered the class.
    if DynamicCache in pytree.SUPPORTED_NODES:
        pytree._deregister_pytree_node(DynamicCache)
    prompt, token = (torch.tensor([[5, 7, 11, 13]]),), (torch.tensor([[17]]),)
    expected = model(*prompt)
    result = unmess.load(unmess.capture(model, prompt), on="reference")(*prompt)
    torch.testing.assert_close(result.logits, expected.logits)
    cache = result.past_key_values
    assert cache.get_seq_length() == 4
    _assert_equal_caches(cache, expected.past_key_values)

    call = {"past_key_values": copy.deepcopy(cache)}
    expected = model(*token, past_key_values=copy.deepcopy(cache))
    result = unmess.load(unmess.capture(model, token, call), on="reference")(*token, **call)
    torch.testing.assert_close(result.logits, expected.logits)
    assert result.past_key_values.get_seq_length() == 5
    _assert_equal_caches(result.past_key_values, expected.past_key_values)

    pytree._deregister_pytree_node(DynamicCache)
    sizes = [f"past_key_values.{index}.2" for index in range(4)]
    program = unmess.capture(model, token, call, dynamic_shapes=sizes)
    call = {"past_key_values": copy.deepcopy(expected.past_key_values)}
    expected = model(*token, past_key_values=copy.deepcopy(call["past_key_values"]))
    result = unmess.load(program, on="reference")(*token, **call)
    torch.testing.assert_close(result.logits, expected.logits)
    _assert_equal_caches(result.past_key_values, expected.past_key_values)


def _assert_equal_caches(ours, theirs):
    for own, other in zip(ours.layers, theirs.layers, strict=True):
        torch.testing.assert_close(own.keys, other.keys)
        torch.testing.assert_close(own.values, other.values)


class Rotated(PreTrainedModel):
    """Keeps the angles of the last length, like the rotary embeddings of CLVP."""

    config_class = PretrainedConfig

    def __init__(self):
        super().__init__(PretrainedConfig())
        self.cached_rotary_positional_embedding = None

    def forward(self, x):
        if self.cached_rotary_positional_embedding is None:
            self.cached_rotary_positional_embedding = torch.arange(1.0, x.shape[1] + 1)
        return x * self.cached_rotary_positional_embedding.cos()


def test_a_cache_of_an_earlier_call_is_not_state():
    """transformers.exporters sets it to None during a capture."""
    model, x = Rotated().eval(), torch.randn(2, 5)
    expected = model(x)
    program = unmess.capture(model, (x,))
    assert not program.exported.graph_signature.buffers_to_mutate
    torch.testing.assert_close(unmess.load(program, on="reference")(x), expected)
    assert model.cached_rotary_positional_embedding is not None

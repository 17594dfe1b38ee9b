"""A model type of each modality matches eager PyTorch on the source's own example."""

import pytest
import torch

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

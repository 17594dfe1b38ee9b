"""Transformers as integer programs: attention is two integer products and a softmax in f32."""

import functools

import pytest
import torch
import torchvision
import transformers

import unmess

ROUTES = [
    (dialect, runner)
    for dialect in ("linalg", "tosa", "stablehlo")
    for runner in ("reference", "iree-cpu")
]
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    # Larger than usual, so that random weights give attention an effect.
    "initializer_range": 0.2,
}


def vision_transformer():
    model = torchvision.models.VisionTransformer(
        image_size=32, patch_size=8, num_layers=1, num_heads=2, hidden_dim=32, mlp_dim=64,
        num_classes=10,
    )  # fmt: skip
    # These are zero or small until a model is trained.
    for each in (model.class_token, model.encoder.pos_embedding, model.heads.head.weight):
        torch.nn.init.normal_(each)
    return model, {"x": torch.randn(2, 3, 32, 32)}


def vit():
    config = transformers.ViTConfig(image_size=32, patch_size=8, num_labels=10, **SIZES)
    model = transformers.ViTForImageClassification(config)
    for each in (model.vit.embeddings.cls_token, model.vit.embeddings.position_embeddings):
        torch.nn.init.normal_(each)
    return model, {"pixel_values": torch.randn(2, 3, 32, 32)}


def bert():
    config = transformers.BertConfig(vocab_size=100, max_position_embeddings=32, **SIZES)
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[1, 7:] = 0
    arguments = {"input_ids": torch.randint(0, 100, (2, 12)), "attention_mask": mask}
    return transformers.BertForSequenceClassification(config), arguments


def result_of(run, arguments):
    with torch.no_grad():
        found = run(**arguments)
    return found if isinstance(found, torch.Tensor) else found.logits


@functools.cache
def programs(make):
    """Returns the program in floating point, and the integer program."""
    torch.manual_seed(0)
    model, arguments = make()
    program = unmess.capture(model.eval(), kwargs=arguments)
    return program, unmess.quantize(program, integer=True)


@pytest.mark.parametrize("make", [vision_transformer, vit, bert])
def test_only_layers_without_an_integer_form_stay_in_floating_point(make):
    program, integers = programs(make)
    (note,) = [each.text for each in integers.notes if each.kind == "integer"]
    for operator in ("matmul", "linear", "conv2d", "mul", "gelu", "attention.", "view"):
        assert f"aten.{operator}" not in note
    assert "3 aten.layer_norm" in note and "softmax" in note
    text = unmess.lower(integers, to="tosa").text()
    # Two products of attention besides the linear layers.
    assert text.count("tosa.matmul") >= 2 + 4
    expected = result_of(program.eager, program.kwargs)
    error = (result_of(integers.eager, program.kwargs) - expected).abs().max()
    assert 0 < error <= 0.1 * expected.abs().max()


@pytest.mark.parametrize("make", [vision_transformer, bert])
@pytest.mark.parametrize("dialect, runner", ROUTES)
def test_result_equals_pytorch(make, dialect, runner):
    """A softmax that differs in its last bit may change an integer. With this seed, none does."""
    _, integers = programs(make)
    run = unmess.load(unmess.lower(integers, to=dialect), on=runner)
    found, expected = (result_of(f, integers.kwargs) for f in (run, integers.eager))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_causal_attention_with_shared_keys():
    """A row of the mask that excludes every key has the result 0, as in the operator."""
    attention = torch.nn.functional.scaled_dot_product_attention

    class Attention(torch.nn.Module):
        def forward(self, query, key, value, mask):
            options = {"enable_gqa": True, "scale": 0.3}
            causal = attention(query, key, value, is_causal=True, **options)
            return causal, attention(query, key, value, mask, **options)

    torch.manual_seed(0)
    query, (key, value) = torch.randn(2, 4, 6, 8), torch.randn(2, 2, 2, 6, 8)
    mask = torch.rand(6, 6) < 0.5
    mask[2] = False
    program = unmess.capture(Attention(), (query, key, value, mask))
    integers = unmess.quantize(program, integer=True)
    results = program.eager(*program.args)
    for found, expected in zip(integers.eager(*program.args), results, strict=True):
        assert (found - expected).abs().max() <= 0.05 * expected.abs().max()
    for found, expected in zip(
        unmess.load(integers)(*program.args), integers.eager(*program.args), strict=True
    ):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)

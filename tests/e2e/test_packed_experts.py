"""A tiny gpt-oss whose experts are in MXFP4, on both runners, compared with transformers."""

import json

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import unmess
from importers.packed import LAYOUTS
from importers.packed.layers import PackedExperts
from importers.sources import find_source
from unmess import generation

EXPERTS, HIDDEN, INNER = 4, 64, 32
CONFIG = transformers.GptOssConfig(
    vocab_size=96,
    hidden_size=HIDDEN,
    intermediate_size=INNER,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=16,
    num_local_experts=EXPERTS,
    num_experts_per_tok=2,
    max_position_embeddings=64,
    sliding_window=8,
    eos_token_id=0,
    pad_token_id=0,
)
SHAPES = {"gate_up_proj": (EXPERTS, 2 * INNER, HIDDEN), "down_proj": (EXPERTS, HIDDEN, INNER)}


def packed(shape, random):
    """Returns random blocks and scales of experts, (experts, rows, columns)."""
    *outer, columns = shape
    blocks = random.integers(0, 256, (*outer, columns // 32, 16), dtype=np.uint8)
    # Scales of 1/128 to 1/16.
    scales = random.integers(120, 124, blocks.shape[:-1], dtype=np.uint8)
    return {"blocks": torch.from_numpy(blocks), "scales": torch.from_numpy(scales)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, random = tmp_path_factory.mktemp("gpt_oss"), np.random.default_rng(0)
    torch.manual_seed(0)
    transformers.GptOssForCausalLM(CONFIG).save_pretrained(path)
    tensors = load_file(path / "model.safetensors")
    for name in [name for name in tensors if name.rpartition(".")[2] in SHAPES]:
        del tensors[name]
        found = packed(SHAPES[name.rpartition(".")[2]], random)
        tensors |= {f"{name}_{part}": tensor for part, tensor in found.items()}
    save_file(tensors, path / "model.safetensors", {"format": "pt"})
    config = json.loads((path / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4"}
    (path / "config.json").write_text(json.dumps(config))
    return path


@pytest.fixture(scope="module")
def source(folder):
    return find_source(f"hf:{folder}")


@pytest.fixture(scope="module")
def unpacked(folder):
    """The model as transformers unpacks it."""
    quantization = transformers.Mxfp4Config(dequantize=True)
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, quantization_config=quantization, dtype=torch.float32
    ).eval()


def test_experts_stay_packed(source, unpacked, folder):
    assert any("million in MXFP4" in note for note in source.notes)
    theirs = dict(unpacked.named_parameters())
    ours = {n: e for n, e in source.model.named_modules() if isinstance(e, PackedExperts)}
    assert len(ours) == 4
    tensors = load_file(folder / "model.safetensors")
    for name, experts in ours.items():
        assert torch.equal(experts(), theirs[name]), name
        selected = torch.tensor([[3, 0], [1, 3]])
        assert torch.equal(experts[selected], theirs[name][selected])
        stored = {part: tensors[f"{name}_{part}"] for part in ("blocks", "scales")}
        truth = LAYOUTS["mxfp4"].truth(stored, {})
        assert np.array_equal(truth, theirs[name].detach().numpy())
    with torch.no_grad():
        expected = unpacked(**source.kwargs).logits
        torch.testing.assert_close(source.model(**source.kwargs).logits, expected)


@pytest.fixture(scope="module")
def programs(source):
    """The programs that `load_generator` captures, once for both runners."""
    return generation.capture_decoder(source, 32)


@pytest.mark.parametrize("runner", ["iree-cpu", "reference"])
def test_generates_the_same_tokens(source, programs, unpacked, runner, monkeypatch):
    monkeypatch.setattr(generation, "capture_decoder", lambda *_arguments: programs)
    ids = torch.randint(1, 95, (1, 11), generator=torch.Generator().manual_seed(1))
    generator = unmess.load_generator(source, on=runner, max_length=32)
    tokens = list(generator.tokens(ids, 8))
    expected = unpacked.generate(ids, do_sample=False, max_new_tokens=8)
    assert tokens == expected[0, ids.shape[1] :].tolist()


def test_packed_experts_in_each_dialect(source):
    """The experts of one layer, because a whole model shows nothing more about their weights."""
    model, x = source.model.model.layers[0].mlp, torch.randn(1, 5, HIDDEN)
    program = unmess.capture(model, (x,))
    with torch.no_grad():
        expected = model(x)[0]
    for stage in ("linalg", "tosa", "stablehlo"):
        module = unmess.lower(program, to=stage)
        specs = {argument.name: argument.spec for argument in module.signature.arguments}
        assert specs["experts.gate_up_proj.integers"].shape == (
            EXPERTS,
            2 * INNER,
            HIDDEN // 32,
            16,
        )
        assert specs["experts.gate_up_proj.integers"].dtype == torch.uint8
        assert specs["experts.gate_up_proj.scales"].dtype == torch.bfloat16
        assert "experts.gate_up_proj" not in specs
        for runner in ("reference", "iree-cpu"):
            error = (unmess.load(module, on=runner)(x)[0] - expected).abs().max()
            assert error <= 1e-5 * expected.abs().max(), (stage, runner)

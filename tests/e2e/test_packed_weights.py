"""A tiny Llama in a GGUF file with a matrix in each format, on both runners."""

import os

import gguf
import numpy as np
import pytest
import torch
import transformers

import unmess
from importers.packed import FORMATS
from importers.sources import find_source
from unmess import generation

HIDDEN, HEADS, KEY_HEADS, VOCABULARY = 256, 4, 2, 96
KEYS = HIDDEN // HEADS * KEY_HEADS
# Queries and keys are in formats whose rows transformers reorders.
MATRICES = {
    "token_embd": ("Q8_0", VOCABULARY),
    "output": ("Q6_K", VOCABULARY),
    "blk.0.attn_q": ("Q4_0", HIDDEN),
    "blk.0.attn_k": ("Q4_1", KEYS),
    "blk.0.attn_v": ("Q5_0", KEYS),
    "blk.0.attn_output": ("Q5_1", HIDDEN),
    "blk.0.ffn_gate": ("Q4_K", HIDDEN),
    "blk.0.ffn_up": ("Q5_K", HIDDEN),
    "blk.0.ffn_down": ("F16", HIDDEN),
    "blk.1.attn_q": ("Q8_0", HIDDEN),
    # Keys and values of one format are one operation on iree-cpu, and so are the next pair.
    "blk.1.attn_k": ("Q4_0", KEYS),
    "blk.1.attn_v": ("Q4_0", KEYS),
    "blk.1.attn_output": ("MXFP4", HIDDEN),
    "blk.1.ffn_gate": ("Q5_K", HIDDEN),
    "blk.1.ffn_up": ("Q5_K", HIDDEN),
    "blk.1.ffn_down": ("MXFP4", HIDDEN),
}
NORMS = (
    "output_norm",
    *(f"blk.{block}.{kind}_norm" for block in (0, 1) for kind in ("attn", "ffn")),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(2)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([chr(ord("!") + number) for number in range(VOCABULARY - 1)] + ["<end>"])
    writer.add_token_merges([])
    writer.add_eos_token_id(VOCABULARY - 1)
    random = np.random.default_rng(0)
    for name, (kind, rows) in MATRICES.items():
        form = gguf.GGMLQuantizationType[kind]
        data = _matrix(random, form, rows)
        writer.add_tensor(f"{name}.weight", data, raw_dtype=form)
    for name in NORMS:
        writer.add_tensor(f"{name}.weight", random.uniform(0.5, 1, HIDDEN).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _matrix(random, form, rows):
    """Returns a quantized random matrix. The package does not quantize to K formats."""
    if not form.name.endswith("_K"):
        weights = random.normal(0, 0.1, (rows, HIDDEN)).astype(np.float32)
        return gguf.quants.quantize(weights, form)
    _, size = gguf.GGML_QUANT_SIZES[form]
    data = random.integers(0, 256, (rows, size), dtype=np.uint8)
    # Scales that make weights of about 0.1.
    scales = {"Q6_K": {208: 5e-5}}.get(form.name, {0: 3e-4, 2: 2e-3})
    for place, scale in scales.items():
        data[:, place : place + 2] = np.full((rows, 1), scale, np.float16).view(np.uint8)
    return data


@pytest.fixture(scope="module")
def source(path):
    return find_source(f"hf:{path}")


@pytest.fixture(scope="module")
def unpacked(path):
    folder, name = os.path.split(path)
    return transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name).eval()


def test_matrices_stay_packed(source, unpacked):
    kept = {kind for kind, _ in MATRICES.values()} & set(FORMATS)
    assert kept == set(FORMATS)
    note = next(note for note in source.notes if "stay packed" in note)
    assert all(f"million in {kind}" in note for kind in kept)
    theirs = dict(unpacked.named_parameters())
    ours = dict(source.model.named_modules())
    names = [name for name in theirs if f"{name}.integers" in dict(source.model.named_buffers())]
    assert len(names) == sum(kind != "F16" for kind, _ in MATRICES.values())
    for name in names:
        assert torch.equal(ours[name](), theirs[name]), name


@pytest.fixture(scope="module")
def programs(source):
    """The programs that `load_generator` captures, once for both runners."""
    return generation.capture_decoder(source, 32)


@pytest.mark.parametrize("runner", ["iree-cpu", "reference"])
def test_equal_to_unpacked_weights(source, programs, unpacked, runner, monkeypatch):
    monkeypatch.setattr(generation, "capture_decoder", lambda *_arguments: programs)
    ids = torch.randint(1, VOCABULARY - 1, (1, 11), generator=torch.Generator().manual_seed(1))
    generator = unmess.load_generator(source, on=runner, max_length=32)
    tokens = list(generator.tokens(ids, 16))
    theirs = unpacked.generate(ids, do_sample=False, max_new_tokens=16)
    assert tokens == theirs[0, ids.shape[1] :].tolist()
    generator.run.state["cache_length"] = torch.zeros((), dtype=torch.int64)
    with torch.no_grad():
        expected = unpacked(ids).logits[:, -1]
    error = (generator.run.prefill(ids) - expected).abs().max()
    assert error <= 1e-5 * expected.abs().max()


def test_ir_has_integers_and_no_large_constant(source):
    program = unmess.capture(source.model, kwargs=source.kwargs)
    for stage in ("linalg", "tosa", "stablehlo"):
        module = unmess.lower(program, to=stage)
        specs = {argument.name: argument.spec for argument in module.signature.arguments}
        assert specs["model.layers.0.mlp.up_proj.weight.integers"].dtype == torch.uint8
        assert specs["model.layers.0.mlp.up_proj.weight.block_scales"].dtype == torch.float16
        assert "model.layers.0.mlp.up_proj.weight" not in specs
        # A matrix as a constant would have at least half a million characters.
        assert len(module.text()) < 400_000, stage

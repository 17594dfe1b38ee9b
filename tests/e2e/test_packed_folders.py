"""Tiny models in quantized folders, on both runners, compared with transformers."""

import json
import re

import pytest
import torch
import transformers
from packed_layouts import CASES, FLOAT_CASES
from safetensors.torch import load_file, save_file

import unmess
from importers.packed.layers import PackedLinear
from importers.sources import find_source
from unmess import generation
from unmess.__main__ import main

SIZES = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "eos_token_id": 0,
    "bos_token_id": None,
}
# The layers that are packed. In a file, each expert has its own layers. In a model, all experts are
# one tensor.
LAYERS = re.compile(r"(_proj|\.c_\w+|\.w[123])\.weight$")
ALL = CASES | FLOAT_CASES
MODELS = {"llama": transformers.LlamaConfig, "qwen2": transformers.Qwen2Config}


def write(path, case, config, zero_biases=False):
    """Writes a folder with packed linear layers; returns the model with unpacked weights."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config)
    model.save_pretrained(path)
    tensors = {name: each.half() for name, each in load_file(path / "model.safetensors").items()}
    names = [name for name in tensors if LAYERS.search(name)]
    unpacked = dict(tensors)
    for seed, name in enumerate(names):
        shape = tensors.pop(name).shape
        is_transposed = isinstance(config, transformers.GPT2Config)
        packed, weights = case.matrix(*(reversed(shape) if is_transposed else shape), seed)
        unpacked[name] = torch.from_numpy(weights.T.copy() if is_transposed else weights)
        stem = name.removesuffix(".weight")
        tensors |= {f"{stem}.{each}": tensor for each, tensor in packed.items()}
        if zero_biases:
            tensors.setdefault(f"{stem}.bias", torch.zeros(len(weights), dtype=torch.float16))
    save_file(unpacked, path / "model.safetensors", {"format": "pt"})
    model = type(model).from_pretrained(path, dtype=torch.float32).eval()
    save_file(tensors, path / "model.safetensors", {"format": "pt"})
    configure(path, quantization_config=case.config, dtype="float16")
    return model


def configure(path, **values):
    file = path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Returns a function that writes a case, once; returns its Source and the unpacked model."""
    made = {}

    def folder(name, kind="llama"):
        if (name, kind) not in made:
            path = tmp_path_factory.mktemp("folder")
            model = write(path, ALL[name], MODELS[kind](**SIZES))
            made[name, kind] = find_source(f"hf:{path}"), model
        return made[name, kind]

    return folder


IDS = torch.randint(1, 95, (1, 11), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", ALL)
def test_eager_is_that_of_the_unpacked_weights(folders, name):
    source, theirs = folders(name)
    (note,) = (note for note in source.notes if "stay packed" in note)
    assert f"million in {ALL[name].packing}" in note
    assert "computes in float32; config.json says float16" in source.notes
    assert sum(isinstance(each, PackedLinear) for each in source.model.modules()) == 7
    assert not any(
        "weights in the files" in note or "random weights" in note for note in source.notes
    )
    with torch.no_grad():
        expected = theirs(**source.kwargs).logits
        torch.testing.assert_close(source.model(**source.kwargs).logits, expected)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gptq", "qwen2"),
        ("gptq, asymmetric, act-order", "llama"),
        ("gptq, 8 bits, a group per row", "llama"),
        ("awq", "llama"),
        ("pack-quantized, asymmetric", "llama"),
        ("int-quantized", "llama"),
        ("fp8", "qwen2"),
    ],
)
def test_generates_the_same_tokens(folders, name, kind, monkeypatch):
    source, theirs = folders(name, kind)
    expected = theirs.generate(IDS, do_sample=False, max_new_tokens=8)
    with torch.no_grad():
        logits = theirs(IDS).logits[:, -1]
    programs = generation.capture_decoder(source, 32)
    monkeypatch.setattr(generation, "capture_decoder", lambda *_arguments: programs)
    for runner in ("iree-cpu", "reference"):
        generator = unmess.load_generator(source, on=runner, max_length=32)
        tokens = list(generator.tokens(IDS, 8))
        assert tokens == expected[0, IDS.shape[1] :].tolist(), runner
        generator.run.state["cache_length"] = torch.zeros((), dtype=torch.int64)
        error = (generator.run.prefill(IDS) - logits).abs().max()
        assert error <= 1e-5 * logits.abs().max(), runner


@pytest.mark.parametrize("name", [name for name in FLOAT_CASES if name.startswith("fp8")])
def test_fp8_is_what_transformers_unpacks(tmp_path, name):
    write(tmp_path, FLOAT_CASES[name], MODELS["llama"](**SIZES))
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    weights = dict(theirs.named_parameters())
    source = find_source(f"hf:{tmp_path}")
    found = {n: e for n, e in source.model.named_modules() if isinstance(e, PackedLinear)}
    assert len(found) == 7
    for layer, each in found.items():
        assert torch.equal(each.weight(), weights[f"{layer}.weight"])


def test_commands(tmp_path, capsys):
    write(tmp_path, CASES["awq"], MODELS["qwen2"](**SIZES))
    model = f"hf:{tmp_path}"
    assert main(["check", model, "--on", "reference,iree-cpu", "--json"]) == 0
    assert all(row["ok"] for row in json.loads(capsys.readouterr().out))
    file = tmp_path / "model.mlir"
    assert main(["import", model, "--to", "linalg", "-o", str(file)]) == 0
    weight = "model.layers.0.mlp.up_proj.weight"
    text = file.read_text()
    assert f'tensor<128x2xf16> {{unmess.weight = "{weight}.scales"}}' in text
    assert f'tensor<128x2x16xi8> {{unmess.weight = "{weight}.integers"}}' in text


def test_other_layers_are_unpacked(tmp_path):
    """The weights of GPT-2's layers are transposed, and those of experts are one tensor."""
    config = transformers.GPT2Config(vocab_size=96, n_embd=64, n_layer=1, n_head=4)
    theirs = write(tmp_path, CASES["gptq"], config, zero_biases=True)
    source = find_source(f"hf:{tmp_path}")
    assert any("do not stay packed (4): transformer.h.0.attn.c_attn" in n for n in source.notes)
    with torch.no_grad():
        expected = theirs(**source.kwargs).logits
        torch.testing.assert_close(source.model(**source.kwargs).logits, expected)


def test_experts_are_unpacked(tmp_path):
    sizes = SIZES | {"num_local_experts": 2, "num_experts_per_tok": 1}
    theirs = write(tmp_path, CASES["awq"], transformers.MixtralConfig(**sizes))
    source = find_source(f"hf:{tmp_path}")
    assert any("do not stay packed (6): model.layers.0" in note for note in source.notes)
    assert sum(isinstance(each, PackedLinear) for each in source.model.modules()) == 4
    with torch.no_grad():
        expected = theirs(**source.kwargs).logits
        torch.testing.assert_close(source.model(**source.kwargs).logits, expected)


def test_biases_of_zeros(tmp_path):
    theirs = write(tmp_path, CASES["gptq"], MODELS["llama"](**SIZES), zero_biases=True)
    source = find_source(f"hf:{tmp_path}")
    assert not any("weights in the files" in note for note in source.notes)
    with torch.no_grad():
        expected = theirs(**source.kwargs).logits
        torch.testing.assert_close(source.model(**source.kwargs).logits, expected)


def fails(path):
    with pytest.raises(unmess.Error) as caught:
        find_source(f"hf:{path}")
    assert caught.value.stage == "source"
    return caught.value.cause


def test_damaged_folders(tmp_path):
    case = CASES["gptq"]
    write(tmp_path, case, MODELS["llama"](**SIZES))
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    layer = "model.layers.0.mlp.up_proj"
    save_file(tensors | {f"{layer}.g_idx": torch.zeros(64, dtype=torch.int32)}, file)
    assert (
        f"the tensors of {layer} do not fit: ValueError: the columns are not in 2 groups"
        in fails(tmp_path)
    )
    short = {f"{layer}.{end}": tensors[f"{layer}.{end}"][:1] for end in ("qzeros", "scales")}
    save_file(tensors | short | {f"{layer}.g_idx": torch.zeros(32, dtype=torch.int32)}, file)
    assert f"the tensors of {layer} do not fit" in fails(tmp_path)
    save_file({name: each for name, each in tensors.items() if name != f"{layer}.scales"}, file)
    assert f"there is no tensor {layer}.scales" in fails(tmp_path)
    save_file(tensors | {"model.layers.0.mlp.act_fn.scales": torch.ones(64)}, file)
    assert "the tensor model.layers.0.mlp.act_fn.scales belongs to no matrix" in fails(tmp_path)
    configure(tmp_path, intermediate_size=256)
    save_file(tensors, file)
    assert "do not fit its config.json" in fails(tmp_path)
    configure(tmp_path, quantization_config=case.config | {"bits": 2})
    assert "quantized by gptq with weights of 2 bits, which is not supported" in fails(tmp_path)
    configure(tmp_path, quantization_config=CASES["int-quantized"].config)
    assert "no tensor whose name ends in .weight_scale" in fails(tmp_path)


KINDS = {"int4": torch.uint8, "int8": torch.int8, "float8": torch.float8_e4m3fn}


@pytest.mark.parametrize("name", ["gptq, asymmetric, act-order", "int-quantized", "fp8"])
def test_packed_weights_in_each_dialect(folders, name):
    """Three layers, because a whole model shows nothing more about their weights."""
    case, (source, _) = ALL[name], folders(name)
    model, x = source.model.model.layers[0].mlp, torch.randn(1, 5, SIZES["hidden_size"])
    program = unmess.capture(model, (x,))
    with torch.no_grad():
        expected = model(x)
    for stage in ("linalg", "tosa", "stablehlo"):
        module = unmess.lower(program, to=stage)
        specs = {argument.name: argument.spec for argument in module.signature.arguments}
        assert specs["up_proj.weight.integers"].dtype == KINDS[case.packing]
        assert specs["up_proj.weight.scales"].dtype == case.dtype
        assert "up_proj.weight" not in specs
        for runner in ("reference", "iree-cpu"):
            error = (unmess.load(module, on=runner)(x) - expected).abs().max()
            assert error <= 1e-5 * expected.abs().max(), (stage, runner)

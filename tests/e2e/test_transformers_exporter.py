"""Tests of MLIR as an export format of transformers, through its API, compared with eager."""

import pytest
import torch
import transformers
from transformers.exporters import AutoExportConfig, AutoHfExporter, ExportedModel

import unmess
from unmess import MlirConfig, MlirExporter

SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}


@pytest.fixture(scope="module")
def bert():
    torch.manual_seed(0)
    return transformers.BertModel(transformers.BertConfig(**SIZES)).eval()


@pytest.fixture(scope="module")
def inputs():
    ids = torch.randint(0, 64, (2, 7))
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    return {"input_ids": ids, "attention_mask": mask}


@pytest.fixture(scope="module")
def exported(bert, inputs):
    return MlirExporter().export(bert, inputs, MlirConfig(stage="torch"))


def assert_same(ours, theirs):
    assert type(ours) is type(theirs)
    torch.testing.assert_close(dict(ours), dict(theirs), atol=1e-5, rtol=1e-5)


def test_the_library_knows_the_format():
    config = AutoExportConfig.from_dict({"export_format": "mlir", "stage": "tosa"})
    assert isinstance(config, MlirConfig) and config.stage == "tosa"
    assert isinstance(AutoHfExporter.from_config(config), MlirExporter)


def test_an_export_is_called_like_the_model(exported, bert, inputs):
    with torch.no_grad():
        assert_same(exported(**inputs), bert(**inputs))


def test_an_export_is_ir_that_borrows_the_weights(exported, bert):
    module = exported.program.module
    assert module.stage == "torch" and "torch.aten.mm" in str(module)
    name = "embeddings.word_embeddings.weight"
    assert module.weights[name] is bert.get_parameter(name)


def test_saved_and_loaded(exported, bert, inputs, tmp_path):
    exported.save_pretrained(tmp_path)
    assert "func.func @main" in (tmp_path / "model.mlir").read_text()
    loaded = ExportedModel.from_pretrained(tmp_path, on="iree-cpu")
    assert loaded.program.stage == "torch" and loaded.program.name == "BertModel"
    with torch.no_grad():
        assert_same(loaded(**inputs), bert(**inputs))
    (tmp_path / "model.pt2").write_bytes(b"")
    with pytest.raises(unmess.Error, match="PyTorch cannot read"):
        ExportedModel.from_pretrained(tmp_path)


def test_prefill_and_decode_of_a_decoder():
    """Uses transformers' growing cache. The components can also be combined into one module."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**SIZES, num_key_value_heads=1)
    llama = transformers.LlamaForCausalLM(config).eval()
    ids = torch.randint(0, 64, (1, 6))
    exported = MlirExporter().export_for_generation(
        llama, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, MlirConfig()
    )
    parts = {name: part.program.program for name, part in exported.components.items()}
    assert list(parts) == ["prefill", "decode"]

    with torch.no_grad():
        theirs = llama(ids, use_cache=True)
    ours = exported.runners["prefill"](
        input_ids=ids,
        position_ids=torch.arange(6)[None],
        past_key_values=transformers.DynamicCache(config=config),
    )
    assert type(ours.past_key_values) is transformers.DynamicCache
    torch.testing.assert_close(ours.logits[:, -1], theirs.logits[:, -1], atol=1e-5, rtol=1e-5)
    for mine, other in zip(ours.past_key_values.layers, theirs.past_key_values.layers, strict=True):
        torch.testing.assert_close(mine.keys, other.keys, atol=1e-5, rtol=1e-5)

    programs = unmess.combine(parts)
    shared = [weight for weight in programs.weights.values() if weight.is_leaf]
    assert {id(weight) for weight in llama.parameters()} <= {id(weight) for weight in shared}
    report = unmess.check(programs, on="reference", calls=1)
    assert report.ok, report.error


def test_bad_usage(exported):
    with pytest.raises(unmess.Error, match="spirv"):
        MlirConfig(stage="spirv")
    with pytest.raises(unmess.Error, match="no runner on cuda"):
        exported.to("cuda")
    with pytest.raises(unmess.Error, match="onnxruntime"):
        exported.to(on="onnxruntime")

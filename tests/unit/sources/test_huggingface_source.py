"""Tests `hf:` models: types, folders, an unreachable hub, and errors."""

import json

import pytest
import torch
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizer,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessor,
    Wav2Vec2Config,
    Wav2Vec2FeatureExtractor,
    Wav2Vec2Model,
)

from importers.sources import find_source
from unmess.core.errors.error import Error


def fails(model) -> Error:
    with pytest.raises(Error) as caught:
        find_source(f"hf:{model}")
    assert caught.value.stage == "source"
    assert caught.value.exit_status == 2
    assert "\n" not in caught.value.cause
    return caught.value


TYPES = """
    bert distilbert roberta electra albert mpnet deberta-v2 modernbert
    t5 bart
    gpt2 llama qwen2 qwen3 mistral mixtral gemma gemma2 gemma3 gemma3_text phi phi3 opt bloom
    gpt_neox falcon smollm3
    vit deit swin convnext resnet
"""


@pytest.mark.parametrize("model_type", TYPES.split())
def test_tiny_model_runs_and_depends_on_its_input(model_type):
    source = find_source(f"hf:{model_type}")
    assert source.name == model_type
    assert not source.model.training
    assert sum(weight.numel() for weight in source.model.parameters()) < 12e6
    name = "pixel_values" if "pixel_values" in source.kwargs else "input_ids"
    other = source.kwargs | {name: source.kwargs[name].flip(-1)}
    with torch.no_grad():
        result = source.model(**source.kwargs)
        changed = source.model(**other)
    assert "past_key_values" not in result
    gap = (result[0] - changed[0]).abs().max()
    assert float(gap) > 1e-3 * float(result[0].abs().max())


def test_random_weights_repeat():
    first, second = find_source("hf:gpt2"), find_source("hf:gpt2")
    for one, two in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(one, two)
    assert torch.equal(first.kwargs["input_ids"], second.kwargs["input_ids"])


def test_example_has_padding():
    mask = find_source("hf:bert").kwargs["attention_mask"]
    assert mask.sum(dim=1).tolist() == [16, 12]


def test_notes_say_what_was_changed():
    random, cache = find_source("hf:llama").notes
    assert random.startswith("LlamaForCausalLM, tiny, random weights (seed 0; ")
    assert cache == "use_cache is off: no key-value cache in the result"
    assert len(find_source("hf:bert").notes) == 1


@pytest.mark.parametrize(
    "model_type, own", [("mixtral", "grouped_mm"), ("openai_privacy_filter", "eager")]
)
def test_experts_are_computed_without_loops_over_data(model_type, own):
    source = find_source(f"hf:{model_type}")
    assert f"experts are computed by batched_mm instead of {own}" in source.notes
    assert set(source.model.get_experts_implementation().values()) == {"batched_mm"}


def test_cache_is_off_in_every_part_of_a_model():
    source = find_source("hf:t5gemma")
    with torch.no_grad():
        assert "past_key_values" not in source.model(**source.kwargs)


def test_unknown_type():
    error = fails("distillbert")
    assert error.cause == "transformers has no model type 'distillbert'"
    assert error.hint.startswith("did you mean distilbert")


def test_type_without_a_model_class():
    assert fails("rag").cause.startswith("transformers has a configuration for rag, but no model")


def test_type_without_a_tiny_form():
    error = fails("bark")
    assert error.cause == "cannot build a tiny bark: TypeError: BarkModel has no forward"
    assert "factory" in error.hint


def test_type_that_needs_a_missing_package():
    error = fails("timm_wrapper")
    assert error.cause == "cannot build a tiny timm_wrapper: it requires the package timm"
    assert error.hint == "install timm"


@pytest.fixture
def folder(tmp_path):
    """Returns a folder that `save_pretrained` has written, with a tokenizer."""
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "man", "music", ".", "on"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    BertModel(config).save_pretrained(tmp_path)
    BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    return tmp_path


def test_folder_with_tokenizer(folder):
    source = find_source(f"hf:{folder}")
    assert source.name == folder.name
    assert type(source.model) is BertModel
    assert set(source.kwargs) == {"input_ids", "token_type_ids", "attention_mask"}
    assert source.kwargs["input_ids"].shape[0] == 3
    assert source.kwargs["attention_mask"].min() == 0
    assert source.notes == (f"BertModel from {folder}",)


def test_folder_without_tokenizer(folder):
    for file in (*folder.glob("token*"), folder / "vocab.txt"):
        file.unlink(missing_ok=True)
    source = find_source(f"hf:{folder}")
    assert set(source.kwargs) == {"input_ids", "attention_mask"}
    assert int(source.kwargs["input_ids"].max()) < 10
    assert "the example's token ids are random: there is no tokenizer" in source.notes


def _configure(folder, **values):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def test_folder_config_names_the_class_with_its_head(folder):
    _configure(folder, architectures=["BertForMaskedLM"])
    source = find_source(f"hf:{folder}")
    assert type(source.model).__name__ == "BertForMaskedLM"
    missing = next(note for note in source.notes if "the files do not contain them" in note)
    assert "cls.predictions.transform.dense.weight" in missing


@pytest.mark.parametrize("architectures", [None, [], ["MyOwnBert"]])
def test_folder_without_a_known_class(folder, architectures):
    _configure(folder, architectures=architectures)
    assert type(find_source(f"hf:{folder}").model) is BertModel


def test_folder_without_config(tmp_path):
    assert fails(tmp_path).cause == f"{tmp_path} has no config.json"


def test_folder_without_weights(folder):
    (folder / "model.safetensors").unlink()
    error = fails(folder)
    assert error.cause.startswith(f"transformers cannot load {folder}: ")
    assert error.hint.startswith("the folder is damaged")


def test_folder_that_needs_a_package(folder):
    _configure(folder, quantization_config={"quant_method": "aqlm"})
    error = fails(folder)
    assert "aqlm" in error.cause
    assert error.hint.startswith("install the package that it names")


def test_folder_with_damaged_weights(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    assert fails(folder).hint.startswith("the folder is damaged")


def test_folder_with_weights_of_another_shape(folder):
    _configure(folder, hidden_size=32)
    error = fails(folder)
    assert error.cause.startswith(f"the weights in {folder} do not fit its config.json: ")
    assert "LayerNorm.bias is [16] in the file, [32] by the configuration, and " in error.cause


def test_folder_with_image_processor(tmp_path):
    config = ViTConfig(
        image_size=32,
        patch_size=8,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    ViTForImageClassification(config).save_pretrained(tmp_path)
    without = find_source(f"hf:{tmp_path}")
    assert "the example's image is random: there is no processor" in without.notes
    ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
    source = find_source(f"hf:{tmp_path}")
    assert type(source.model) is ViTForImageClassification
    images = source.kwargs["pixel_values"]
    assert images.shape == (1, 3, 32, 32)
    assert images.min() >= -1 and images.max() <= 1, "normalized by the processor"
    assert source.notes == (f"ViTForImageClassification from {tmp_path}",)


def test_folder_with_feature_extractor(tmp_path):
    config = Wav2Vec2Config(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        conv_dim=(16, 16),
        conv_stride=(5, 2),
        conv_kernel=(10, 3),
        num_feat_extract_layers=2,
    )
    Wav2Vec2Model(config).save_pretrained(tmp_path)
    Wav2Vec2FeatureExtractor().save_pretrained(tmp_path)
    source = find_source(f"hf:{tmp_path}")
    assert source.kwargs["input_values"].shape == (1, 16000)


@pytest.mark.parametrize("config", ["", "[", "{}", '{"model_type": "no such type"}'])
def test_folder_with_damaged_config(folder, config):
    (folder / "config.json").write_text(config)
    assert fails(folder).cause.startswith(f"transformers cannot load {folder}: ")


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at/all", "a/b/c"])
def test_missing_folder(name):
    assert fails(name).cause == f"no folder {name}"


def test_file_instead_of_folder(folder):
    hint = fails(folder / "config.json").hint
    assert hint == "give the folder that holds config.json, or a .gguf file"


@pytest.mark.parametrize(
    "failure, cause, hint",
    [
        (ConnectionError("no route"), "the hub cannot be reached", "a local folder needs no"),
        (None, "the hub has no public model some/model", "check the name"),
    ],
)
def test_hub_out_of_reach(monkeypatch, failure, cause, hint):
    from huggingface_hub.errors import HFValidationError

    from importers.sources.huggingface import hub

    def model_info(name, timeout):
        raise failure or HFValidationError("bad name")

    monkeypatch.setattr(hub, "model_info", model_info)
    error = fails("some/model")
    assert error.cause.startswith(cause)
    assert error.hint.startswith(hint)


def test_folder_with_several_gguf_files(tmp_path):
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).touch()
    with pytest.raises(Error, match=r"has 2 GGUF files: a\.gguf, b\.gguf") as caught:
        find_source(f"hf:{tmp_path}")
    assert caught.value.hint == f"give one of them, hf:{tmp_path / 'a.gguf'}"


def test_invalid_gguf_file(tmp_path):
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(60))
    for name in (tmp_path, tmp_path / "broken.gguf"):
        with pytest.raises(Error, match=r"cannot load broken\.gguf") as caught:
            find_source(f"hf:{name}")
        assert "the file is damaged" in caught.value.hint

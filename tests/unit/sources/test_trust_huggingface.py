"""Tests Hugging Face folders that contain Python code."""

import builtins
import json

import pytest
import torch
import transformers

import unmess
from importers.sources import find_source
from unmess.__main__ import main

CODE = """
import pathlib
pathlib.Path({marker!r}).touch()
import torch
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

class OwnConfig(PreTrainedConfig):
    model_type = "own-model"

class OwnModel(PreTrainedModel):
    config_class = OwnConfig
    main_input_name = "pixel_values"
    def __init__(self, config):
        super().__init__(config)
        self.linear = torch.nn.Linear(4, 2)
        self.post_init()
    def forward(self, pixel_values):
        return self.linear(pixel_values.mean((1, 2)))

class OwnTokenizer(PreTrainedTokenizerFast):
    pass
"""


@pytest.fixture(autouse=True)
def nobody_answers(monkeypatch):
    def asked(prompt=""):
        raise AssertionError(f"asked on stdin: {prompt}")

    monkeypatch.setattr(builtins, "input", asked)


@pytest.fixture
def marker(tmp_path, monkeypatch):
    # transformers copies the code to this folder and imports the copy.
    monkeypatch.setattr(
        "transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules")
    )
    return tmp_path / "marker"


def own_code(folder, marker, auto_map):
    (folder / "code.py").write_text(CODE.format(marker=str(marker)))
    return {name: f"code.{value}" for name, value in auto_map.items()}


@pytest.fixture
def own_model(tmp_path, marker):
    folder = tmp_path / "own"
    folder.mkdir()
    classes = {"AutoConfig": "OwnConfig", "AutoModel": "OwnModel"}
    config = {"model_type": "own-model", "auto_map": own_code(folder, marker, classes)}
    (folder / "config.json").write_text(json.dumps(config))
    weights = {"linear.weight": torch.ones(2, 4), "linear.bias": torch.zeros(2)}
    from safetensors.torch import save_file

    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.fixture
def tiny(tmp_path):
    folder = tmp_path / "tiny"
    sizes = {"hidden_size": 16, "intermediate_size": 32, "vocab_size": 32}
    heads = {"num_attention_heads": 2, "num_hidden_layers": 1}
    config = transformers.BertConfig(**sizes, **heads)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def refused(folder, marker, part):
    with pytest.raises(unmess.Error) as caught:
        find_source(f"hf:{folder}")
    assert caught.value.stage == "source"
    assert f"Python code of its own for the {part}" in caught.value.cause
    assert "--trust" in caught.value.hint
    assert not marker.exists()


def test_a_model_with_its_own_code(own_model, marker):
    refused(own_model, marker, "model")
    # The example's shape is unknown for this model. Only the import of the code matters here.
    with pytest.raises(unmess.Error) as caught:
        find_source(f"hf:{own_model}", trust=True)
    assert "Python code of its own" not in caught.value.cause
    assert marker.exists()


@pytest.mark.parametrize(
    "command",
    [["import"], ["run"], ["analyze"], ["generate", "--prompt", "a"]],
    ids=lambda command: command[0],
)
def test_commands_do_not_prompt(own_model, marker, command, capfd):
    name, *options = command
    assert main([name, f"hf:{own_model}", "-q", *options]) == 2
    assert "Python code of its own" in capfd.readouterr().err
    assert not marker.exists()


def test_a_tokenizer_with_its_own_code(tmp_path, marker):
    tiny = tmp_path / "vit"
    # transformers has no tokenizer for this type, so the folder's own would be needed.
    sizes = {"hidden_size": 16, "intermediate_size": 32, "image_size": 32, "patch_size": 16}
    config = transformers.ViTConfig(**sizes, num_attention_heads=2, num_hidden_layers=1)
    transformers.ViTModel(config).save_pretrained(tiny)
    classes = own_code(tiny, marker, {"AutoTokenizer": "OwnTokenizer"})
    (tiny / "vocab.txt").write_text("[PAD]\n[UNK]\na\n")
    settings = {
        "tokenizer_class": "OwnTokenizer",
        "auto_map": {"AutoTokenizer": [None, classes["AutoTokenizer"]]},
    }
    (tiny / "tokenizer_config.json").write_text(json.dumps(settings))
    refused(tiny, marker, "tokenizer")


def test_code_that_is_not_needed_is_not_imported(tiny, marker):
    """transformers has a class for the model, and `auto_map` names another one."""
    path = tiny / "config.json"
    classes = own_code(tiny, marker, {"AutoConfig": "OwnConfig", "AutoModel": "OwnModel"})
    path.write_text(json.dumps(json.loads(path.read_text()) | {"auto_map": classes}))
    assert type(find_source(f"hf:{tiny}").model).__name__ == "BertModel"
    assert not marker.exists()


def test_invalid_architecture_is_ignored(tiny):
    path = tiny / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"architectures": ["pipeline"]}))
    assert type(find_source(f"hf:{tiny}").model).__name__ == "BertModel"


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.parametrize("trust", [False, True])
def test_pickled_weights_are_tensors_only(tiny, marker, trust):
    weights = transformers.BertModel.from_pretrained(tiny).state_dict()
    (tiny / "model.safetensors").unlink()
    torch.save(weights | {"evil": Evil(str(marker))}, tiny / "pytorch_model.bin")
    with pytest.raises(unmess.Error):
        find_source(f"hf:{tiny}", trust=trust)
    assert not marker.exists()
    torch.save(weights, tiny / "pytorch_model.bin")
    assert type(find_source(f"hf:{tiny}").model).__name__ == "BertModel"


def test_chat_templates_run_in_a_sandbox(marker):
    import tokenizers

    from unmess.generation import encode

    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="a"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words)
    tokenizer.chat_template = (
        "{{ cycler.__init__.__globals__.os.system('touch " + str(marker) + "') }}"
    )
    with pytest.raises(Exception, match=r"unsafe|undefined"):
        encode(tokenizer, [{"role": "user", "content": "a"}])
    assert not marker.exists()

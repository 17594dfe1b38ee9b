"""Tests which tokenizer files a bundle of a Hugging Face model includes."""

from importers.sources.huggingface.hub import tokenizer_files


def test_tokenizer_files_of_a_folder(tmp_path):
    for name in ("config.json", "model.safetensors", "tokenizer.json", "vocab.txt"):
        (tmp_path / name).touch()
    expected = [tmp_path / "tokenizer.json", tmp_path / "vocab.txt"]
    assert tokenizer_files(f"hf:{tmp_path}") == expected
    assert tokenizer_files(f"hf:{tmp_path}#generate") == expected


def test_gguf_file_has_no_tokenizer_files(tmp_path):
    (tmp_path / "model.gguf").touch()
    (tmp_path / "tokenizer.json").touch()
    assert tokenizer_files(f"hf:{tmp_path / 'model.gguf'}#generate") == []


def test_other_models_have_no_tokenizer_files():
    for model in ("hf:bert", "torchvision:resnet18", "model.py:name", "hf:no-such/model"):
        assert tokenizer_files(model) == []

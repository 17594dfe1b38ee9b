"""Tests that a GGUF file is parsed once, with the same result as by transformers alone."""

import gguf
import numpy as np
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from importers.sources.huggingface.gguf_files import parse_once

TOKENS = ["a", "été", "<end>"]


def test_strings_are_parsed_once(tmp_path):
    path = str(tmp_path / "tiny.gguf")
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([0.5, 1.5, -1.0])
    writer.add_add_bos_token(True)
    writer.add_tensor("output_norm.weight", np.ones(8, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    expected = load_gguf_checkpoint(path)
    with parse_once():
        first, second = load_gguf_checkpoint(path), load_gguf_checkpoint(path)
        assert type(gguf.GGUFReader(path).data) is np.ndarray
    assert first == second == expected
    assert first["tokenizer"]["tokens"] == TOKENS
    assert first["tokenizer"]["tokens"][1] is second["tokenizer"]["tokens"][1]

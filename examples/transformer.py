"""Captures a transformer once, with a dynamic sentence length, and runs it at several lengths.

python examples/transformer.py
"""

import torch
import transformers

import unmess


def tiny_bert() -> torch.nn.Module:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
    )
    return transformers.BertModel(config).eval()


def sentence(length: int) -> dict[str, torch.Tensor]:
    ids = torch.randint(0, 1000, (1, length))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


if __name__ == "__main__":
    bert = tiny_bert()
    length = torch.export.Dim("length", min=2, max=512)
    shapes = {"input_ids": {1: length}, "attention_mask": {1: length}}
    program = unmess.capture(bert, kwargs=sentence(12), dynamic_shapes=shapes)
    lines = str(unmess.lower(program, to="linalg")).splitlines()
    print(next(line for line in lines if "func.func @main" in line)[:150], "…")
    run = unmess.load(program, on="iree-cpu")
    for size in (5, 12, 64):
        inputs = sentence(size)
        ours, eager = run(**inputs), bert(**inputs)
        gap = (ours.last_hidden_state - eager.last_hidden_state).abs().max()
        print(f"// {size} tokens: {type(ours).__name__}, largest difference {gap:.1e}")

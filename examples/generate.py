"""Continues a text with a language model.

python examples/generate.py [hf:FOLDER | hf:FILE.gguf [PROMPT]]

Without arguments, the model is a tiny Llama with random weights, and the prompt is random, too. On
both runners, the new tokens are the same as those of transformers' own `generate`.
"""

import sys

import torch
import transformers

import unmess


def tiny_llama() -> torch.nn.Module:
    torch.manual_seed(0)
    sizes = {"vocab_size": 512, "hidden_size": 64, "intermediate_size": 128}
    heads = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **heads)).eval()


def main(name: str = "", prompt: str = "The capital of France is") -> None:
    if name:
        generator = unmess.load_generator(name, on="iree-cpu")
        for piece in generator(prompt, max_new_tokens=64):
            print(piece, end="", flush=True)
        print(f"\n{generator.statistics.tokens_per_second:.1f} tokens a second")
        return
    model, ids = tiny_llama(), torch.randint(9, 512, (1, 9))
    theirs = model.generate(ids, do_sample=False, max_new_tokens=16)[0, 9:].tolist()
    for runner in ("reference", "iree-cpu"):
        ours = list(unmess.load_generator(model, on=runner).tokens(ids, max_new_tokens=16))
        print(f"{runner:10} {'same' if ours == theirs else 'DIFFERENT'} {ours}")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A decoder with its key-value cache, beside transformers' own `generate`, token for token.

python examples/generate.py [FOLDER | FILE.gguf [PROMPT]]

Without arguments the model is a tiny Llama with random weights, and so is the prompt.
"""

import sys
import time
from pathlib import Path

import torch
import transformers

import unmess

TOKENS = 16


def tiny_llama() -> torch.nn.Module:
    torch.manual_seed(0)
    sizes = {"vocab_size": 512, "hidden_size": 64, "intermediate_size": 128}
    heads = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **heads)).eval()


def greedy(run: unmess.Executable, input_ids: torch.Tensor, cache: dict) -> torch.Tensor:
    chosen = []
    for _ in range(TOKENS):
        step = run.decode if input_ids.shape[1] == 1 else run.prefill
        logits, cache = step(input_ids, cache)
        input_ids = logits.argmax(-1, keepdim=True)
        chosen.append(input_ids)
    return torch.cat(chosen, dim=1)


def main(path: str = "", prompt: str = "The capital of France is") -> None:
    model, input_ids, decode = tiny_llama(), torch.randint(512, (1, 9)), torch.Tensor.tolist
    if path:
        gguf = {"gguf_file": Path(path).name} if path.endswith(".gguf") else {}
        folder = Path(path).parent if gguf else path
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, **gguf).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **gguf)
        input_ids, decode = tokenizer(prompt, return_tensors="pt").input_ids, tokenizer.decode

    options = {"do_sample": False, "max_new_tokens": TOKENS, "min_new_tokens": TOKENS}
    start = time.perf_counter()
    theirs = model.generate(input_ids, **options)[:, input_ids.shape[1] :]
    print(f"transformers {1e3 * (time.perf_counter() - start):6.0f} ms {decode(theirs[0])}")

    programs = unmess.capture_generation(model, max_length=64)
    functions = [line for line in str(unmess.lower(programs)).splitlines() if "func.func" in line]
    print(*(f"// {line.strip()[:90]} …" for line in functions), sep="\n")
    for runner in ("reference", "iree-cpu"):
        run = unmess.load(programs, on=runner)
        start = time.perf_counter()
        ours = greedy(run, input_ids, programs["prefill"].args[1])
        took = 1e3 * (time.perf_counter() - start)
        print(f"{runner:12} {took:6.0f} ms {'same' if torch.equal(ours, theirs) else 'DIFFERENT'}")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Time and memory to import a Llama of 1.2 billion parameters (random bf16), by layers.

Time should scale with the number of operators, not of weights. Therefore a narrow network of the
same depth is measured too. Each line is a separate process. Time is from the live model to the
linalg module. The memory limit is 1.2 times the weights plus 1.5 GB; the peak includes the model
itself and the imported libraries.
"""

import json
import resource
import subprocess
import sys
import time

import torch
from rich.console import Console
from rich.table import Table

LAYERS = (2, 4, 8, 16)
WIDE, NARROW = 2048, 128
_LENGTH = 16


def build(layers: int, width: int) -> torch.nn.Module:
    """Builds Llama 3.2 1B's architecture with `width` channels and a proportional vocabulary."""
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=128_256 * width // WIDE,
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=32,
        num_key_value_heads=8,
        tie_word_embeddings=True,
        use_cache=False,
        dtype="bfloat16",
    )
    torch.manual_seed(0)
    # transformers' own initialization takes minutes at this size.
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
    rotary = type(model.model.rotary_emb)(config)
    model.to_empty(device="cpu").tie_weights()
    model.model.rotary_emb = rotary
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.02)
    return model.eval()


def measure_here(layers: int, width: int) -> dict[str, float]:
    """Returns one line of the table: seconds, and memory in 10**6 bytes."""
    import unmess

    unmess.capture  # noqa: B018 -- loads the library; not part of the time
    model = build(layers, width)
    ids = torch.randint(0, model.config.vocab_size, (1, _LENGTH))
    start = time.perf_counter()
    program = unmess.capture(model, (), {"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    module = unmess.lower(program, to="linalg")
    seconds = time.perf_counter() - start
    export = program.attempts[-1].seconds
    return {
        "seconds": seconds,
        "export": export,
        "decompose": program.seconds["capture"] - export,
        "import": module.seconds["import"],
        "lower": module.seconds["lower"],
        "operators": sum(node.op == "call_function" for node in program.exported.graph.nodes),
        "weights_mb": sum(w.numel() * w.element_size() for w in model.parameters()) / 1e6,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
    }


def measure(layers: int, width: int) -> dict[str, float]:
    """Measures one line of the table in a separate process."""
    command = [sys.executable, "-m", "benchmarks.large_model", str(layers), str(width)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def main() -> None:
    table = Table(title="Llama, live model to linalg", title_justify="left")
    columns = ("layers", "width", "operators", "weights", "time")
    for column in (*columns, "export", "decompose", "import", "lower", "peak", "limit"):
        table.add_column(column, justify="right")
    for width in (WIDE, NARROW):
        for layers in LAYERS:
            line = measure(layers, width)
            steps = (line[name] for name in ("seconds", "export", "decompose", "import", "lower"))
            table.add_row(
                f"{layers}",
                f"{width}",
                f"{line['operators']}",
                f"{line['weights_mb']:,.0f} MB",
                *(f"{seconds:.2f} s" for seconds in steps),
                f"{line['peak_mb']:,.0f} MB",
                f"{1.2 * line['weights_mb'] + 1500:,.0f} MB",
            )
    Console(width=140).print(table)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure_here(*map(int, sys.argv[1:]))))
    else:
        main()

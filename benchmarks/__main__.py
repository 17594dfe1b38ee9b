"""Runs the benchmarks named on the command line; without a name, lists them."""

import importlib
import sys

# The quantity that each benchmark measures, and its approximate duration on two cores.
BENCHMARKS = {
    "attention": ("large attention, whole and in blocks of rows: both runners and eager", "2 min"),
    "bf16": ("BERT-base in bf16 and in f32: both runners and eager", "2 min"),
    "bundle": ("start of a process to the first result: a bundle, eager PyTorch", "1 min"),
    "call_overhead": ("the part of a call that is spent in Python: three programs", "1 min"),
    "cliffs": ("operators of the recipes: both runners and eager, slowest first", "hours"),
    "constants": ("iree-cpu: constants computed while it compiles, or at load", "5 min"),
    "dynamic_batch": ("iree-cpu: default preset and plain, a dynamic batch", "10 min"),
    "dynamic_sizes": ("iree-cpu: default preset and plain, images and lines of any size", "5 min"),
    "few_registers": ("iree-cpu: convolutions as products, for CPUs without AVX-512", "6 min"),
    "generation": ("tokens per second of SmolLM2-135M and llama.cpp; downloads both", "7 min"),
    "import_speed": ("capture and lower to linalg, compared with torch-mlir", "3 min"),
    "index_checks": ("checks of indices: the same programs with and without them", "5 min"),
    "iree_classification": ("iree-cpu: default preset and plain, 80 classifiers", "hours"),
    "iree_memory": ("iree-cpu: memory of two processes that load BERT-base", "1 min"),
    "iree_models": ("iree-cpu, eager and torch.compile, ten models", "15 min"),
    "integers": ("integer programs: both runners, eager and ONNX Runtime, five models", "3 min"),
    "large_model": ("capture and lower to linalg: a Llama of a billion parameters", "2 min"),
    "load": ("loading a model, first and again: both runners and Inductor", "5 min"),
    "operators": ("240 common operators: both runners and eager, slowest first", "10 min"),
    "partition": ("compiled regions and eager operators, ten models; cost of a region", "15 min"),
    "peers": ("both runners, eager, Inductor, ONNX Runtime and OpenVINO, ten models", "40 min"),
    "presets": ("iree-cpu: every preset, three models", "3 min"),
    "recurrent": ("LSTM, GRU and RNN: both runners and eager", "3 min"),
    "reference": ("reference runner and eager: time, memory, errors", "4 min"),
    "startup": ("start-up: commands, bare imports; many models at once", "20 min"),
    "tasks": ("detection, video, speech, training and others: runners, eager, Inductor", "25 min"),
    "transposed": ("transposed convolutions by phase and with zeros: both runners", "3 min"),
    "winograd": ("3x3 convolutions by Winograd's algorithm and by plain sums", "3 min"),
}
USAGE = "usage: ./pixiw run bench NAME … | --all"


def listing() -> str:
    """Returns a line for each benchmark."""
    return "\n".join(f"  {name:20} {about:66} {time}" for name, (about, time) in BENCHMARKS.items())


def main(arguments: list[str]) -> int:
    """Runs the command line; returns the exit status, 2 for bad usage."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(f"{USAGE}\n{listing()}", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    names = list(BENCHMARKS) if arguments == ["--all"] else arguments
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}\n{USAGE}\n{listing()}", file=sys.stderr)
        return 2
    for name in names:
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Runs the measurements named on the command line, or all of them."""

import importlib
import sys

BENCHMARKS = (
    "bundle",
    "cache",
    "generation",
    "import_speed",
    "iree_classification",
    "iree_memory",
    "iree_models",
    "large_model",
    "presets",
    "reference",
)


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}: one of {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

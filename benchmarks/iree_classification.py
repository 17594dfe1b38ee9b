"""The default preset of iree-cpu and IREE's own defaults, on all torchvision classifiers.

Prints a line for each model, with the speedup over IREE's own defaults.

    python -m benchmarks.iree_classification [NAME ...]
"""

import statistics
import sys

import torch
import torchvision

from benchmarks.iree_models import measured


def main(models: list[str] | None = None) -> None:
    print(f"{torch.get_num_threads()} threads")
    print("| model | preset | plain, ms | default, ms | times as fast | in CPU time |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    ratios = {}
    for name in models or torchvision.models.list_models(module=torchvision.models):
        row = measured(f"torchvision:{name}", ("plain", "default"))
        if isinstance(row, str):
            print(f"| {name} | | | | | {row} |", flush=True)
            continue
        plain, default = row["times"]["plain"], row["times"]["default"]
        ratios[name] = plain / default
        in_cpu_time = row["cpu_times"]["plain"] / row["cpu_times"]["default"]
        print(
            f"| {name} | {row['preset']} | {plain * 1e3:.1f} | {default * 1e3:.1f} "
            f"| {ratios[name]:.2f} | {in_cpu_time:.2f} |",
            flush=True,
        )
    slower = [f"{name} {ratio:.2f}" for name, ratio in ratios.items() if ratio < 0.95]
    print(f"{len(ratios)} models, median {statistics.median(ratios.values()):.2f}")
    print(f"slower by more than 5 %: {', '.join(slower) or 'none'}")


if __name__ == "__main__":
    main(sys.argv[1:])

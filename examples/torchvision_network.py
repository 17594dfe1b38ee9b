"""Lowers a torchvision network to three output dialects, and checks it on both runners.

python examples/torchvision_network.py [NAME]
"""

import sys

import unmess


def main(name: str) -> None:
    program = unmess.capture(f"torchvision:{name}")
    weights = sum(weight.numel() for weight in program.weights.values())
    print(f"{program.name}: {len(program.weights)} weights, {weights:,} elements, all borrowed")
    for stage in ("linalg", "tosa", "stablehlo"):
        lines = str(unmess.lower(program, to=stage)).splitlines()
        print(f"// ----- {stage}, {len(lines)} lines, the first with a convolution:")
        print(next(line.strip() for line in lines if f"{stage}.conv" in line))
    for runner in ("reference", "iree-cpu"):
        report = unmess.check(program, on=runner)
        print(f"// {runner}: ok={report.ok}, largest difference {report.max_abs_error:.1e}")


if __name__ == "__main__":
    main(*sys.argv[1:] or ["squeezenet1_1"])

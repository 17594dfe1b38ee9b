"""Integer programs on both runners, PyTorch's kernels for 8 bits, and ONNX Runtime.

The models are torchvision's, with random weights and an image of 224 by 224. PyTorch runs its
quantized ones with FBGEMM; unmess converts the same models to integer programs. ONNX Runtime
quantizes the models in floating point itself (`quantize_static`, with scales per channel). Its
results are not compared, because its scales differ. All sides run in one process with the same
number of threads. A side makes six calls in a row. The first two do not count: threads of PyTorch
and of ONNX Runtime spin for some milliseconds after a call, which disturbs the next side. The times
are medians. The results of both runners are compared with those of the integer program in
PyTorch, which are exact.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import onnxruntime
import torch
import torchvision
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_static
from torchvision.models import quantization

import unmess
from benchmarks.iree_models import in_a_row

MODELS = ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_large", "shufflenet_v2_x1_0")
RUNNERS = ("reference", "iree-cpu")
_SIZE = (1, 3, 224, 224)


def main() -> None:
    warnings.filterwarnings("ignore")
    torch.backends.quantized.engine = "x86"
    columns = ["eager, f32", "eager", "ONNX Runtime"]
    columns += [f"{runner}{what}" for runner in RUNNERS for what in (", f32", "", ", relative")]
    print(f"{torch.get_num_threads()} threads; milliseconds; integers, if not named f32")
    print(f"| model | {' | '.join(columns)} |")
    print(f"|{' --- |' * (len(columns) + 1)}", flush=True)
    with torch.no_grad():
        for name in MODELS:
            print(f"| {name} | {' | '.join(_row(name))} |", flush=True)


def _row(name: str) -> list[str]:
    torch.manual_seed(0)
    x = torch.randn(_SIZE)
    model = getattr(torchvision.models, name)().eval()
    quantized = getattr(quantization, name)(quantize=True).eval()
    calls = {"eager, f32": model, "eager": quantized, "ONNX Runtime": _onnx_runtime(model, x)}
    program = unmess.to_integers(unmess.capture(quantized, (x,)))
    for runner in RUNNERS:
        calls[f"{runner}, f32"] = unmess.load(unmess.capture(model, (x,)), on=runner)
        calls[runner] = unmess.load(program, on=runner)
        if not torch.equal(calls[runner](x), program.eager(x)):
            sys.exit(f"{name} on {runner}: another result than in PyTorch")
    times = in_a_row(calls, (x,))
    cells = {side: f"{seconds * 1e3:.1f}" for side, seconds in times.items()}
    cells |= {f"{runner}, relative": f"{times[runner] / times['eager']:.2f}" for runner in RUNNERS}
    order = [f"{runner}{what}" for runner in RUNNERS for what in (", f32", "", ", relative")]
    return [cells[side] for side in ("eager, f32", "eager", "ONNX Runtime", *order)]


def _onnx_runtime(model: torch.nn.Module, x: torch.Tensor):
    """Returns a function that runs a model as ONNX Runtime quantizes it."""
    with tempfile.TemporaryDirectory() as folder:
        plain, path = Path(folder) / "plain.onnx", Path(folder) / "quantized.onnx"
        torch.onnx.export(model, (x,), plain, dynamo=False, input_names=["x"])
        quantize_static(
            plain,
            path,
            _Batch(x),
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda image: session.run(None, {"x": image.numpy()})


class _Batch(CalibrationDataReader):
    """One image for the calibration."""

    def __init__(self, x: torch.Tensor):
        self._left = [{"x": x.numpy()}]

    def get_next(self) -> dict | None:
        return self._left.pop() if self._left else None


if __name__ == "__main__":
    main()

"""Quantizes captured models to 8 bits after training, by PyTorch's PT2E flow (torchao)."""

from importers.quantization.calibration import quantized_program

__all__ = ["quantized_program"]

"""Runs ONNX models as PyTorch modules, with PyTorch operators for each ONNX operator."""

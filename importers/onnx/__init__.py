"""ONNX models as PyTorch modules: each ONNX operator is computed by PyTorch's operators."""

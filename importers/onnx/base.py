"""The base class of ONNX models. It does not import onnx, which may not be installed."""


class OnnxBase:
    """The base class of `OnnxModel`, to recognize one."""

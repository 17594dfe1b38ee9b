"""Runs bundles from `unmess package` with NumPy and IREE's runtime, without PyTorch.

    import unmess.bundle

    run = unmess.bundle.load("resnet18.bundle")
    logits = run(image)  # NumPy arrays in the model's own containers

Nothing that is imported here imports PyTorch, transformers or torch-mlir.
"""

from unmess.bundle.executable import Bundle, load

__all__ = ["Bundle", "load"]

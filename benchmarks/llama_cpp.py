"""llama.cpp in an environment of its own: a process that generates text, for comparison."""

from __future__ import annotations

import json
import subprocess
import time
import venv
from pathlib import Path
from typing import Any

from unmess.core.cache.folder import cache_folder

PACKAGE = "xllamacpp==2026.10.11549"
# The wheel for Linux on x86-64.
SHA256 = "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261"
_SERVER = Path(__file__).with_name("llama_cpp_server.py")


class Missing(Exception):
    """llama.cpp cannot run here; the text is the reason."""


class LlamaCpp:
    """A process with a model in llama.cpp. Close it at the end.

    Attributes:
        load_seconds: the time from the start of the process until the model is loaded.
        speed: tokens per second of the last text, without the first token.
    """

    def __init__(self, model: Path, context: int, threads: int):
        """Loads a GGUF file.

        Args:
            context: positions of the key-value cache.

        Raises:
            Missing: llama.cpp cannot be installed, or does not start.
        """
        self.speed = 0.0
        command = [_python(), "-I", _SERVER, model, str(context), str(threads)]
        start = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._answer()
        self.load_seconds = time.perf_counter() - start

    def text(self, prompt: str, tokens: int) -> str:
        """Returns the text that follows the prompt, greedily, with at most this many tokens.

        Raises:
            Missing: the process has ended.
        """
        print(json.dumps([prompt, tokens]), file=self._process.stdin, flush=True)
        answer = self._answer()
        self.speed = (answer["tokens"] - 1) / answer["seconds"]
        return answer["text"]

    def close(self) -> None:
        """Ends the process."""
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        # llama.cpp itself may print other lines.
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise Missing(f"its process ended with status {self._process.wait()}")


def _python() -> Path:
    """Returns the interpreter of an environment with llama.cpp; makes it if it is missing."""
    folder = cache_folder() / "peers" / PACKAGE.replace("==", "-")
    python, done = folder / "bin" / "python", folder / "installed"
    if done.exists():
        return python
    try:
        venv.create(folder, clear=True, with_pip=True)
        pin = folder / "pin.txt"
        pin.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n")
        command = [python, "-m", "pip", "--quiet", "install", "--no-deps", "--only-binary=:all:"]
        subprocess.run(
            [*command, "--require-hashes", "-r", pin], check=True, capture_output=True, text=True
        )
    except OSError as problem:
        raise Missing(f"there is no environment for it: {problem}") from problem
    except subprocess.CalledProcessError as problem:
        last = (str(problem.stderr or problem).strip().splitlines() or ["pip failed"])[-1]
        raise Missing(f"{PACKAGE} cannot be installed: {last}") from problem
    done.touch()
    return python

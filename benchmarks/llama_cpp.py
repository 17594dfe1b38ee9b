"""llama.cpp in an environment of its own: a process that generates text, for comparison."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.peer_environment import LOCKS, Missing, environment

_LOCK = LOCKS / "llama_cpp.txt"
_SERVER = Path(__file__).with_name("llama_cpp_server.py")


class LlamaCpp:
    """A process with a model in llama.cpp. Close it at the end.

    Attributes:
        prompt_speed: tokens per second of the last prompt.
        speed: tokens per second of the last text, without the first token.
    """

    def __init__(self, model: Path, context: int, threads: int):
        """Loads a GGUF file.

        Args:
            context: positions of the key-value cache.

        Raises:
            Missing: llama.cpp cannot be installed, or does not start.
        """
        self.prompt_speed = self.speed = 0.0
        command = [
            environment(_LOCK) / "bin" / "python",
            "-I",
            _SERVER,
            model,
            str(context),
            str(threads),
        ]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._answer()

    def text(self, prompt: str, tokens: int) -> str:
        """Returns the text that follows the prompt, greedily, with at most this many tokens.

        Raises:
            Missing: the process has ended.
        """
        print(json.dumps([prompt, tokens]), file=self._process.stdin, flush=True)
        answer = self._answer()
        self.prompt_speed = answer["prompt_tokens"] / answer["prompt_seconds"]
        if answer["tokens"] > 1:
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

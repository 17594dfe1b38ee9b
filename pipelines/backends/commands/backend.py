"""A backend that compiles and runs with commands."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from pipelines.backends.backend import BackendInput
from pipelines.backends.commands import tools
from pipelines.backends.commands.description import Description
from pipelines.backends.commands.process import Ended, run_command, shown_text
from pipelines.backends.commands.tensors import read_tensors, write_tensors
from unmess.core.cache import artifacts
from unmess.core.cache.reproducer import write_reproducer
from unmess.core.errors.error import Error
from unmess.core.module.module import Module
from unmess.core.processes.temporary_folders import temporary_folder
from unmess.core.signature.signature import Signature

# Larger inputs are left out of reproducers.
_SHOWN_INPUT = 16_000_000


@dataclass(frozen=True)
class Artifact:
    """A compiled program in files.

    Attributes:
        output: the compiled file; None if the program has its arguments as literals, and is
            compiled for each call.
        module: the module that was compiled.
        weights: the file of the weights; None unless they are external.
        has_globals: whether calls change memory that the next call reads: each has its own process.
    """

    output: Path | None
    module: Module
    folder: Path
    weights: Path | None
    has_globals: bool = False


class CommandBackend:
    """A backend that is described in a TOML file. See `schema.json`."""

    def __init__(self, description: Description):
        self.description = description
        self.name = description.name
        self.tolerances: Mapping[str, float] = description.tolerances
        self.input = BackendInput(
            stage=description.stage,
            weights=description.weights,
            fold_constants=description.fold_constants,
            upstream_only=description.upstream_only,
            passes=description.passes,
        )

    def describe(self) -> str:
        """Returns what the tool prints as its version, or the description's own line."""
        lines = tools.version(self.description).splitlines()
        found = next((line.strip() for line in lines if "version" in line.lower()), None)
        return ", ".join(filter(None, (self.description.about, found)))

    def identity(self) -> str:
        """Returns a digest of the description and of the tools."""
        return tools.identity(self.description)

    def devices(self) -> list[str]:
        """Returns this machine.

        Raises:
            Error: stage `usage`; a program of the commands is not found, or is not executable.
        """
        tools.check_programs(self.description)
        return ["this machine"]

    def compile(self, module: Module, folder: Path) -> Artifact:
        """See `Backend.compile`."""
        self.devices()
        weights = self._write_weights(module, folder)
        output = None
        if self.description.tensors != "printed":
            output = self._compiled(module, folder, weights)
        return Artifact(output, module, folder, weights)

    def load(self, artifact: Artifact) -> _Function:
        """See `Backend.load`."""
        return _Function(self, artifact)

    def call(self, artifact: Artifact, arguments: tuple[Any, ...]) -> list[torch.Tensor]:
        """Runs a compiled program once, in a process of its own.

        Raises:
            Error: stage `compile` or `run`; a command fails, crashes, or does not end in time.
        """
        signature = artifact.module.signature
        with temporary_folder() as name:
            folder = Path(name)
            if artifact.output is None:
                return self._call_printed(artifact, folder, arguments, signature)
            inputs, outputs = self._write_inputs(arguments, folder)
            ended = self._run(
                self.description.run,
                folder,
                "run",
                output=artifact.output,
                inputs=inputs,
                outputs=outputs,
                results=len(signature.results),
                weights=artifact.weights,
            )
            self._raise(ended, "run", artifact.folder / _input_name(self.description))
            return read_tensors(signature.results, outputs, self.description.tensors)

    def write_call(self, module: Module, arguments: Sequence[Any], folder: Path) -> str:
        """Writes the files of one call to a folder.

        Args:
            module: in the form of `input`.
            arguments: the tensors and numbers of the call.

        Returns:
            The commands that compile and run it, for a shell in that folder, one on each line.
        """
        description = self.description
        files: dict[str, Path | None] = {"weights": self._write_weights(module, folder)}
        if description.tensors == "printed":
            from pipelines.backends.commands.printing import with_main

            module = with_main(module, arguments)
        else:
            files["inputs"], files["outputs"] = self._write_inputs(arguments, folder)
        files["input"] = folder / _input_name(description)
        files["output"] = folder / "output" if description.compile else files["input"]
        _write(module, files["input"], description)
        places: dict[str, Path | int | None] = {
            name: path and path.relative_to(folder) for name, path in files.items()
        }
        places["results"] = len(module.signature.results)
        variables = tools.environment(description)
        own = "".join(f"{name}={shlex.quote(variables[name])} " for name in description.environment)
        lines = []
        for command in (*description.compile, description.run):
            words = self._words(command, places)
            if words[0] == str(places["output"]):
                words[0] = f"./{words[0]}"
            lines.append(own + shlex.join(words))
        return "\n".join(lines)

    def _write_weights(self, module: Module, folder: Path) -> Path | None:
        """Returns the file or folder of the weights; None unless they are external."""
        description = self.description
        if description.weights != "external":
            return None
        form = "safetensors" if description.tensors == "bin" else description.tensors
        weights = folder / ("weights" if form == "npy" else "weights.safetensors")
        names = [argument.name for argument in module.signature.of_kind("weight")]
        write_tensors({name: module.weights[name] for name in names}, weights, form)
        return weights

    def _write_inputs(self, arguments: Sequence[Any], folder: Path) -> tuple[Path, Path]:
        """Writes the arguments of a call, and returns their path and the path of the results."""
        form = self.description.tensors
        suffix = {"npy": "", "bin": ".json", "safetensors": ".safetensors"}[form]
        inputs, outputs = folder / f"inputs{suffix}", folder / f"outputs{suffix}"
        write_tensors(arguments, inputs, form)
        if form == "npy":
            outputs.mkdir(exist_ok=True)
        return inputs, outputs

    def _call_printed(
        self,
        artifact: Artifact,
        folder: Path,
        arguments: tuple[Any, ...],
        signature: Signature,
    ) -> list[torch.Tensor]:
        from pipelines.backends.commands.printing import read_printed, with_main

        output = self._compiled(with_main(artifact.module, arguments), folder, None)
        ended = self._run(self.description.run, folder, "run", output=output)
        self._raise(ended, "run", folder / _input_name(self.description))
        return read_printed(ended.stdout.read_text(errors="replace"), signature.results)

    def _compiled(self, module: Module, folder: Path, weights: Path | None) -> Path:
        """Returns the compiled file, from the cache or compiled."""
        description = self.description
        source, output = folder / _input_name(description), folder / "output"
        _write(module, source, description)
        if not description.compile:
            return source
        key = self._key(source, weights) if artifacts.size_limit() else None
        content = None if key is None else artifacts.read_artifact(key)
        if content is not None:
            output.write_bytes(content)
            output.chmod(0o700)
            return output
        for command in description.compile:
            ended = self._run(
                command, folder, "compile", input=source, output=output, weights=weights
            )
            self._raise(ended, "compile", source)
        if not output.exists():
            program = Path(ended.command[0]).name
            problem = f"{program} ends with exit code 0, and has not written {{output}}"
            self._raise(replace(ended, problem=problem), "compile", source)
        # A cached file comes without others that the commands may have written beside it.
        known = {"input.mlir", "input.mlirbc", "output", "stdout.txt", "stderr.txt"}
        known |= {weights.name} if weights else set()
        is_alone = output.is_file() and known.issuperset(path.name for path in folder.iterdir())
        if key is not None and is_alone:
            artifacts.write_artifact(key, output.read_bytes(), runner=self.name, model=module.name)
        return output

    def _key(self, source: Path, weights: Path | None) -> str:
        digest = hashlib.sha256(f"command backend {self.identity()}".encode())
        files = [source]
        # A compiler may fold external weights into its output.
        if weights is not None and any(
            "{weights}" in word for command in self.description.compile for word in command
        ):
            files += sorted(weights.iterdir()) if weights.is_dir() else [weights]
        for path in files:
            digest.update(f"{path.name}\n".encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()

    def _run(
        self, command: tuple[str, ...], folder: Path, stage: str, **places: Path | int | None
    ) -> Ended:
        description = self.description
        return run_command(
            self._words(command, places),
            folder,
            timeout=description.timeout if stage == "run" else description.compile_timeout,
            environment=tools.environment(description),
            memory_mb=description.memory_mb,
            file_mb=description.file_mb,
            exit_codes=description.exit_codes,
        )

    def _words(
        self, command: tuple[str, ...], places: Mapping[str, Path | int | None]
    ) -> list[str]:
        """Returns a command with its placeholders filled, and its program as a path."""
        description = self.description
        values = tools.all_places(description)
        values |= {name: str(place) for name, place in places.items() if place is not None}
        words = [tools.filled(word, values, description.file.parent) for word in command]
        # A relative folder in PATH is relative to this process's folder, not to the command's.
        found = shutil.which(words[0], path=tools.environment(description)["PATH"])
        words[0] = os.path.abspath(found) if found else words[0]
        return words

    def _raise(self, ended: Ended, stage: str, source: Path) -> None:
        """Raises an Error if a command did not succeed. Its stderr is kept in the reproducer."""
        if ended.problem is None:
            return
        said = shown_text(ended.stderr).splitlines()
        header = [ended.problem, f"command: {' '.join(ended.command)}", "stderr:", *said]
        text = "".join(f"// {line}\n" for line in header)
        if source.is_file() and source.stat().st_size < _SHOWN_INPUT and source.suffix == ".mlir":
            text += source.read_text(errors="replace")
        repro = write_reproducer(text, f"{source.parent.name}-{self.name}-{stage}")
        hint = "the file has the whole command and its stderr"
        if ended.timed_out:
            limit = "timeout" if stage == "run" else "compile_timeout"
            hint = f"raise {limit} in {self.description.file.name}, or make it faster; {hint}"
        where = self.description.where[stage]
        raise Error(stage, ended.problem, where=where, hint=hint, repro=repro)


class _Function:
    """The entry function of an artifact."""

    def __init__(self, backend: CommandBackend, artifact: Artifact):
        self._backend = backend
        self._artifact = artifact

    def __call__(self, *arguments: Any) -> list[torch.Tensor]:
        return self._backend.call(self._artifact, arguments)


def _input_name(description: Description) -> str:
    return "input.mlirbc" if description.format == "bytecode" else "input.mlir"


def _write(module: Module, path: Path, description: Description) -> None:
    generic = description.format == "generic"
    # `save` leaves literals out of IR whose weights are elided only.
    whole = replace(module, weight_mode="inline")
    whole.save(path, locations=description.locations, generic=generic, alone=True)

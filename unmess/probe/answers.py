"""Answers about single operator calls, on disk, for all processes of a user."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import torch

from unmess.core.cache.folder import cache_folder, make_private
from unmess.core.cache.own_sources import digest_of
from unmess.core.files.private import open_private
from unmess.core.files.writing import replacing
from unmess.probe.calls import key_of

# Digest of all our code that an answer depends on.
_SOURCES = digest_of("importers", "pipelines", "unmess/core", "unmess/probe")


def answer_path(question: list[Any], packages: tuple[str, ...], node: torch.fx.Node) -> Path:
    """Returns where the answer about a node's call is stored.

    Args:
        question: all that the answer depends on besides the call, our code, and the packages.
        packages: whose versions it depends on.
    """
    versions = [importlib.metadata.version(name) for name in packages]
    salt = json.dumps([*question, versions, _SOURCES])
    name = hashlib.sha256(f"{salt}{key_of(node)}".encode()).hexdigest()
    return cache_folder() / "ops" / f"{name}.json"


def read_answer(path: Path) -> dict[str, Any] | None:
    """Returns the stored answer; None if there is none, or if its reproducer is gone."""
    try:
        with open_private(path) as file:
            answer = json.load(file)
    except (OSError, ValueError):
        return None
    repro = answer.get("repro")
    return answer if repro is None or Path(repro).exists() else None


def write_answer(path: Path, answer: dict[str, Any]) -> None:
    """Stores an answer. Ignores write errors, which only cost time later."""
    try:
        make_private(path.parent)
        with replacing(path, mode=0o600) as unfinished:
            unfinished.write_text(json.dumps(answer))
    except OSError:
        return

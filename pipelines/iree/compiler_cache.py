"""A cache of the results of IREE's compiler, by the text and the options that it gets.

The programs that `pipelines/compiled.py` caches depend on all code of unmess that compiles, so they
are compiled again when that code changes. Few changes affect the text that the compiler gets. If
the text is the same, the compiler does not run. It takes nine tenths of the time.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Sequence

from pipelines.compiled import is_caching
from unmess.core.cache import artifacts
from unmess.core.cache.own_sources import digest_of
from unmess.core.errors.portable_paths import portable_text
from unmess.core.options.processor import processor

# Digest of the code that calls the compiler.
_CALLER = digest_of("pipelines/iree/compilation.py")


def compiled_once(
    text: str,
    options: Sequence[str],
    name: str,
    compile: Callable[[], tuple[bytes, bytes | None]],
) -> tuple[bytes, bytes | None]:
    """Returns the VM modules of a program and of its packer, from the cache or from `compile`.

    Args:
        text: the IR that the compiler gets, with locations. In the key, names replace the folders
            of the project and of the environment, so that checkouts share results.
        options: all options of `iree-compile`.
        name: the name of the model, for users who list the cache.
        compile: runs the compiler. Exceptions pass, and nothing is stored then.
    """
    if not is_caching():
        return compile()
    key = _key(text, options)
    content = artifacts.read_artifact(key)
    if content is not None:
        size, _, code = content.partition(b"\n")
        size = json.loads(size)
        return (code, None) if size is None else (code[size:], code[:size])
    code, packer = compile()
    size = None if packer is None else len(packer)
    content = json.dumps(size).encode() + b"\n" + (packer or b"") + code
    artifacts.write_artifact(key, content, runner="iree-compile", model=name)
    return code, packer


def _key(text: str, options: Sequence[str]) -> str:
    # Options may say `host`, so the key includes the processor.
    version = importlib.metadata.version("iree-base-compiler")
    about = ["iree-compile", version, _CALLER, *options, str(processor())]
    digest = hashlib.sha256(json.dumps(about).encode())
    digest.update(portable_text(text).encode())
    return digest.hexdigest()

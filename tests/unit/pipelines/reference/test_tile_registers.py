"""The system is asked for the matrix registers only where they exist."""

from types import SimpleNamespace

import pytest

from pipelines.reference import tile_registers as subject


@pytest.mark.parametrize(
    ("system", "machine", "flags", "status", "allowed"),
    [
        ("linux", "x86_64", {"amx_tile"}, 0, True),
        ("linux", "x86_64", {"amx_tile"}, -1, False),
        ("linux", "x86_64", {"avx512f"}, 0, False),
        ("linux", "aarch64", {"amx_tile"}, 0, False),
        ("darwin", "x86_64", {"amx_tile"}, 0, False),
    ],
)
def test_permission(system, machine, flags, status, allowed, monkeypatch):
    calls = []
    library = SimpleNamespace(syscall=lambda *numbers: calls.append(numbers) or status)
    monkeypatch.setattr(subject.sys, "platform", system)
    monkeypatch.setattr(subject.platform, "machine", lambda: machine)
    monkeypatch.setattr(subject, "processor_flags", lambda: frozenset(flags))
    monkeypatch.setattr(subject.ctypes, "CDLL", lambda name: library)
    assert subject.allow_tiles.__wrapped__() == allowed
    exists = (system, machine) == ("linux", "x86_64") and "amx_tile" in flags
    assert calls == ([(158, 0x1023, 18)] if exists else [])

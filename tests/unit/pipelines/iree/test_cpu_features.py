"""Code that needs missing CPU features is rejected before it can crash the process."""

import pytest

import unmess
from pipelines.iree import cpu_features as subject
from pipelines.iree.targets import target


def options(cpu):
    return target("iree-cpu", unmess.TargetOptions(cpu=cpu)).options


def test_newer_cpu_requires_more_features():
    old = subject.required_cpu(options("sandybridge"))[1]
    new = subject.required_cpu(options("sapphirerapids"))[1]
    assert old < new and "amx-bf16" in new


def test_missing_cpu_features_raise(monkeypatch):
    monkeypatch.setattr(subject, "processor_features", lambda: frozenset({"sse", "avx"}))
    with pytest.raises(unmess.Error, match=r"this CPU lacks .*avx512f") as caught:
        subject.check_cpu(options("sapphirerapids"))
    assert caught.value.stage == "load"
    subject.check_cpu(options("generic"))
    subject.check_cpu(options("host"))
    subject.check_cpu(target("iree-cuda", unmess.TargetOptions(cuda="sm_80")).options)


def test_check_is_skipped_if_cpu_features_are_unknown(monkeypatch):
    monkeypatch.setattr(subject, "processor_features", frozenset)
    subject.check_cpu(options("sapphirerapids"))

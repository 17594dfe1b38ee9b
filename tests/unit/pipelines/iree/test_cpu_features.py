"""Code for another processor is refused before it ends the process."""

import pytest

import unmess
from pipelines.iree import cpu_features as subject
from pipelines.iree.targets import target


def options(cpu):
    return target("iree-cpu", unmess.TargetOptions(cpu=cpu)).options


def test_code_for_a_cpu_that_has_more():
    old = subject.required_cpu(options("sandybridge"))[1]
    new = subject.required_cpu(options("sapphirerapids"))[1]
    assert old < new and "amx-bf16" in new


def test_it_is_refused(monkeypatch):
    monkeypatch.setattr(subject, "processor_features", lambda: frozenset({"sse", "avx"}))
    with pytest.raises(unmess.Error, match=r"this one lacks .*avx512f") as caught:
        subject.check_cpu(options("sapphirerapids"))
    assert caught.value.stage == "load"
    subject.check_cpu(options("generic"))
    subject.check_cpu(options("host"))
    subject.check_cpu(target("iree-cuda", unmess.TargetOptions(cuda="sm_80")).options)


def test_a_system_that_does_not_say_what_its_cpu_has_is_not_asked(monkeypatch):
    monkeypatch.setattr(subject, "processor_features", frozenset)
    subject.check_cpu(options("sapphirerapids"))

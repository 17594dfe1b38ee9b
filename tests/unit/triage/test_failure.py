"""Failures are the same if their stages, kinds and messages are, apart from names and numbers."""

import pytest

from unmess.row import Row
from unmess.triage.failure import Failure, operator_in


def failure(stage, cause):
    return Failure.of(Row("model", "reference", ok=False, stage=stage, error=cause))


SAME = (
    ("torch", "no lowering for aten.eig (pass p{x=1})", "no lowering for aten.eig (pass p{x=2})"),
    ("linalg", "'%12' is tensor<2x3xf32>", "'%arg0' is tensor<?x?xf16>"),
    (
        "import",
        "_to_copy_1 is torch.uint16, which has no form",
        "_to_copy is torch.uint16, which has no form",
    ),
    ("capture", "cannot guard on Eq(u0, 1)", "cannot guard on Eq(u12, 40)"),
    ("run", "cannot open /tmp/a/b.py:3", "cannot open /home/c.py:99"),
    ("compare", "result[0]: differs by 0.1", "result[1]: element [2] is 3, eager gives 4"),
    ("run", "timed out after 5 s in stage run", "timed out after 60 s in stage run"),
)
OTHER = (
    ("torch", "no lowering for aten.eig", "no lowering for aten.svd"),
    (
        "linalg",
        "failed to legalize operation 'torch.aten.a'",
        "failed to legalize operation 'torch.aten.b'",
    ),
    ("compare", "result[0]: shape (1,), eager gives (2,)", "result[0]: differs by 1"),
    ("compile", "crashed with SIGSEGV in stage compile", "crashed with SIGABRT in stage compile"),
)


@pytest.mark.parametrize(("stage", "one", "other"), SAME)
def test_names_numbers_and_places_do_not_matter(stage, one, other):
    assert failure(stage, one) == failure(stage, other)
    assert failure(stage, one) != failure("load", other)


@pytest.mark.parametrize(("stage", "one", "other"), OTHER)
def test_operations_and_kinds_matter(stage, one, other):
    assert failure(stage, one) != failure(stage, other)


@pytest.mark.parametrize(
    ("stage", "cause", "kind"),
    [
        ("run", "garbage output: result 0 has dtype torch.float64, expected", "wrong dtype"),
        ("run", "garbage output: result 0.shape[0] is 7, expected 3", "wrong shape"),
        ("run", "garbage output: result 0 has rank 3, expected 2", "wrong shape"),
        ("compare", "result[0]: NaN or infinity where eager gives another value", "wrong result"),
        ("compare", "the structure of the result differs from eager's", "wrong structure"),
        ("compile", "crashed with SIGKILL in stage compile", "out of memory"),
        (
            "run",
            "RuntimeError: DefaultCPUAllocator: can't allocate memory",
            "out of memory",
        ),
        ("run", "the process ended with status 3 in stage run", "crash"),
        ("linalg", "failed to legalize operation", "error"),
    ],
)
def test_kinds(stage, cause, kind):
    assert failure(stage, cause).kind == kind


def test_no_failure():
    assert Failure.of(Row("model", "reference", ok=True, stage="done")) is None


def test_the_operator_in_a_message():
    assert operator_in("no lowering for aten.linalg_eig (pass x)") == "aten.linalg_eig"
    assert operator_in("no kernel for torchvision::nms here") == "torchvision.nms"
    assert operator_in("failed to legalize operation 'torch.aten.histc' that") == "aten.histc"
    assert operator_in("out of luck") is None

"""Tests of custom operators, and of user decompositions for them and for aten operators."""

import textwrap

import pytest
import torch

import unmess
from importers.decompositions import user


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    monkeypatch.setattr(user, "_USERS", {})


@torch.library.custom_op("unmess_test::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


@scale.register_fake
def _(x, factor):
    return torch.empty_like(x)


def model(x):
    return scale(x.relu(), 2.0).sum(0)


X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
OPERATOR = torch.ops.unmess_test.scale.default


def test_an_operator_without_decomposition_does_not_lower():
    program = unmess.capture(model, (X,))
    for stage in ("raw", "torch"):
        assert 'torch.operator "torch.unmess_test.scale"' in unmess.lower(program, to=stage).text()
    for run in (
        *(
            lambda dialect=dialect: unmess.lower(program, to=dialect)
            for dialect in ("linalg", "tosa")
        ),
        lambda: unmess.load(program, on="iree-cpu"),
    ):
        with pytest.raises(unmess.Error, match=r"no lowering for unmess_test\.scale") as caught:
            run()
        assert caught.value.where == f"{__file__}:{model.__code__.co_firstlineno + 1}"
        assert "@unmess.decomposition(torch.ops.unmess_test.scale.default)" in caught.value.hint


def test_a_decomposition_runs_and_a_note_names_its_source():
    @unmess.decomposition(OPERATOR)
    def scaled(x, factor):
        return torch.nn.functional.hardtanh(x, -10, 10) * factor

    program = unmess.capture(model, (X,))
    line = scaled.__code__.co_firstlineno
    # Hardtanh has decompositions of its own, which add notes.
    notes = [note.text for note in program.notes if note.kind == "decomposition"]
    assert f"unmess_test::scale, by {__file__}:{line}" in notes
    assert sum("unmess_test" in note for note in notes) == 1
    assert unmess.check(program, on="reference", calls=1).ok


def test_a_decomposition_creates_constants():
    @unmess.decomposition(OPERATOR)
    def scaled(x, factor):
        rows = torch.tensor([[1.0], [-2.0], [0.5]], dtype=x.dtype)
        return x * torch.tensor(factor) + rows[: x.shape[0]]

    run = unmess.load(unmess.capture(model, (X,)), on="reference")
    torch.testing.assert_close(run(X), scaled(X.relu(), 2.0).sum(0))


@pytest.mark.parametrize("operator", [torch.ops.aten.silu, torch.ops.aten.silu.default])
def test_a_decomposition_of_some_calls_of_an_aten_operator(operator):
    """A call for which the decomposition returns NotImplemented is handled as without it."""

    @unmess.decomposition(operator)
    def doubled_halves(x):
        return x * torch.sigmoid(x) * 2 / 2 if x.dim() == 2 else NotImplemented

    def both(x):
        return torch.nn.functional.silu(x), torch.nn.functional.silu(x[0])

    program = unmess.capture(both, (X,))
    targets = [str(node.target) for node in program.exported.graph.nodes]
    assert targets.count("aten.sigmoid.default") == 2
    assert targets.count("aten.div.Tensor") == 1
    assert unmess.check(program, on="reference", calls=1).ok


def test_a_decomposition_in_the_file_of_the_model(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        textwrap.dedent(
            """
            import torch
            import unmess

            library = torch.library.Library("unmess_test_file", "DEF")
            library.define("twice(Tensor x) -> Tensor")
            library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")

            @unmess.decomposition(torch.ops.unmess_test_file.twice)
            def twice(x):
                return x * 2

            def model():
                class Model(torch.nn.Module):
                    def forward(self, x):
                        return torch.ops.unmess_test_file.twice(x)

                return Model(), (torch.ones(2),)
            """
        )
    )
    program = unmess.capture(str(file))
    assert any(f"by {file}:9" in note.text for note in program.notes)
    assert unmess.check(program, on="reference", calls=1).ok


def test_a_decomposition_of_a_non_operator_is_an_error():
    with pytest.raises(unmess.Error, match="is not an operator"):
        unmess.decomposition("aten::relu")

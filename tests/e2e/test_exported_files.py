"""IR files are saved with weights and a table, read again, run, and compared with eager."""

import json
import os
import re

import pytest
import torch
from safetensors.torch import load_file, save_file

import unmess
from unmess.__main__ import main
from unmess.core.errors.stages import IR_STAGES
from unmess.core.files.reading import described, sealed, unsealed
from unmess.core.module import table as tables


class Counting(torch.nn.Module):
    """A model with tied weights, state, a number among the inputs, and results in a dict."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(10, 4)
        self.head = torch.nn.Linear(4, 10, bias=False)
        self.head.weight = self.words.weight
        self.scale = torch.nn.Parameter(torch.tensor([0.5, 2.0, -1.0, 3.0]))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, tokens, *, factor=2.0):
        self.calls.add_(1)
        hidden = self.words(tokens) * self.scale
        return {"logits": self.head(hidden) * factor, "hidden": (hidden, None)}


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Counting().eval()


@pytest.fixture(scope="module")
def program(model):
    return unmess.capture(
        model, (torch.tensor([1, 2, 3]),), {"factor": 2.0}, dynamic_shapes=["tokens.0=n:2..8"]
    )


@pytest.mark.parametrize("stage", IR_STAGES)
def test_file_of_each_stage_runs_again_and_matches_eager(program, stage, tmp_path):
    file = tmp_path / "model.mlir"
    unmess.lower(program, to=stage).save(file)
    again = unmess.capture(str(file))
    assert again.weights.keys() == program.weights.keys() and again.tied == program.tied
    assert unmess.lower(again, to=stage).stage == stage
    report = unmess.check(again, on="reference", calls=1)
    assert report.ok, report.error
    assert {d.name for d in report.differences} >= {"result['logits']", "state['calls']"}
    # Run at another size than the example's, with separate state.
    run = unmess.load(str(file))
    tokens = torch.tensor([5, 4, 3, 2, 1])
    with torch.no_grad():
        hidden = model_hidden(program, tokens)
    result = run(tokens, factor=2.0)
    assert result["hidden"][1] is None
    torch.testing.assert_close(result["hidden"][0], hidden)
    assert run.state["calls"] == program.weights["calls"] + 1


def model_hidden(program, tokens):
    return program.weights["head.weight"][tokens] * program.weights["scale"]


@pytest.mark.parametrize(
    "options", [{"generic": True}, {"locations": False}, {"bytecode": True}], ids=str
)
def test_every_form_is_read_again(program, options, tmp_path):
    file = tmp_path / "model.mlir"
    unmess.lower(program).save(file, **options)
    assert unmess.check(str(file), on="reference", calls=1).ok


def test_source_locations_are_kept_unless_stripped(program, tmp_path):
    module = unmess.lower(program)
    module.save(tmp_path / "whole.mlir")
    module.save(tmp_path / "stripped.mlir", locations=False)
    whole, stripped = ((tmp_path / f"{n}.mlir").read_text() for n in ("whole", "stripped"))
    assert f'"{__file__}":' in whole and 'layer = "head"' in whole
    assert "loc(" not in stripped
    read = unmess.lower(unmess.capture(str(tmp_path / "whole.mlir")))
    assert f'"{__file__}":' in read.text(locations=True)


def test_weights_file_and_table_have_names_and_metadata(program, tmp_path):
    file = tmp_path / "model.mlir"
    written = unmess.lower(program).save(file)
    assert sorted(path.name for path in written) == sorted(p.name for p in tmp_path.iterdir())
    tensors = load_file(tmp_path / "model.mlir.safetensors")
    assert sorted(tensors) == ["calls", "head.weight", "scale"]
    assert torch.equal(tensors["head.weight"], program.weights["head.weight"])
    table = json.loads((tmp_path / "model.mlir.json").read_text())
    assert table["tied"] == {"words.weight": "head.weight"}
    assert table["made_by"]["torch"] == torch.__version__
    entry = table["entries"]["main"]
    names = re.findall(r"unmess\.\w+ = \"([\w.]+)\"", file.read_text())
    assert [argument["name"] for argument in entry["arguments"]] == names
    assert entry["result"] == {"dict": [["logits", None], ["hidden", {"tuple": [None, None]}]]}
    size = entry["inputs"][0]["shape"][0]
    assert (size["min"], size["max"]) == (2, 8)


def test_weights_are_mapped_and_not_written_over(program, tmp_path):
    file = tmp_path / "model.mlir"
    unmess.lower(program).save(file)
    again = unmess.capture(str(file))
    weight = again.weights["head.weight"]
    before = weight.clone()
    # Save over the file that the weights are mapped from.
    unmess.lower(again).save(file)
    assert torch.equal(weight, before)
    assert unmess.check(str(file), on="reference", calls=1).ok


@pytest.mark.parametrize("dtype", ["bfloat16", "int64", "bool", "complex64", "float64"])
def test_weights_of_any_dtype(dtype, tmp_path):
    table = torch.arange(70).reshape(7, 10).to(getattr(torch, dtype))

    class Rows(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", table)

        def forward(self, at):
            return self.table[at]

    program = unmess.capture(Rows(), (torch.tensor([1, 5]),))
    for mode in ("external", "splat"):
        unmess.lower(program, weights=mode).save(tmp_path / f"{mode}.mlir")
    assert unmess.check(str(tmp_path / "external.mlir"), on="reference", calls=1).ok
    rows = unmess.load(str(tmp_path / "splat.mlir"))(torch.tensor([0, 6]))
    assert torch.equal(rows, table.reshape(-1)[:1].expand(2, 10))


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_splat_runs_without_the_data(program, runner, tmp_path):
    module = unmess.lower(program, weights="splat")
    assert "dense_resource" not in str(module)
    first = float(program.weights["head.weight"][0, 0])
    result = unmess.load(module, on=runner)(torch.tensor([1, 2]), factor=2.0)
    expected = torch.full((2, 4), first) * float(program.weights["scale"][0])
    torch.testing.assert_close(result["hidden"][0], expected)
    module.save(tmp_path / "splat.mlir")
    # Only the state is saved as tensors.
    assert list(load_file(tmp_path / "splat.mlir.safetensors")) == ["calls"]
    with pytest.raises(unmess.Error, match="there is nothing to compare with"):
        unmess.check(str(tmp_path / "splat.mlir"), on="reference")


def test_entry_points_and_what_they_share(tmp_path):
    class Register(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("value", torch.zeros(2))

        def put(self, x):
            self.value.copy_(x)
            return self.value + 0

        def get(self):
            return self.value * 2

    model = Register()
    programs = unmess.combine(
        {
            "put": unmess.capture(model.put, (torch.tensor([1.0, 2.0]),)),
            "get": unmess.capture(model.get),
        },
        "register",
    )
    file = tmp_path / "register.mlir"
    unmess.lower(programs).save(file)
    report = unmess.check(str(file), on="reference", calls=1)
    assert report.ok and list(report.entries) == ["put", "get"]
    run = unmess.load(str(file))
    run.put(torch.tensor([3.0, 4.0]))
    assert torch.equal(run.get(), torch.tensor([6.0, 8.0]))


def test_foreign_ir_is_called_by_its_types(tmp_path):
    file = tmp_path / "other.mlir"
    file.write_text(
        "func.func @f(%a: tensor<?xf32>, %b: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {\n"
        "  %0 = tosa.sub %a, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
        "  return %0, %a : tensor<?xf32>, tensor<?xf32>\n}\n"
    )
    a, b = torch.randn(5), torch.randn(5)
    difference, same = unmess.load(str(file))(a, b)
    assert torch.equal(difference, a - b) and torch.equal(same, a)
    with pytest.raises(unmess.Error, match="no example inputs for f"):
        unmess.capture(str(file))
    with pytest.raises(unmess.Error, match="there is nothing to compare with"):
        unmess.check(unmess.capture(str(file), (a, b)), on="reference")


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 255
    path.write_bytes(content)


def edit(file, **changes):
    """Changes fields of the table and updates its checksum."""
    path = tables.table_file(file)
    path.write_text(json.dumps(sealed(unsealed(json.loads(path.read_text())) | changes)))


def replace_by_pipe(path):
    path.unlink()
    os.mkfifo(path)


def replace_by_device(path):
    path.unlink()
    path.symlink_to("/dev/zero")


def flip_text(path):
    """Changes text of the table without updating its checksum."""
    path.write_text(path.read_text().replace('"made_by"', '"made_by" ', 1).replace("head", "heap"))


FOREIGN = {"../../../../dev/zero": {"bytes": 0, "sha256": ""}}
DEEP = "[" * 100_000


def describe_again(file):
    names = json.loads(tables.table_file(file).read_text())["files"]
    edit(file, files=described(file.parent, names))


def nest_metadata(file):
    """Replaces the list of complex tensors in the safetensors metadata by deeply nested JSON."""
    path = tables.weights_file(file)
    save_file(load_file(path), path, metadata={"unmess.complex": DEEP})
    describe_again(file)


def nest_header(file):
    path = tables.weights_file(file)
    path.write_bytes(len(DEEP).to_bytes(8, "little") + DEEP.encode())
    describe_again(file)


@pytest.mark.parametrize(
    "damage, cause",
    [
        (lambda f: tables.weights_file(f).unlink(), "model.mlir.safetensors is missing"),
        (lambda f: flip(tables.weights_file(f)), "model.mlir.safetensors was altered since"),
        (lambda f: tables.table_file(f).unlink(), "needs weights, but model.mlir.json, which"),
        (lambda f: tables.table_file(f).write_text("{"), "model.mlir.json is damaged"),
        (lambda f: tables.table_file(f).write_text('{"format": 2}'), "was altered since"),
        (lambda f: tables.table_file(f).write_text(DEEP), "is damaged"),
        (lambda f: flip_text(tables.table_file(f)), "model.mlir.json was altered since"),
        (lambda f: edit(f, format=3), "format 3, but this version of unmess reads format 2"),
        (lambda f: replace_by_pipe(tables.table_file(f)), "is not a regular file"),
        (lambda f: replace_by_device(tables.table_file(f)), "is not a regular file"),
        (lambda f: replace_by_pipe(tables.weights_file(f)), "is not a regular file"),
        (lambda f: replace_by_device(tables.weights_file(f)), "is not a regular file"),
        (lambda f: edit(f, files=FOREIGN), "the list of files is damaged"),
        (lambda f: edit(f, files={}), "does not list model.mlir.safetensors"),
        (nest_metadata, "nested too deep"),
        (nest_header, "cannot read"),
        (
            lambda f: edit(f, made_by={"torch-mlir": "1"}),
            "written by torch-mlir 1, but this environment has",
        ),
        (lambda f: edit(f, entries={"main": {}}), "is damaged"),
        (lambda f: f.write_text(f.read_text().replace("@main", "@other")), "no function main"),
        (
            lambda f: f.write_text("func.func @main() { return }"),
            "main has 0 arguments instead of 4",
        ),
        (lambda f: f.write_text("func.func"), "does not parse"),
    ],
)
def test_what_cannot_be_right_is_refused_in_one_line(program, damage, cause, tmp_path):
    file = tmp_path / "model.mlir"
    unmess.lower(program).save(file)
    damage(file)
    with pytest.raises(unmess.Error, match=cause) as caught:
        unmess.load(str(file))
    assert caught.value.exit_status == 2
    assert "\n" not in caught.value.cause


def test_wrong_ir_differs_from_the_recorded_result(program, tmp_path):
    file = tmp_path / "model.mlir"
    unmess.lower(program).save(file)
    text = file.read_text()
    assert text.count("arith.mulf") > 1
    file.write_text(text.replace("arith.mulf", "arith.addf"))
    assert not unmess.check(str(file), on="reference", calls=1).ok


def test_commands(program, tmp_path, capfd):
    file = str(tmp_path / "model.mlir")
    unmess.lower(program, to="tosa").save(file)

    def run(*arguments):
        return main([*arguments, "-q"]), capfd.readouterr()

    status, printed = run("check", file, "--on", "reference", "--json")
    (row,) = json.loads(printed.out)
    assert (status, row["ok"], row["seconds"]["eager"]) == (0, True, None)
    status, printed = run("run", file, "--json")
    assert status == 0 and json.loads(printed.out)["results"][0]["shape"] == [3, 10]
    lowered = str(tmp_path / "lowered.mlir")
    status, printed = run("import", file, "--to", "linalg", "-o", lowered, "--json")
    assert status == 0 and json.loads(printed.out)["files"][0] == lowered
    assert unmess.check(lowered, on="reference", calls=1).ok
    status, printed = run("import", file, "--weights", "inline")
    assert status == 2 and "the weights of" in printed.err


def test_the_table_says_why_there_are_no_results(tmp_path):
    class Refused(torch.nn.Module):
        def forward(self, x):
            if not torch.compiler.is_compiling():
                raise ValueError("not in eager")
            return x + 1

    module = unmess.lower(unmess.capture(Refused(), (torch.ones(3),)))
    module.save(tmp_path / "refused.mlir")
    table = json.loads((tmp_path / "refused.mlir.json").read_text())
    assert any("not in eager" in text for kind, text in table["notes"] if kind == "example")

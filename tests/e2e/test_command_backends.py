"""Tests backends that are described as commands in a TOML file."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import unmess
from pipelines.backends.commands.backend import CommandBackend
from pipelines.backends.commands.description import read_description, schema
from tests.shared.processes import is_gone, wait_until
from unmess.cli import cli
from unmess.core.cache import artifacts

UPSTREAM = Path(__file__).parents[2] / "examples/backends/upstream_mlir.toml"

# A compiler for `x * 2 + weight` only. It reads the IR, and computes that expression with NumPy.
TOOL = """
import json, pathlib, sys
import numpy as np

mode = sys.argv[1]
if mode == "--version":
    print("tool 1")
elif mode == "compile":
    text = pathlib.Path(sys.argv[2]).read_text()
    assert "func.func @main" in text and "linalg.generic" in text
    with open("COUNT", "a") as count:
        count.write("x")
    pathlib.Path(sys.argv[3]).write_text(str(text.count("arith.addf")))
elif mode == "npy":
    _, _, inputs, outputs = sys.argv[1:]
    x, weight = (np.load(f"{inputs}/{number}.npy") for number in (0, 1))
    np.save(f"{outputs}/0.npy", x * np.float32(2) + weight)
elif mode == "safetensors":
    import safetensors.numpy
    _, _, inputs, outputs, weights = sys.argv[1:]
    x = safetensors.numpy.load_file(inputs)["0"]
    weight = safetensors.numpy.load_file(weights)["weight"]
    safetensors.numpy.save_file({"0": x * np.float32(2) + weight}, outputs)
elif mode == "bin":
    _, _, inputs, outputs = sys.argv[1:]
    table = json.load(open(inputs))
    content = open(inputs.replace(".json", ".bin"), "rb").read()
    x, weight = (
        np.frombuffer(content, row["dtype"], offset=row["offset"], count=row["bytes"] // 4)
        .reshape(row["shape"]) for row in table
    )
    result = x * np.float32(2) + weight
    json.dump([table[0]], open(outputs, "w"))
    open(outputs.replace(".json", ".bin"), "wb").write(result.tobytes())
elif mode == "crash":
    import os
    print("the reason", file=sys.stderr, flush=True)
    os.kill(os.getpid(), 11)
elif mode == "hang":
    import time
    time.sleep(60)
elif mode == "refuse":
    print("tool: error: no such operation", file=sys.stderr)
    sys.exit(3)
elif mode == "wrong-shape":
    np.save(f"{sys.argv[4]}/0.npy", np.zeros((7, 7), "f4"))
elif mode == "extra":
    np.save(f"{sys.argv[4]}/0.npy", np.zeros((3, 4), "f4"))
    np.save(f"{sys.argv[4]}/1.npy", np.zeros((3, 4), "f4"))
elif mode == "name":
    np.save(f"{sys.argv[4]}/out.npy", np.zeros((3, 4), "f4"))
elif mode == "empty":
    open(f"{sys.argv[4]}/0.npy", "w").close()
elif mode == "bytes":
    sys.stderr.buffer.write(b"\\xff" * 3_000_000 + b"\\nerror: late\\n")
    sys.exit(1)
elif mode == "real-time":
    import os
    os.kill(os.getpid(), 40)
elif mode == "shell":
    sys.exit(139)
elif mode == "outside":
    json.dump([{"dtype": "float32", "shape": [3, 4], "offset": -48, "bytes": 48}],
              open(sys.argv[4], "w"))
    open(sys.argv[4].replace(".json", ".bin"), "wb").write(bytes(48))
elif mode == "text":
    open(f"{sys.argv[4]}/0.npy", "w").write("no array")
elif mode == "output":
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    while True:
        print("x" * 10_000)
elif mode == "memory":
    np.ones(1 << 31, "u1")
"""


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(12.0).reshape(3, 4))

    def forward(self, x):
        return x * 2 + self.weight


@pytest.fixture(scope="module")
def program():
    return unmess.capture(Layer().eval(), (torch.ones(3, 4),))


@pytest.fixture
def describe(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    tool = tmp_path / "tool.py"
    tool.write_text(TOOL.replace("COUNT", str(tmp_path / "count")))

    def make(mode="npy", more="", weights="arguments", run=("{inputs}", "{outputs}")):
        file = tmp_path / f"{mode}.toml"
        words = json.dumps(["{python}", "./tool.py", mode, "{output}", *run])
        file.write_text(
            'compile = ["{python}", "./tool.py", "compile", "{input}", "{output}"]\n'
            'version = ["{python}", "./tool.py", "--version"]\n'
            f'run = {words}\n{more}\n[input]\nweights = "{weights}"\n'
        )
        return str(file)

    return make


def compilations(tmp_path):
    return len((tmp_path / "count").read_text())


@pytest.mark.parametrize(
    ("form", "weights", "run"),
    [
        ("npy", "arguments", ("{inputs}", "{outputs}")),
        ("bin", "arguments", ("{inputs}", "{outputs}")),
        ("safetensors", "external", ("{inputs}", "{outputs}", "{weights}")),
    ],
)
def test_tensors_in_files(program, describe, form, weights, run):
    file = describe(form, f'tensors = "{form}"', weights, run)
    report = unmess.check(program, on=file, calls=1)
    assert report.ok, report.error
    assert (report.runner, report.max_abs_error) == (form, 0)


def test_compiled_files_are_cached_by_the_tool_and_the_ir(program, describe, tmp_path):
    file = describe()
    for _ in range(2):
        unmess.load(program, on=file)
    assert compilations(tmp_path) == 1
    assert [each.runner for each in artifacts.list_artifacts()] == ["npy"]
    other = unmess.capture(lambda x: x * 2 + x, (torch.ones(3, 4),))
    unmess.load(other, on=file)
    assert compilations(tmp_path) == 2
    tool = tmp_path / "tool.py"
    tool.write_text(tool.read_text() + "\n# Changed.\n")
    unmess.load(program, on=file)
    assert compilations(tmp_path) == 3
    unmess.load(program, on=describe("npy", "timeout = 7"))
    assert compilations(tmp_path) == 4


@pytest.mark.parametrize(
    ("mode", "more", "cause"),
    [
        ("crash", "", "crashed with SIGSEGV: the reason"),
        ("hang", "timeout = 3", "timed out after 3 s"),
        ("refuse", "", "failed: exit code 3: no such operation"),
        ("refuse", 'exit_codes = {3 = "unsupported"}', "failed: unsupported: no such operation"),
        ("wrong-shape", "", r"garbage output: result 0.shape\[0\] is 7, expected 3"),
        ("text", "", "garbage output: outputs cannot be read"),
        ("extra", "", "garbage output: the file outputs/1.npy is for no result"),
        ("empty", "", "garbage output: outputs cannot be read: .* 0.npy is not a .npy file"),
        ("outside", 'tensors = "bin"', "garbage output: .* bytes -48 to 0 of 48"),
        ("bytes", "", "failed: exit code 1: late"),
        ("real-time", "", "crashed with signal 40"),
        ("shell", "", "crashed with SIGSEGV"),
        ("shell", 'exit_codes = {139 = "no license"}', "failed: no license"),
        ("nothing", "", r"garbage output: the file outputs/0.npy is missing in \{outputs\}\s"),
        ("name", "", "garbage output: the file outputs/0.npy is missing in .*, which has out.npy"),
        ("memory", "memory_mb = 1500", "MemoryError"),
        ("output", "file_mb = 1", "crashed with SIGXFSZ"),
    ],
)
def test_failed_runs_are_errors_with_their_cause(program, describe, mode, more, cause):
    run = unmess.load(program, on=describe(mode, more))
    with pytest.raises(unmess.Error, match=cause) as caught:
        run(torch.ones(3, 4))
    assert caught.value.stage == "run"
    if "garbage" not in cause:
        assert caught.value.where.endswith(f"{mode}.toml:3"), caught.value.where
        assert ("raise timeout in hang.toml" in caught.value.hint) == (mode == "hang")
    if mode == "crash":
        text = Path(caught.value.repro).read_text()
        assert "// the reason" in text and "// command: " in text and "func.func @main" in text


def test_compiled_files_are_cached_by_weights_that_the_compiler_reads(describe, tmp_path):
    file = Path(describe(weights="external"))
    text = file.read_text()
    programs = [unmess.capture(Layer().eval(), (torch.ones(3, 4),)) for _ in range(2)]
    # The weights are outside of the IR. A command that gets only the IR has the same key for both.
    with torch.no_grad():
        programs[1].eager.weight += 1
    for program in programs:
        unmess.load(program, on=str(file))
    assert compilations(tmp_path) == 1
    file.write_text(text.replace('"{output}"]', '"{output}", "{weights}"]', 1))
    for program in (*programs, programs[0]):
        unmess.load(program, on=str(file))
    assert compilations(tmp_path) == 3


def test_a_command_ends_with_its_process(tmp_path):
    pid = tmp_path / "pid"
    script = (
        "from pathlib import Path\n"
        "from pipelines.backends.commands.process import run_command\n"
        f"run_command(['sh', '-c', 'echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 60'],"
        f" Path({str(tmp_path)!r}), timeout=60, environment={{'PATH': '/usr/bin:/bin'}})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script])
    wait_until(pid.exists)
    process.kill()
    process.wait()
    wait_until(lambda: is_gone(int(pid.read_text())))


def test_a_failed_compilation_is_an_error(program, describe, tmp_path):
    file = Path(describe())
    file.write_text(file.read_text().replace('"compile",', '"refuse",'))
    with pytest.raises(unmess.Error, match="no such operation") as caught:
        unmess.load(program, on=str(file))
    assert caught.value.stage == "compile"
    file.write_text(file.read_text().replace('"refuse",', '"--version",'))
    with pytest.raises(unmess.Error, match=r"has not written \{output\}") as caught:
        unmess.load(program, on=str(file))
    assert caught.value.where == f"{file}:1"
    assert "func.func @main" in Path(caught.value.repro).read_text()


@pytest.mark.parametrize(
    ("text", "line", "cause"),
    [
        ('run = ["a"]\ntensors = "npz"', 2, "tensors is 'npz'"),
        ('run = ["a"]\n\n[input]\nstage = "llvm"', 4, "input.stage is 'llvm'"),
        ('run = ["a"]\ntimeout = "long"', 2, "timeout is 'long', expected a number"),
        ('run = ["a"]\ntimeout = 0', 2, "timeout is 0, expected more than 0"),
        ('run = ["a"]\nrunn = ["b"]', 2, "runn is unknown"),
        ('compile = ["a", "{inptu}"]\nrun = ["a"]', 1, "compile has the unknown place {inptu}"),
        ('run = "a"', 1, "run is 'a', expected a list"),
        ('run = ["a", "{weights}"]', 1, "run has {weights}, but weights are not external"),
        ('run = ["a"]\ncompile = ["a", ["b"]]', 2, "compile mixes words and commands"),
        ('run = ["a"\ntimeout = 1', 2, "is not TOML"),
        ('run = ["a"]\n[input]\nstage = "tosa"\nupstream_only = true', 4, "is for stage linalg"),
        ('run = ["a"]\n[tolerances]\nfloat16 = true', 3, "tolerances.float16 is True"),
        ('run = ["a"]\n[tolerances]\nf16 = 0.1', 3, "tolerances.f16 is 0.1"),
        ('run = ["a"]\n[tolerances]\nfloat16 = inf', 3, "expected a finite number"),
        ('run = ["a", "{}"]', 1, "run has the unknown place {} in '{}'"),
        ('run = ["a", "{output!r}"]', 1, "{output} takes no format"),
        ('run = ["a"]\nversion = ["{input}"]', 2, "version has the unknown place {input}"),
        ('run = ["a"]\n[environment]\nA = "{b}"', 3, "environment.A has the unknown place {b}"),
    ],
)
def test_mistakes_name_the_line(tmp_path, text, line, cause):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(unmess.Error) as caught:
        read_description(file)
    assert cause in caught.value.cause
    assert (caught.value.stage, caught.value.where) == ("usage", f"{file}:{line}")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('run = ["a"]\nstage = "tosa"', "stage belongs to the table [input]"),
        ('[input]\nrun = ["a"]', "run belongs above the first table, such as [input]"),
        ('run = "a {output}"', 'run = ["a", "{output}"]'),
        ('compile = ["a"]', 'run = ["my-run", "{output}", "{inputs}", "{outputs}"]'),
    ],
)
def test_mistakes_have_a_hint(tmp_path, text, hint):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    words = ["check", "torchvision:resnet18", "--on", str(file)]
    done = CliRunner().invoke(cli, words, standalone_mode=False)
    assert done.return_value == 2
    assert f"  hint: {hint}\n" in done.stderr
    assert f"  at: {file}" in done.stderr


def test_each_backend_has_its_own_identity(tmp_path):
    def identity(text, folder=tmp_path):
        folder.mkdir(exist_ok=True)
        file = folder / "same.toml"
        file.write_text(f"{text}\n[input]\nstage = 'tosa'\n")
        return CommandBackend(read_description(file)).identity()

    (tmp_path / "tool.sh").write_text("#!/bin/sh\necho version 1")
    (tmp_path / "tool.sh").chmod(0o700)
    run = 'run = ["./tool.sh", "{output}"]'
    own = "run = ['sh', '-c', '{folder}/tool.sh {output} 2>&1']"
    texts = [
        *(run, f"{run}\ntimeout = 7", f"{run}\ntensors = 'bin'", run.replace("]", ", '-O2']"), own),
        "run = ['true', '--passes=a,b{{file={folder}/tool.sh}}']",
        "run = ['true']\nenvironment = {LD_PRELOAD = '{folder}/tool.sh'}",
    ]
    found = [*map(identity, texts), identity(run, tmp_path / "other")]
    assert found[: len(texts)] == list(map(identity, texts))
    # The tool's file changes, its version does not.
    (tmp_path / "tool.sh").write_text("#!/bin/sh\necho version 1 # Changed.")
    found += map(identity, texts)
    assert len(set(found)) == len(found)


def test_a_description_cannot_take_a_built_in_name(program, tmp_path):
    file = tmp_path / "reference.toml"
    file.write_text('run = ["true"]')
    with pytest.raises(unmess.Error, match="the name reference belongs to a built-in backend"):
        unmess.load(program, on=str(file))


def test_every_value_is_described():
    def visit(table):
        for name, value in table["properties"].items():
            assert value["description"].endswith("."), name
            if "properties" in value:
                visit(value)

    visit(schema())


def test_the_page_has_every_key_and_the_defaults(tmp_path):
    page_files(tmp_path)
    file = tmp_path / "every_key.toml"
    content = tomllib.loads(file.read_text())
    keys = schema()["properties"]
    assert content.keys() == keys.keys()
    assert content["input"].keys() == keys["input"]["properties"].keys()
    (tmp_path / "least").mkdir()
    least = tmp_path / "least/every_key.toml"
    least.write_text('run = ["my-run", "{output}", "{inputs}", "{outputs}"]')
    examples = {"version", "memory_mb", "exit_codes", "environment", "tolerances"}
    found, default = read_description(file), read_description(least)
    for name in vars(found).keys() - examples - {"file", "digest", "where"}:
        assert getattr(found, name) == getattr(default, name), name


def test_a_missing_program_is_reported(program, tmp_path):
    file = tmp_path / "missing.toml"
    file.write_text('run = ["no-such-program", "{output}"]')
    with pytest.raises(unmess.Error, match="no-such-program not found"):
        unmess.load(program, on=str(file))
    (tmp_path / "tool").write_text("")
    file.write_text('\nrun = ["./tool", "{output}"]')
    with pytest.raises(unmess.Error, match=r"\./tool is not executable") as caught:
        unmess.load(program, on=str(file))
    assert caught.value.where == f"{file}:2"


class Results(torch.nn.Module):
    """Results of many kinds, static and dynamic."""

    def forward(self, a, b, c, n, z):
        return (
            (z * 2, c.abs(), torch.rsqrt(b.abs()), torch.expm1(b)),
            (a + 1, b.bfloat16() * 2, c > 0, c * n, torch.complex(a, -a), a.double().exp()),
            (torch.equal(a, a), c.to(torch.uint8), torch.zeros(0, 3), a.half() / 3, a.sum(), n * 2),
        )


def test_upstream_mlir_prints_results_of_every_kind():
    z = torch.randn(2, 3, dtype=torch.complex64)
    inputs = (torch.randn(2, 3), torch.randn(4), torch.arange(-2, 3), 3, z)
    report = unmess.check(unmess.capture(Results(), inputs), on=str(UPSTREAM), calls=1)
    assert report.ok, report.error
    size = torch.export.Dim("size", min=1, max=9)
    dynamic = unmess.capture(
        lambda x: (torch.softmax(x, -1).sort(), x**-2),
        (torch.randn(3, 4),),
        dynamic_shapes=({0: size},),
    )
    report = unmess.check(dynamic, on=str(UPSTREAM), calls=1)
    assert report.ok and report.sizes, report.error


def test_upstream_mlir_lowers_integer_operations_of_math_first(tmp_path):
    names = ["absi", "ctlz", "ctpop", "cttz"]
    body = "\n".join(f"%{name} = math.{name} %x : i32" for name in names)
    (tmp_path / "in.mlir").write_text(
        f"func.func @f(%x: i32, %y: f32) -> (i32, f32) {{ {body}\n"
        "%0 = math.expm1 %y : f32\n return %cttz, %0 : i32, f32 }"
    )
    library = UPSTREAM.with_name("upstream_mlir_integers.mlir")
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("mlir-opt"), tmp_path / "in.mlir"),
            f"--transform-preload-library=transform-library-paths={library}",
            "--transform-interpreter",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.findall(r"math\.\w+", done.stdout) == ["math.expm1"]


def test_upstream_mlir_has_a_version():
    backend = CommandBackend(read_description(UPSTREAM))
    assert "LLVM version 22.1" in backend.describe()
    assert backend.devices() == ["this machine"]
    assert len(backend.identity()) == 64


def page_files(folder):
    """Writes the code blocks of docs/backends.md that begin with a file name in a comment."""
    text = (Path(__file__).parents[2] / "docs/backends.md").read_text()
    for block in re.findall(r"```(?:python|toml)\n(# (?:\S+)\n.*?)```", text, re.DOTALL):
        (folder / block.split("\n")[0].removeprefix("# ")).write_text(block)


def test_the_toy_compiler_of_the_docs(tmp_path, monkeypatch):
    page_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert unmess.check("model.py", on="toy.toml", calls=1).ok
    product = unmess.capture(lambda x, y: x @ y, (torch.ones(2, 3), torch.ones(3, 2)))
    with pytest.raises(unmess.Error, match="no lowering of tosa") as caught:
        unmess.load(product, on="toy.toml")
    assert caught.value.stage == "compile"


def test_the_printed_case_runs_by_its_commands(tmp_path, unmess_command):
    page_files(tmp_path)
    name = "torch.tanh(f32[n,3])"
    words = ["conformance", "--on", "toy.toml", "--print-case", name, "-o", "case"]
    assert unmess_command(*words, cwd=tmp_path).returncode == 0
    folder = tmp_path / "case"
    command = json.loads((folder / "case.json").read_text())["command"]
    subprocess.run(["sh", "-ec", command], cwd=folder, check=True)
    expected, found = (np.load(folder / each / "0.npy") for each in ("expected", "outputs"))
    assert np.allclose(expected, found, rtol=1e-6)


def test_a_command_gets_the_number_of_results(tmp_path):
    script = "import sys, numpy as np; " + (
        "[np.save(f'{{sys.argv[1]}}/{{i}}', np.ones(3, 'f4')) for i in range(int(sys.argv[2]))]"
    )
    file = tmp_path / "ones.toml"
    file.write_text(f"""run = ["{{python}}", "-c", "{script}", "{{outputs}}", "{{results}}"]""")
    program = unmess.capture(lambda x: (x, x.abs(), x * x), (torch.ones(3),))
    assert [each.tolist() for each in unmess.load(program, on=str(file))(torch.ones(3))] == [
        [1] * 3
    ] * 3


def test_conformance_reports_a_missing_program(tmp_path, unmess_command):
    file = tmp_path / "missing.toml"
    file.write_text('run = ["no-such-program", "{output}"]')
    words = ["conformance", "--on", str(file), "-k", "torch.tanh(", "-o", str(tmp_path / "report")]
    done = unmess_command(*words)
    assert (done.returncode, "no-such-program not found" in done.stderr) == (2, True)


def test_conformance_of_the_toy_compiler_of_the_docs(tmp_path, unmess_command):
    page_files(tmp_path)
    words = ["conformance", "--on", "toy.toml", "-k", "torch.tanh(", "-o", "report", "--json"]
    done = unmess_command(*words, cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["about"]["tolerances"] == {"float32": 1e-6}
    statuses = {each["name"]: each["status"] for each in document["results"]}
    assert statuses["torch.tanh(f32[n,3])"] == "pass", document["results"]
    assert "float32 1e-06" in (tmp_path / "report/report.html").read_text()

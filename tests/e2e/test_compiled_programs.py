"""The cache of compiled programs works across processes and never returns a wrong program."""

import json
import os
from dataclasses import replace

import pytest
import torch
from click.testing import CliRunner

import unmess
from pipelines import compiled
from pipelines.iree import compiler, compiler_cache, vm_module
from pipelines.reference.execution import compilation
from unmess.cli import cli
from unmess.core.cache import artifacts
from unmess.core.cache.artifacts import list_artifacts
from unmess.core.errors import portable_paths

RUNNERS = ("reference", "iree-cpu")
_MODEL = """
import torch

def looked_up(index, table):
    return torch.nn.functional.embedding(index, table) * {factor}

def model():
    return looked_up, (torch.tensor([1, 2]), torch.arange(12.0).reshape(3, 4))
"""
# Prints the number of lowerings, the results, and the error of a failing check.
_SCRIPT = """
import sys
import torch
import unmess
from pipelines import compiled

lowered = []
def lowering(*args, lower=compiled.lower):
    lowered.append(True)
    return lower(*args)
compiled.lower = lowering

table = torch.arange(12.0).reshape(3, 4)
run = unmess.load(unmess.capture(sys.argv[1]), on=sys.argv[2])
print(len(lowered), run(torch.tensor([2, 0]), table).tolist())
if sys.argv[2] == "reference":
    try:
        run(torch.tensor([3, 0]), table)
    except unmess.Error as error:
        print(error.where, error.cause)
print(run(torch.tensor([1, 1]), table).tolist())
"""
# Forks eight processes after the imports, and one more when they are done.
_EIGHT = """
import os
import torch
import unmess
from pipelines import compiled

torch.set_num_threads(1)
x = torch.arange(6.0)
program = unmess.capture(lambda x: x * 2, (x,))
def load():
    counts = []
    lower = compiled.lower
    compiled.lower = lambda *args: counts.append(args) or lower(*args)
    for _ in range(2):
        assert torch.equal(unmess.load(program)(x), x * 2)
    os.write(1, f"{len(counts)} ".encode())

def fork():
    child = os.fork()
    if not child:
        load()
        os._exit(0)
    return child

def wait(child):
    assert os.waitpid(child, 0)[1] == 0

for child in [fork() for _ in range(8)]:
    wait(child)
wait(fork())
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNMESS_CACHE_MB", raising=False)
    return tmp_path / "cache" / "compiled"


@pytest.fixture
def lowerings(monkeypatch):
    """Returns a list that collects the names of the programs lowered for compilation."""
    names = []
    lower = compiled.lower

    def lowering(module, to):
        names.append(module.name)
        return lower(module, to)

    monkeypatch.setattr(compiled, "lower", lowering)
    return names


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_second_process_neither_lowers_nor_compiles(tmp_path, runner, python_command):
    model, script = tmp_path / "model.py", tmp_path / "script.py"
    model.write_text(_MODEL.format(factor=2))
    script.write_text(_SCRIPT)
    processes = [python_command(script, model, runner) for _ in range(2)]
    assert [process.returncode for process in processes] == [0, 0], processes
    first, second = (process.stdout.splitlines() for process in processes)
    assert first[0] == "1 [[16.0, 18.0, 20.0, 22.0], [0.0, 2.0, 4.0, 6.0]]"
    assert second[0] == "0 [[16.0, 18.0, 20.0, 22.0], [0.0, 2.0, 4.0, 6.0]]"
    assert second[1:] == first[1:]
    if runner == "reference":
        line = _MODEL.splitlines().index("def looked_up(index, table):") + 2
        assert first[1].startswith(f"{model}:{line} a check in the program failed")


@pytest.mark.parametrize("runner", RUNNERS)
def test_checkouts_of_the_project_share_programs(tmp_path, lowerings, monkeypatch, runner):
    index, table = torch.tensor([3, 0]), torch.arange(12.0).reshape(3, 4)
    for name in ("first", "the second"):
        model = tmp_path / name / "examples" / "model.py"
        model.parent.mkdir(parents=True)
        model.write_text(_MODEL.format(factor=2))
        folders = portable_paths._FOLDERS | {"<project>": f"{tmp_path / name}/"}
        monkeypatch.setattr(portable_paths, "_FOLDERS", folders)
        run = unmess.load(unmess.capture(str(model)), on=runner)
        assert torch.equal(run(index - index, table), table[[0, 0]] * 2)
        assert len(lowerings) == 1
        with pytest.raises(unmess.Error) as raised:
            run(index, table)
        assert raised.value.where.startswith(f"{model}:")


def test_eight_concurrent_processes_share_one_file(tmp_path, folder, python_command):
    script = tmp_path / "eight.py"
    script.write_text(_EIGHT)
    done = python_command(script)
    assert (done.returncode, done.stderr) == (0, "")
    counts = done.stdout.split()
    # Processes that start before the first one is done compile as well.
    assert len(counts) == 9 and "1" in counts[:8] and counts[8] == "0"
    assert len(list(folder.iterdir())) == 1


def captured(factor):
    x = torch.arange(6.0)
    return unmess.capture(lambda x: x * factor, (x,)), x


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_changed_program_is_compiled(lowerings, runner):
    for factor, count in ((2, 1), (3, 2), (2, 2)):
        program, x = captured(factor)
        assert torch.equal(unmess.load(program, on=runner)(x), x * factor)
        assert len(lowerings) == count


@pytest.mark.parametrize("runner", RUNNERS)
def test_the_key_covers_literals_but_not_weights(lowerings, runner):
    x = torch.ones(200)
    for weights, counts in (("external", (1, 1)), ("inline", (2, 3))):
        for factor, count in zip((2.0, 3.0), counts, strict=True):
            model = torch.nn.Module()
            model.weight = torch.nn.Parameter(torch.full((200,), factor))
            model.forward = lambda x, model=model: x * model.weight
            module = unmess.lower(unmess.capture(model, (x,)), to="raw", weights=weights)
            assert torch.equal(unmess.load(module, on=runner)(x), x * factor)
            assert (len(lowerings), module.stage) == (count, "raw")


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("stage", ["raw", "torch", "linalg"])
def test_modules_of_all_stages_are_cached(lowerings, runner, stage):
    program, x = captured(2)
    for _ in range(2):
        module = unmess.lower(program, to=stage)
        text = str(module)
        assert torch.equal(unmess.load(module, on=runner)(x), x * 2)
        assert str(module) == text
    assert len(lowerings) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(compilation, "processor", lambda: "another"),
        lambda patch: patch.setattr(compiled, "_SOURCES", "others"),
        lambda patch: patch.setattr(compiled.importlib.metadata, "version", lambda name: "9"),
    ],
    ids=["processor", "sources", "version"],
)
def test_the_key_covers_processor_sources_and_versions(lowerings, monkeypatch, change):
    program, _ = captured(2)
    unmess.load(program)
    change(monkeypatch)
    unmess.load(program)
    unmess.load(program)
    assert len(lowerings) == 2


def test_the_key_covers_target_options(lowerings):
    program, x = captured(2)
    unmess.load(program, on="iree-cpu")
    generic = unmess.TargetOptions(cpu="generic")
    assert torch.equal(unmess.load(program, on="iree-cpu", target=generic)(x), x * 2)
    assert len(lowerings) == 2


@pytest.fixture
def compilations(monkeypatch):
    """Returns a list that collects the options of each run of IREE's compiler."""
    runs = []
    compile_text = compiler.compile_text

    def compiling(text, options, name):
        runs.append(options)
        return compile_text(text, options, name)

    monkeypatch.setattr(compiler, "compile_text", compiling)
    return runs


@pytest.mark.parametrize("packs", [False, True])
def test_other_sources_that_give_the_same_text(lowerings, compilations, monkeypatch, packs):
    monkeypatch.setattr(vm_module, "are_large", lambda weights: packs)
    model, x = torch.nn.Linear(256, 256), torch.randn(64, 256)
    program = unmess.capture(model, (x,))
    for sources in ("some", "others"):
        monkeypatch.setattr(compiled, "_SOURCES", sources)
        run = unmess.load(program, on="iree-cpu")
        torch.testing.assert_close(run(x), model(x))
    assert len(lowerings) == 2
    assert len(compilations) == (2 if packs else 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(compiler_cache, "processor", lambda: "another"),
        lambda patch: patch.setattr(compiler_cache, "_CALLER", "another"),
        lambda patch: patch.setattr(compiler_cache.importlib.metadata, "version", lambda name: "9"),
        lambda patch: patch.setattr(artifacts, "size_limit", lambda: 0),
        lambda patch: patch.setitem(vm_module.PRESETS, "plain", vm_module.PRESETS["data-tiling"]),
    ],
    ids=["processor", "caller", "version", "no cache", "options"],
)
def test_when_the_compiler_runs_again(compilations, monkeypatch, change):
    program, x = captured(2)
    unmess.load(program, on="iree-cpu")
    monkeypatch.setattr(compiled, "_SOURCES", "others")
    change(monkeypatch)
    assert torch.equal(unmess.load(program, on="iree-cpu")(x), x * 2)
    assert len(compilations) == 2


def test_a_failure_of_the_compiler_is_not_kept(folder, monkeypatch):
    program, x = captured(2)

    def failing(*args):
        raise unmess.Error("compile", "no")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "compile_text", failing)
        with pytest.raises(unmess.Error, match="no"):
            unmess.load(program, on="iree-cpu")
    assert not folder.exists()
    assert torch.equal(unmess.load(program, on="iree-cpu")(x), x * 2)


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_damaged_file_is_compiled_again(lowerings, folder, capfd, runner):
    program, x = captured(2)
    unmess.load(program, on=runner)
    (file,) = (folder / each.key for each in list_artifacts() if each.runner == runner)
    file.write_bytes(file.read_bytes()[:-100])
    assert torch.equal(unmess.load(program, on=runner)(x), x * 2)
    assert f"damaged and is compiled again: {file}" in capfd.readouterr().err
    assert torch.equal(unmess.load(program, on=runner)(x), x * 2)
    assert len(lowerings) == 2
    assert capfd.readouterr().err == ""


def test_a_size_of_zero_disables_the_cache(lowerings, folder, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE_MB", "0")
    program, x = captured(2)
    for _ in range(2):
        assert torch.equal(unmess.load(program)(x), x * 2)
    assert len(lowerings) == 2
    assert not folder.exists()


def test_an_unwritable_folder_is_reported(tmp_path, monkeypatch, capfd):
    (tmp_path / "file").touch()
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "file"))
    program, x = captured(2)
    assert torch.equal(unmess.load(program)(x), x * 2)
    assert capfd.readouterr().err.startswith("unmess: cannot store the compiled program in ")


def test_code_with_an_unknown_symbol_is_compiled_again(lowerings, monkeypatch):
    program, x = captured(2)
    monkeypatch.setattr(compilation, "find", lambda key: None)
    keys = []
    monkeypatch.setattr(compilation, "keep", lambda *kept: keys.append(kept))
    unmess.load(program)
    monkeypatch.undo()
    ((key, made, *about),) = keys
    renamed = made.code.replace(b"unmess_allocate", b"unmess_Allocate")
    assert renamed != made.code
    compiled.keep(key, replace(made, code=renamed), *about)
    with pytest.MonkeyPatch.context() as patch:
        again = []
        compile = compilation._compile
        patch.setattr(compilation, "_compile", lambda *args: again.append(args) or compile(*args))
        assert torch.equal(unmess.load(program)(x), x * 2)
    assert len(again) == 1


def test_unusable_object_files_fall_back_to_the_jit(lowerings, folder, monkeypatch):
    def foreign(_engine):
        return b"\x7fELF of another machine" + bytes(100)

    monkeypatch.setattr(compilation, "_object_file", foreign)
    program, x = captured(2)
    for _ in range(2):
        assert torch.equal(unmess.load(program)(x), x * 2)
    assert len(lowerings) == 2
    assert not folder.exists()


def test_executables_of_one_program_have_separate_generators(lowerings):
    program = unmess.capture(torch.rand_like, (torch.zeros(8),))
    x = torch.zeros(8)
    first, second = unmess.load(program), unmess.load(program)
    assert len(lowerings) == 1
    samples = [first(x), first(x)]
    assert not torch.equal(*samples)
    assert torch.equal(second(x), samples[0])
    # An executable from the cache also uses a lock, because its calls share one generator.
    assert type(first._one_by_one) is type(second._one_by_one)
    plain = unmess.load(captured(2)[0])
    assert type(plain._one_by_one) is not type(first._one_by_one)


def test_cache_commands_list_and_remove(folder):
    def invoke(*arguments):
        done = CliRunner().invoke(cli, ["cache", *arguments, "--json"], standalone_mode=False)
        return json.loads(done.stdout)

    for factor, runner in ((2, "reference"), (2, "iree-cpu"), (3, "reference")):
        unmess.load(captured(factor)[0], on=runner)
    shown = invoke("ls")
    programs = shown["programs"]
    runners = [one["runner"] for one in programs]
    assert runners == ["reference", "iree-cpu", "iree-compile", "reference"]
    assert {one["model"] for one in programs} == {"<lambda>"}
    held = shown["held"][0]
    assert (held["kind"], held["folder"], held["files"]) == ("compiled", str(folder), 4)
    assert held["bytes"] == sum(one["bytes"] for one in programs)
    size = str(programs[0]["bytes"])
    assert invoke("prune", "--max-size", size)["freed"] == held["bytes"] - int(size)
    assert [one["key"] for one in invoke("ls")["programs"]] == [programs[0]["key"]]
    weights = folder.parent / "weights"
    weights.mkdir()
    (weights / "packed.irpa").write_bytes(bytes(1000))
    os.utime(weights / "packed.irpa", (0, 0))
    shown = invoke("ls")["held"][1]
    assert (shown["kind"], shown["files"], shown["bytes"]) == ("weights", 1, 1000)
    # The limit covers both kinds. The file of weights is the least recently used one.
    assert invoke("prune", "--max-size", size)["freed"] == 1000
    assert invoke("prune", "--max-size", "5TB")["freed"] == 0
    assert "is not a size" in invoke("prune", "--max-size", "much")["error"]
    assert invoke("clear")["freed"] == int(size)
    assert not folder.exists()
    assert invoke("ls")["programs"] == []


def test_cache_ls_shows_the_programs_used_last(folder, monkeypatch):
    monkeypatch.setattr("unmess.cli.cache._SHOWN", 1)
    unmess.load(captured(2)[0])
    (first,) = folder.iterdir()
    os.utime(first, (0, 0))
    unmess.load(captured(3)[0])
    newest, oldest = (one.key[:12] for one in list_artifacts())

    def shown(*arguments):
        done = CliRunner().invoke(cli, ["cache", "ls", *arguments], standalone_mode=False)
        return [key for key in (newest, oldest) if key in done.stdout], "--all" in done.stdout

    assert shown() == ([newest], True)
    assert shown("--all") == ([newest, oldest], False)


def test_cache_ls_refuses_a_limit_that_is_not_a_number(folder, monkeypatch):
    unmess.load(captured(2)[0])
    monkeypatch.setenv("UNMESS_CACHE_MB", "abc")
    done = CliRunner().invoke(cli, ["cache", "ls"], standalone_mode=False)
    assert (done.return_value, done.stdout) == (2, "")
    assert "usage: UNMESS_CACHE_MB is 'abc'" in done.stderr

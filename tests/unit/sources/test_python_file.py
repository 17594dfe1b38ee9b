"""Tests `file.py:name`: every supported form, and every error with its line and hint."""

import os
import sys
import textwrap

import pytest
import torch

from importers.sources import find_source
from unmess.captured import captured
from unmess.core.errors.error import Error


@pytest.fixture
def write(tmp_path):
    def write(text, name="net.py"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
        return file

    return write


def fails(model) -> Error:
    with pytest.raises(Error) as caught:
        find_source(str(model))
    assert caught.value.stage == "source"
    assert caught.value.exit_status == 2
    assert "\n" not in caught.value.cause
    return caught.value


def lacks_example(model) -> Error:
    """Returns the error for a model without an example, if the user gives no arguments."""
    with pytest.raises(Error) as caught:
        captured(str(model))
    assert caught.value.stage == "source"
    return caught.value


FACTORY = """
    import torch
    def model():
        return torch.nn.Linear(3, 4), (torch.ones(2, 3),)
    def with_kwargs():
        return torch.nn.Linear(3, 4), (), {"input": torch.ones(2, 3)}
"""


def test_factory_by_default_name(write):
    source = find_source(str(write(FACTORY)))
    assert source.name == "net"
    assert isinstance(source.model, torch.nn.Linear)
    assert source.args[0].shape == (2, 3)
    assert source.kwargs == {}


def test_factory_with_keywords(write):
    source = find_source(f"{write(FACTORY)}:with_kwargs")
    assert source.name == "net.with_kwargs"
    assert source.args == ()
    assert source.kwargs["input"].shape == (2, 3)


def test_random_weights_repeat_and_leave_the_generator_alone(write):
    file = write(FACTORY)
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    first, second = find_source(str(file)), find_source(str(file))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(first.model.weight, second.model.weight)


CARRIERS = """
    import torch
    class Net(torch.nn.Module):
        example_args = torch.ones(2, 3)
        example_kwargs = {"scale": 2.0}
        def __init__(self, width=4):
            super().__init__()
            self.linear = torch.nn.Linear(3, width)
        def forward(self, x, scale):
            return self.linear(x) * scale
    net = Net(5).train()
    def double(x):
        return x * 2
    double.example_args = (torch.ones(2),)
"""


def test_class_is_instantiated_in_evaluation_mode(write):
    source = find_source(f"{write(CARRIERS)}:Net")
    assert not source.model.training
    assert source.model.linear.out_features == 4
    assert source.args[0].shape == (2, 3)
    assert source.kwargs == {"scale": 2.0}
    assert "seed 0" in source.notes[0]


def test_module_keeps_its_mode(write):
    source = find_source(f"{write(CARRIERS)}:net")
    assert source.model.training
    assert source.model.linear.out_features == 5


def test_function_with_example_args_is_the_model(write):
    source = find_source(f"{write(CARRIERS)}:double")
    assert source.model(*source.args).tolist() == [2, 2]


def test_main_block_does_not_run_and_prints_go_to_stderr(write, capfd):
    file = write(FACTORY + '    print("hello")\n    if __name__ == "__main__":\n        1 / 0\n')
    find_source(str(file))
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "hello" in captured.err


def test_settings_that_the_file_changes_are_reported(write, tmp_path):
    file = write(f"""
        import os
        import torch
        def model():
            torch.set_default_dtype(torch.float64)
            torch.set_grad_enabled(False)
            os.chdir({str(tmp_path)!r})
            return torch.nn.Linear(3, 4), (torch.ones(2, 3),)
    """)
    folder = os.getcwd()
    try:
        source = find_source(str(file))
        assert torch.get_default_dtype() == torch.float64, "the model may rely on it"
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.is_grad_enabled() and os.getcwd() == folder
    assert source.notes == (
        "the file sets the default dtype to torch.float64 for the whole process: kept",
        f"the file sets the current folder to {tmp_path}: restored to {folder}",
        "the file sets the gradient mode to False: restored to True",
    )
    assert find_source(str(write(FACTORY))).notes == ()


def test_each_file_imports_its_own_siblings(write):
    text = """
        import torch, layers
        def model():
            import late
            return torch.nn.Linear(3, layers.WIDTH + late.WIDTH), (torch.ones(2, 3),)
    """
    path = list(sys.path)
    files = []
    for folder, width in (("one", 1), ("two", 2)):
        write(f"WIDTH = {width}", f"{folder}/layers.py")
        write(f"WIDTH = {width * 10}", f"{folder}/late.py")
        files.append(write(text, f"{folder}/net.py"))
    widths = [find_source(str(file)).model.out_features for file in files]
    assert widths == [11, 22]
    assert sys.path == path


def test_relative_imports_in_a_package(write):
    write("", "pack/__init__.py")
    write("", "pack/sub/__init__.py")
    write("WIDTH = 6", "pack/sizes.py")
    file = write(
        """
        import torch
        from ..sizes import WIDTH
        def model():
            return torch.nn.Linear(3, WIDTH), (torch.ones(2, 3),)
        """,
        "pack/sub/net.py",
    )
    assert find_source(str(file)).model.out_features == 6


def test_missing_file_suggests_the_nearest(write, tmp_path):
    write("", "resnet.py")
    write("", "other.py")
    error = fails(tmp_path / "resnt.py")
    assert error.cause == f"no file {tmp_path}/resnt.py"
    assert error.hint == f"did you mean {tmp_path}/resnet.py?"


def test_missing_file_lists_the_folder(write, tmp_path):
    write("", "other.py")
    assert fails(tmp_path / "zzz.py").hint == "Python files in that folder: other.py"


def test_missing_folder(tmp_path):
    assert f"there is no folder {tmp_path}/nowhere" in fails(tmp_path / "nowhere" / "a.py").cause


def test_folder_called_like_a_file(tmp_path):
    (tmp_path / "net.py").mkdir()
    assert fails(tmp_path / "net.py").cause.endswith("is not a file")


def test_unreadable_text(tmp_path):
    (tmp_path / "net.py").write_bytes(b"\xff\xfe\x00")
    assert "net.py cannot be imported" in fails(tmp_path / "net.py").cause


def test_missing_name_suggests_the_nearest(write):
    error = fails(f"{write(CARRIERS)}:Nett")
    assert error.cause.endswith("net.py has no Nett")
    assert error.hint == "did you mean Net or net?"


def test_missing_name_lists_what_is_there(write):
    assert fails(f"{write(CARRIERS)}:zzz").hint == "it defines Net, net, double"


def test_missing_default_name(write):
    file = write(CARRIERS)
    error = fails(file)
    assert error.cause.endswith("net.py has no factory called model")
    assert f"{file}:Net" in error.hint


def test_syntax_error_in_the_file(write):
    file = write("x = 1\ndef model(:\n    pass\n")
    error = fails(file)
    assert error.where == f"{file}:2"
    assert "SyntaxError" in error.cause


def test_syntax_error_in_a_sibling(write):
    sibling = write("x = (\n", "broken.py")
    assert fails(write("import broken\n")).where == f"{sibling}:1"


def test_missing_package(write):
    file = write("import torch\nimport no_such_package\n")
    error = fails(file)
    assert error.where == f"{file}:2"
    assert error.hint.startswith("install no_such_package")


def test_file_that_raises(write):
    file = write("import torch\ntorch.ones(2) @ torch.ones(3)\n")
    error = fails(file)
    assert error.where == f"{file}:2"
    assert error.cause.startswith("net.py cannot be imported: RuntimeError: ")


def test_file_that_exits(write):
    file = write("import sys\nsys.exit(3)\n")
    error = fails(file)
    assert error.where == f"{file}:2"
    assert "__main__" in error.hint


def test_factory_that_raises(write):
    file = write("def model():\n    return helper()\ndef helper():\n    raise OSError('no disk')\n")
    error = fails(file)
    assert error.cause == "the factory model raises: OSError: no disk"
    assert error.where == f"{file}:4"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("def model():\n    raise Stop('now')", "the factory model raises: Stop: now"),
        ("class model(torch.nn.Module):\n    def __init__(self):\n        raise Stop", "Stop"),
        ("raise GeneratorExit", "cannot be imported: GeneratorExit"),
    ],
)
def test_base_exceptions_are_reported(write, text, cause):
    error = fails(write(f"import torch\nclass Stop(BaseException):\n    pass\n{text}\n"))
    assert cause in error.cause and error.where


def test_keyboard_interrupt_is_not_caught(write):
    with pytest.raises(KeyboardInterrupt):
        find_source(str(write("def model():\n    raise KeyboardInterrupt\n")))


def test_constructor_that_raises(write):
    file = write(
        """\
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                self.linear = torch.nn.Linear(1, 1)
        """
    )
    error = fails(f"{file}:Net")
    assert error.cause.startswith("Net() raises: AttributeError: cannot assign module")
    assert error.where == f"{file}:4"


@pytest.mark.parametrize(
    "returned, cause",
    [
        ("None", "returns a NoneType"),
        ("1", "returns a int"),
        ("(L,)", "returns a tuple of 1"),
        ("(L, (), {}, 1)", "returns a tuple of 4"),
        ("[L, ()]", "returns a list"),
        ("('L', ())", "the first value that the factory model returns is a str, not a module"),
        ("(nn.ReLU, ())", "the first value that the factory model returns is the class ReLU"),
        ("(L, 3)", "returns a int as the positional arguments"),
        ("(L, {'x': 1})", "returns a dict as the positional arguments"),
        ("(L, (), (1,))", "returns a tuple as the keyword arguments"),
        ("(L, (), {1: 2})", "returns a dict as the keyword arguments"),
    ],
)
def test_factory_that_returns_the_wrong_thing(write, returned, cause):
    file = write(
        f"from torch import nn\nL = nn.Linear(1, 1)\ndef model():\n    return {returned}\n"
    )
    error = fails(file)
    assert cause in error.cause
    assert error.where == f"{file}:3"
    assert error.hint


def test_factory_with_required_arguments(write):
    file = write("\n\ndef model(width, depth=2, *, mode):\n    pass\n")
    error = lacks_example(file)
    assert error.cause == "the factory model needs arguments: width, mode"
    assert error.where == f"{file}:3"


def test_class_with_required_arguments(write):
    file = write(
        """\
        import torch
        class Net(torch.nn.Module):
            def __init__(self, width):
                super().__init__()
        """
    )
    error = fails(f"{file}:Net")
    assert error.cause == "the constructor of Net needs arguments: width"
    assert error.where == f"{file}:2"


def test_class_without_example_args(write):
    file = write("import torch\nclass Net(torch.nn.Module):\n    pass\n")
    error = lacks_example(f"{file}:Net")
    assert error.cause == "Net has no example arguments"
    assert error.where == f"{file}:2"
    assert "example_args" in error.hint


def test_factory_of_a_module_without_example_args(write):
    file = write("import torch\n\ndef model():\n    return torch.nn.Linear(3, 4)\n")
    error = lacks_example(file)
    assert error.cause == "the factory model returns a module without example arguments"
    assert error.where == f"{file}:3"


@pytest.mark.parametrize("name", ["Net", "net", "built", "function"])
def test_user_arguments_replace_example_arguments(write, name):
    file = write(
        """\
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                return x + 1
        net = Net().eval()
        def built():
            return net
        def function(x):
            return x + 1
        """
    )
    assert "--input" in lacks_example(f"{file}:{name}").hint
    program = captured(f"{file}:{name}", inputs=["3xf32"])
    x = torch.arange(3.0)
    assert torch.equal(program.exported.module()(x), x + 1)


def test_class_that_is_no_module(write):
    file = write("class Net:\n    pass\n")
    error = fails(f"{file}:Net")
    assert error.cause.endswith("net.py is a class, but not a subclass of nn.Module")
    assert error.where == f"{file}:1"


def test_value_that_is_no_model(write):
    error = fails(f"{write('sizes = [1, 2]')}:sizes")
    assert "is a list, not a model" in error.cause


def test_empty_file(write):
    error = fails(write(""))
    assert error.hint == "it defines no function or class"


def test_relative_path(write, monkeypatch):
    file = write(FACTORY)
    monkeypatch.chdir(file.parent)
    assert find_source("net.py").name == "net"
    assert find_source(f".{os.sep}net.py:model").name == "net.model"

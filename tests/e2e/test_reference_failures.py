"""What fails while a program runs is an error with the user's line, and ends nothing else."""

import signal
import subprocess
import sys
import textwrap
import time

import pytest
import torch

import unmess


def fails(run, *args, message: str, function) -> None:
    """Calls, and expects an error that names the second line of `function`."""
    with pytest.raises(unmess.Error, match=message) as caught:
        run(*args)
    assert caught.value.stage == "run"
    assert caught.value.where == f"{__file__}:{function.__code__.co_firstlineno + 1}"


def load(function, *args, dynamic_shapes=None):
    program = unmess.capture(function, args, dynamic_shapes=dynamic_shapes)
    return unmess.load(program, on="reference")


def cube(x):
    return torch.cumsum(x[:, None, None] + x[None, :, None] + x[None, None, :], 0)[1]


def test_no_memory_for_a_temporary():
    size = torch.export.Dim("size", min=2)
    run = load(cube, torch.randn(4), dynamic_shapes=({0: size},))
    # 5e4 ** 3 floats.
    message = "cannot allocate 500,000,000,000,000 bytes"
    fails(run, torch.randn(50_000), message=message, function=cube)
    x = torch.randn(5)
    torch.testing.assert_close(run(x), cube(x))


def interrupted(script: str) -> str:
    """What a script prints whose main thread gets SIGINT a second after it has printed `ready`."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        text=True,
        # A shell that starts processes in the background has them ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    return output


FOREVER = """
    import torch, unmess

    def forever(x):
        def step(x):
            return (x * torch.flip(x, (0,)),)
        return torch.while_loop(lambda x: x.sum() > 0, step, (x,))

    run = unmess.load(unmess.capture(forever, (torch.zeros(64),)), on="reference")
"""


def test_ctrl_c_ends_a_run_and_nothing_else():
    script = """
    print("ready", flush=True)
    for _ in range(2):
        try:
            run(torch.ones(64))
        except KeyboardInterrupt:
            print("interrupted", run(torch.zeros(64))[0].sum().item())
            import os, signal, threading
            threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    """
    assert interrupted(FOREVER + script) == "interrupted 0.0\n" * 2

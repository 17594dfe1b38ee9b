"""`pixiw` on a small project with two wheels that the tests make, without a network."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pixiw_project import TASKS, Project, Server, make_wheel


def error_line(done: subprocess.CompletedProcess) -> str:
    """Returns the only error line of a call that failed, which is its last line."""
    lines = done.stderr.splitlines()
    errors = [line for line in lines if "error" in line.lower()]
    assert done.returncode != 0
    assert errors == lines[-1:], done.stderr
    assert re.fullmatch(r"pixiw: error: .+ \(.+\)", errors[0]), done.stderr
    return errors[0]


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A project for all tests that need a finished environment, which takes seconds to make."""
    return Project(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def first_set_up(shared):
    """Sets up the environment of `shared` for the first time. Returns how `run hello` ended."""
    done = shared.call("run", "hello")
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def ready(shared, first_set_up):
    """A project whose environment is set up. Tests must leave it as it is."""
    if not shared.stamp.exists():
        done = shared.call("run", "true")
        assert done.returncode == 0, done.stderr
    return shared


@pytest.fixture
def used(ready):
    """Like `ready`, but tests may change it. The locks and settings are restored afterwards."""
    before = dict(ready.wheels), dict(ready.environment)
    ready.stamp.unlink()
    yield ready
    ready.wheels, ready.environment = before
    ready.manifest(TASKS)
    ready.lock()
    ready.stamp.unlink(missing_ok=True)
    shutil.rmtree(ready.root / "wheelhouse", ignore_errors=True)


@pytest.fixture
def serve():
    """Yields a function that starts a `Server` of a project's wheels and points pip to it."""
    servers = []

    def serve(project: Project) -> Server:
        servers.append(Server(project.index))
        project.environment.update(PIP_INDEX_URL=servers[-1].url, NO_PROXY="127.0.0.1")
        del project.environment["PIP_NO_INDEX"], project.environment["PIP_FIND_LINKS"]
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


# Setting up.


def test_life_of_an_environment(used, first_set_up):
    assert first_set_up.stdout == "1.0\n"
    assert "setting up" in first_set_up.stderr and "ready after" in first_set_up.stderr
    assert used.value("second") == "1.0"

    # A second start finds the environment finished and needs no package source.
    used.environment["PIP_FIND_LINKS"] = "/nowhere"
    done = used.call("run", "hello")
    assert (done.stdout, done.stderr) == ("1.0\n", "")

    # A changed lock: one wheel is newer, one is removed, one has another build.
    used.environment["PIP_FIND_LINKS"] = str(used.index)
    used.add("third", "2.0", "old")
    assert used.value("third") == "old"
    used.add("first", "1.1")
    used.add("third", "2.0", "new")
    del used.wheels["second"]
    used.lock()
    assert used.value("first") == "1.1"
    assert used.value("third") == "new"
    assert "No module named 'second'" in used.value("second")


def test_a_task_of_another_environment(used):
    used.manifest(TASKS + "[feature.more.tasks]\nmore = \"python -c 'import further'\"\n")
    make_wheel(used.index, "further", "1.0")
    used.add("further", "1.0")
    lock = used.root / "requirements.lock"
    lock.write_text(lock.read_text().replace("further==", "# environment more\nfurther=="))
    assert "  more" in used.call("--help").stdout
    # The default environment does not have the package.
    assert used.value("first") == "1.0"
    assert "No module named 'further'" in used.value("further")
    # The task installs it, and only it.
    done = used.call("run", "more")
    assert done.returncode == 0 and "installing 1 wheels" in done.stderr
    # Now other commands and the task find a finished environment.
    for command in ("hello", "more"):
        done = used.call("run", command)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_checkout_can_be_imported(ready):
    (ready.root / "ofthecheckout.py").write_text("")
    done = ready.call("run", "python", "-I", "-c", "import ofthecheckout", cwd="/")
    assert done.returncode == 0, done.stderr
    script = (ready.root / ".venv/bin/unmess").read_text()
    assert "sys.exit(main())" in script
    # The project has no unmess package. The hook of the .pth file does not report that.
    done = ready.call("run", "python", "-c", "pass")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_killed_set_up_resumes(used, serve):
    # The checkout has moved, so its environment is created again.
    used.root = used.root.rename(used.root.parent / "moved")
    server = serve(used)
    process = used.start("run", "hello")
    assert "for the first time" in process.stderr.readline()
    assert server.asked.wait(60)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    process.stderr.close()
    assert (used.root / ".venv").exists() and not used.stamp.exists()

    # The pip that it started still runs, and the next call waits for it.
    again = used.start("run", "python", "-c", "import first, sys; print(first.VALUE, sys.prefix)")
    assert "waiting" in again.stderr.readline()
    server.gate.set()
    out, err = again.communicate(timeout=120)
    assert (again.returncode, out) == (0, f"1.0 {used.root}/.venv\n"), err
    assert "updating" in err and "for the first time" not in err


def test_an_unfinished_installation_is_repaired(used):
    used.call("run", "true")
    # The state after pip is killed while it copies a wheel's files.
    about = next(used.root.glob(".venv/lib/*/site-packages/first-1.0.dist-info"))
    (about / "INSTALLER").unlink()
    (about.parent / "first.py").unlink()
    used.stamp.unlink()
    assert used.value("first") == "1.0"
    assert (about / "INSTALLER").exists()


def test_a_second_set_up_waits_for_the_first(used, serve):
    # A new version of the wheel that the server holds back.
    used.add("second", "2.0")
    server = serve(used)
    first = used.start("run", "hello")
    assert server.asked.wait(60)
    second = used.start("run", "hello")
    assert "waiting" in second.stderr.readline()
    server.gate.set()
    for process in (first, second):
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, "1.0\n"), err
    # Only the first call installs the wheels.
    assert "installing" not in err


def test_local_versions_come_from_the_manifests_index(used, tmp_path):
    server = Server(tmp_path / "elsewhere")
    try:
        used.manifest(TASKS, server.url)
        used.add("first", "1.0+cpu", index=tmp_path / "elsewhere")
        # An index that does not exist. PIP_NO_INDEX would make pip ignore `--index-url`, too.
        del used.environment["PIP_NO_INDEX"]
        used.environment["PIP_INDEX_URL"] = f"file://{tmp_path}/none"
        done = used.call("run", "hello")
    finally:
        server.close()
    assert (done.returncode, done.stdout) == (0, "1.0+cpu\n"), done.stderr
    assert "do not have first==1.0+cpu" in done.stderr
    # The plain version is another wheel, although pip accepts 1.0+cpu for 1.0.
    used.environment.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(used.index))
    used.add("first", "1.0")
    assert used.value("first") == "1.0"


# Failing. A further wheel is wrong, so that the installed ones are left for the next test.


def test_a_wrong_hash(used):
    pin, _ = make_wheel(used.index, "further", "1.0")
    used.wheels["further"] = (pin, "0" * 64)
    used.lock()
    done = used.call("run", "hello")
    assert "further==1.0 does not have the hash that is locked" in error_line(done)
    log = re.search(r"pip's output is in (.*)\)", done.stderr)[1]
    assert "0" * 64 in Path(log).read_text()
    assert not used.stamp.exists()


def test_no_network(used):
    del used.environment["PIP_NO_INDEX"], used.environment["PIP_FIND_LINKS"]
    used.wheels["further"] = ("further==9.8", "0" * 64)
    used.lock()
    # Port 9 of this machine: nothing listens there.
    used.environment.update(PIP_INDEX_URL="http://127.0.0.1:9/simple", NO_PROXY="127.0.0.1")
    assert "pip cannot reach its package index" in error_line(used.call("run", "hello"))
    assert not used.stamp.exists()


def test_a_wheel_that_no_source_has(used):
    used.wheels["further"] = ("further==9.9", "0" * 64)
    used.lock()
    assert "do not have further==9.9" in error_line(used.call("run", "hello"))


@pytest.fixture
def small_disk(tmp_path):
    """Mounts a disk of 1 MB. Skips the test if there is no permission to mount it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no permission to mount a disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(small_disk):
    project = Project(small_disk)
    assert "the disk is full" in error_line(project.call("run", "hello"))
    assert not project.stamp.exists()


def test_a_limit_on_file_size(project):
    resource = pytest.importorskip("resource")
    done = project.call(
        "run",
        "hello",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    assert "the disk is full" in error_line(done)


def test_a_read_only_checkout(small_disk):
    project = Project(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    line = error_line(project.call("run", "hello"))
    assert "cannot be written" in line and "checkout that you can write to" in line


def test_a_read_only_checkout_that_is_set_up(ready):
    before = {path for path in ready.root.rglob("*") if ".venv" not in path.parts}
    mode = ready.root.stat().st_mode
    ready.root.chmod(0o555)
    try:
        assert ready.call("run", "hello").stdout == "1.0\n"
    finally:
        ready.root.chmod(mode)
    assert before == {path for path in ready.root.rglob("*") if ".venv" not in path.parts}


# Other Pythons.

OTHER = "import runpy, sys; sys.version_info = (3, 9, 1, 'final', 0); sys.argv = sys.argv[1:];"
OTHER += "runpy.run_path(sys.argv[0], run_name='__main__')"


def test_another_python(project):
    command = [sys.executable, "-c", OTHER, str(project.root / "pixiw"), "run", "hello"]
    environment = {**project.environment, "PATH": "/nowhere"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "needs Python 3.11, and was started by 3.9" in error_line(done)


def test_another_python_finds_the_right_one(ready):
    command = [sys.executable, "-c", OTHER, str(ready.root / "pixiw"), "run", "args", "a b"]
    done = subprocess.run(command, env=ready.environment, capture_output=True, text=True)
    assert done.stdout == "['a b']\n", done.stderr


def test_another_python_and_a_shim_that_does_not_work(project, tmp_path):
    shim = tmp_path / "shims" / "python3.11"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\necho 'not installed' >&2; exit 127\n")
    shim.chmod(0o755)
    command = [sys.executable, "-c", OTHER, str(project.root / "pixiw"), "run", "hello"]
    environment = {**project.environment, "PATH": f"{shim.parent}:/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "needs Python 3.11" in error_line(done)


# Running.


@pytest.mark.parametrize(
    ("arguments", "status", "out"),
    [
        (["args", "a b", "$HOME", "-x"], 0, "['a b', '$HOME', '-x']\n"),
        (["both", "a b"], 0, "one\ntwo a b\n"),
        (["listed"], 0, "a  b\n"),
        (["three"], 0, "one\ntwo\na  b\nthree\n"),
        (["twice"], 0, "one\ntwo\na  b\nthree\n1.0\n"),
        (["short"], 0, "one\ntwo\na  b\n"),
        (["three", "extra"], 0, "one\ntwo\na  b\nthree extra\n"),
        (["shade"], 0, "deep blue\n"),
        (["fails"], 7, ""),
        (["stops"], 7, ""),
        (["sh", "-c", "exit 5"], 5, ""),
        (["exit 6"], 6, ""),
        (["sh", "-c", "kill -TERM $$"], -15, ""),
        (["echo", "a b"], 0, "a b\n"),
        (["printenv", "VIRTUAL_ENV", "PIXI_PROJECT_ROOT"], 0, "{root}/.venv\n{root}\n"),
        (["sh", "-c", "command -v python"], 0, "{root}/.venv/bin/python\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_tasks_and_commands(ready, arguments, status, out):
    environment = {**ready.environment, "TINT": "blue", "PYTHONHOME": "/nowhere"}
    # Without PYTHONHOME, because pixiw's own Python would not start with it.
    done = ready.call(
        "run", *arguments, env={k: v for k, v in environment.items() if k != "PYTHONHOME"}
    )
    assert (done.returncode, done.stdout) == (status, out.format(root=ready.root)), done.stderr


def test_where_tasks_and_commands_run(ready):
    sub = ready.root / "sub"
    # A task runs in its `cwd` or at the root. A command runs where it was started.
    assert ready.call("run", "where", cwd="/").stdout == f"{sub}\n"
    assert ready.call("run", "pwd", cwd=sub).stdout == f"{sub}\n"
    done = ready.call("run", "args", cwd=sub)
    assert (done.returncode, done.stdout) == (0, "[]\n")


def test_a_failing_dependency_is_named(ready):
    done = ready.call("run", "stops")
    assert "task fails failed with exit status 7" in done.stderr
    assert "never" not in done.stdout


def test_a_signal_reaches_a_dependency(ready):
    ready_line = "import os, sys, time; print('up', flush=True); time.sleep(60)"
    manifest = (ready.root / "pixi.toml").read_text()
    tasks = f'\nsleeps = {{ cmd = ["python", "-c", "{ready_line}"] }}\n'
    tasks += 'waits = { cmd = "echo never", depends-on = ["sleeps"] }\n'
    (ready.root / "pixi.toml").write_text(manifest + tasks)
    try:
        process = ready.start("run", "waits")
        assert process.stdout.readline() == "up\n"
        os.kill(process.pid, signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    finally:
        (ready.root / "pixi.toml").write_text(manifest)
    assert (process.returncode, out) == (128 + signal.SIGTERM, ""), err


def test_an_unknown_task(ready):
    done = ready.call("run", "helo")
    assert "there is no task or command helo (did you mean hello?)" in error_line(done)
    assert done.returncode == 127


@pytest.mark.parametrize("arguments", [[], ["run"], ["walk"], ["run", "-e", "x"], ["shell", "x"]])
def test_usage(ready, arguments):
    done = ready.call(*arguments)
    assert done.returncode == 2
    assert "usage" in error_line(done)


def test_link_leaves_other_pythons_alone(ready):
    done = ready.call("link")
    assert done.returncode == 2
    assert "link is for pixi" in error_line(done)


def test_help(ready):
    done = ready.call("--help")
    assert done.returncode == 0 and done.stderr == ""
    assert "./pixiw shell" in done.stdout and "  hello" in done.stdout


def test_a_manifest_that_cannot_be_read(ready):
    manifest = (ready.root / "pixi.toml").read_text()
    (ready.root / "pixi.toml").write_text("[tasks\n")
    try:
        line = error_line(ready.call("run", "hello"))
    finally:
        (ready.root / "pixi.toml").write_text(manifest)
    assert "pixi.toml cannot be read" in line


def test_a_shell(ready):
    environment = {**ready.environment, "SHELL": "/bin/bash"}
    process = ready.start("shell", env=environment)
    process.communicate(timeout=60)
    assert process.returncode == 0
    rc = (ready.root / ".venv/pixiw.bashrc").read_text()
    assert f'. "{ready.root}/.venv/bin/activate"' in rc
    done = subprocess.run(
        ["/bin/bash", "-c", f'. "{ready.root}/.venv/pixiw.bashrc"; command -v python'],
        env=ready.environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{ready.root}/.venv/bin/python\n"


# pixi and its wheelhouse/.


@pytest.fixture
def pixi(project):
    """Installs a fake pixi that prints its arguments and exits with status 3."""
    program = Path(project.environment["PATH"].partition(":")[0], "pixi")
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 3\n")
    program.chmod(0o755)
    return program


def test_pixiw_delegates_to_an_installed_pixi(project, pixi):
    done = project.call("run", "hello", "a b", "--flag")
    manifest = str(project.root / "pixi.toml")
    asked = ["run", "--manifest-path", manifest, "--frozen", "hello", "a b", "--flag"]
    assert (done.returncode, done.stdout.splitlines()) == (3, asked), done.stderr
    wheelhouse = project.root / "wheelhouse"
    assert {path.name for path in wheelhouse.glob("*.whl")} == {
        "first-1.0-py3-none-any.whl",
        "second-1.0-py3-none-any.whl",
    }
    assert not (project.root / ".venv").exists()

    # Later calls need no package source and print no messages.
    project.environment["PIP_FIND_LINKS"] = "/nowhere"
    done = project.call("shell")
    assert done.stdout.splitlines() == ["shell", "--manifest-path", manifest, "--frozen"]
    assert done.stderr == ""

    # The wheels of another environment are fetched for its tasks only.
    project.environment["PIP_FIND_LINKS"] = str(project.index)
    project.manifest(TASKS + '[feature.more.tasks]\nmore = "true"\n')
    project.add("further", "1.0")
    lock = project.root / "requirements.lock"
    lock.write_text(lock.read_text().replace("further==", "# environment more\nfurther=="))
    assert project.call("run", "hello").stderr == ""
    assert "fetching 1 wheels" in project.call("run", "more").stderr
    assert project.call("run", "hello").stderr == project.call("run", "more").stderr == ""

    # A file that does not match the lock is replaced.
    wheel = wheelhouse / "first-1.0-py3-none-any.whl"
    right = wheel.read_bytes()
    wheel.write_bytes(b"wrong")
    assert "fetching 1 wheels" in project.call("run", "hello").stderr
    assert wheel.read_bytes() == right


def test_a_fetch_resumes_and_serves_the_set_up(used):
    used.add("first", "3.0")
    used.add("second", "3.0")
    wheelhouse = used.root / "wheelhouse"
    wheelhouse.mkdir()
    shutil.copy(used.index / "first-3.0-py3-none-any.whl", wheelhouse)
    done = used.call("fetch")
    assert done.returncode == 0, done.stderr
    assert "fetching 1 wheels" in done.stderr
    assert "has all 2 wheels" in used.call("fetch").stderr
    # Now the environment needs no package source.
    used.environment.update(PIP_FIND_LINKS="/nowhere", PIP_INDEX_URL="http://127.0.0.1:9/")
    del used.environment["PIP_NO_INDEX"]
    assert used.call("run", "hello").stdout == "3.0\n"


def test_a_fetch_refuses_a_wrong_file(project, pixi):
    make_wheel(project.index, "first", "1.0", "other")
    done = project.call("run", "hello")
    assert "first==1.0 does not have the hash that is locked" in error_line(done)
    assert done.stdout == ""

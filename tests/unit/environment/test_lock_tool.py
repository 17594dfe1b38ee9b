"""tools/lock.py: resolution, and the text of both lock files."""

import hashlib
import re
import zipfile

import pytest

from tools import lock as tool
from unmess.environment import locked

MANIFEST = """
[workspace]
channels = ["conda-forge"]
platforms = ["linux-64"]
[dependencies]
python = "3.11.*"
[pypi-dependencies]
upper = "==1.0"
local = "==2.0+cpu"
[feature.extra.pypi-dependencies]
further = "==3.0"
[environments]
extra = ["extra"]
[pypi-options]
index-url = "https://example.invalid/wheels"
find-links = [{ path = "./wheelhouse" }]
"""


def make_wheel(folder, name: str, version: str, metadata: str = "") -> str:
    """Writes a wheel and returns its SHA-256 digest."""
    about = f"{name}-{version}.dist-info"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        archive.writestr(f"{about}/METADATA", head + metadata)
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{about}/WHEEL", tags)
        archive.writestr(f"{about}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_lock(tmp_path, monkeypatch, capsys):
    index = tmp_path / "index"
    index.mkdir()
    needs = "Requires-Dist: Lower.Most>=1\nRequires-Dist: absent; extra == 'x'\n"
    digests = {
        "upper": make_wheel(index, "upper", "1.0", needs + "Requires-Python: >=3.8\n"),
        "lower-most": make_wheel(index, "lower_most", "1.5"),
        "local": make_wheel(index, "local", "2.0+cpu"),
        # Another environment has the default one's version of a wheel that both need.
        "further": make_wheel(index, "further", "3.0", "Requires-Dist: lower.most\n"),
    }
    make_wheel(index, "lower_most", "0.9")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    root = tmp_path / "root"
    root.mkdir()
    (root / "pixi.toml").write_text(MANIFEST)
    results = {}

    def resolve(manifest, versions):
        """Runs pip once for the same versions."""
        key = tuple(versions.items())
        if key not in results:
            results[key] = tool_resolve(manifest, versions)
        return results[key]

    tool_resolve = tool.resolve
    monkeypatch.setattr(tool, "resolve", resolve)
    assert tool.lock(root, locked.ROOT / "pixi.lock") == 0
    printed = capsys.readouterr().err
    assert "3 wheels, 22 conda packages" in printed and "extra: 1 more wheels" in printed

    requirements = (root / "requirements.lock").read_text()
    pins = [line for line in requirements.splitlines() if not re.match("# (Made|run|sha)", line)]
    assert pins == [
        f"local==2.0+cpu --hash=sha256:{digests['local']}",
        f"lower-most==1.5 --hash=sha256:{digests['lower-most']}",
        f"upper==1.0 --hash=sha256:{digests['upper']}",
        "# environment extra",
        f"further==3.0 --hash=sha256:{digests['further']}",
    ]
    lock = locked.read_pixi_lock((root / "pixi.lock").read_text())
    assert lock.wheels["upper"] == locked.Wheel(
        name="upper",
        version="1.0",
        sha256=digests["upper"],
        filename="upper-1.0-py3-none-any.whl",
        requires_dist=("lower-most>=1", "absent ; extra == 'x'"),
        requires_python=">=3.8",
    )
    assert list(lock.wheels) == ["local", "lower-most", "upper"]
    assert lock.further["extra"].keys() == {"further"}
    assert lock.conda == locked.read_pixi_lock((locked.ROOT / "pixi.lock").read_text()).conda
    assert lock.indexes == ("https://example.invalid/wheels",)

    # A second run takes the conda records from the lock just written and gives the same bytes.
    before = [(root / name).read_bytes() for name in ("pixi.lock", "requirements.lock")]
    assert tool.lock(root, None) == 0
    assert before == [(root / name).read_bytes() for name in ("pixi.lock", "requirements.lock")]


def test_a_failed_resolution_changes_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (tmp_path / "pixi.toml").write_text(MANIFEST)
    with pytest.raises(locked.LockError, match="pip could not resolve"):
        tool.lock(tmp_path, locked.ROOT / "pixi.lock")
    assert [path.name for path in tmp_path.iterdir()] == ["pixi.toml"]


def test_an_index_without_hashes(tmp_path):
    digest = make_wheel(tmp_path, "local", "2.0+cpu")
    item = {
        "download_info": {"url": f"file://{tmp_path}/local-2.0%2Bcpu-py3-none-any.whl"},
        "metadata": {"name": "Local", "version": "2.0+cpu"},
    }
    wheel = tool.wheel_of(item)
    assert wheel.sha256 == digest
    assert (wheel.name, wheel.filename) == ("local", "local-2.0+cpu-py3-none-any.whl")


def test_check(tmp_path, capsys):
    for name in ("pixi.toml", "pixi.lock", "requirements.lock"):
        (tmp_path / name).write_text((locked.ROOT / name).read_text())
    assert tool.check(tmp_path) == 0
    assert "all agree" in capsys.readouterr().err
    text = (tmp_path / "requirements.lock").read_text()
    (tmp_path / "requirements.lock").write_text(text.replace("rich==", "poor=="))
    assert tool.check(tmp_path) == 1
    error = capsys.readouterr().err
    assert "rich: in pixi.lock, not in requirements.lock" in error
    assert "poor: in requirements.lock, not in pixi.lock" in error


def test_the_committed_lock_is_what_the_tool_would_write():
    """Renders the same wheels and records in another order."""
    manifest = locked.read_manifest((locked.ROOT / "pixi.toml").read_text())
    text = (locked.ROOT / "pixi.lock").read_text()
    lock = locked.read_pixi_lock(text)
    wheels = sorted(lock.wheels.values(), key=lambda w: w.name)
    further = {
        name: sorted(more.values(), key=lambda w: w.name) for name, more in lock.further.items()
    }
    records = tool.conda_records(text)
    other = {name: more[::-1] for name, more in further.items()}
    assert tool.render_pixi_lock(manifest, wheels[::-1], other, records[::-1]) == text
    requirements = (locked.ROOT / "requirements.lock").read_text()
    assert tool.render_requirements(manifest, wheels, further, text) == requirements

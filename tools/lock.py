#!/usr/bin/env python3
"""Creates `pixi.lock` and `requirements.lock` from `pixi.toml`.

    python tools/lock.py                 resolve, and write both lock files
    python tools/lock.py --conda FILE    take the conda records from this lock file
    python tools/lock.py --check         only compare the files and the installed packages

pip resolves the wheels, for the Python that runs this file. py-rattler, the
library behind pixi, reads and writes the lock. The conda records (Python itself)
are kept from the existing `pixi.lock` unless `--conda` names another lock file.
"""

import argparse
import hashlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

import rattler
import yaml
from packaging.utils import canonicalize_name

from unmess.core.files.writing import Replacements
from unmess.environment import locked

PLATFORM = "linux-64"


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Make pixi.lock and requirements.lock.")
    parser.add_argument("--check", action="store_true", help="compare, and change nothing")
    parser.add_argument("--conda", type=Path, metavar="FILE", help="lock file with conda records")
    options = parser.parse_args()
    try:
        return check(locked.ROOT) if options.check else lock(locked.ROOT, options.conda)
    except locked.LockError as error:
        print(f"lock: {error}", file=sys.stderr)
        return 1


def check(root: Path) -> int:
    """Prints where the manifest, the locks and this environment disagree; returns 1 if they do."""
    texts = [(root / name).read_text() for name in ("pixi.toml", "pixi.lock", "requirements.lock")]
    found = locked.disagreements(*texts)
    if not found:
        installed = locked.installed_wheels()
        wheels = locked.read_pixi_lock(texts[1]).expected(installed)
        found += locked.installed_disagreements(wheels, installed)
    for line in found:
        print(f"lock: {line}", file=sys.stderr)
    print("lock: " + (f"{len(found)} disagreement(s)" if found else "all agree"), file=sys.stderr)
    return 1 if found else 0


def lock(root: Path, conda: Path | None) -> int:
    """Resolves `pixi.toml` and writes both lock files."""
    if sys.version_info[:2] != (3, 11):
        raise locked.LockError("run this with Python 3.11, which the lock is for")
    manifest = locked.read_manifest((root / "pixi.toml").read_text())
    records = conda_records((conda or root / "pixi.lock").read_text())
    wheels = resolve(manifest, manifest.pins)
    fixed = {wheel.name: wheel.version for wheel in wheels}
    further = {
        name: [w for w in resolve(manifest, {**fixed, **pins}) if w.name not in fixed]
        for name, pins in manifest.further.items()
    }
    pixi_lock = render_pixi_lock(manifest, wheels, further, records)
    requirements = render_requirements(manifest, wheels, further, pixi_lock)
    found = locked.disagreements((root / "pixi.toml").read_text(), pixi_lock, requirements)
    if found:
        raise locked.LockError("\nlock: ".join(["the result is not consistent:", *found]))
    with Replacements() as files:
        files.beside(root / "pixi.lock").write_text(pixi_lock)
        files.beside(root / "requirements.lock").write_text(requirements)
    print(f"lock: {len(wheels)} wheels, {len(records)} conda packages", file=sys.stderr)
    for name, more in further.items():
        print(f"lock: environment {name}: {len(more)} more wheels", file=sys.stderr)
    return 0


def conda_records(text: str) -> list[dict]:
    """Returns the conda records of a lock file, unchanged."""
    records = yaml.load(text, Loader=yaml.CSafeLoader)["packages"]
    return [record for record in records if "conda" in record]


def resolve(manifest: locked.Manifest, versions: Mapping[str, str]) -> list[locked.Wheel]:
    """Resolves pins with pip; returns the wheels, sorted by name."""
    pins = [f"{name}=={version}" for name, version in versions.items()]
    with tempfile.TemporaryDirectory() as folder:
        python = sys.executable
        if not importlib.util.find_spec("pip"):  # as in pixi's environment
            subprocess.run([python, "-m", "venv", folder], check=True)
            python = f"{folder}/bin/python"
        report = Path(folder, "report.json")
        command = [python, "-m", "pip", "--quiet", "install", "--dry-run", "--ignore-installed"]
        command += ["--only-binary", ":all:", "--report", str(report), *pins]
        # Local versions ("+cpu") may be available through pip's own configuration.
        # If not, add the manifest's index.
        if subprocess.run(command, stderr=subprocess.PIPE).returncode != 0:
            command += ["--extra-index-url", manifest.index_url]
            if subprocess.run(command).returncode != 0:
                raise locked.LockError("pip could not resolve pixi.toml, see above")
        items = json.loads(report.read_text())["install"]
    return sorted((wheel_of(item) for item in items), key=lambda wheel: wheel.name)


def wheel_of(item: dict) -> locked.Wheel:
    """Converts an entry of pip's report to a Wheel."""
    url = item["download_info"]["url"]
    hashes = item["download_info"].get("archive_info", {}).get("hashes", {})
    about = item["metadata"]
    return locked.Wheel(
        name=canonicalize_name(about["name"]),
        version=about["version"],
        sha256=hashes.get("sha256") or sha256_of(url),
        filename=unquote(urlsplit(url).path.rsplit("/", 1)[1]),
        requires_dist=tuple(about.get("requires_dist", ())),
        requires_python=about.get("requires_python", ""),
    )


def sha256_of(url: str) -> str:
    """Downloads a file and returns its digest, for indexes that publish none."""
    with urllib.request.urlopen(url) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def render_pixi_lock(
    manifest: locked.Manifest,
    wheels: list[locked.Wheel],
    further: Mapping[str, list[locked.Wheel]],
    records: list[dict],
) -> str:
    """Returns the text of `pixi.lock`, formatted by py-rattler."""
    wheelhouse = manifest.find_links[0]
    packages = list(records)
    for wheel in [*wheels, *(wheel for more in further.values() for wheel in more)]:
        record = {
            "pypi": f"{wheelhouse}/{wheel.filename}",
            "name": wheel.name,
            "version": wheel.version,
            "sha256": wheel.sha256,
        }
        if wheel.requires_dist:
            record["requires_dist"] = list(wheel.requires_dist)
        if wheel.requires_python:
            record["requires_python"] = wheel.requires_python
        packages.append(record)

    def environment(more: list[locked.Wheel]) -> dict:
        names = {wheel.name for wheel in [*wheels, *more]}
        return {
            "channels": [
                {"url": f"https://conda.anaconda.org/{name}/"} for name in manifest.channels
            ],
            "indexes": [manifest.index_url],
            "find-links": [{"path": wheelhouse}],
            "packages": {
                PLATFORM: [
                    {kind: record[kind] for kind in ("conda", "pypi") if kind in record}
                    for record in packages
                    if "conda" in record or record["name"] in names
                ]
            },
        }

    data = {
        "version": 7,
        "platforms": [{"name": PLATFORM}],
        "environments": {
            "default": environment([]),
            **{name: environment(more) for name, more in further.items()},
        },
        "packages": packages,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pixi.lock")
        path.write_text(yaml.safe_dump(data, sort_keys=False, width=10_000))
        # py-rattler writes no hashes into a lock file that it builds, but keeps
        # those that it reads. So it reads the whole text and rewrites it.
        rattler.LockFile.from_path(path).to_path(path)
        return path.read_text()


def render_requirements(
    manifest: locked.Manifest,
    wheels: list[locked.Wheel],
    further: Mapping[str, list[locked.Wheel]],
    pixi_lock: str,
) -> str:
    """Returns the text of `requirements.lock`, for pip's `--require-hashes --no-deps`."""
    lines = [
        "# Made by tools/lock.py from pixi.toml, with pixi.lock: change pixi.toml and",
        "# run the task lock instead of editing this file.",
        f"# sha256 of pixi.toml's dependencies: {manifest.digest}",
        f"# sha256 of pixi.lock: {locked.sha256(pixi_lock)}",
        *map(requirement, wheels),
    ]
    for name, more in further.items():
        lines += [f"# environment {name}", *map(requirement, more)]
    return "\n".join(lines) + "\n"


def requirement(wheel: locked.Wheel) -> str:
    """Returns a wheel's line in `requirements.lock`."""
    return f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}"


if __name__ == "__main__":
    sys.exit(main())

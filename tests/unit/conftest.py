"""The browser that tests share, and the order of all files."""

import shutil

import pytest
from chromium import NAMES, Browser
from longest_first import longest_first


@pytest.fixture(scope="session")
def _started_browser(tmp_path_factory, skip_without):
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        skip_without("browser", "no Chromium here: run `./pixiw run browser` as root")
    started = Browser(executable, tmp_path_factory.mktemp("browser"))
    yield started
    started.close()


@pytest.fixture
def browser(_started_browser):
    """A browser with a new page. If none is installed, the test is skipped, with the reason."""
    with _started_browser.new_page():
        yield _started_browser


# The files that take longest.
_LONGEST = (
    "test_locked.py",
    "test_workers.py",
    "test_torchvision_cpu.py",
    "test_torchvision_source.py",
    "test_site.py",
    "test_doctor.py",
    "test_generation_source.py",
    "test_local_decompositions.py",
    "test_mutations.py",
    "test_aarch64.py",
    "test_detection_steps.py",
    "test_capture.py",
    "test_packed_products.py",
    "test_pipeline.py",
    "test_targets.py",
    "test_lock_tool.py",
    "test_page.py",
    "test_viewing.py",
    "test_dynamic_shapes.py",
    "test_watch.py",
    "test_streams.py",
    "test_usage.py",
    "test_deep_chains.py",
    "test_attention.py",
    "test_layers.py",
    "test_contract.py",
    "test_packed.py",
)


def pytest_collection_modifyitems(items):
    longest_first(items, _LONGEST)

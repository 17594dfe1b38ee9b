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
_LONGEST = ()


def pytest_collection_modifyitems(items):
    longest_first(items, _LONGEST)

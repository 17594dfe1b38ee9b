"""The page that follows a model through the code names files that exist, each once."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FILE = re.compile(r"`((?:unmess|importers|pipelines)/[\w/]+\.py)`")


def test_files_exist_and_are_named_once():
    named = Counter(FILE.findall((ROOT / "docs" / "walkthrough.md").read_text()))
    assert len(named) > 40
    assert [file for file in named if not (ROOT / file).is_file()] == []
    assert [file for file, count in named.items() if count > 1] == []

"""Parquet files of a corpus: several files, and a missing pyarrow."""

import importlib.util

import pytest

from unmess.core.errors.error import Error
from unmess.corpus import croissant, writing
from unmess.corpus.parts import Part
from unmess.corpus.tables import rows_of, summary_of


def part(name, text):
    result = {"text": text, "operations": {"func.return": 1}, "kernels": []}
    facts = {"arguments": [], "expected": [], "expected_failure": None, "entry": "main"}
    return Part(name, "static", 0, {}, facts, None, {"torch": result})


def test_large_tables_have_several_files(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_FILE", 1000)
    monkeypatch.setattr(writing, "_GROUP", 500)
    parts = [part(f"hf:{name}", name * 400) for name in "cab"]
    rows = rows_of(parts, ["torch"])
    files = writing.write_tables(tmp_path, rows)
    assert [path.name for path in files["programs"]] == [
        "programs-00000-of-00002.parquet",
        "programs-00001-of-00002.parquet",
    ]
    assert writing.read_table(tmp_path, "programs") == rows["programs"]
    assert [row["model"] for row in rows["models"]] == ["hf:a", "hf:b", "hf:c"]
    document = croissant._document(files, summary_of(rows), {"torch": "1"})
    described = {each["@id"]: each for each in document["distribution"]}
    assert len(described["programs-files"]["containedIn"]) == 2
    # Fewer files replace more files.
    assert len(writing.write_tables(tmp_path, rows_of(parts[:1], ["torch"]))["programs"]) == 1
    assert len(list(tmp_path.glob("programs-*"))) == 1


def test_pyarrow_is_optional(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Error, match="pyarrow, which reads and writes Parquet") as raised:
        writing.check_pyarrow()
    assert "unmess[corpus]" in raised.value.hint and raised.value.exit_status == 2

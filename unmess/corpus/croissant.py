"""Describes a corpus in Croissant, the JSON-LD format of data sets for machine learning.

The format: https://docs.mlcommons.org/croissant/docs/croissant-spec.html
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from unmess.core.files.writing import cannot_write, write_text
from unmess.corpus.tables import LICENSES, TABLES, Columns, Summary

FILE = "croissant.json"
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES = {
    "string": "sc:Text",
    "int64": "sc:Integer",
    "double": "sc:Float",
    "bool": "sc:Boolean",
    "binary": "sc:Text",
}
_KEYS = {
    "models": ("model", "variant"),
    "programs": ("model", "variant", "stage"),
    "kernels": ("sha256",),
}
_ABOUT = {
    "models": "Models, static and dynamic: arguments, and the results of eager PyTorch",
    "programs": "The IR of the models at each stage",
    "kernels": "Distinct linalg operations as functions",
}


def write_croissant(
    folder: Path, files: dict[str, list[Path]], summary: Summary, versions: dict[str, str]
) -> Path:
    """Writes the description. It has no dates, so two runs write the same bytes.

    Args:
        files: the files of each table.

    Raises:
        Error: stage `usage`; it cannot be written.
    """
    path = folder / FILE
    try:
        text = json.dumps(_document(files, summary, versions), indent=2, ensure_ascii=False)
        write_text(path, f"{text}\n")
    except OSError as problem:
        raise cannot_write(path, problem) from problem
    return path


def _document(
    files: dict[str, list[Path]], summary: Summary, versions: dict[str, str]
) -> dict[str, Any]:
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "unmess-corpus",
        "description": (
            f"MLIR of {summary.models} PyTorch models at "
            f"{', '.join(summary.programs) or 'no stage'}, and {summary.kernels} distinct linalg "
            "operations. Weights and inputs are made from a seed; expected results are those of "
            f"eager PyTorch. Made with {libraries}."
        ),
        # The license of each row is in its column.
        "license": sorted(set(LICENSES.values())),
        "version": versions.get("unmess", "0.0.0"),
        "distribution": [
            each for table, paths in files.items() for each in _distribution(table, paths)
        ],
        "recordSet": [_record_set(table, columns) for table, columns in TABLES.items()],
    }


def _distribution(table: str, paths: list[Path]) -> list[dict[str, Any]]:
    objects = [
        {
            "@type": "cr:FileObject",
            "@id": path.name,
            "name": path.name,
            "contentUrl": path.name,
            "contentSize": f"{path.stat().st_size} B",
            "encodingFormat": "application/x-parquet",
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in paths
    ]
    files = {
        "@type": "cr:FileSet",
        "@id": f"{table}-files",
        "name": f"{table}-files",
        "description": f"The files of the table {table}.",
        "containedIn": [{"@id": path.name} for path in paths],
        "encodingFormat": "application/x-parquet",
        "includes": f"{table}-*.parquet",
    }
    return [*objects, files]


def _record_set(table: str, columns: Columns) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": _ABOUT[table],
        "key": [{"@id": f"{table}/{name}"} for name in _KEYS[table]],
        "field": [_field(table, table, *column) for column in columns],
    }


def _field(table: str, parent: str, name: str, kind: Any, about: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{parent}/{name}",
        "name": f"{parent}/{name}",
        "description": about,
    }
    if isinstance(kind, list):
        found["repeated"] = True
        (kind,) = kind
    if isinstance(kind, tuple):
        found["subField"] = [_field(table, f"{parent}/{name}", *own) for own in kind]
        return found
    column = f"{parent}/{name}".removeprefix(f"{table}/")
    top, *path = column.split("/")
    extract: dict[str, Any] = {"column": top}
    source: dict[str, Any] = {"fileSet": {"@id": f"{table}-files"}, "extract": extract}
    if path:
        source["transform"] = {"jsonPath": ".".join(path)}
    return {**found, "dataType": _TYPES[kind], "source": source}

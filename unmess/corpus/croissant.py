"""Describes a corpus in Croissant, the JSON-LD format of data sets for machine learning.

The format: https://docs.mlcommons.org/croissant/docs/croissant-spec.html
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from unmess.core.files.writing import write_text, writing_to
from unmess.corpus.tables import LICENSES, TABLES, Columns, Summary

FILE = "croissant.json"
# The version of the tables. Change it when their columns change.
VERSION = "1.0.0"
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
    "equivalentProperty": "cr:equivalentProperty",
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
    "samplingRate": "cr:samplingRate",
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
    with writing_to(path):
        text = json.dumps(_document(files, summary, versions), indent=2, ensure_ascii=False)
        write_text(path, f"{text}\n")
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
        "version": VERSION,
        "distribution": [
            each for table, paths in files.items() for each in _distribution(table, paths)
        ],
        "recordSet": [
            _record_set(table, columns, files[table]) for table, columns in TABLES.items()
        ],
    }


def _distribution(table: str, paths: list[Path]) -> list[dict[str, Any]]:
    objects: list[dict[str, Any]] = [
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
    if len(paths) == 1:
        return objects
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


def _record_set(table: str, columns: Columns, paths: list[Path]) -> dict[str, Any]:
    # All readers of Croissant open a single file, but some do not open a set of local files.
    origin = (
        {"fileObject": {"@id": paths[0].name}}
        if len(paths) == 1
        else {"fileSet": {"@id": f"{table}-files"}}
    )
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": _ABOUT[table],
        "key": [{"@id": f"{table}/{name}"} for name in _KEYS[table]],
        "field": [_field(origin, (table,), *column) for column in columns],
    }


def _field(
    origin: dict[str, Any], parents: tuple[str, ...], name: str, kind: Any, about: str
) -> dict[str, Any]:
    """Returns the description of a column, or of a part of one.

    Args:
        parents: the table, and the column if this is a part of it.
    """
    path = (*parents, name)
    found: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": "/".join(path),
        "name": "/".join(path),
        "description": about,
    }
    if isinstance(kind, list):
        found["repeated"] = True
        (kind,) = kind
    if isinstance(kind, tuple):
        found["subField"] = [_field(origin, path, *own) for own in kind]
        return found
    source: dict[str, Any] = {**origin, "extract": {"column": path[1]}}
    if len(path) > 2:
        source["transform"] = {"jsonPath": ".".join(path[2:])}
    return {**found, "dataType": _TYPES[kind], "source": source}

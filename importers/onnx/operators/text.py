"""Lowerings of operators on tokens."""

from __future__ import annotations

import itertools

import torch

from importers.onnx.node import Node
from importers.onnx.registry import operator

Tensor = torch.Tensor


@operator("TfIdfVectorizer")
def tf_idf_vectorizer(node: Node, x: Tensor) -> Tensor:
    """Lowers `TfIdfVectorizer`: counts n-grams in each row, also with skipped tokens in between."""
    if node.get("pool_strings"):
        raise node.refuse("of strings")
    places = node.get("ngram_indexes")
    weights = node.get("weights") or [1.0] * len(places)
    rows = x.reshape(-1, x.shape[-1]).to(torch.int64)
    total = torch.zeros((rows.shape[0], max(places) + 1), dtype=torch.float32)
    scale = torch.zeros_like(total[0]).index_copy(
        0, torch.tensor(places), torch.tensor(weights, dtype=torch.float32)
    )
    starts = [*node.get("ngram_counts"), len(node.get("pool_int64s"))]
    first = 0
    for size, (start, end) in enumerate(itertools.pairwise(starts), 1):
        count = (end - start) // size
        own, first = places[first : first + count], first + count
        if not count or not node.get("min_gram_length") <= size <= node.get("max_gram_length"):
            continue
        grams = torch.tensor(node.get("pool_int64s")[start:end]).reshape(count, size)
        found = _occurrences(rows, grams, 0 if size == 1 else node.get("max_skip_count"))
        total = total.index_add(1, torch.tensor(own), found)
    mode = node.get("mode")
    if mode == "IDF":
        total = (total > 0).to(torch.float32)
    result = total if mode == "TF" else total * scale
    return result.reshape(-1) if x.dim() < 2 else result


def _occurrences(rows: Tensor, grams: Tensor, most_skipped: int) -> Tensor:
    """Returns the count of each n-gram in each row, (rows, n-grams)."""
    size = grams.shape[1]
    total = torch.zeros((rows.shape[0], grams.shape[0]), dtype=torch.float32)
    for skipped in range(most_skipped + 1):
        reach = (size - 1) * (skipped + 1) + 1
        if reach > rows.shape[1]:
            break
        windows = rows.unfold(1, reach, 1)[..., :: skipped + 1]
        same = (windows.unsqueeze(2) == grams).all(-1)
        total = total + same.sum(1).to(torch.float32)
    return total

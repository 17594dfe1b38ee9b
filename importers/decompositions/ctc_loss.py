"""The connectionist temporal classification (CTC) loss."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch._higher_order_ops.while_loop import while_loop_op
from torch._subclasses.fake_impls import op_implementations_dict

from importers.decompositions.assertions import require

Lengths = Sequence[int] | torch.Tensor


def ctc_loss(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the negative log likelihood of each target, by Graves' forward variables in f64.

    Args:
        log_probs: (steps, batch, classes).
        targets: (batch, longest), or concatenated (all).
        input_lengths, target_lengths: (batch).
        zero_infinity: not used; the caller handles it.

    Returns:
        The losses (batch), and the forward variables (batch, steps, 2 longest + 1). The forward
        variables are NaN, since only PyTorch's gradient reads them.
    """
    scores = log_probs.to(torch.float64)
    steps, batch, classes = scores.shape
    inputs = _lengths(input_lengths, batch)
    lengths = _lengths(target_lengths, batch)
    require(
        torch.logical_and(inputs >= 0, inputs <= steps),
        "ctc_loss has an input length that is negative or above the number of steps",
    )
    labels = _labels(targets, lengths, batch)
    longest = labels.shape[1]
    require(
        torch.logical_and(lengths >= 0, lengths <= longest),
        "ctc_loss has a target length that is negative or too large",
    )
    used = torch.arange(longest) < lengths.unsqueeze(1)
    in_range = torch.logical_and(labels >= 0, labels < classes)
    require(torch.logical_or(in_range, ~used), "ctc_loss has a target that is not a class")
    # Put blanks between the labels and at both ends.
    around = torch.full((batch, longest + 1), blank, dtype=torch.int64)
    labels = torch.where(torch.logical_and(used, in_range), labels, blank)
    states = torch.stack([around[:, :-1], labels], 2).reshape(batch, -1)
    states = torch.cat([states, around[:, -1:]], 1)
    count = 2 * longest + 1
    emitted = scores.gather(2, states.unsqueeze(0).expand(steps, -1, -1))
    # A label may directly follow the previous label if they differ.
    two_before = torch.cat([around[:, :1], around[:, :1], states], 1)[:, :count]
    skips = torch.logical_and(torch.ne(states, blank), torch.ne(states, two_before))
    place = torch.arange(count)
    reached = torch.logical_and(place < 2, place < (2 * lengths + 1).unsqueeze(1))
    if steps:
        begin = torch.where(reached, emitted[0], -torch.inf)
        likelihoods = _forward(begin, emitted, skips.to(torch.float64), inputs)
    else:
        likelihoods = torch.full((batch, count), -torch.inf, dtype=torch.float64)
    last = (2 * lengths).unsqueeze(1)
    final = torch.logical_or(torch.eq(place, last), torch.eq(place, last - 1))
    loss = -_log_of_sum(torch.where(final, likelihoods, -torch.inf))
    nothing = torch.where(torch.eq(lengths, 0), -0.0, torch.inf)
    loss = torch.where(torch.eq(inputs, 0), nothing, loss).to(log_probs.dtype)
    return loss, log_probs.new_full((batch, steps, count), torch.nan)


def _forward(
    begin: torch.Tensor, emitted: torch.Tensor, skips: torch.Tensor, inputs: torch.Tensor
) -> torch.Tensor:
    """Returns the forward variables (batch, states) after the last step of each input."""

    def more(step, _now, emitted, _skips, _inputs):
        return step < emitted.shape[0]

    def advance(step, now, emitted, skips, inputs):
        none = torch.full_like(now[:, :1], -torch.inf)
        before = torch.cat([none, now], 1)[:, :-1]
        two_before = torch.cat([none, none, now], 1)[:, :-2]
        two_before = torch.where(torch.gt(skips, 0), two_before, -torch.inf)
        total = _log_of_sum(torch.stack([now, before, two_before], -1))
        score = emitted.index_select(0, step.reshape(1)).squeeze(0)
        runs = torch.lt(step, inputs).unsqueeze(1)
        return step + 1, torch.where(runs, total + score, now)

    start = (torch.ones((), dtype=torch.int64), begin)
    return while_loop_op(more, advance, start, (emitted, skips, inputs))[1]


def _log_of_sum(x: torch.Tensor) -> torch.Tensor:
    """Returns log Σ e^x along the last axis; -∞ where all elements are -∞."""
    largest = x.amax(-1, keepdim=True)
    largest = torch.where(torch.eq(largest, -torch.inf), 0.0, largest)
    return torch.log(torch.exp(x - largest).sum(-1)) + largest.squeeze(-1)


def _lengths(lengths: Lengths, batch: int) -> torch.Tensor:
    if isinstance(lengths, torch.Tensor):
        return lengths.to(torch.int64).reshape(batch)
    return torch.cat([torch.full((1,), length, dtype=torch.int64) for length in lengths])


def _labels(targets: torch.Tensor, lengths: torch.Tensor, batch: int) -> torch.Tensor:
    """Returns the labels (batch, longest), after it splits concatenated targets."""
    targets = targets.to(torch.int64)
    if targets.dim() == 2:
        return targets
    if targets.shape[0] == 0:
        return torch.zeros((batch, 0), dtype=torch.int64)
    first = (torch.cumsum(lengths, 0) - lengths).unsqueeze(1)
    place = (first + torch.arange(targets.shape[0])).clamp(max=targets.shape[0] - 1)
    return targets[place]


def _fake(_mode, function, log_probs, targets, input_lengths, *_rest, **_options):
    """Returns empty tensors of the shapes that `ctc_loss` returns.

    PyTorch has no meta kernel for `_ctc_loss.Tensor`.
    """
    steps, batch, _ = log_probs.shape
    loss = log_probs.new_empty((batch,))
    return loss, log_probs.new_empty((batch, steps, 2 * targets.shape[-1] + 1))


for _overload in (torch.ops.aten._ctc_loss.default, torch.ops.aten._ctc_loss.Tensor):
    op_implementations_dict.setdefault(_overload, _fake)

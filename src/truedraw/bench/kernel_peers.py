"""The kernel benchmark's work as numpy does it, one step after the other, and as torch does, where it is installed.

numpy works in float64, the accuracy that the kernels promise, torch in float32, as it is used. Both draw by what they
have: numpy by the inverse distribution function, torch by its multinomial.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from truedraw.bench.kernel_rows import Rows
from truedraw.bench.kernel_works import REPETITION, Work
from truedraw.bench.provenance import version_of
from truedraw.protocol import Floats, Ints, Logits


def has_torch() -> bool:
    """Whether torch can take part."""
    return torch_version() is not None


def torch_version() -> str | None:
    """Of the installed torch, None without one."""
    return version_of("torch")


def numpy_draw(logits: Logits, work: Work, uniforms: Floats, edits: Rows | None) -> tuple[Ints, Floats | None, Floats]:
    """Tokens and their log probabilities [rows], before and after, one numpy step after the other."""
    how, z = work.how, logits.astype(np.float64)
    raw = z
    if edits is not None:
        z = z.copy()
        np.put_along_axis(z, edits.ids, np.take_along_axis(z, edits.ids, 1) + edits.addends, 1)
        seen = np.take_along_axis(z, edits.seen, 1)
        np.put_along_axis(z, edits.seen, np.where(seen > 0, seen / REPETITION, seen * REPETITION), 1)
    z = z / how.temperature
    if how.top_k > 0:
        z[z < np.partition(z, -how.top_k, axis=1)[:, [-how.top_k]]] = -np.inf
    p = numpy_softmax(z)
    if how.top_p < 1.0:
        order = np.argsort(-p, axis=1)
        ordered = np.take_along_axis(p, order, 1)
        ordered[ordered.cumsum(axis=1) - ordered >= how.top_p] = 0.0
        np.put_along_axis(p, order, ordered, 1)
    if how.min_p > 0.0:
        p[p < how.min_p * p.max(axis=1, keepdims=True)] = 0.0
    p = p / p.sum(axis=1, keepdims=True)
    tokens = numpy_choose(p, uniforms)
    at = tokens[:, None]
    before = np.log(np.take_along_axis(numpy_softmax(raw), at, 1)[:, 0]) if work.logprobs else None
    return tokens, before, np.log(np.take_along_axis(p, at, 1)[:, 0])


def numpy_softmax(z: Floats) -> Floats:
    """Of [rows, vocab]."""
    weights = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def numpy_choose(p: Floats, uniforms: Floats) -> Ints:
    """The inverse distribution function at uniforms [rows]."""
    sums = p.cumsum(axis=1)
    return np.array([np.searchsorted(row, u * row[-1], side="right") for row, u in zip(sums, uniforms, strict=True)])


def numpy_judge(pair: tuple[Floats, Floats, Ints], uniforms: Floats) -> Ints:
    """What stands in each row in the end [rows]."""
    p, q, tokens = pair
    at = tokens[:, None]
    kept = uniforms * np.take_along_axis(q, at, 1)[:, 0] < np.take_along_axis(p, at, 1)[:, 0]
    left = np.maximum(p - q, 0.0)
    return np.where(kept, tokens, numpy_choose(left / left.sum(axis=1, keepdims=True), uniforms))


def torch_draw(logits: Any, work: Work, edits: Rows | None) -> Any:
    """The same in torch, with a whole sort for top_p."""
    import torch

    how, z = work.how, logits
    if edits is not None:
        z = z.scatter_add(1, torch.from_numpy(edits.ids), torch.from_numpy(edits.addends.astype(np.float32)))
        at = torch.from_numpy(edits.seen)
        seen = z.gather(1, at)
        z = z.scatter(1, at, torch.where(seen > 0, seen / REPETITION, seen * REPETITION))
    z = z / how.temperature
    if how.top_k > 0:
        z = z.masked_fill(z < torch.topk(z, how.top_k, dim=-1).values[:, -1:], float("-inf"))
    p = torch.softmax(z, dim=-1)
    if how.top_p < 1.0:
        ordered, order = torch.sort(p, dim=-1, descending=True)
        p = torch.zeros_like(p).scatter(1, order, ordered * (ordered.cumsum(-1) - ordered < how.top_p))
    if how.min_p > 0.0:
        p = p * (p >= how.min_p * p.amax(-1, keepdim=True))
    tokens = torch.multinomial(p, 1)
    if not work.logprobs:
        return tokens
    after = torch.log(p.gather(1, tokens) / p.sum(-1, keepdim=True))
    return tokens, torch.log_softmax(logits, dim=-1).gather(1, tokens), after


def torch_judge(given: tuple[Any, Any, Any]) -> Any:
    """The same in torch."""
    import torch

    p, q, tokens = given
    at = tokens[:, None]
    kept = torch.rand(len(p)) * q.gather(1, at)[:, 0] < p.gather(1, at)[:, 0]
    left = (p - q).clamp(min=0)
    return torch.where(kept, tokens, torch.multinomial(left, 1)[:, 0])

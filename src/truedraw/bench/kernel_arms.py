"""The contestants of the kernel benchmark: our kernels, numpy step by step, and torch where it is installed.

Ours are called as sampling calls them, row by row from Python. numpy works in float64, the accuracy that the kernels
promise, torch in float32, as it is used. Both draw by what they have: numpy by the inverse distribution function, torch
by its multinomial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from truedraw.bench.kernel_rows import Rows, laws
from truedraw.protocol import Floats, Ints, Logits, Purpose
from truedraw.sampling.drawing import Drawn, RowDraws
from truedraw.sampling.kernels import DRAWN
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.sampling.transform import Transform

Arm = Callable[[int], object]
"""One call on the batch of a number."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is done to a row: drawn from, as `how` says, perhaps edited first (a bias and a repetition penalty).

    `logprobs`: with the token's log probability, as sampling always draws; without it, nothing but the token.
    """

    name: str
    how: Transform
    edited: bool = False
    logprobs: bool = True


WORKS = (
    Work("temperature, token alone", Transform(temperature=0.8), logprobs=False),
    Work("temperature", Transform(temperature=0.8)),
    Work("top_k 50", Transform(temperature=0.8, top_k=50)),
    Work("top_p 0.95", Transform(temperature=0.8, top_p=0.95)),
    Work("min_p 0.05", Transform(temperature=0.8, min_p=0.05)),
    Work("edits", Transform(temperature=0.8), edited=True),
    Work("edits, top_p 0.95", Transform(temperature=0.8, top_p=0.95), edited=True),
    Work("edits, top_k, top_p, min_p", Transform(0.8, 50, 0.95, 0.05), edited=True),
)
REPETITION = 1.2  # the penalty where rows are edited
RESIDUAL = "acceptance and residual"
CHANCES = 101  # names of noise in turn: with always the same one the processor learns to foresee every branch
LAWS_OF_LOGITS = 4  # p and q in float64 take as much memory as so many batches of logits


def draw_arms(work: Work, rows: Rows) -> dict[str, Arm]:
    """Everyone's way of drawing a token from each row; and one pass over the row, for comparison."""
    given = rows if work.edited else None
    arms: dict[str, Arm] = {
        "kernel": own_draws(work, rows) if work.logprobs else own_tokens(work, rows),
        "numpy": lambda call: numpy_draw(rows.at(call), work.how, rows.uniforms, given),
        "pass": lambda call: rows.at(call).max(axis=1),
    }
    if has_torch():
        tensors = _tensors(rows)
        arms["torch"] = lambda call: torch_draw(tensors[call % len(tensors)], work, given)
    return arms


def own_draws(work: Work, rows: Rows) -> Arm:
    """As a round draws: the token and its logarithms."""
    draws, laws_of_rows = RowDraws(), [_law(work, rows, row) for row in range(len(rows.uniforms))]
    samples = _samples(rows)

    def drawn(call: int) -> list[Drawn | None]:
        each = zip(laws_of_rows, rows.at(call), samples, strict=True)
        return [draws.draw(law, row, sample, Purpose.TARGET, call % CHANCES, 0) for law, row, sample in each]

    return drawn


def own_tokens(work: Work, rows: Rows) -> Arm:
    """The same kernel, asked for the token alone."""
    from truedraw.sampling.kernels.entry import draw_one, memory

    how, scratch, samples = tuple(work.how), memory(rows.logits[0].shape[1]), _samples(rows)
    chances = [
        [(sample.counter(Purpose.TARGET, place, 0), sample.key, False, DRAWN) for sample in samples]
        for place in range(CHANCES)
    ]

    def drawn(call: int) -> list[int]:
        each = zip(rows.at(call), chances[call % CHANCES], strict=True)
        return [draw_one(row, how, chance, scratch)[0] for row, chance in each]

    return drawn


def own_judge(pair: tuple[Floats, Floats, Ints], samples: list[PhiloxRandomness], place: int) -> list[int]:
    """As token-wise verification does it: what stands in each row in the end."""
    ends = []
    for p, q, token, sample in zip(*pair, samples, strict=True):
        kept = sample.accept(p[token], q[token], Purpose.ACCEPT, place)
        ends.append(int(token) if kept else sample.choose_left(p, q, Purpose.RESIDUAL, place))
    return ends


def residual_arms(rows: Rows) -> dict[str, Arm]:
    """Everyone's way of judging one draft token a row."""
    pairs = [laws(logits) for logits in rows.logits[: max(2, len(rows.logits) // LAWS_OF_LOGITS)]]
    samples = _samples(rows)
    arms: dict[str, Arm] = {
        "kernel": lambda call: own_judge(pairs[call % len(pairs)], samples, call % CHANCES),
        "numpy": lambda call: numpy_judge(pairs[call % len(pairs)], rows.uniforms),
        "pass": lambda call: [law.max(axis=1) for law in pairs[call % len(pairs)][:2]],
    }
    if has_torch():
        import torch

        given = [tuple(torch.from_numpy(part) for part in (*map(np.float32, pair[:2]), pair[2])) for pair in pairs]
        arms["torch"] = lambda call: torch_judge(given[call % len(given)])
    return arms


def has_torch() -> bool:
    """Whether torch can take part."""
    return torch_version() is not None


def torch_version() -> str | None:
    """Of the installed torch, None without one."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return None


def numpy_draw(logits: Logits, how: Transform, uniforms: Floats, edits: Rows | None) -> tuple[Ints, Floats]:
    """Tokens and log probabilities [rows], one numpy step after the other."""
    z = logits.astype(np.float64)
    if edits is not None:
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
    return tokens, np.log(np.take_along_axis(p, tokens[:, None], 1)[:, 0])


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
    return (tokens, torch.log(p.gather(1, tokens) / p.sum(-1, keepdim=True))) if work.logprobs else tokens


def torch_judge(given: tuple[Any, Any, Any]) -> Any:
    """The same in torch."""
    import torch

    p, q, tokens = given
    at = tokens[:, None]
    kept = torch.rand(len(p)) * q.gather(1, at)[:, 0] < p.gather(1, at)[:, 0]
    left = (p - q).clamp(min=0)
    return torch.where(kept, tokens, torch.multinomial(left, 1)[:, 0])


def _law(work: Work, rows: Rows, row: int) -> SamplingLaw:
    """The law of one row, with edits of its own."""
    if not work.edited:
        return SamplingLaw(SamplingParams(**work.how._asdict()))
    bias = dict(zip(rows.ids[row].tolist(), rows.addends[row].tolist(), strict=True))
    params = SamplingParams(**work.how._asdict(), logit_bias=bias, repetition_penalty=REPETITION)
    return SamplingLaw(params, Opening(tuple(rows.seen[row].tolist()), rows.logits[0].shape[1]))


def _samples(rows: Rows) -> list[PhiloxRandomness]:
    return [PhiloxRandomness(0, sample) for sample in range(len(rows.uniforms))]


def _tensors(rows: Rows) -> list[Any]:
    import torch

    return [torch.from_numpy(logits) for logits in rows.logits]

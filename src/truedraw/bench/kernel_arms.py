"""The contestants of the kernel benchmark: our kernels, and those of kernel_peers.py.

Ours are called as sampling calls them: rows of plain rounds together, rows that are edited one by one. Everyone
returns what sampling needs: a token and, where these are drawn, both its log probabilities, by model and law.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from truedraw.bench.kernel_peers import has_torch, numpy_draw, numpy_judge, torch_draw, torch_judge
from truedraw.bench.kernel_rows import Rows, laws
from truedraw.bench.kernel_works import REPETITION, Work
from truedraw.protocol import Floats, Ints, Purpose
from truedraw.sampling.drawing import Drawn, RowDraws
from truedraw.sampling.kernels import DRAWN
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.threads import NOBODY
from truedraw.verify.fused.judge import ASKED
from truedraw.verify.fused.plain_rounds import Asked, PlainRounds

Arm = Callable[[int], object]
"""One call on the batch of a number."""
CHANCES = 101  # names of noise in turn: with always the same one the processor learns to foresee every branch
LAWS_OF_LOGITS = 4  # p and q in float64 take as much memory as so many batches of logits


def draw_arms(work: Work, rows: Rows) -> dict[str, Arm]:
    """Everyone's way of drawing a token from each row; and one pass over the row, for comparison."""
    given = rows if work.edited else None
    arms: dict[str, Arm] = {
        "kernel": own_draws(work, rows) if work.logprobs else own_tokens(work, rows),
        "numpy": lambda call: numpy_draw(rows.at(call), work, rows.uniforms, given),
        "pass": lambda call: rows.at(call).max(axis=1),
    }
    if has_torch():
        tensors = _tensors(rows)
        arms["torch"] = lambda call: torch_draw(tensors[call % len(tensors)], work, given)
    return arms


def own_draws(work: Work, rows: Rows) -> Arm:
    """As a round draws: the token and its logarithms."""
    if len(rows.uniforms) > 1 and not work.edited:
        draw = own_plain_rounds(work, rows, ASKED)
        return lambda call: [Drawn(int(token), before, after) for token, after, before in draw(call).tolist()]
    draws, laws_of_rows = RowDraws(), [_law(work, rows, row) for row in range(len(rows.uniforms))]
    samples = _samples(rows)

    def drawn(call: int) -> list[Drawn | None]:
        each = zip(laws_of_rows, rows.at(call), samples, strict=True)
        return [draws.draw(law, row, sample, Purpose.TARGET, call % CHANCES, 0) for law, row, sample in each]

    return drawn


def own_plain_rounds(work: Work, rows: Rows, what: tuple[bool, int]) -> Callable[[int], Floats]:
    """As plain rounds of many texts draw, in one call."""
    draws, samples = PlainRounds(), _samples(rows)

    def drawn(call: int) -> Floats:
        each = zip(rows.at(call), samples, strict=True)
        asked = [Asked(row, work.how, sample.name, call % CHANCES, True) for row, sample in each]
        return draws.draw(asked, what)

    return drawn


def own_tokens(work: Work, rows: Rows) -> Arm:
    """The same kernel, asked for the token alone."""
    if len(rows.uniforms) > 1:
        draw = own_plain_rounds(work, rows, (False, DRAWN))
        return lambda call: [int(token) for token in draw(call)[:, 0]]
    from truedraw.sampling.kernels.entry import draw_one, memory

    how, scratch, samples = tuple(work.how), memory(rows.logits[0].shape[1], NOBODY), _samples(rows)
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

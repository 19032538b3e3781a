"""The contestants of the kernel benchmark: our kernels, and those of kernel_peers.py.

Ours are called as compiled rounds call them: what they are given is made once, and what follows the text changes in
between; threads that have just shared a pass of the model are there. Everyone returns what sampling needs: a token and,
where these are drawn, both its log probabilities, by model and law.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np

from truedraw.bench.kernel_peers import has_torch, numpy_draw, numpy_judge, torch_draw, torch_judge
from truedraw.bench.kernel_rows import Rows, laws
from truedraw.bench.kernel_works import REPETITION, Work
from truedraw.protocol import Floats, Ints, Purpose
from truedraw.sampling.edits import Edits
from truedraw.sampling.kernels import DRAWN
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.sampling.transform import fused
from truedraw.threads import NOBODY
from truedraw.verify.fused.edit_tables import ADDRESS
from truedraw.verify.fused.judge import ASKED
from truedraw.verify.fused.plain_rounds import COUNTS, DRAW, NAMES, ROWS, TOLD, UNDRAWN, Asked, PlainRounds

Arm = Callable[[int], object]
"""One call on the batch of a number."""
KERNEL, ALONE, PASS = "kernel", "kernel alone", "pass"
"""Names of our arms, with helpers and on one thread, and of what they are compared with."""
TORCH, TORCH_ALONE = "torch", "torch alone"
"""Of torch's, with as many threads and on one; whoever calls them sees to the threads."""
CHANCES = 101  # names of noise in turn: with always the same one the processor learns to foresee every branch
LAWS_OF_LOGITS = 4  # p and q in float64 take as much memory as so many batches of logits


def draw_arms(work: Work, rows: Rows, board: Ints = NOBODY) -> dict[str, Arm]:
    """Everyone's way of drawing a token from each row; and one pass over the row, for comparison.

    numpy and the pass come last, so that the kernels with helpers are behind them whoever is there. board: of a crew
    (threads/) that the kernels may share work with.
    """
    given = rows if work.edited else None
    arms: dict[str, Arm] = {
        KERNEL: own_draws(work, rows, board),
        ALONE: own_draws(work, rows, NOBODY),
    }
    if has_torch():
        tensors = _tensors(rows)
        arms[TORCH] = arms[TORCH_ALONE] = lambda call: torch_draw(tensors[call % len(tensors)], work, given)
    arms["numpy"] = lambda call: numpy_draw(rows.at(call), work, rows.uniforms, given)
    arms[PASS] = lambda call: rows.at(call).max(axis=1)
    return arms


def own_draws(work: Work, rows: Rows, board: Ints) -> Arm:
    """As a round draws. Of each row a token and, where these are wanted, its logs by the law and by the model."""
    what = ASKED if work.logprobs else (False, DRAWN)
    return (together if len(rows.uniforms) > 1 else lonely)(work, rows, board, what)


def together(work: Work, rows: Rows, board: Ints, what: tuple[bool, int]) -> Arm:
    """Of many texts in one call: names and the rows' addresses change, what edits a row stands ready."""
    from truedraw.verify.fused.plainly import POSITION

    each = enumerate(zip(rows.at(0), _samples(rows), strict=True))
    asked = [Asked(row, work.how, sample.name, 0, True, _edits(work, rows, number)) for number, (row, sample) in each]
    given, draw = PlainRounds(board).given(asked, what), DRAW()
    places = [np.array([*map(ADDRESS(), batch)]) for batch in rows.logits]

    def drawn(call: int) -> list[list[float]]:
        assert len(asked) == len(given[TOLD])  # whose arrays are held here, as those of rows are
        given[ROWS][:] = places[call % len(rows.logits)]
        given[NAMES][:, POSITION] = call % CHANCES
        given[COUNTS][:], given[TOLD][:] = 0, UNDRAWN
        draw(board, given, not len(board))
        return given[TOLD].tolist()  # type: ignore[no-any-return]

    return drawn


def lonely(work: Work, rows: Rows, board: Ints, what: tuple[bool, int]) -> Arm:
    """Of one text, whose row threads share."""
    from truedraw.sampling.kernels.entry import draw_edited_one, draw_one, memory

    how, scratch, (sample,) = tuple(work.how), memory(rows.logits[0].shape[1], board), _samples(rows)
    edits = _edits(work, rows, 0)
    draw, last = (draw_one, ()) if edits is None else (draw_edited_one, (tuple(edits),))
    chances = [(sample.counter(Purpose.TARGET, place, 0), sample.key, *what) for place in range(CHANCES)]
    given = [(row, how, chance, scratch, *last) for (row,), chance in zip(rows.logits, cycle(chances), strict=False)]
    return lambda call: [draw(*given[call % len(given)])]


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
        KERNEL: lambda call: own_judge(pairs[call % len(pairs)], samples, call % CHANCES),
        "numpy": lambda call: numpy_judge(pairs[call % len(pairs)], rows.uniforms),
        PASS: lambda call: [law.max(axis=1) for law in pairs[call % len(pairs)][:2]],
    }
    if has_torch():
        import torch

        given = [tuple(torch.from_numpy(part) for part in (*map(np.float32, pair[:2]), pair[2])) for pair in pairs]
        arms[TORCH] = arms[TORCH_ALONE] = lambda call: torch_judge(given[call % len(given)])
    return arms


def _edits(work: Work, rows: Rows, row: int) -> Edits | None:
    """Of one row, its own."""
    if not work.edited:
        return None
    bias = dict(zip(rows.ids[row].tolist(), rows.addends[row].tolist(), strict=True))
    params = SamplingParams(**work.how._asdict(), logit_bias=bias, repetition_penalty=REPETITION)
    law = fused(SamplingLaw(params, Opening(tuple(rows.seen[row].tolist()), rows.logits[0].shape[1])), rows.at(0)[row])
    assert law is not None
    return law.edits()


def _samples(rows: Rows) -> list[PhiloxRandomness]:
    return [PhiloxRandomness(0, sample) for sample in range(len(rows.uniforms))]


def _tensors(rows: Rows) -> list[Any]:
    import torch

    return [torch.from_numpy(logits) for logits in rows.logits]

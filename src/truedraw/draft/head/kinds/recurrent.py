"""Recurrent (Cheng et al., ReDrafter, 2403.09919; Ankner et al., Hydra, 2402.05109): one step for all levels.

With a state x of the target's width,

    x_0 = I f
    u_i = (n(x_{i-1}), n(e(t_i)))
    x_i = x_{i-1} + T n(e(t_i)) + D (silu(G u_i) * (U u_i))
    logits_i = e(tokens) O (g * n(x_i))

One step serves the first token, whose state is made of the target's hidden states, and all others. It is bound by
memory: each matrix is read once, by kernels of this package (recurrent_step.py), which take half as long as a graph of
the engine's behind a pass of the target. So the large ones are read in codes of 4 bits, 7.3 MB in place of 11.5 for the
head that ships. I and O lose more by it than they take.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.card import RECURRENT
from truedraw.draft.head.cell import States
from truedraw.draft.head.compiled import EPSILON, TargetRows, flat, rows_of
from truedraw.draft.head.file import Numbers
from truedraw.draft.head.four_bits import WRITTEN, as_read
from truedraw.draft.head.kept import Make, kept_blocks
from truedraw.draft.head.kinds.recurrent_step import STAGES, compute
from truedraw.engine.constants.matrix import Matrix, dense
from truedraw.engine.native.blocks import LANES, Blocks
from truedraw.engine.native.laying import blocks_of, in_whole_tiles
from truedraw.engine.native.memory import room
from truedraw.engine.native.products import looked_up
from truedraw.engine.native.together import ways
from truedraw.protocol import Ints, Logits
from truedraw.threads.crew import crew_of
from truedraw.threads.stages import counters


class RecurrentCell:
    """draft.head.cell.Cell of a file, on the threads of the target's kernels, or the caller's alone. Raises BadFile."""

    def __init__(self, file: Numbers, target: TargetRows, threads: int | None = None) -> None:
        width = file.card.width
        self.tokens, self._width, self._embedding = file.tokens, width, target.embedding
        self._blocks = all_blocks(file, target, partial(step_blocks, file))
        self._matrices = tuple(tuple(blocks) for blocks in self._blocks)
        self._gains = np.ones(width, np.float32), file.vector("gain", width)
        self._num_known = len(file.tokens)
        self._held: tuple[int, tuple[Any, ...]] = (0, ())
        self._crew = target.crew or crew_of(1)
        self.step(np.zeros((1, width), np.float32), file.tokens[:1])  # machine code is there before the first draft

    def begin(self, features: NDArray[np.float32], last: Ints) -> tuple[States, Logits]:
        """See Cell."""
        return self._run(flat(features), np.zeros((len(features), self._width), np.float32), last)

    def step(self, states: States, tokens: Ints) -> tuple[States, Logits]:
        """See Cell."""
        return self._run(np.zeros((len(states), 0), np.float32), states, tokens)

    def shown(self, states: States) -> States:
        """draft.head.cell.Shows: the state, of which logits are a function."""
        return states

    def _run(self, features: NDArray[np.float32], states: States, tokens: Ints) -> tuple[States, Logits]:
        """Behind states [n, width] and features [n, streams * width], of which there may be none."""
        n, width = states.shape
        told = np.empty((n, width), np.float32), np.empty((n, self._num_known), np.float32)
        given, fresh = (features, states, embedded(self._embedding, tokens)), counters(STAGES)
        here = ways(self._crew.num_threads)
        self._crew.run(compute, (given, self._matrices, self._gains, EPSILON, told, self._memory(n), fresh, here))
        return told

    def _memory(self, n: int) -> tuple[Any, ...]:
        """Of n rows, as `compute` has it; kept for the next call of as many."""
        if n != self._held[0]:
            shapes = (n, self._width), (n, 2 * self._width), (n, self._width)
            rounded = [room(n, blocks) for blocks in self._blocks]
            self._held = n, (*(np.empty(shape, np.float32) for shape in shapes), *rounded)
        return self._held[1]


def step_blocks(file: Numbers) -> list[Blocks]:
    """I, (G, U), D, T and O of a file; raises BadFile."""
    width, rows = file.card.width, file.rows("up")
    shapes = {
        "input": (width, width * file.card.streams),
        "up": (rows, 2 * width),
        "down": (width, rows // 2),
        "token": (width, width),
        "output": (width, width),
    }
    held = {name: as_read(file.card.kind, name, file.matrix(name, shape)) for name, shape in shapes.items()}
    return [blocks_of(each) for each in (held | {"up": in_whole_tiles(held["up"])}).values()]


def is_coded(table: Matrix) -> bool:
    """Whether compiled code knows its rows: codes of eight bits with scales."""
    return table.scales is not None and table.values.dtype == np.int8


def embedded(table: Matrix, tokens: Ints) -> NDArray[np.float32]:
    """e(t) [n, width]."""
    if not is_coded(table):
        return dense(rows_of(table, tokens))
    found: NDArray[np.float32] = looked_up(table.values, table.scales, tokens)
    return found


def all_blocks(file: Numbers, target: TargetRows, of_file: Make) -> list[Blocks]:
    """What a file's own matrices are laid out as, and e(tokens) behind them; raises BadFile."""
    own = lent(target, file.tokens)
    if own is not None:
        return [*kept_blocks(file, None, target.kept_in, of_file), own]
    rows = rows_of(target.embedding, file.tokens)
    return kept_blocks(file, rows, target.kept_in, lambda: [*of_file(), blocks_of(as_read(RECURRENT, WRITTEN, rows))])


def lent(target: TargetRows, tokens: Ints) -> Blocks | None:
    """e(tokens) as the target's own blocks, where these are its first tokens: the memory is read by both, and what a
    pass has read at last is read first."""
    if target.blocks is None or not np.array_equal(tokens, np.arange(len(tokens))):
        return None
    tiles = -(-len(tokens) // LANES)
    return Blocks(*(each[:tiles] for each in target.blocks))

"""Attentive: the recurrent head (recurrent.py), which looks back at the rows before. Drafts that attend to what the
target knew at them are Hydra++ (Ankner et al., 2402.05109) and EAGLE (Li et al., 2401.15077).

s_j are the states x_1 of all rows of the text, made of the target's hidden states there and of the token behind, h a
head of eight, i the last row and x_l the state at level l:

    q = Q n(x_l), k_j = K n(s_j), v_j = V n(s_j)
    a_h(j) ~ exp(q_h k_jh / 8 - slope_h (i - j)), j < i, beside a sink exp(b_h) that has no value
    x_l becomes x_l + A (sum_j a_h(j) v_jh, or of v_{j+1,h} in the second half of the heads) for all h

The second half knows what came behind a row like this one. A round's new rows come in its first call, with the one that
is drafted behind, and each is read once. The last 255 rows are looked at; of those that come while nobody drafts all
but a few are missing (known_rows.py), and so is the prompt, which no head has learnt from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truedraw.draft.head.card import ASKING, ATTENTIVE, FOUND
from truedraw.draft.head.cell import Past, States
from truedraw.draft.head.compiled import EPSILON, TargetRows, flat
from truedraw.draft.head.file import Numbers
from truedraw.draft.head.four_bits import as_read
from truedraw.draft.head.kinds.attentive_calls import Calls, Sizes
from truedraw.draft.head.kinds.attentive_memory import Memories, Memory
from truedraw.draft.head.kinds.attentive_step import BEHIND, FOLLOWS, HEADS, STAGES, WIDTH, compute
from truedraw.draft.head.kinds.recurrent import all_blocks, embedded, is_coded, step_blocks
from truedraw.engine.native.blocks import LANES, Blocks
from truedraw.engine.native.laying import blocks_of
from truedraw.engine.native.memory import room
from truedraw.engine.native.together import ways
from truedraw.protocol import Ints, Logits
from truedraw.threads.crew import crew_of
from truedraw.threads.stages import counters

Reals = NDArray[np.float32]
NOBODY = 0  # whose memory is empty
KEPT_ROWS = 6  # of a room
ALL = np.empty((0, FOLLOWS + 1), np.int64)
LOOK_BACK = (False, False, False, False, True, False, False, False, False, True, True, False, True)
"""What `compute` works in, by which rows it is of: those that look back, or all of a call."""
NUM_ROUNDED = 8  # of it, the last ones: pairs


class AttentiveCell:
    """draft.head.cell.Cell and Remembers of a file. States [n, width + 2] end with where they look back from, and in
    whose memory. Raises BadFile.
    """

    def __init__(self, file: Numbers, target: TargetRows, threads: int | None = None) -> None:
        width = file.card.width
        self.tokens, self._width, self._wide, self._embedding = file.tokens, width, width + BEHIND, target.embedding
        *step, asking, found, written = all_blocks(file, target, partial(_own_blocks, file))
        self._blocks = [*step, written, asking, found]
        self._matrices = _matrices(self._blocks), _matrices(_asking_alone(self._blocks))
        self._gains = np.ones(width, np.float32), file.vector("gain", width)
        slopes = np.logaddexp(np.float32(0), file.vector("slope", HEADS))
        self._nearness = np.stack([slopes, file.vector("sink", HEADS)]).astype(np.float32)
        self._num_known, self._memories, self._read = len(file.tokens), Memories(), width * file.card.streams
        self._rooms: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._crew = target.crew or crew_of(1)
        states, _ = self.begin(np.zeros((1, file.card.streams, width), np.float32), file.tokens[:1])
        self.step(states, file.tokens[:1])  # machine code is there before the first draft

    def memory(self) -> Memory:
        """See Remembers."""
        return Memory(self._memories)

    def begin(self, features: NDArray[np.float32], last: Ints, *pasts: Past) -> tuple[States, Logits]:
        """See Cell and Remembers."""
        looking = _behind(pasts) if pasts else np.array([[0, NOBODY, row, 0, 0] for row in range(len(last))])
        return self._run(flat(features), np.zeros((len(last), self._wide), np.float32), last, looking)

    def step(self, states: States, tokens: Ints) -> tuple[States, Logits]:
        """See Cell."""
        return self._run(np.zeros((len(states), 0), np.float32), states, tokens, ALL)

    def shown(self, states: States) -> States:
        """draft.head.cell.Shows: the state, of which logits are a function."""
        return states[:, : self._width]

    def _run(
        self, features: NDArray[np.float32], states: States, tokens: Ints, looking: NDArray[np.int64]
    ) -> tuple[States, Logits]:
        """Behind states [n, width and more] and features [n, streams * width], of which there may be none."""
        n, asked = len(tokens), len(looking) or len(tokens)
        told = np.empty((asked, self._wide), np.float32), np.empty((asked, self._num_known), np.float32)
        rows = features, states, embedded(self._embedding, tokens)
        self._crew.run(compute, self._given(*rows, told, looking, counters(STAGES), self._room(n, asked)))
        return told

    @property
    def calls(self) -> Callable[[Sequence[Memory], int], Calls] | None:
        """See ChainJob; None where compiled code does not know the embedding."""
        return self._calls if is_coded(self._embedding) else None

    def _calls(self, memories: Sequence[Memory], most: int) -> Calls:
        """Of some texts, with so many new rows each at most, kept for compiled code."""
        sizes = Sizes(self._width, self._read, self._num_known)
        room = self._made_room(len(memories) * most, len(memories))
        return Calls(partial(self._kept, room), sizes, most, memories, self._embedding, self._crew.board)

    def _kept(
        self, room: Any, features: Reals, states: Reals, embedded: Reals, told: Any, looking: Ints, fresh: Ints
    ) -> Any:
        here = _part_of(room, len(states), len(looking) or len(states))
        return self._given(features, states, embedded, told, looking, fresh, here)

    def _given(
        self, features: Reals, states: States, embedded: Reals, told: Any, looking: Ints, fresh: Ints, room: Any
    ) -> tuple[Any, ...]:
        matrices, here = self._matrices[0 if features.shape[1] else 1], ways(self._crew.num_threads)
        rows, remembered = (features, states, embedded), (self._memories.arrays, self._nearness)
        return rows, matrices, self._gains, EPSILON, told, room, fresh, here, looking, *remembered

    def _room(self, n: int, asked: int) -> tuple[Any, ...]:
        """Of n rows, so many of which look back, as `compute` has it; of few it is kept for the next call."""
        found = self._rooms.get((n, asked)) or self._made_room(n, asked)
        if n <= KEPT_ROWS:
            self._rooms[n, asked] = found
        return found

    def _made_room(self, n: int, asked: int) -> tuple[Any, ...]:
        widths, counts = [self._width, self._width, 2 * self._width, 3 * WIDTH, self._width], _counts(n, asked)
        plain = [np.empty(shape, np.float32) for shape in zip(counts, widths, strict=False)]
        rounded = [room(*each) for each in zip(counts[len(widths) :], self._blocks, strict=True)]
        return *plain, *rounded


def _counts(n: int, asked: int) -> list[int]:
    """Rows of what a call works in."""
    return [asked if looks_back else n for looks_back in LOOK_BACK]


def _part_of(room: tuple[Any, ...], n: int, asked: int) -> tuple[Any, ...]:
    """Of a room, for fewer rows."""
    plain = len(room) - NUM_ROUNDED
    counts = _counts(n, asked)
    rounded = ((a[:count], b[:count]) for (a, b), count in zip(room[plain:], counts[plain:], strict=True))
    return *(each[:count] for each, count in zip(room[:plain], counts, strict=False)), *rounded


def _behind(pasts: tuple[Past, ...]) -> NDArray[np.int64]:
    """What looks back, of rows that stand as the texts' pasts do."""
    found, end = np.empty((len(pasts), FOLLOWS + 1), np.int64), 0
    for number, past in enumerate(pasts):
        place, follows = past.memory.place(past.first, past.rows)
        end += past.rows
        found[number] = place, past.memory.slot, end - 1, past.rows, follows
    return found


def _own_blocks(file: Numbers) -> list[Blocks]:
    """Those of a step, of (Q, K, V) and of A."""
    width = file.card.width
    shapes = {ASKING: (3 * WIDTH, width), FOUND: (width, WIDTH)}
    asking, found = (blocks_of(as_read(ATTENTIVE, name, file.matrix(name, shape))) for name, shape in shapes.items())
    return [*step_blocks(file), asking, found]


def _asking_alone(blocks: Sequence[Blocks]) -> list[Blocks]:
    """With Q in the place of (Q, K, V)."""
    *step, asking, attended = blocks
    return [*step, Blocks(*(each[: WIDTH // LANES] for each in asking)), attended]


def _matrices(blocks: Sequence[Blocks]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(each) for each in blocks)

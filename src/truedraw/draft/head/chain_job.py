"""The drawn chains of one text as a job of compiled code, round after round: what chain.py draws, with nobody asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.compiled import later
from truedraw.draft.chances import OwnChance
from truedraw.draft.head.chain import is_chain
from truedraw.draft.head.reading import Reading
from truedraw.draft.knobs import GUMBEL
from truedraw.protocol import Proposal, Purpose, Randomness, Scores, SparseLaw
from truedraw.protocol.slate import COUNT, POSITION, Slate
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.transform import Transform
from truedraw.threads.kept import Kept

if TYPE_CHECKING:
    from truedraw.draft.head.kinds.attentive_calls import Calls
    from truedraw.draft.head.state import HeadState

DRAFT = later("truedraw.draft.head.kinds.attentive_chain", "draft")


class Noise(NamedTuple):
    """What tokens are drawn with, see growing.Draws."""

    name: tuple[int, int, int]  # of the sample and its seed
    purpose: int
    moves: bool  # it is that of a token's position
    source: int
    sources: int

    @classmethod
    def of(cls, randomness: Randomness, method: str) -> Noise | None:
        """None where compiled code does not know it."""
        own = randomness if isinstance(randomness, OwnChance) else OwnChance(randomness, 0, 1)
        if type(own.randomness) is not PhiloxRandomness:
            return None
        moves = method == GUMBEL
        purpose = int(Purpose.TARGET if moves else Purpose.DRAFT)
        return cls(own.randomness.name, purpose, moves, own.source, own.sources)


class ChainJob:
    """protocol.DraftJob of one text, chains of so many tokens as the slate has room for."""

    def __init__(
        self, state: HeadState, calls: Calls, reading: Reading, noise: Noise, slate: Slate, hidden: NDArray[np.float32]
    ) -> None:
        self._state, self._calls, self._reading, self._slate, self._hidden = state, calls, reading, slate, hidden
        drafts, known = len(slate.tokens), len(reading.tokens)
        self._how, self._q = np.empty(len(Transform._fields)), np.empty((drafts, known))
        few = np.empty(known), np.empty(known, np.int64)
        self.laws = self._told(noise)
        whole = np.empty(reading.vocab_size if slate.edited else 0)
        law = self._how, self._q, few, reading.tokens, reading.vocab_size, slate.edited, whole
        told = slate.numbers, slate.last, slate.tokens, slate.sure
        self.job = Kept(DRAFT(), (told, hidden, calls.given, law, tuple(noise)))

    def _told(self, noise: Noise) -> tuple[SparseLaw | None, ...]:
        """The laws of the drafts, which the rule finds on the slate."""
        if noise.moves:
            return (None,) * len(self._q)
        tokens = self._reading.tokens
        for node, q in enumerate(self._q):
            self._slate.laws[node] = tokens.ctypes.data, q.ctypes.data, len(q)
        return tuple(SparseLaw(tokens, q, self._reading.vocab_size) for q in self._q)

    @property
    def is_still(self) -> bool:
        """See DraftJob."""
        return self._calls.is_still

    def begin(self, position: int, rounds: int, texts: int = 1) -> int:
        """See DraftJob."""
        state, drafts = self._state, len(self._q)
        rows, how, rounds = state.rows, state.plain_law(), state.law.settled(rounds * texts) // texts
        is_ready = how is not None and rows.features is not None and state.length == position and rounds > 0
        if not is_ready or not 0 < len(rows.tokens) <= 1 + drafts or not self._is_chain(drafts):
            return 0
        count = len(rows.tokens)
        if not self._calls.begin(rows.first, count + rounds * (1 + drafts)):
            return 0
        self._how[:], self._hidden[:count], self._slate.last[:count] = how, rows.features, rows.tokens
        self._slate.numbers[[POSITION, COUNT]] = position, count
        return rounds

    def end(self, rounds: Sequence[tuple[Sequence[int], Proposal]], scores: Scores, is_last: bool) -> None:
        """See DraftJob."""
        first, counts = len(self._state.rows.tokens), [len(tokens) for tokens, _ in rounds]
        self._calls.end(first + sum(counts[:-1]))
        said = (self._reading, self._calls.logits[0]) if is_last else None
        self._state.drew(rounds, scores, said)

    def _is_chain(self, drafts: int) -> bool:
        """Whether that is what would be drafted; a round's tokens are learnt from, but chains stay chains."""
        shape = self._state.trees.levels(drafts)
        return len(shape) == drafts and is_chain(shape)

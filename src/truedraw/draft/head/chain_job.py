"""The drawn chains of one text as a job of compiled code, round after round: what chain.py draws, with nobody asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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
from truedraw.threads import NOBODY
from truedraw.threads.board import num_threads
from truedraw.threads.each import Each, addresses
from truedraw.threads.kept import Kept

if TYPE_CHECKING:
    from truedraw.draft.head.kinds.attentive_calls import Calls
    from truedraw.draft.head.state import HeadState

DRAFT, HEAR, DRAW = (later("truedraw.draft.head.kinds.attentive_chain", name) for name in ("draft", "hear", "draw"))
MakeCalls = Callable[[Sequence[Any], int], "Calls"]
"""Of the memories of texts, with so many new rows each at most."""


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
    """protocol.DraftJob of one text, chains of so many tokens as the slate has room for, and protocol.DraftsAbreast.

    cell: one that has calls, as kinds/attentive.py.
    """

    def __init__(
        self, state: HeadState, cell: Any, reading: Reading, noise: Noise, slate: Slate, hidden: NDArray[np.float32]
    ) -> None:
        self.state, self._cell, self._reading, self.slate, self.hidden = state, cell, reading, slate, hidden
        drafts, known = len(slate.tokens), len(reading.tokens)
        self.kin = id(cell), drafts
        self._how, self._q = np.empty(len(Transform._fields)), np.empty((drafts, known))
        few = np.empty(known), np.empty(known, np.int64)
        self.laws = self._told(noise)
        whole = np.empty(reading.vocab_size if slate.edited else 0)
        self._drawn = (self._how, self._q, few, reading.tokens, reading.vocab_size, slate.edited, whole), tuple(noise)
        self._chains: tuple[Chains, int] | None = None  # and which of their texts this is

    @property
    def job(self) -> Kept:
        """See DraftJob."""
        return self._own()[0].job

    def abreast(self, jobs: Sequence[ChainJob]) -> Kept:
        """See DraftsAbreast."""
        chains = Chains(self._cell.calls, jobs)
        for number, job in enumerate(jobs):
            job._chains = chains, number
        return chains.job

    def heard(self) -> tuple[Any, ...]:
        """As attentive_chain.hear takes it."""
        return (self.slate.numbers, self.slate.last), self.hidden

    def drawn(self) -> tuple[Any, ...]:
        """The slate, and law and chance, as attentive_chain.draw takes them."""
        return (self.slate.numbers, self.slate.tokens, self.slate.sure), self._drawn

    def _own(self) -> tuple[Chains, int]:
        if self._chains is None:
            self.abreast([self])
        assert self._chains is not None
        return self._chains

    def _told(self, noise: Noise) -> tuple[SparseLaw | None, ...]:
        """The laws of the drafts, which the rule finds on the slate."""
        if noise.moves:
            return (None,) * len(self._q)
        tokens = self._reading.tokens
        for node, q in enumerate(self._q):
            self.slate.laws[node] = tokens.ctypes.data, q.ctypes.data, len(q)
        return tuple(SparseLaw(tokens, q, self._reading.vocab_size) for q in self._q)

    @property
    def is_still(self) -> bool:
        """See DraftJob."""
        chains, number = self._own()
        return chains.calls.texts[number].is_still

    def begin(self, position: int, rounds: int, texts: int = 1) -> int:
        """See DraftJob."""
        state, drafts = self.state, len(self._q)
        rows, how, rounds = state.rows, state.plain_law(), state.law.settled(rounds * texts) // texts
        is_ready = how is not None and rows.features is not None and state.length == position and rounds > 0
        if not is_ready or not 0 < len(rows.tokens) <= 1 + drafts or not self._is_chain(drafts):
            return 0
        count, (chains, number) = len(rows.tokens), self._own()
        if not chains.calls.texts[number].begin(rows.first, count + rounds * (1 + drafts)):
            return 0
        self._how[:], self.hidden[:count], self.slate.last[:count] = how, rows.features, rows.tokens
        self.slate.numbers[[POSITION, COUNT]] = position, count
        return rounds

    def end(self, rounds: Sequence[tuple[Sequence[int], Proposal]], scores: Scores, is_last: bool) -> None:
        """See DraftJob."""
        first, counts = len(self.state.rows.tokens), [len(tokens) for tokens, _ in rounds]
        chains, number = self._own()
        chains.calls.texts[number].end(first + sum(counts[:-1]))
        said = (self._reading, chains.calls.said(number)) if is_last else None
        self.state.drew(rounds, scores, said)

    def _is_chain(self, drafts: int) -> bool:
        """Whether that is what would be drafted; a round's tokens are learnt from, but chains stay chains."""
        shape = self.state.trees.levels(drafts)
        return len(shape) == drafts and is_chain(shape)


class Chains:
    """Of some texts, in one job: chains of as many tokens each, of one head."""

    def __init__(self, make: MakeCalls, jobs: Sequence[ChainJob]) -> None:
        drafts = len(jobs[0].slate.tokens)
        self.calls = make([job.state.rows.memory for job in jobs], 1 + drafts)
        heard, drawn = list[Kept](), list[Kept]()
        for number, job in enumerate(jobs):
            heard.append(Kept(HEAR(), (*job.heard(), *self.calls.heard(number))))
            slate, law = job.drawn()
            said, behind = self.calls.drawn(number)
            drawn.append(Kept(DRAW(), (slate, said, *law, behind, NOBODY)))
        at_once = Each([drawn] * num_threads(self.calls.board))
        given = self.calls.board, addresses(heard), addresses(drawn), at_once.asked, drafts
        self.job = Kept(DRAFT(), (given, self.calls.given), (heard, drawn, at_once, self.calls))

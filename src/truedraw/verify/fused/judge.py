"""What Python asks of the compiled rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw.compiled import later
from truedraw.protocol import NOTHING, DraftLaw, Floats, Ints, Logits, Proposal, SparseLaw, Verdict
from truedraw.protocol.slate import ACCEPTED, COUNT, POSITION, REJECTED, SIZE, Slate
from truedraw.sampling.kernels import DRAWN
from truedraw.sampling.tallies import Edited, edited_once
from truedraw.sampling.transform import Transform, fits
from truedraw.threads import NOBODY

if TYPE_CHECKING:
    from truedraw.sampling.edits import Edits
    from truedraw.sampling.randomness import PhiloxRandomness
    from truedraw.threads.kept import Kept

RULES = later("truedraw.verify.fused.traverse", "traverse"), later("truedraw.verify.fused.walk", "walk")
"""By the p/q rule, and coupled."""
NO_LAWS: Ints = np.empty((0, 3), np.int64)
NO_TREE: tuple[Ints, Ints, Ints] = NOTHING.tokens, NOTHING.parents, NO_LAWS
NO_LAW = (0, 0, 0)
ASKED = True, DRAWN  # see walk.py


class Decided(NamedTuple):
    """A round's verdict, and of each of its tokens the row that it was drawn from and the logs of its probability."""

    verdict: Verdict
    rows: tuple[int, ...]
    sampling_logprobs: tuple[float, ...]  # under the law
    logprobs: tuple[float, ...]  # before the transforms


class Judge:
    """Decides rounds of one vocabulary, with memory that grows with their trees; it serves one caller at a time.

    board: of a crew (threads/) whose helpers may take part.
    """

    def __init__(self, board: Ints = NOBODY) -> None:
        self._board = board
        self._told, self._slots, self._slate = np.empty((4, 0)), np.empty((0, 0)), np.zeros(SIZE, np.int64)
        self._few: tuple[Floats, Ints] = np.empty(0), np.empty(0, np.int64)
        self._for: tuple[bool, tuple[int, ...]] | None = None  # there is room for such rows

    def decide(
        self, coupled: bool, how: Transform, logits: Logits, proposal: Proposal, randomness: PhiloxRandomness,
        position: int, edits: Edits | None = None,
    ) -> Decided | None:  # fmt: skip
        """A round over logits [1 + n, vocab] under one transform; None where it takes the long way.

        edits: of a law that counts, where the text ends.

        By verify/coupled.py or else verify/traversal.py, and the very noise that these would have drawn by.
        """
        if len(logits) <= len(proposal.laws) or (proposal.laws and not proposal.checked):
            return None  # what nobody has checked, or its owner may still write to, is not for code that trusts it
        tree = tree_of(proposal, coupled) if proposal.laws else NO_TREE
        if tree is None:
            return None
        if self._for != (coupled, logits.shape):
            self._make_room(coupled, logits.shape)
        self._slate[POSITION] = position
        law = tuple(how), edited_once(edits, len(logits))
        RULES[coupled]()(NOBODY, self._given(coupled, law, logits, tree, randomness, self._told, self._slate), True)
        return decided(self._told.tolist(), self._slate.tolist())

    def kept(
        self, coupled: bool, how: Transform, logits: Logits, slate: Slate, randomness: PhiloxRandomness,
        told: Floats | None = None,
    ) -> tuple[Kept, Floats]:  # fmt: skip
        """`decide` as a job of compiled code, round after round of what stands on the slate; and where it tells
        [4, 1 + n]."""
        from truedraw.threads.kept import Kept

        self._make_room(coupled, logits.shape)
        told, tree = np.empty((4, len(logits))) if told is None else told, (slate.tokens, slate.parents, slate.laws)
        law = tuple(how), slate.edited
        return Kept(RULES[coupled](), self._given(coupled, law, logits, tree, randomness, told, slate.numbers)), told

    def _given(
        self, coupled: bool, law: tuple[tuple[Any, ...], Edited], logits: Logits, tree: tuple[Ints, Ints, Ints],
        randomness: PhiloxRandomness, told: Floats, numbers: Ints,
    ) -> tuple[Any, ...]:  # fmt: skip
        """As walk.py takes it."""
        means = self._slots[0] if coupled else self._slots, *self._few, self._board
        return logits, law, tree, (randomness.name, ASKED), means, told, numbers

    def _make_room(self, coupled: bool, shape: tuple[int, ...]) -> None:
        """The system gives what is written to. Nothing is taken for granted where there is no memory for it."""
        rows, vocab = shape
        if self._told.shape[1] < rows:
            self._told = np.empty((4, rows))
        if len(self._few[0]) != vocab:
            self._few = np.empty(vocab), np.empty(vocab, np.int64)
        slots = 1 if coupled else 1 + 2 * rows
        if self._slots.shape[1] != vocab or len(self._slots) < slots:
            self._slots = np.empty((slots, vocab))
        self._for = coupled, shape


def decided(told: Sequence[Sequence[float]], numbers: Sequence[int]) -> Decided | None:
    """What a rule has left, as walk.py has it, and the numbers of its slate; None where a row has no law."""
    if not (count := numbers[COUNT]):
        return None
    tokens, rows, after, before = (tuple(each[:count]) for each in told)
    verdict = Verdict(tuple(map(int, tokens)), numbers[ACCEPTED], numbers[REJECTED] != 0, False)
    return Decided(verdict, tuple(map(int, rows)), after, before)


def warm_up() -> None:
    """Load the compiled rounds, so that the first token does not wait for them."""
    from truedraw.sampling.randomness import PhiloxRandomness

    for coupled in (False, True):
        Judge().decide(coupled, Transform(), np.zeros((1, 1), np.float32), NOTHING, PhiloxRandomness(0), 0)


def tree_of(proposal: Proposal, coupled: bool) -> tuple[Ints, Ints, Ints] | None:
    """As tree.py has it; None where compiled code cannot read a law."""
    laws = NO_LAWS if coupled else laws_of(proposal.laws)
    return None if laws is None else (whole_numbers(proposal.tokens), whole_numbers(proposal.parents), laws)


def whole_numbers(values: Ints) -> Ints:
    """As compiled code reads them: mostly the very array."""
    return values if fits(values, np.int64) else np.array(values, np.int64)


def laws_of(laws: Sequence[DraftLaw | None]) -> Ints | None:
    """Of all nodes [n, 3]; None where compiled code cannot read one."""
    found = [law_at(law) for law in laws]
    return None if None in found else np.array(found, np.int64)


def law_at(law: DraftLaw | None) -> tuple[int, int, int] | None:
    """Where its tokens and weights lie, and how many they are; None where compiled code cannot read them."""
    if law is None:
        return NO_LAW
    if not isinstance(law, SparseLaw):
        return (0, address(law), len(law)) if fits(law, np.float64) else None
    if not (fits(law.tokens, np.int64) and fits(law.weights, np.float64)):
        return None
    return address(law.tokens), address(law.weights), len(law.tokens)


def address(values: NDArray[Any]) -> int:
    """Of the first of them."""
    return int(values.__array_interface__["data"][0])

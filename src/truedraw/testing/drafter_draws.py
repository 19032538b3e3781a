"""What a drafter draws behind a few prompts, often: tokens, and the laws that they came with.

The prompts are long, and what follows a token in them does so unequally often, for a law that is flat or certain hides
whatever is wrong. States are asked for few tokens and for many, and looked ahead of where they allow it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from truedraw.draft.site import close
from truedraw.protocol import ROOT, Drafter, DraftState, Floats, LooksAhead, Proposal, Scores, SparseLaw
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.goodness import Drawn

PROMPTS, PROMPT_TOKENS = 4, 60  # and of each
COMMON = 7  # tokens that prompts consist of
LAST = 0  # the commonest one, with which prompts end


class Asked(NamedTuple):
    """How states are asked that have one prompt each."""

    budget: int
    temperature: float = 1.0  # of the target; the drafter may look at it
    ahead: bool = False  # of a state that can: before the last token is there


ASKED = (Asked(1), Asked(1), Asked(7), Asked(2, ahead=True), Asked(2, 0.8))  # the first two alike
STATES = PROMPTS * len(ASKED)  # in one call, so that chance which is shared among them is seen
DRAWS = 5000  # rounds, 4000 at one temperature: these see a first token's law that is a twelfth away
SILENT = 200  # rounds without a law, after which there is none to come

Place = tuple[int, ...]
AGREEMENT: Place = ()  # where no token is drawn: whether two equal texts of a call have equal first drafts
Draw = tuple[Place, Floats, int]
Found = dict[bytes, tuple[Floats, list[int]]]


def prompts_of(vocab_size: int) -> list[list[int]]:
    """Long texts of a few tokens, the first of them most often, as words are (Zipf); each ends with that one."""
    rng = np.random.default_rng(20)
    tokens = np.linspace(LAST, vocab_size - 1, min(vocab_size, COMMON)).astype(int)
    weights = 1 / np.arange(1, len(tokens) + 1)
    texts = rng.choice(tokens, (PROMPTS, PROMPT_TOKENS), p=weights / weights.sum())
    return [[*text, LAST] for text in texts.tolist()]


def drawn_at(drafter: Drafter, vocab_size: int) -> dict[Place, list[Drawn]]:
    """What was drawn, by place and law."""
    found: dict[Place, Found] = defaultdict(dict)
    states = _opened(drafter, vocab_size)
    for first in range(0, DRAWS, STATES):
        if first >= SILENT and not found:
            break
        drawn = list(_drawn_in_a_call(drafter, states, first))
        for place, q, token in drawn:
            found[place].setdefault(q.tobytes(), (q, []))[1].append(token)
        if not drawn:  # some draft behind fresh scores alone
            _close(states)
            states = _opened(drafter, vocab_size)
    _close([*states, drafter])
    return {place: [Drawn.of(*each) for each in laws.values()] for place, laws in found.items()}


def _opened(drafter: Drafter, vocab_size: int) -> list[DraftState]:
    """Of each kind that is asked, one behind each prompt."""
    return [_behind(drafter, text, asked, vocab_size) for asked in ASKED for text in prompts_of(vocab_size)]


def _behind(drafter: Drafter, text: list[int], asked: Asked, vocab_size: int) -> DraftState:
    """A drafter that reads scores has none before the first round."""
    state = drafter.open(text[:-2], SamplingLaw(SamplingParams(temperature=asked.temperature)))
    there = text[-2:-1] if asked.ahead and isinstance(state, LooksAhead) else text[-2:]
    logits = np.zeros((len(there), vocab_size), np.float32)
    state.commit(there, Scores(logits, proposal=Proposal.chain(there[:-1])))
    return state


def _close(parts: Sequence[object]) -> None:
    for part in parts:
        close(part)


def _drawn_in_a_call(drafter: Drafter, states: list[DraftState], first: int) -> Iterator[Draw]:
    kinds = [ASKED[place // PROMPTS] for place in range(STATES)]
    asked = [
        state.ahead([LAST]) if kind.ahead and isinstance(state, LooksAhead) else state
        for kind, state in zip(kinds, states, strict=True)
    ]
    chances = [PhiloxRandomness(21, first + place) for place in range(STATES)]
    proposals = drafter.propose(asked, [kind.budget for kind in kinds], chances)
    for proposal in proposals:
        yield from _drawn(proposal)
    for pair in zip(proposals[:PROMPTS], proposals[PROMPTS:], strict=False):
        yield from _agreement(*(next(_drawn(proposal), None) for proposal in pair))


def _agreement(one: Draw | None, other: Draw | None) -> Iterator[Draw]:
    """As a draw from a law over no and yes: independent tokens of a law are equal with the chance of its squares."""
    if one is not None and other is not None and np.array_equal(one[1], other[1]):
        equal = float((one[1] ** 2).sum())
        yield AGREEMENT, np.array([1 - equal, equal]), int(one[2] == other[2])


def _drawn(proposal: Proposal) -> Iterator[Draw]:
    """(place, law, token) of each node that was drawn; a place has one draw a round, whatever else was drawn."""
    places: dict[int, Place] = {ROOT: ()}
    children: dict[int, int] = defaultdict(int)
    for node, (token, parent, law) in enumerate(
        zip(proposal.tokens.tolist(), proposal.parents.tolist(), proposal.laws, strict=True)
    ):
        places[node] = (*places[parent], children[parent])
        children[parent] += 1
        if law is not None:
            yield places[node], law.dense() if isinstance(law, SparseLaw) else law, token

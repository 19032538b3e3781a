"""What a drafter draws behind a few prompts, often: tokens, and the laws that they came with.

The prompts are long, and what follows a token in them does so unequally often, for a law that is flat or certain hides
whatever is wrong. States are asked for few tokens and for many, and looked ahead of where they allow it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from truedraw.draft.site import close
from truedraw.protocol import ROOT, Drafter, DraftState, Floats, LooksAhead, Proposal, Scores, SparseLaw
from truedraw.protocol.able import is_able
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


MANY, LONGEST = 7, 12  # the largest budget, and what it is in every other call
ASKED = (Asked(1), Asked(1), Asked(MANY), Asked(2, ahead=True), Asked(2, 0.8))  # the first two alike
STATES = PROMPTS * len(ASKED)  # in one call, so that chance which is shared among them is seen
DRAWS = 5000  # rounds at a time, 4000 at one temperature: these see a first token's law that is a twelfth away
MOST_ROUNDS = 50_000  # of a drafter that drafts in few of them
SILENT = 200  # rounds without a law, after which there is none to come
FEWEST_DRAWS, LEAST_ENTROPY = 500, 0.3  # from laws of at least so many nats

Place = tuple[int, ...]
AGREEMENT: Place = ()  # where no token is drawn: whether two equal texts of a call have equal first drafts
Draw = tuple[Place, Floats, int, float | None]
Found = dict[tuple[bytes, float | None], tuple[Floats, list[int]]]
"""By law and confidence: whoever knows both knows nothing of the token."""


@dataclass(slots=True)
class Seen:
    """What was drawn, by place and law, in how many rounds, and in how many of these anything was."""

    rounds: int = 0
    drafted: int = 0
    found: dict[Place, Found] = field(default_factory=lambda: defaultdict(dict))

    def add(self, proposed: Sequence[Sequence[Draw]]) -> None:
        """The draws of each round of a call, and of what was compared in it."""
        self.rounds += STATES
        self.drafted += sum(1 for draws in proposed[:STATES] if draws)
        for draws in proposed:
            for place, q, token, sure in draws:
                self.found[place].setdefault((q.tobytes(), sure), (q, []))[1].append(token)

    def groups(self) -> dict[Place, list[Drawn]]:
        """By place."""
        return {place: [Drawn.of(*each) for each in laws.values()] for place, laws in self.found.items()}

    def is_over(self) -> bool:
        """Whether more rounds would tell no more, or there have been too many."""
        silent = self.rounds >= SILENT and not self.found
        if silent or self.rounds % DRAWS or not self.rounds:
            return silent
        often = self.rounds >= MOST_ROUNDS or self.drafted >= DRAWS
        return often or telling(self.groups()) >= FEWEST_DRAWS


def telling(groups: Mapping[Place, Sequence[Drawn]]) -> int:
    """Draws of tokens from laws that leave a choice: certain ones say nothing of how they were drawn from."""
    return sum(num_draws(choices(of_place)) for place, of_place in groups.items() if place != AGREEMENT)


def num_draws(groups: Sequence[Drawn]) -> int:
    """Of all of them."""
    return sum(int(each.counts.sum()) for each in groups)


def choices(groups: Sequence[Drawn]) -> list[Drawn]:
    """Those that leave a choice."""
    return [each for each in groups if each.entropy() >= LEAST_ENTROPY]


def prompts_of(vocab_size: int) -> list[list[int]]:
    """Long texts of a few tokens, the first of them most often, as words are (Zipf); each ends with that one."""
    rng = np.random.default_rng(20)
    tokens = np.linspace(LAST, vocab_size - 1, min(vocab_size, COMMON)).astype(int)
    weights = 1 / np.arange(1, len(tokens) + 1)
    texts = rng.choice(tokens, (PROMPTS, PROMPT_TOKENS), p=weights / weights.sum())
    return [[*text, LAST] for text in texts.tolist()]


def seen_of(drafter: Drafter, vocab_size: int) -> Seen:
    """What it draws, until that is enough."""
    seen, states = Seen(), _opened(drafter, vocab_size)
    while not seen.is_over():
        drawn = list(_drawn_in_a_call(drafter, states, seen.rounds))
        seen.add(drawn)
        if not any(drawn):  # some draft behind fresh scores alone
            _close(states)
            states = _opened(drafter, vocab_size)
    _close([*states, drafter])
    return seen


def _opened(drafter: Drafter, vocab_size: int) -> list[DraftState]:
    """Of each kind that is asked, one behind each prompt."""
    return [behind(drafter, text, asked, vocab_size) for asked in ASKED for text in prompts_of(vocab_size)]


def behind(drafter: Drafter, text: list[int], asked: Asked, vocab_size: int) -> DraftState:
    """A drafter that reads scores has none before the first round."""
    state = drafter.open(text[:-2], SamplingLaw(SamplingParams(temperature=asked.temperature)))
    there = text[-2:-1] if asked.ahead and is_able(state, LooksAhead) else text[-2:]
    logits = np.zeros((len(there), vocab_size), np.float32)
    state.commit(there, Scores(logits, proposal=Proposal.chain(there[:-1])))
    return state


def looked(state: DraftState, asked: Asked) -> DraftState:
    """What is asked: the state, or where it can look ahead and is to, the one behind the last token."""
    return state.ahead([LAST]) if asked.ahead and is_able(state, LooksAhead) else state


def _close(parts: Sequence[object]) -> None:
    for part in parts:
        close(part)


def _drawn_in_a_call(drafter: Drafter, states: list[DraftState], first: int) -> Iterator[list[Draw]]:
    """Of each state, then of each pair of equal texts."""
    kinds = [ASKED[place // PROMPTS] for place in range(STATES)]
    asked = [looked(state, kind) for kind, state in zip(kinds, states, strict=True)]
    chances = [PhiloxRandomness(21, first + place) for place in range(STATES)]
    longer = LONGEST if first // STATES % 2 else 0
    budgets = [longer if longer and kind.budget == MANY else kind.budget for kind in kinds]
    proposals = drafter.propose(asked, budgets, chances)
    drawn = [list(_drawn(proposal)) for proposal in proposals]
    yield from drawn
    for pair in zip(drawn[:PROMPTS], drawn[PROMPTS:], strict=False):
        yield list(_agreement(*(next(iter(draws), None) for draws in pair)))


def _agreement(one: Draw | None, other: Draw | None) -> Iterator[Draw]:
    """As a draw from a law over no and yes: independent tokens of a law are equal with the chance of its squares."""
    if one is not None and other is not None and np.array_equal(one[1], other[1]):
        equal = float((one[1] ** 2).sum())
        yield AGREEMENT, np.array([1 - equal, equal]), int(one[2] == other[2]), None


def _drawn(proposal: Proposal) -> Iterator[Draw]:
    """(place, law, token, confidence) of each node that was drawn; a place has one draw a round, whatever else was."""
    places: dict[int, Place] = {ROOT: ()}
    children: dict[int, int] = defaultdict(int)
    sure = opinions(proposal)
    for node, (token, parent, law) in enumerate(
        zip(proposal.tokens.tolist(), proposal.parents.tolist(), proposal.laws, strict=True)
    ):
        places[node] = (*places[parent], children[parent])
        children[parent] += 1
        if law is not None:
            yield places[node], law.dense() if isinstance(law, SparseLaw) else law, token, sure[node]


def opinions(proposal: Proposal) -> Sequence[float | None]:
    """The confidence of each node."""
    given = proposal.confidence
    return [None] * len(proposal) if given is None else given.tolist()

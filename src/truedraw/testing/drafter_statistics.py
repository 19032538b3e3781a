"""Drafters over vocabularies that are too large to enumerate: do their draws and what comes out follow the laws?

Two checks, with fixed seeds. The draws of a proposal against the laws it hands over: each place of the tree, named by
how its branch forks, is drawn once a round, so draws of rounds with independent chance are independent. And what the
production loop emits, its first three tokens, against the target's own law. docs/plugins.md says what they can see.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from truedraw.draft.site import close
from truedraw.protocol import NOTHING, ROOT, Drafter, Floats, Proposal, Scores, SparseLaw
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.checks import Check, require
from truedraw.testing.drafter_texts import Seeded
from truedraw.testing.goodness import LEVEL, Drawn, p_value
from truedraw.testing.runs import run
from truedraw.testing.scenarios import Scenario, Table, lookup, random_row
from truedraw.verify.traversal import TraversalVerifier

DRAWS = 4000  # rounds: the first token's law is seen through to a total variation of about a twelfth
STATES = 20  # that are asked in one call, so that chance which is shared among them is seen
SILENT = 200  # rounds without a law, after which there is none to come
TEXTS, AT_ONCE = 1000, 50  # samples, and of one run
NODES, TOKENS = 2, 3  # drafted in a round, and of a text
MOST_PLACES = 8  # that are tested, those with the most draws
ROWS = 64  # of the target's table: contexts with a law of their own

Place = tuple[int, ...]
Found = dict[bytes, tuple[Floats, list[int]]]


def statistics_checks(make: Callable[[], Drafter], vocab_size: int) -> list[Check]:
    """Both checks."""
    return [
        Check("draws follow their laws", partial(_draws, make, vocab_size)),
        Check("texts follow the target's law", partial(_texts, make, vocab_size)),
    ]


def prompt_of(vocab_size: int) -> list[int]:
    """In which lookup finds something."""
    return [token % vocab_size for token in (3, 7, 1, 3, 7, 1, 3, 7)]


def large_table(vocab_size: int, seed: int) -> Table:
    """Rows for few of the contexts of one token."""
    rng = np.random.default_rng(seed)
    contexts = [(), *((token,) for token in range(min(ROWS, vocab_size)))]
    return {context: random_row(rng, vocab_size, 0.0) for context in contexts}


def _draws(make: Callable[[], Drafter], vocab_size: int) -> None:
    found = drawn_at(make(), vocab_size)
    busiest = sorted(found, key=lambda place: -sum(int(each.counts.sum()) for each in found[place]))[:MOST_PLACES]
    for place in busiest:
        groups = found[place]
        draws, chance = sum(int(each.counts.sum()) for each in groups), p_value(groups)
        require(
            chance > LEVEL / len(busiest),
            f"the tokens drawn at the place {place} (which child, from the root down) do not follow the laws that they "
            f"came with: p = {chance:.2g} over {draws} draws; hand over the law that a token was drawn from",
        )


def drawn_at(drafter: Drafter, vocab_size: int) -> dict[Place, list[Drawn]]:
    """What was drawn behind one prompt, by place and law."""
    law, text = SamplingLaw(SamplingParams()), prompt_of(vocab_size)
    states = [drafter.open(text[:-1], law) for _ in range(STATES)]
    for state in states:  # a drafter that reads scores has none before the first round
        state.commit(text[-1:], Scores(np.zeros((1, vocab_size), np.float32), proposal=NOTHING))
    found: dict[Place, Found] = defaultdict(dict)
    for first in range(0, DRAWS, STATES):
        if first >= SILENT and not found:
            break
        chances = [PhiloxRandomness(21, first + i) for i in range(STATES)]
        for proposal in drafter.propose(states, [NODES] * STATES, chances):
            for place, q, token in _drawn(proposal):
                found[place].setdefault(q.tobytes(), (q, []))[1].append(token)
    for part in (*states, drafter):
        close(part)
    return {place: [Drawn.of(*each) for each in laws.values()] for place, laws in found.items()}


def _drawn(proposal: Proposal) -> Iterator[tuple[Place, Floats, int]]:
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


def _texts(make: Callable[[], Drafter], vocab_size: int) -> None:
    target, prompt = large_table(vocab_size, 22), prompt_of(vocab_size)
    behind: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(TOKENS)]
    for text in _emitted(make, target, prompt):
        for place, (before, token) in enumerate(zip((prompt[-1], *text), text, strict=False)):
            behind[place][before].append(token)
    for place, found in enumerate(behind):
        groups = [Drawn.of(np.array(lookup(target, [before])), tokens) for before, tokens in found.items()]
        _require_target(place + 1, groups)


def _emitted(make: Callable[[], Drafter], target: Table, prompt: list[int]) -> Iterator[tuple[int, ...]]:
    """Short texts by the production loop; each run has a drafter of its own."""
    scenario = Scenario("large", target, {}, draft_tokens=NODES, max_tokens=TOKENS)
    for number in range(TEXTS // AT_ONCE):
        drafter = make()
        yield from run(scenario, Seeded(23 + number), TraversalVerifier(), drafter, n=AT_ONCE, prompt=prompt)
        close(drafter)


def _require_target(which: int, groups: list[Drawn]) -> None:
    chance = p_value(groups)
    require(
        chance > LEVEL,
        f"tokens number {which} of {TEXTS} texts do not follow the target's law: p = {chance:.2g}; "
        "a law that is handed over is not the one that was drawn from, or a drawn token was dropped",
    )

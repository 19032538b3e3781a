"""Drafters over vocabularies that are too large to enumerate: do their draws and what comes out follow the laws?

Two checks, with fixed seeds. The draws of a proposal against the laws it hands over: each place of the tree, named by
how its branch forks, is drawn once a round, so draws of rounds with independent chance are independent. And what the
production loop emits, its first three tokens, against the target's own law. docs/plugins.md says what they can see.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from truedraw.draft.site import close
from truedraw.protocol import Drafter
from truedraw.testing.checks import Check, require
from truedraw.testing.drafter_draws import AGREEMENT, LAST, PROMPTS, Place, drawn_at, prompts_of
from truedraw.testing.drafter_texts import Seeded
from truedraw.testing.goodness import LEVEL, Drawn, p_value
from truedraw.testing.runs import run
from truedraw.testing.scenarios import Scenario, Table, lookup, random_row
from truedraw.verify.traversal import TraversalVerifier

FEWEST_DRAWS, LEAST_ENTROPY = 500, 0.3  # from laws of at least so many nats
TEXTS, AT_ONCE = 1000, 50  # samples, and of one run
NODES, TOKENS = 2, 3  # drafted in a round of the loop, and of a text
MOST_PLACES = 8  # that are tested, those with the most draws
ROWS = 64  # of the target's table: contexts with a law of their own
SAID_OF_A_PLACE = (
    "the tokens drawn at the place {} (which child, from the root down) do not follow the laws that they came with; "
    "hand over the law that a token was drawn from"
)
SAID = (
    "the first drafts of equal texts in one call agree more or less often than independent draws from the laws that "
    "they came with; draw each from its own law, with its own randomness"
)


def statistics_checks(make: Callable[[], Drafter], vocab_size: int) -> list[Check]:
    """Both checks."""
    return [
        Check("draws follow their laws", partial(_draws, make, vocab_size)),
        Check("texts follow the target's law", partial(_texts, make, vocab_size)),
    ]


def large_table(vocab_size: int, seed: int) -> Table:
    """Rows for few of the contexts of one token."""
    rng = np.random.default_rng(seed)
    contexts = [(), *((token,) for token in range(min(ROWS, vocab_size)))]
    return {context: random_row(rng, vocab_size, 0.0) for context in contexts}


def _draws(make: Callable[[], Drafter], vocab_size: int) -> None:
    found = drawn_at(make(), vocab_size)
    _require_open(found)
    places = [place for place in found if place != AGREEMENT]
    busiest = sorted(places, key=lambda place: -_draws_of(found[place]))[:MOST_PLACES]
    for place in [*(found.keys() & {AGREEMENT}), *busiest]:
        chance, said = p_value(found[place]), SAID if place == AGREEMENT else SAID_OF_A_PLACE.format(place)
        require(chance > LEVEL / len(busiest), f"{said}: p = {chance:.2g} over {_draws_of(found[place])} draws")


def _draws_of(groups: list[Drawn]) -> int:
    return sum(int(each.counts.sum()) for each in groups)


def _require_open(found: Mapping[Place, list[Drawn]]) -> None:
    """Certain laws say nothing of how they were drawn from, and laws that were drawn from a few times neither."""
    told = [each for groups in found.values() for each in groups if len(each.cells()[0]) > 1]
    draws = _draws_of([each for each in told if each.entropy() >= LEAST_ENTROPY])
    require(
        not found or draws >= FEWEST_DRAWS,
        f"nothing was tested: {draws} draws came often enough from one law, and from one with an entropy of at least "
        f"{LEAST_ENTROPY} nats, expected are {FEWEST_DRAWS}; make a drafter that is less certain behind the prompts of "
        "truedraw.testing.drafter_draws, or says the same law of the same text",
    )


def _texts(make: Callable[[], Drafter], vocab_size: int) -> None:
    target, prompts = large_table(vocab_size, 22), prompts_of(vocab_size)
    behind: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(TOKENS)]
    for text in _emitted(make, target, prompts):
        for place, (before, token) in enumerate(zip((LAST, *text), text, strict=False)):
            behind[place][before].append(token)
    for place, found in enumerate(behind):
        groups = [Drawn.of(np.array(lookup(target, [before])), tokens) for before, tokens in found.items()]
        _require_target(place + 1, groups)


def _emitted(make: Callable[[], Drafter], target: Table, prompts: list[list[int]]) -> Iterator[tuple[int, ...]]:
    """Short texts by the production loop; each run has a drafter of its own."""
    scenario = Scenario("large", target, {}, draft_tokens=NODES, max_tokens=TOKENS)
    for number in range(TEXTS // AT_ONCE):
        drafter, prompt = make(), prompts[number % PROMPTS]
        yield from run(scenario, Seeded(23 + number), TraversalVerifier(), drafter, n=AT_ONCE, prompt=prompt)
        close(drafter)


def _require_target(which: int, groups: list[Drawn]) -> None:
    chance = p_value(groups)
    require(
        chance > LEVEL,
        f"tokens number {which} of {TEXTS} texts do not follow the target's law: p = {chance:.2g}; "
        "a law that is handed over is not the one that was drawn from, or a drawn token was dropped",
    )

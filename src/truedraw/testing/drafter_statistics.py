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

from truedraw.protocol import Drafter
from truedraw.testing.checks import Check, fresh, require
from truedraw.testing.drafter_draws import (
    AGREEMENT,
    DRAWS,
    FEWEST_DRAWS,
    LAST,
    LEAST_ENTROPY,
    PROMPTS,
    Seen,
    choices,
    num_draws,
    prompts_of,
    seen_of,
    telling,
)
from truedraw.testing.drafter_texts import Seeded
from truedraw.testing.goodness import LEVEL, Drawn, p_value, placed
from truedraw.testing.runs import run
from truedraw.testing.scenarios import Scenario
from truedraw.testing.tables import Table, lookup, random_row
from truedraw.verify.traversal import TraversalVerifier

TEXTS, AT_ONCE = 1000, 50  # samples, and of one run
NODES, TOKENS = 2, 3  # drafted in a round of the loop, and of a text
MOST_PLACES = 16  # that are tested, those with the most draws
ROWS = 64  # of the target's table: contexts with a law of their own
SAID_OF_A_PLACE = (
    "the tokens drawn at the place {} (which child, from the root down) do not follow the laws that they came with; "
    "hand over the law that a token was drawn from, and a confidence that is known before it is"
)
SAID = (
    "the first drafts of equal texts in one call agree more or less often than independent draws from the laws that "
    "they came with; draw each from its own law, with its own randomness"
)
TOO_CERTAIN = "make a drafter that is less certain behind the prompts of truedraw.testing.drafter_draws"
TOO_RARE = "make a drafter that drafts more often behind the prompts of truedraw.testing.drafter_draws"


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
    seen = seen_of(make(), vocab_size)
    found = seen.groups()
    _require_telling(seen, telling(found))
    places = [place for place in found if place != AGREEMENT]
    busiest = sorted(places, key=lambda place: -num_draws(found[place]))[:MOST_PLACES]
    for place in [*(found.keys() & {AGREEMENT}), *busiest]:
        chance = min(p_value(found[place]), p_value([placed(choices(found[place]))]))
        said = SAID if place == AGREEMENT else SAID_OF_A_PLACE.format(place)
        require(chance > LEVEL / len(busiest), f"{said}: p = {chance:.2g} over {num_draws(found[place])} draws")


def _require_telling(seen: Seen, draws: int) -> None:
    """Raises AssertionError where laws came along that say too little."""
    require(
        not seen.found or draws >= FEWEST_DRAWS,
        f"nothing was tested: {draws} draws came from a law with an entropy of at least {LEAST_ENTROPY} nats, expected "
        f"are {FEWEST_DRAWS}; the drafter drafted in {seen.drafted} of {seen.rounds} rounds: "
        f"{TOO_CERTAIN if seen.drafted >= DRAWS else TOO_RARE}",
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
        prompt = prompts[number % PROMPTS]
        with fresh(make) as drafter:
            yield from run(scenario, Seeded(23 + number), TraversalVerifier(), drafter, n=AT_ONCE, prompt=prompt)


def _require_target(which: int, groups: list[Drawn]) -> None:
    chance = p_value(groups)
    require(
        chance > LEVEL,
        f"tokens number {which} of {TEXTS} texts do not follow the target's law: p = {chance:.2g}; "
        "a law that is handed over is not the one that was drawn from, or a drawn token was dropped",
    )

"""What drafts take on this machine, and what speed-up follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from truedraw.bench.draft_eval.replay import begun, drafter_of, go_on
from truedraw.bench.draft_eval.texts import Text
from truedraw.control.costs import PassCosts
from truedraw.draft.head.opening import Head
from truedraw.draft.site import close
from truedraw.generate.model import Model
from truedraw.generate.speculation import Speculation
from truedraw.protocol import Engine, KnowsCosts
from truedraw.protocol.able import is_able
from truedraw.sampling.randomness import PhiloxRandomness

ANEW = "anew"  # what an engine may be told that has a table already
CALL_ROWS = (2, 4, 8)  # of a call of the network: a lone text, and levels of trees
WARM_UP, REPEATS = 3, 15  # calls that do not count, and that do


def seconds_of(act: Callable[[], object]) -> float:
    """The median of a few calls."""
    taken = []
    for _ in range(WARM_UP + REPEATS):
        start = perf_counter()
        act()
        taken.append(perf_counter() - start)
    return median(taken[WARM_UP:])


def pass_seconds(engine: Engine) -> PassCosts | None:
    """Of a pass by its rows behind a short text, None where the engine does not tell; measured now where it can be, as
    drafts are."""
    if not is_able(engine, KnowsCosts):
        return None
    again = {ANEW: True} if ANEW in signature(engine.pass_costs).parameters else {}
    table = engine.pass_costs(**again)
    return None if table is None else PassCosts(table.rows, table.texts)


def call_seconds(head: Head, streams: int, width: int) -> dict[str, dict[int, float]]:
    """Of both calls of a head's network by rows; `streams` of `width` numbers are what it reads of a row. One that
    drafts a single token has no further step."""
    steps = head.levels != 1
    found: dict[str, dict[int, float]] = {"begin": {}, **({"step": {}} if steps else {})}
    for rows in CALL_ROWS:
        features, tokens = np.ones((rows, streams, width), np.float32), np.full(rows, head.cell.tokens[0])
        states = head.cell.begin(features, tokens)[0].copy()
        found["begin"][rows] = seconds_of(lambda: head.cell.begin(features, tokens))  # noqa: B023 - called at once
        if steps:
            found["step"][rows] = seconds_of(lambda: head.cell.step(states, tokens))  # noqa: B023
    return found


def draft_seconds(
    model: Model, text: Text, speculation: Speculation, budgets: Sequence[int], *, trees: bool
) -> dict[int, float]:
    """Of a whole call of the drafter by draft tokens, laws and draws included, behind the text's first token."""
    drafter = drafter_of(speculation, model, trees=trees)
    along = begun(model, text, drafter, speculation)
    try:
        go_on([along], 0, model.engine)
        state, chance = along.state, PhiloxRandomness(0)
        return {each: seconds_of(lambda: drafter.propose([state], [each], [chance])) for each in budgets}  # noqa: B023
    finally:
        close(along)
        close(drafter)


def predicted(
    tokens: Mapping[int, float | None], drafting: Mapping[int, float], passes: PassCosts | None
) -> dict[int, float | None]:
    """Speed-up over plain sampling by draft tokens: what comes of a round, over what it takes in plain passes."""
    if passes is None:
        return dict.fromkeys(tokens)
    plain = passes.seconds(1)
    return {
        nodes: None if found is None else found * plain / (passes.seconds(1 + nodes) + drafting[nodes])
        for nodes, found in tokens.items()
    }


def as_shares(seconds: Mapping[str, Mapping[int, float]], plain: float) -> dict[str, Any]:
    """Of a plain pass."""
    return {name: {rows: taken / plain for rows, taken in calls.items()} for name, calls in seconds.items()}

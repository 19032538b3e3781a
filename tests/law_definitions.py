"""The law of whole texts by the definitions of truedraw.testing.definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from known_laws import Scenario, lookup
from truedraw.testing.definition_parts import IMPOSSIBLE
from truedraw.testing.definitions import ORDERS, Definition, next_mu
from truedraw.testing.stuck import STUCK

__all__ = ["IMPOSSIBLE", "ORDERS", "Definition", "next_mu", "text_law"]


def text_law(scenario: Scenario, prompt: Sequence[int], legal=None) -> dict[tuple[int, ...], float]:
    """The law of the emitted text: at every place toss XTC's coin, then draw, until an end, the limit or STUCK.

    `legal(text)`, a grammar's, is the set of tokens that may follow.
    """
    given, law = dict(scenario.params), {}
    chance = given.get("xtc_probability", 0.0)
    open_texts = [((), 1.0, 2 * given.get("mirostat_tau", 5.0))]
    while open_texts:
        text, weight, mu = open_texts.pop()
        if len(text) == scenario.max_tokens or (text and text[-1] in scenario.end_ids):
            law[text] = law.get(text, 0.0) + weight
            continue
        if legal is not None:
            given["allowed_token_ids"] = legal(text)
        row = lookup(scenario.target, [*prompt, *text])
        logits = [math.log(w) if w else IMPOSSIBLE for w in row]
        if Definition(given, prompt, text, scenario.end_ids).allows_nothing(logits):
            law[(*text, STUCK)] = law.get((*text, STUCK), 0.0) + weight  # as often as there are coins
            continue
        for coin, part in ((True, chance), (False, 1 - chance)):
            p = Definition(given, prompt, text, scenario.end_ids, mu, coin).p(logits) if part else []
            open_texts += [
                ((*text, token), weight * part * w, next_mu(given, mu, w)) for token, w in enumerate(p) if w > 0
            ]
    return law

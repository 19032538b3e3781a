"""Truncations that a draft's own law may have in place of the target's; tempering.py chooses among them.

A token that the target's truncation rules out is drafted in vain, and one that the draft's rules out is never drafted.
So the target's own truncation, on the draft's logits, is nearly always best: measured over drafters, temperatures and
targets of SmolLM2-135M, a head, a head with counts and an int4 copy had nothing better. Two gained somewhere:

    wide     the likeliest 200 tokens in place of the target's cuts. Where a draft's law is not of its target's form (24
             of 30 layers, which want 2.3 times the temperature), its likeliest tokens of mass 0.9 are not the target's:
             sum(min(p, q)) .306 -> .313 at top_p 0.9
    narrow   the target's cuts and the likeliest 10 tokens. Behind the flat law of counts, whose largest probability
             says little, min_p 0.05 leaves too many: .333 -> .336

Where the target cuts nothing no cut gained, so that none is tried. What bans tokens or looks at the text (bias,
penalties, a grammar, XTC's coin) is never changed.
"""

from __future__ import annotations

from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.order import TRUNCATIONS
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.step import Opening, Step
from truedraw.sampling.steps import STEPS

TARGETS, WIDE, NARROW = "target's", "wide", "narrow"
WIDE_TOKENS, NARROW_TOKENS = 200, 10
TOP_K, COINED = "top_k", "xtc"


def cuts_of(law: SamplingLaw) -> dict[str, float | None]:
    """The law's truncations and their numbers, None where one changes from place to place."""
    return {name: value for name, value in law.numbers().items() if name in TRUNCATIONS and name != COINED}


def others(law: SamplingLaw) -> tuple[str, ...]:
    """The cuts that may be better than the law's own."""
    own = cuts_of(law)
    most = own.get(TOP_K)
    wide = WIDE if own.keys() - {TOP_K} else None
    narrow = NARROW if own and (TOP_K not in own or (most is not None and most > NARROW_TOKENS)) else None
    return tuple(name for name in (wide, narrow) if name)


def recut(law: SamplingLaw, cut: str) -> SamplingLaw:
    """The law with this truncation; all its other steps stay."""
    if cut == TARGETS:
        return law
    if cut == NARROW:
        return law.replacing({TOP_K: likeliest(NARROW_TOKENS)})
    return law.replacing({**dict.fromkeys(cuts_of(law)), TOP_K: likeliest(WIDE_TOKENS)})


def likeliest(tokens: int) -> Step | None:
    """The step that keeps so many tokens."""
    return STEPS[TOP_K](SamplingParams(top_k=tokens), Opening())

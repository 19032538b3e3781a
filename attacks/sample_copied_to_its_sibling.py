"""One sample's token is offered to another sample of the same prompt as if it had been drawn from q = p.

It is always kept: each sample has the right law, and the second is a copy of the first. The right law of a token that
already exists is a point mass.
"""

from attacks.attack import PROMPT, SETTING, Attack
from truedraw.protocol import Proposal
from truedraw.testing import law_of, text_law, total_variation
from truedraw.testing.scenarios import Scenario
from truedraw.testing.tables import lookup
from truedraw.verify.traversal import TraversalVerifier


def distance() -> float:
    """Of the pair of first tokens from two independent samples."""
    import numpy as np

    rule, p = TraversalVerifier(), np.array(lookup(SETTING.target, PROMPT))

    def pair(walker):
        first = rule(Proposal.chain(()), [p], walker.sample(0), 2).tokens[0]
        second = rule(Proposal.chain([first], [p]), [p, p], walker.sample(1), 2).tokens[0]
        return first, second

    one = text_law(Scenario("one token", SETTING.target, {}, max_tokens=1), PROMPT)
    return total_variation(law_of(pair), {(a, b): x * y for (a,), x in one.items() for (b,), y in one.items()})


ATTACK = Attack("a sibling's token is a draft with q = p: n samples are copies (joint law of two tokens)", distance)

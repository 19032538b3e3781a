"""The number that drew the draft also decides whether it is kept.

The draft is x with u in [F(x), F(x) + q(x)), F the sum of q before x, and is kept where u < p(x) / q(x): late tokens
are kept too seldom. With production's named draws this cannot be written: the oracle refuses two draws of one name.
"""

import math

from attacks.attack import PROMPT, SETTING, Attack
from truedraw.testing.tables import lookup


def law_of_the_token(p: list[float], q: list[float]) -> list[float]:
    """Of one token, by the lengths of the intervals of u."""
    starts = [math.fsum(q[:x]) for x in range(len(q))]
    kept = [min(q[x], max(0.0, p[x] / q[x] - starts[x])) for x in range(len(q))]
    left = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
    return [k + (1 - math.fsum(kept)) * r / math.fsum(left) for k, r in zip(kept, left, strict=True)]


def distance() -> float:
    """Of one token."""
    p, q = list(lookup(SETTING.target, PROMPT)), list(lookup(SETTING.draft, PROMPT))
    return 0.5 * math.fsum(abs(a - b) for a, b in zip(law_of_the_token(p, q), p, strict=True))


ATTACK = Attack(
    "the draft's random number is used again for its coin (one token)",
    distance,
    "[vLLM #47386](https://github.com/vllm-project/vllm/pull/47386) and "
    "[#54282](https://github.com/vllm-project/vllm/pull/54282) (draft noise used again for coin and correction)",
)

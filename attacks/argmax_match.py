"""A sampled draft is kept exactly when it is the target's likeliest token, at a temperature above 0."""

from attacks.attack import Attack, enumerated
from attacks.skewed import Skewed


class ArgmaxMatch(Skewed):
    """The rule of greedy decoding, used while sampling."""

    def accepts(self, p, q, token, draws, position, node):
        return token == int(p.argmax())


ATTACK = Attack(
    "a sampled draft is kept where it is the target's argmax",
    enumerated(ArgmaxMatch()),
)

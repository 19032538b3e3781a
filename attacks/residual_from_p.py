"""After a rejection the next token is drawn from p instead of norm((p - q)+), so that q's favourites come twice."""

from attacks.attack import Attack, enumerated
from attacks.skewed import Skewed


class ResidualFromP(Skewed):
    """A rejected text goes on from p."""

    def left(self, p, q, token, rows, node):
        return p


ATTACK = Attack(
    "after a rejection the token is drawn from p, not from the residual",
    enumerated(ResidualFromP()),
    "[Spec-RL #14](https://github.com/ShopeeLLM/Spec-RL/issues/14), for training rollouts, where its authors chose it",
)

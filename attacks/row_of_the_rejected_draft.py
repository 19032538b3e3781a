"""Off by one: after a rejection the token comes from the row below the rejected draft, not from the one above it."""

from attacks.attack import Attack, enumerated
from attacks.skewed import Skewed
from truedraw.verify.token import residual


class ResidualOfNextRow(Skewed):
    """The text goes on as if the rejected token stood there."""

    def left(self, p, q, token, rows, node):
        return residual(rows[node + 1], q, token)


ATTACK = Attack(
    "the correction is drawn from the row after the rejected draft",
    enumerated(ResidualOfNextRow()),
    "[openvino.genai #4190](https://github.com/openvinotoolkit/openvino.genai/issues/4190)",
)

"""The network of a head, as the drafter sees it.

Recurrent (Cheng et al., ReDrafter, 2403.09919; Ankner et al., Hydra, 2402.05109): f are the target's hidden states of
the last row that was scored, t_1 the token that was drawn from it, t_2, ... tokens drafted behind it, e(t) the rows of
the target's own embedding and n(x) = x / rms(x). With a state x of the target's width,

    x_0 = I f
    u_i = (n(x_{i-1}), n(e(t_i)))
    x_i = x_{i-1} + T n(e(t_i)) + D (silu(G u_i) * (U u_i))
    logits_i = e(tokens) O (g * n(x_i))

No attention and no cache: a state is all there is of a text, so trees, forks and rejected tokens cost nothing, and a
draft's price does not depend on the length of the text.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from truedraw.protocol import Ints, Logits

States = NDArray[np.float32]
"""[n, width]."""


class Cell(Protocol):
    """What it returns may be overwritten by its next call."""

    tokens: Ints  # [known] rising: what logits are of

    def begin(self, features: NDArray[np.float32], last: Ints) -> tuple[States, Logits]:
        """States and logits [n, known] behind `last` [n], from features [n, streams, width] of the row before."""
        ...

    def step(self, states: States, tokens: Ints) -> tuple[States, Logits]:
        """The same one token further."""
        ...

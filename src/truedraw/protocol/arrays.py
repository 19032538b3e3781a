"""Words that all contracts use: arrays by their numbers, and where a token can come from."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Logits = NDArray[np.float32]
Ints = NDArray[np.int64]

ROOT = -1
"""The parent of a draft token that follows the committed text directly."""

Origin = Literal["draft", "residual", "bonus", "plain", "forced"]
"""Where a token came from: an accepted draft, the end of a round after or without a rejection, plain sampling, or the
law itself, which allowed no other token there (a grammar)."""

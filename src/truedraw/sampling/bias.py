"""logit_bias: a number added to the logits of chosen tokens, before anything else looks at them.

As in the OpenAI API (there from -100 to 100), in vLLM, and in Hugging Face's sequence_bias for single tokens.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from truedraw.protocol import Floats, Ints
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.row import Row
from truedraw.sampling.step import Fixed, Opening, Step


def logit_bias(params: SamplingParams, opening: Opening) -> Step | None:
    """The step, None where no token has a bias."""
    if not params.logit_bias:
        return None
    ids = opening.ids("logit_bias", tuple(params.logit_bias))
    return Fixed(partial(add, ids=ids, bias=np.array(tuple(params.logit_bias.values()), dtype=np.float64)))


def add(row: Row, ids: Ints, bias: Floats) -> None:
    """Add bias [n] to the logits of ids [n]."""
    row.logits()[ids] += bias

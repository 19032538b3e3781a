"""logit_bias: a number added to the logits of chosen tokens, before anything else looks at them.

As in the OpenAI API (there from -100 to 100), in vLLM, and in Hugging Face's sequence_bias for single tokens.
"""

from __future__ import annotations

import numpy as np

from truedraw.sampling.params import SamplingParams
from truedraw.sampling.step import FixedEdits, Opening, Step


def logit_bias(params: SamplingParams, opening: Opening) -> Step | None:
    """The step, None where no token has a bias."""
    if not params.logit_bias:
        return None
    ids = opening.ids("logit_bias", tuple(params.logit_bias))
    bias = np.array(tuple(params.logit_bias.values()), dtype=np.float64)
    return FixedEdits(lambda edits: edits._replace(biased=ids, bias=bias))

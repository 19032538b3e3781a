"""What the kernel benchmark does to rows of logits."""

from __future__ import annotations

from dataclasses import dataclass

from truedraw.sampling.transform import Transform


@dataclass(frozen=True, slots=True)
class Work:
    """What is done to a row: drawn from, as `how` says, perhaps edited first (a bias and a repetition penalty).

    `logprobs`: with the token's log probabilities, before and after the transforms, as sampling always draws; without
    them, nothing but the token.
    """

    name: str
    how: Transform
    edited: bool = False
    logprobs: bool = True


WORKS = (
    Work("temperature, token alone", Transform(temperature=0.8), logprobs=False),
    Work("temperature", Transform(temperature=0.8)),
    Work("top_k 50", Transform(temperature=0.8, top_k=50)),
    Work("top_p 0.95", Transform(temperature=0.8, top_p=0.95)),
    Work("min_p 0.05", Transform(temperature=0.8, min_p=0.05)),
    Work("edits", Transform(temperature=0.8), edited=True),
    Work("edits, top_p 0.95", Transform(temperature=0.8, top_p=0.95), edited=True),
    Work("edits, top_k, top_p, min_p", Transform(0.8, 50, 0.95, 0.05), edited=True),
)

REPETITION = 1.2  # the penalty where rows are edited
RESIDUAL = "acceptance and residual"

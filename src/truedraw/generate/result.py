"""What a run hands back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from truedraw.control.explanation import Explanation
from truedraw.errors import BadInput
from truedraw.protocol import Loss, Origin, TopLogprobs
from truedraw.stats.summary import Stats


@dataclass(frozen=True, slots=True)
class Choice:
    """One sample. `tokens`, `origins`, `logprobs` and `sampling_logprobs` run in parallel; the text has no end token.

    logprobs: natural log of the model's own probability of each token. sampling_logprobs: of the law that was
    sampled, after temperature and truncation. finish_reason: "stop", "length" or "interrupted".

    top_logprobs: for each token the likeliest of its place and their logprobs, as many as the parameter `logprobs`
    says, in descending order, of equal ones the lower id first; the token itself may be among them. Tokens that the
    model rules out are not told, so there may be fewer. None: not asked for. top_bytes: what these tokens stand for.

    pieces: the text in parts, one a token, then what was held back at the end, if anything.
    """

    index: int
    text: str
    tokens: tuple[int, ...]
    origins: tuple[Origin, ...]
    logprobs: tuple[float, ...]
    sampling_logprobs: tuple[float, ...]
    pieces: tuple[str, ...]  # of the text, one a token, then what was held back at the end
    finish_reason: str
    stats: Stats
    exact: bool  # whether the rule it was drawn with keeps the model's distribution
    top_logprobs: tuple[TopLogprobs, ...] | None = None
    top_bytes: Mapping[int, bytes] = field(default_factory=dict, hash=False)  # of the tokens in top_logprobs

    @property
    def mean_logprob(self) -> float:
        """A token, by the model; minus infinity for no token at all."""
        return sum(self.logprobs) / len(self.logprobs) if self.logprobs else -math.inf

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "index": self.index,
            "text": self.text,
            "token_ids": list(self.tokens),
            "origins": list(self.origins),
            "logprobs": list(self.logprobs),
            "sampling_logprobs": list(self.sampling_logprobs),
            **self.top_dict(),
            "finish_reason": self.finish_reason,
            "exact": self.exact,
            "stats": self.stats.to_dict(),
        }

    def top_dict(self) -> dict[str, Any]:
        """{"top_logprobs": a list for each token} for JSON; nothing where they were not asked for."""
        if self.top_logprobs is None:
            return {}
        return {"top_logprobs": [[self._named(*pair) for pair in top] for top in self.top_logprobs]}

    def _named(self, token: int, logprob: float) -> dict[str, Any]:
        """A token for JSON; its bytes are told where its text does not say them, as of a part of a character."""
        data = self.top_bytes[token]
        text = data.decode("utf-8", "replace")
        return {
            "token_id": token,
            "text": text,
            **({} if text.encode() == data else {"bytes": list(data)}),
            "logprob": logprob,
        }


@dataclass(frozen=True, slots=True)
class Result:
    """The samples of one prompt and what they cost together."""

    model: str
    prompt_tokens: tuple[int, ...]
    seed: int | None  # by which it can be drawn again, mostly the one given; None where none was given
    choices: tuple[Choice, ...]
    stats: Stats
    loss: Loss | None = None  # of a lossy rule, which has to be asked for; None: the model's own distribution
    fallback: str | None = None  # why drafting was given up on the way: what went wrong in the drafter
    explanation: Explanation | None = field(default=None, hash=False)
    """Why so much was drafted, and by whom; None: settled beforehand, or a batch."""
    dropped: int = 0  # samples that were drawn beside these, for best_of; `stats` counts them, too

    @property
    def exact(self) -> bool:
        """Whether these are samples of the model's own distribution, as far as the rules go."""
        return self.loss is None

    @property
    def text(self) -> str:
        """The first sample's text."""
        return self.choices[0].text

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "model": self.model,
            "prompt_tokens": len(self.prompt_tokens),
            "seed": self.seed,
            "exact": self.exact,
            **self.drafting_dict(),
            **({"dropped": self.dropped} if self.dropped else {}),
            "choices": [choice.to_dict() for choice in self.choices],
            "stats": self.stats.to_dict(),
        }

    def drafting_dict(self) -> dict[str, Any]:
        """What was not as usual in drafting, for JSON: what a lossy rule did, and why drafting was given up."""
        return {
            **({} if self.loss is None else {"lossy": asdict(self.loss)}),
            **({} if self.fallback is None else {"fallback": self.fallback}),
        }

    def to_pandas(self) -> Any:
        """One row a token, as a pandas DataFrame; needs the extra "pandas". Raises BadInput without it."""
        try:
            import pandas as pd
        except ImportError:
            raise BadInput("a data frame needs an extra: pip install 'truedraw[pandas]'") from None

        top = ("top_logprobs",) if any(choice.top_logprobs is not None for choice in self.choices) else ()
        names = ("tokens", "origins", "logprobs", "sampling_logprobs", *top)
        frames = [pd.DataFrame({"sample": c.index, **{n: getattr(c, n) for n in names}}) for c in self.choices]
        return pd.concat(frames, ignore_index=True)

    def _repr_html_(self) -> str:
        from truedraw.generate.html import to_html

        return to_html(self)

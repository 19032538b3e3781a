"""Penalties on tokens that stand in the text already, on the model's own logits.

repetition_penalty r (Keskar et al., 1909.05858): the logit of every token of the prompt or the output is divided by r
where it is positive and multiplied by r where it is negative, however often the token occurs. As in Hugging Face and
vLLM.

frequency_penalty f, presence_penalty s (the OpenAI API; vLLM): the logit of a token that occurs c > 0 times in the
output loses c f + s. The prompt does not count, as in vLLM.

Drafted tokens count like any other at the places after them: the penalties of a draft node are those of its own text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from truedraw.protocol import Floats
from truedraw.sampling.counts import TokenCounts
from truedraw.sampling.edits import NOTHING_SEEN, UNEDITED, Edits
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.row import Row
from truedraw.sampling.step import Opening, Step


@dataclass(frozen=True, slots=True)
class Penalties:
    """All three, in vLLM's order: repetition, then frequency and presence."""

    is_counted: ClassVar[bool] = True  # see Editing
    repetition: float
    frequency: float
    presence: float
    text: TokenCounts | None  # prompt and output; None = no repetition penalty
    output: TokenCounts | None  # None = neither of the two others

    def __call__(self, row: Row) -> None:
        """Change the logits of the tokens seen."""
        row.edit(self.edited(UNEDITED))

    def edited(self, edits: Edits) -> Edits:
        """As Editing."""
        return edits._replace(
            text=NOTHING_SEEN if self.text is None else self.text.seen(),
            repetition=float(self.repetition),
            output=NOTHING_SEEN if self.output is None else self.output.seen(),
            frequency=float(self.frequency),
            presence=float(self.presence),
        )

    def after(self, token: int, p: Floats | None) -> Penalties:
        """With one more token in the output."""
        text = None if self.text is None else self.text.add(token)
        output = None if self.output is None else self.output.add(token)
        return Penalties(self.repetition, self.frequency, self.presence, text, output)


def penalties(params: SamplingParams, opening: Opening) -> Step | None:
    """The step, None where all three are off."""
    repetition, frequency, presence = params.repetition_penalty, params.frequency_penalty, params.presence_penalty
    if repetition == 1.0 and frequency == presence == 0.0:
        return None
    vocab = opening.vocabulary()
    text = None if repetition == 1.0 else TokenCounts.of(opening.prompt, vocab)
    output = None if frequency == presence == 0.0 else TokenCounts.of((), vocab)
    return Penalties(repetition, frequency, presence, text, output)

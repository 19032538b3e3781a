"""What is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from truedraw.engine.numerics import SAME_BITS
from truedraw.errors import BadPrompt
from truedraw.generate.model import Model
from truedraw.generate.preparing import held_back
from truedraw.generate.speculation import OFF, Speculation
from truedraw.generate.spelling import spelling
from truedraw.protocol import Drafter, Law, Randomness, Verifier
from truedraw.sampling.grammar import PARAMETERS as GRAMMARS
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.step import Opening, Step
from truedraw.text.guided import ends_of, masks


@dataclass(frozen=True, slots=True)
class Subject:
    """A model, how it is sampled and speculated with, and the prompts to do it on, as token ids.

    Texts have a fixed length here. One that follows a grammar goes on behind the grammar's end, where its law is the
    free one, so that no text is chosen by how it ends. Raises BadParameter for a grammar that does not fit the model.
    """

    model: Model
    params: SamplingParams
    speculation: Speculation
    prompts: Sequence[Sequence[int]]
    masks: tuple[Step, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        found = masks(self.params, self.model.tokenizer, self.model.engine.vocab_size)
        object.__setattr__(self, "masks", found)

    @property
    def guided(self) -> bool:
        """Whether the texts follow a grammar."""
        return any(getattr(self.params, name) is not None for name in GRAMMARS)

    @property
    def grammar_ends(self) -> tuple[int, ...]:
        """The tokens a grammar may end with."""
        return ends_of(self.params, self.model.tokenizer)

    @property
    def equal_bits(self) -> bool:
        """Whether the engine promises a row to be the same bits however it was computed; reference numerics do not."""
        return getattr(self.model.engine, "numerics", SAME_BITS[0]) in SAME_BITS

    def law(self, prompt: Sequence[int], randomness: Randomness) -> Law:
        """The target's law at the start of a text; the sample's own randomness is for laws that toss coins."""
        tokenizer, params = self.model.tokenizer, self.params
        encode = partial(spelling, tokenizer)
        vocab_size = self.model.engine.vocab_size
        ends = held_back(params, tokenizer)
        opening = Opening(tuple(prompt), vocab_size, ends, randomness, encode, self.masks)
        return SamplingLaw(params, opening)

    def drafter(self, verifier: Verifier) -> Drafter:
        """A new drafter whose drafts `verifier` will judge; raises what opening its model raises."""
        return self.speculation.drafter(verifier, self.model.drafts)

    def check_room(self, length: int) -> None:
        """Raises BadPrompt where a prompt and a text of `length` tokens do not fit into the context."""
        context, longest = self.model.engine.context_length, max(map(len, self.prompts))
        if longest + length > context:
            raise BadPrompt(
                f"a prompt has {longest} tokens, which leaves no room for texts of {length} in the context of "
                f"{context}; give shorter prompts or a smaller max_tokens"
            )

    def drafting(self, tokens: int) -> Speculation:
        """The same speculation with a fixed number of draft tokens in every round; plain sampling stays plain."""
        if self.speculation.method == OFF:
            return self.speculation
        return self.speculation.but(num_speculative_tokens=tokens, adaptive=False)

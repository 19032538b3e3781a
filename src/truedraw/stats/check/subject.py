"""What is checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from truedraw.errors import BadParameter, BadPrompt
from truedraw.generate.model import Model
from truedraw.generate.speculation import Speculation
from truedraw.generate.spelling import spelling
from truedraw.protocol import Law, Randomness
from truedraw.sampling.grammar import PARAMETERS as GRAMMARS
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.step import Opening


@dataclass(frozen=True, slots=True)
class Subject:
    """A model, how it is sampled and speculated with, and the prompts to do it on, as token ids."""

    model: Model
    params: SamplingParams
    speculation: Speculation
    prompts: Sequence[Sequence[int]]

    @property
    def equal_bits(self) -> bool:
        """Whether the engine promises a row to be the same bits however it was computed; reference numerics do not."""
        return bool(getattr(self.model.engine, "numerics", "invariant") == "invariant")

    def law(self, prompt: Sequence[int], randomness: Randomness) -> Law:
        """The target's law at the start of a text; the sample's own randomness is for laws that toss coins."""
        tokenizer, params = self.model.tokenizer, self.params
        ends = {*params.stop_token_ids, *(() if params.ignore_eos else tokenizer.eos_ids)}
        encode = partial(spelling, tokenizer)
        vocab_size = self.model.engine.vocab_size
        return SamplingLaw(params, Opening(tuple(prompt), vocab_size, tuple(sorted(ends)), randomness, encode))

    def check_endless(self) -> None:
        """Raises BadParameter for a parameter that ends texts by itself: here they have a fixed length."""
        for name in GRAMMARS:
            if getattr(self.params, name) is not None:
                raise BadParameter(name, "a check draws texts of a fixed length, and a grammar ends them; leave it out")

    def check_room(self, length: int) -> None:
        """Raises BadPrompt where a prompt and a text of `length` tokens do not fit into the context."""
        context, longest = self.model.engine.context_length, max(map(len, self.prompts))
        if longest + length > context:
            raise BadPrompt(
                f"a prompt has {longest} tokens, which leaves no room for texts of {length} in the context of "
                f"{context}; give shorter prompts or a smaller max_tokens"
            )

    def drafting(self, tokens: int) -> Speculation:
        """The same speculation with a fixed number of draft tokens in every round."""
        return replace(self.speculation, num_speculative_tokens=tokens, adaptive=False)

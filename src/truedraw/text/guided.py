"""The grammar of a run: from its parameters and the model's tokenizer to the mask that its law begins with."""

from __future__ import annotations

from collections.abc import Iterable

from truedraw.errors import BadParameter
from truedraw.sampling.grammar import PARAMETERS, opened
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.step import Step
from truedraw.text.tokenizer import Tokenizer


def masks(params: SamplingParams, tokenizer: Tokenizer, vocab_size: int) -> tuple[Step, ...]:
    """The mask before the first token, shared by all samples; raises BadParameter."""
    for name in PARAMETERS:
        text = getattr(params, name)
        if text is not None:
            ends = ends_of(params, tokenizer)
            if not ends:
                raise BadParameter(name, "the model has no end token to stop with; name one in stop_token_ids")
            return (opened(name, text, tokenizer.guidance(vocab_size, ends), frozenset(ends)),)
    return ()


def ends_of(params: SamplingParams, tokenizer: Tokenizer) -> tuple[int, ...]:
    """The tokens a grammar may end with: the model's own, and control tokens that the user made one.

    Any other of stop_token_ids is text to the grammar; it ends the text wherever it comes.
    """
    stops: Iterable[int] = (token for token in params.stop_token_ids if tokenizer.is_special(token))
    return tuple(dict.fromkeys((*tokenizer.eos_ids, *stops)))

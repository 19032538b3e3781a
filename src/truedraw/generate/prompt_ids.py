"""A prompt as it is given, a text or token ids, as the ids that an engine takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from numbers import Integral
from typing import Any

from numpy.typing import NDArray

from truedraw.errors import BadPrompt
from truedraw.protocol import Engine
from truedraw.sampling.values import BYTES, shown
from truedraw.text import Tokenizer
from truedraw.text.characters import check_characters

Prompt = str | Sequence[int] | NDArray[Any]


def prompt_ids(prompt: Prompt, tokenizer: Tokenizer, engine: Engine) -> tuple[int, ...]:
    """At least one, with room for one more in the context; raises BadPrompt."""
    ids = _encoded(prompt, tokenizer, engine.context_length)
    vocab, context = engine.vocab_size, engine.context_length
    if not ids:
        raise BadPrompt("the prompt is empty; give at least one character or one token")
    for token in ids:
        if isinstance(token, bool) or not isinstance(token, Integral) or not 0 <= token < vocab:
            if isinstance(prompt, str):
                raise BadPrompt(
                    f"the tokenizer makes {token} of the prompt, and the model has tokens 0 to {vocab - 1} "
                    "alone; they do not belong together, fetch the model again"
                )
            raise BadPrompt(
                f"the prompt holds {shown(token)}; give text, or token ids from 0 to {vocab - 1}{_way(token)}"
            )
    if len(ids) >= context:
        raise BadPrompt(
            f"the prompt has {len(ids)} tokens and the model's context {context}; "
            f"shorten it to {context - 1} tokens, so that there is room for one more"
        )
    return tuple(int(token) for token in ids)


def _encoded(prompt: Prompt, tokenizer: Tokenizer, context_length: int) -> list[int]:
    if isinstance(prompt, str):
        check_characters(prompt, "the prompt")
        tokenizer.check_length(prompt, context_length)
        return tokenizer.encode(prompt) if prompt else []
    has_order = isinstance(prompt, Iterable) and not isinstance(prompt, BYTES | Mapping | Set)
    if not has_order or getattr(prompt, "ndim", 1) == 0:
        raise BadPrompt(f"the prompt is {shown(prompt)}; give a text, or a list of token ids")
    return list(prompt)


def _way(held: Any) -> str:
    """What does take such a thing."""
    if isinstance(held, Mapping):
        return "; messages of a conversation become ids by chat_prompt"
    return "; several prompts are for batch() or generate_many()" if isinstance(held, str | Sequence) else ""

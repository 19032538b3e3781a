"""What a user says, as the model gets it, and what it answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from truedraw.distill.texts import Record
from truedraw.errors import BadParameter, BadPrompt
from truedraw.generate.prompt_ids import prompt_ids
from truedraw.generate.request import Request

if TYPE_CHECKING:
    from truedraw.generate.model import Model


def opening(model: Model, text: str) -> list[int] | None:
    """A user's turn, or, for a model that knows no turns, a text to continue; None for one far beyond the context."""
    try:
        return _opened(model, text)
    except BadPrompt:  # which is said before it is cut into tokens
        return None


def _opened(model: Model, text: str) -> list[int]:
    if not model.tokenizer.has_chat_template:
        return model.tokenizer.encode(text)
    return model.chat_prompt([{"role": "user", "content": text}])


def answered(model: Model, requests: Iterable[Request]) -> Iterator[tuple[Request, Record | None]]:
    """Requests in order of completion, and the text of each, to be written down; None where the context has no room.

    Raises what else has ended one.
    """
    for request, result in model.generate_many(requests, logits_cache_bytes=0):
        if isinstance(result, BadPrompt):
            yield request, None
            continue
        if isinstance(result, Exception):
            raise result
        prompt, answer = ([int(token) for token in part] for part in (request.prompt, result.choices[0].tokens))
        temperature = request.params["temperature"]
        yield request, {"key": list(request.key), "temperature": temperature, "prompt": prompt, "answer": answer}


def left_out(model: Model, prompts: Sequence[str]) -> int:
    """How many of them have no answer, as they are too long; raises BadParameter where that is all."""
    errors = [error for text in prompts if (error := _why_not(model, text)) is not None]
    if errors and len(errors) == len(prompts):
        raise BadParameter("--prompts", f"none of them can be answered, {len(errors)} in all: {errors[0]}")
    return len(errors)


def _why_not(model: Model, text: str) -> BadPrompt | None:
    try:
        prompt_ids(_opened(model, text), model.tokenizer, model.engine)
    except BadPrompt as error:
        return error
    return None

"""What every engine asks of a text, of the tokens that are added to it, and of a fill."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from typing import NamedTuple

from truedraw.errors import BadPrompt, EngineError
from truedraw.protocol import Fill

FOREIGN = "a sequence can only be run by the engine that opened it"
CLOSED = "the engine is closed; load the model again"


class Limits(NamedTuple):
    """What a text must keep to."""

    vocab_size: int
    length: int  # tokens


def beginning(tokens: Seq[int], limits: Limits) -> list[int]:
    """The ids of a text that is to be opened.

    Raises BadPrompt for no token or more than the context holds, EngineError for unknown ones.
    """
    ids = [int(token) for token in tokens]
    if not ids:
        raise BadPrompt("a text needs at least one token; give a prompt or let it start with a special token")
    if len(ids) > limits.length:
        raise BadPrompt(f"the prompt has {len(ids)} tokens and the model's context holds {limits.length}; shorten it")
    check_tokens(ids, limits.vocab_size)
    return ids


def continuation(tokens: Seq[int], length: int, limits: Limits) -> list[int]:
    """The ids that a text of `length` tokens goes on with.

    Raises EngineError beyond the context's end and for unknown tokens.
    """
    fresh = [int(token) for token in tokens]
    if length + len(fresh) > limits.length:
        raise EngineError(
            f"a text of {length + len(fresh)} tokens is longer than the model's context of {limits.length}; "
            "stop at the context length"
        )
    check_tokens(fresh, limits.vocab_size)
    return fresh


def check_open(closed: bool) -> None:
    """Raises EngineError for a sequence that is closed."""
    if closed:
        raise EngineError("the sequence is closed; open the text again")


def check_tokens(tokens: Seq[int], vocab_size: int) -> None:
    """Raises EngineError for an id outside the vocabulary."""
    for token in tokens:
        if not 0 <= token < vocab_size:
            raise EngineError(f"token {token} is outside the model's vocabulary of {vocab_size}")


def check_fill(fill: Fill) -> None:
    """Raises EngineError for a count that is not below num_uncached."""
    most = fill.sequence.num_uncached - 1
    if not 1 <= fill.count <= most:
        raise EngineError(
            f"a fill of {fill.count} tokens; this text has {most} to compute before its last, whose logits are a "
            f"work's: {'give 1 to ' + str(most) if most else 'leave the fill out'}"
        )

"""What a draft goes on from: the place of a text behind tokens that it does not have yet."""

from __future__ import annotations

from collections.abc import Sequence

from truedraw.protocol import DraftState, Law, LooksAhead
from truedraw.protocol.able import is_able


def law_after(law: Law, tokens: Sequence[int]) -> Law:
    """The law once these tokens stand there."""
    for token in tokens:
        law = law.after(token)
    return law


def look_ahead(state: DraftState | None, tokens: Sequence[int]) -> DraftState | None:
    """The state behind the tokens, None where it cannot be had: it drafts nothing then."""
    if not tokens:
        return state
    return state.ahead(tokens) if is_able(state, LooksAhead) else None

"""Scenarios cut down to what can be enumerated in milliseconds."""

from __future__ import annotations

from dataclasses import replace

from truedraw.testing.scenarios import Scenario

DRAFT_TOKENS, TOKENS = 2, 3


def shortened(scenario: Scenario, draft_tokens: int = DRAFT_TOKENS, max_tokens: int = TOKENS) -> Scenario:
    """The same with at most so many draft tokens a round and tokens a text."""
    return replace(
        scenario,
        draft_tokens=min(scenario.draft_tokens, draft_tokens),
        max_tokens=min(scenario.max_tokens, max_tokens),
    )

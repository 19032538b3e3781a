"""A text as the beginning of a conversation."""

from __future__ import annotations


def question(text: str, system: str | None = None) -> list[dict[str, str]]:
    """The messages, behind a system prompt if there is one."""
    before = [] if system is None else [{"role": "system", "content": system}]
    return [*before, {"role": "user", "content": text}]

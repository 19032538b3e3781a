"""Messages of a chat template with which a conversation begins."""

from __future__ import annotations

Message = dict[str, str]


def instructed(system: str | None) -> list[Message]:
    """A system prompt, if there is one."""
    return [] if system is None else [{"role": "system", "content": system}]


def question(text: str, system: str | None = None) -> list[Message]:
    """What a user says, behind a system prompt if there is one."""
    return [*instructed(system), {"role": "user", "content": text}]

"""What a cache of pages holds, for statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CacheUse:
    """A page is free, held by texts that are open, or idle: nobody's, but found by a text that begins like it."""

    pages_total: int
    pages_free: int
    pages_idle: int
    page_bytes: int
    tokens_asked: int  # of texts opened, those run again after their pages were given back included
    tokens_found: int  # of these, the ones that some page still held

    @property
    def pages_held(self) -> int:
        """By texts that are open."""
        return self.pages_total - self.pages_free - self.pages_idle


def forget_closed(engine: Any) -> None:
    """Let nobody find what texts that are closed have left in the cache, of an engine that keeps their pages."""
    if hasattr(engine, "forget_closed"):
        engine.forget_closed()

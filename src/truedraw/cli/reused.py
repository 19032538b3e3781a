"""What a run of many samples found instead of computing it, for its last words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truedraw.engine.cache_use import CacheUse
    from truedraw.engine.logits_cache import LogitsCacheUse


@dataclass(frozen=True, slots=True)
class Reused:
    """Of one run."""

    tokens_asked: int  # of the prompts of all samples that were drawn
    tokens_computed: int | None  # of prompts, and of texts that had lost their pages; None: the engine does not tell
    logits: LogitsCacheUse

    @property
    def tokens_found(self) -> int | None:
        """Tokens of prompts that were not computed, since other texts begin like them."""
        return None if self.tokens_computed is None else max(0, self.tokens_asked - self.tokens_computed)

    def line(self) -> str:
        """For people."""
        found = self.tokens_found
        shared = "" if found is None else f"{found} of {self.tokens_asked} prompt tokens from shared prefixes; "
        rows = self.logits.hits + self.logits.misses
        return f"reused: {shared}{self.logits.hits} of {rows} rows of logits from their cache, without a pass"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = self.tokens_found
        prefixes = None if found is None else {"tokens_asked": self.tokens_asked, "tokens_found": found}
        return {"prefix_cache": prefixes, "logits_cache": asdict(self.logits)}


def use_of(engine: Any) -> CacheUse | None:
    """What an engine has counted so far; None where it has no pages."""
    return engine.cache_use() if hasattr(engine, "cache_use") else None


def computed(before: CacheUse | None, now: CacheUse | None, asked: int) -> int | None:
    """Tokens of the texts opened meanwhile whose keys and values the engine did not have; `asked`: those of prompts.

    Forks are no texts that were opened: whatever they share was computed before. None where the engine counts nothing,
    as with no room for prefixes.
    """
    if before is None or now is None or (asked and now.tokens_asked == before.tokens_asked):
        return None
    return (now.tokens_asked - now.tokens_found) - (before.tokens_asked - before.tokens_found)


def prompt_tokens(record: dict[str, Any]) -> int:
    """Of a sample, or of all that were drawn for a prompt, kept or not, each of which has the whole prompt."""
    return int(record.get("prompt_tokens", 0)) * (len(record.get("choices", (None,))) + int(record.get("dropped", 0)))

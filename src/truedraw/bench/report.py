"""Pairs to numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from truedraw.bench.bootstrap import median_interval
from truedraw.bench.pairs import Pair
from truedraw.stats.summary import Stats


@dataclass(frozen=True, slots=True)
class Total:
    """One arm over several runs."""

    runs: tuple[Stats, ...]

    def sum(self, name: str) -> float:
        """Of one of the counts or times."""
        return float(sum(getattr(run, name) for run in self.runs))

    def ratio(self, part: str, whole: str) -> float | None:
        """Of two sums; None where the second is 0."""
        return self.sum(part) / self.sum(whole) if self.sum(whole) else None


def speedup(pairs: Sequence[Pair]) -> float:
    """Seconds a token, plain over speculative; above 1 speculation gains. Repeats of one prompt are pooled."""
    plain, speculative = _totals(pairs)
    return (plain.sum("seconds") * speculative.sum("tokens")) / (plain.sum("tokens") * speculative.sum("seconds"))


def report(pairs: Sequence[Pair]) -> dict[str, Any]:
    """The whole run: everything of `section`, by category, and what truedraw itself costs."""
    plain, speculative = _totals(pairs)
    return {
        **section(pairs),
        "by_category": {
            name: section([pair for pair in pairs if pair.category == name])
            for name in dict.fromkeys(pair.category for pair in pairs)
        },
        "overhead_fraction": plain.ratio("other_seconds", "engine_seconds"),
        "overhead_fraction_speculative": speculative.ratio("other_seconds", "engine_seconds"),
    }


def section(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Some pairs as numbers; the prompt is the unit of the interval."""
    plain, speculative = _totals(pairs)
    by_prompt = [[pair for pair in pairs if pair.task == task] for task in dict.fromkeys(p.task for p in pairs)]
    return {
        "prompts": len(by_prompt),
        "speedup": median_interval([speedup(group) for group in by_prompt]).to_dict(),
        "plain_tokens_per_second": plain.ratio("tokens", "seconds"),
        "tokens_per_second": speculative.ratio("tokens", "seconds"),
        "tokens_per_round": speculative.ratio("tokens", "rounds"),
        "acceptance_rate": speculative.ratio("accepted", "drafted"),
        "drafted_per_round": speculative.ratio("drafted", "rounds"),
        "identical_texts": identical_texts(pairs),
    }


def identical_texts(pairs: Sequence[Pair]) -> dict[str, int] | None:
    """How many of those that were to write the same; None where none was."""
    asked = [pair.identical for pair in pairs if pair.identical is not None]
    return {"count": sum(asked), "of": len(asked)} if asked else None


def _totals(pairs: Iterable[Pair]) -> tuple[Total, Total]:
    both = list(pairs)
    return Total(tuple(pair.plain for pair in both)), Total(tuple(pair.speculative for pair in both))

"""What a tuning has found: which config to use, and why, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

from truedraw.bench.bootstrap import Interval, median_interval
from truedraw.bench.report import section
from truedraw.bench.tune import Candidate
from truedraw.generate.speculation import OFF

DOUBT = 0.05
"""Chance that something is called faster beyond doubt where nothing is."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The config to use and the reasons for it."""

    name: str
    config: Mapping[str, Any]
    reasons: tuple[str, ...]


NOTHING = Verdict("nothing", {}, ("It was interrupted before anything was measured.",))


def verdict(candidates: Sequence[Candidate]) -> Verdict:
    """The fastest beyond doubt, auto where that is as good as one can tell, plain sampling where nothing gains."""
    measured = sorted((each for each in candidates if each.pairs and not each.failed), key=lambda each: -each.median)
    if not measured:
        return plainly("No candidate could be measured.")
    auto = next((each for each in measured if each.is_default), None)
    sure = [each for each in measured if surely_gains([*each.by_prompt().values()], len(candidates))]
    if sure:
        return fastest(sure[0], measured[0], auto if auto in sure else None)
    first = measured[0]
    if first.median <= 1:
        return plainly(f"Plain sampling is best: the fastest candidate was {said(first)}.")
    doubt = f"Nothing was faster than plain sampling beyond doubt; the fastest was {said(first)}."
    few = too_few(max(len(each.by_prompt()) for each in measured), len(candidates))
    doubts = (doubt,) if few is None else (doubt, f"{few}.")
    if auto is None:
        return plainly(*doubts)
    if auto.median < 1:
        return plainly(*doubts, f"auto had {interval(auto.speed)}.")
    stays = f"auto stays, at {interval(auto.speed)}: it returns to plain sampling by itself where drafts do not pay."
    return Verdict(auto.name, auto.config, (*doubts, stays))


def fastest(best: Candidate, first: Candidate, auto: Candidate | None) -> Verdict:
    """The best of those that surely gain, or auto where it gains too and is not surely slower.

    `first` has the highest median of all, perhaps by luck.
    """
    reasons = [f"The fastest beyond doubt was {said(best)}."]
    if first is not best:
        reasons.append(f"{first.name} had {interval(first.speed)}, which may be luck.")
    if auto is None or auto is best:
        return Verdict(best.name, best.config, (*reasons, *by_category(best)))
    ratios = best.ratios(auto)
    ratio = median_interval(ratios) if ratios else None
    if ratio is None or surely_gains(ratios, 1):
        ahead = () if ratio is None else (f"It ran at {interval(ratio)} of the speed of auto on the same prompts.",)
        return Verdict(best.name, best.config, (*reasons, *ahead, *by_category(best)))
    chosen = (
        f"auto, at {interval(auto.speed)}, is chosen: the fastest ran at {interval(ratio)} of its speed on the same "
        "prompts, which may be luck, and auto adapts itself to other texts."
    )
    return Verdict(auto.name, auto.config, (*reasons, chosen, *by_category(auto)))


def too_few(prompts: int, tried: int) -> str | None:
    """Said of fewer prompts than `surely_gains` takes where each of them gains; None of enough."""
    least = ceil(log2(tried / DOUBT))
    if prompts >= least:
        return None
    given = "one prompt is" if prompts == 1 else f"{prompts} prompts are"
    among = f"among {tried} candidates" if tried > 1 else "whether the one candidate gains"
    return f"{given} too few to tell {among}; at least {least} are needed".capitalize()


def plainly(*reasons: str) -> Verdict:
    """Without drafts."""
    return Verdict("plain sampling", {"method": OFF}, reasons)


def by_category(chosen: Candidate) -> tuple[str, ...]:
    """Where it gained more and where less; nothing to say of one category."""
    kinds = sorted({pair.category for pair in chosen.pairs})
    if len(kinds) < 2:
        return ()
    medians = {
        kind: section([pair for pair in chosen.pairs if pair.category == kind])["speedup"]["median"] for kind in kinds
    }
    return (f"By kind of prompt: {', '.join(f'{kind} {median:.2f}' for kind, median in medians.items())}.",)


def ranking(candidates: Sequence[Candidate]) -> list[str]:
    """A line for each, the fastest first, those that could not run last."""
    names = max(len(each.name) for each in candidates)
    there = sorted((each for each in candidates if each.pairs), key=lambda each: -each.median)
    return [f"{each.name:{names}}  {told(each)}" for each in (*there, *(each for each in candidates if not each.pairs))]


def told(each: Candidate) -> str:
    """All about one."""
    if not each.pairs:
        return each.given_up or "not measured"
    found = section(each.pairs)
    kept = "" if found["acceptance_rate"] is None else f", {found['acceptance_rate']:.0%} of drafts kept"
    end = "" if each.given_up is None else f"; {each.given_up}"
    return f"{interval(each.speed)}, {found['tokens_per_round']:.2f} tokens a round{kept}{end}"


def said(each: Candidate) -> str:
    """Its name and speed in a sentence."""
    prompts = len(each.by_prompt())
    of = f"on {prompts} prompts" if prompts > 1 else "on one prompt, which says nothing of the spread"
    return f"{each.name} with {interval(each.speed)} of plain sampling's speed {of}"


def interval(of: Interval) -> str:
    """A median with its ends."""
    return f"{of.median:.2f}" if of.low is None else f"{of.median:.2f} ({of.low:.2f} to {of.high:.2f})"


def surely_gains(ratios: Sequence[float], tried: int) -> bool:
    """Whether the median is above 1 by the sign test: of `tried` that all gain nothing, one in twenty times one does.

    With one tried that takes five ratios at least, with six of them seven.
    """
    from scipy import stats

    gained, lost = sum(ratio > 1 for ratio in ratios), sum(ratio < 1 for ratio in ratios)
    if not gained + lost:
        return False
    return float(stats.binomtest(gained, gained + lost, alternative="greater").pvalue) <= DOUBT / tried

"""Statistics for people, on stderr."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truedraw.generate.result import Result
from truedraw.sampling.values import UNKNOWN, number
from truedraw.stats.summary import Stats

MOST_POSITIONS = 8  # in one line


def counted(number: int, noun: str) -> str:
    """ "1 token", "2 tokens"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def block(result: Result) -> str:
    """A few lines on a finished or interrupted run."""
    stats = result.stats
    drawn = len(result.choices) + result.dropped
    kept = f" ({len(result.choices)} of them kept)" if result.dropped else ""
    samples = f" in {drawn} samples{kept}" if drawn > 1 else ""
    prompt = counted(len(result.prompt_tokens), "token")
    lines = [
        f"{prompt} of prompt, {stats.tokens} new{samples} in {stats.seconds:.2f} s: "
        f"{number(stats.tokens_per_second, '.1f')} tokens/s",
        f"{counted(stats.rounds, 'round')}, {number(stats.tokens_per_round, '.2f')} tokens a round; "
        f"{drafts(stats)}{forced(stats)}{positions(stats)}",
        f"time: engine {share(stats.engine_seconds, stats)}, draft {share(stats.draft_seconds, stats)}, "
        f"other {share(stats.other_seconds, stats)}",
        *notices(result),
    ]
    return "\n".join(lines)


def notices(result: Result) -> list[str]:
    """One line where a drafter failed, and one where the texts do not have the model's distribution."""
    loss = result.loss
    given_up = [f"a drafter was given up, the text goes on without it: {reason}" for reason in result.stats.fallbacks]
    if loss is None:
        return given_up
    settings = ", ".join(f"{name} {value:g}" for name, value in loss.settings.items())
    bound = "" if loss.tv_per_token is None else f"total variation a token at most {loss.tv_per_token:.2g}; "
    return [*given_up, f"LOSSY, not the model's distribution ({loss.rule}, {settings}): {bound}{loss.meaning}"]


def line(stats: Stats) -> str:
    """The same in one line, for a conversation."""
    return (
        f"[{counted(stats.tokens, 'token')}, {number(stats.tokens_per_second, '.1f')} tokens/s, "
        f"{number(stats.tokens_per_round, '.2f')} a round]"
    )


def drafts(stats: Stats) -> str:
    """How drafting went."""
    if not stats.drafted:
        return "nothing drafted"
    return f"{stats.accepted} of {counted(stats.drafted, 'draft')} accepted ({number(stats.acceptance_rate, '.0%')})"


def forced(stats: Stats) -> str:
    """What a grammar left no choice about."""
    return f"; {counted(stats.forced, 'token')} forced" if stats.forced else ""


def positions(stats: Stats) -> str:
    """What became of the first few drafts behind a text: how many of those that were tried were kept."""
    pairs = list(zip(stats.kept_by_position, stats.tried_by_position, strict=True))[:MOST_POSITIONS]
    shares = [f"{kept / tried:.0%}" for kept, tried in pairs]
    return f"; by position {' '.join(shares)}" if len(shares) > 1 else ""


def share(seconds: float, stats: Stats) -> str:
    """Of the whole time."""
    return f"{seconds / stats.seconds:.1%}" if stats.seconds else UNKNOWN


def gained(gain: Mapping[str, Any]) -> str:
    """What speculation gained, measured."""
    same = "all texts are identical, token for token" if gain["identical_texts"] else "the texts differ"
    return (
        f"what speculation gained: {gain['speedup']:.2f} times the tokens/s "
        f"({gain['plain_tokens_per_second']:.1f} plain, {gain['tokens_per_second']:.1f} speculative; "
        f"{gain['runs']} interleaved runs of each, seed {gain['seed']})\n{same}"
    )

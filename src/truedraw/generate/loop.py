"""Speculative sampling, the whole of it: propose, score, transform, verify, commit, until every text has ended.

Plain sampling is the same loop with empty proposals. One target pass serves every running sample of a round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from truedraw import protocol as p
from truedraw.generate.certain import forced_tokens, propose
from truedraw.generate.ending import Ending
from truedraw.generate.rows import LawRows


@dataclass(slots=True)
class Sample:
    """One text on its way: what its next round needs."""

    index: int
    law: p.Law
    randomness: p.Randomness
    ending: Ending
    sequence: p.Sequence
    draft: p.DraftState
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """The stages of a run, chosen once."""

    engine: p.Engine
    drafter: p.Drafter
    verifier: p.Verifier
    controller: p.Controller
    observer: p.Observer | None = None


def rounds(parts: Parts, samples: Sequence[Sample]) -> Iterator[list[p.Round]]:
    """Run every sample to its end; yields one Round for each sample that was running, round by round."""
    while running := [sample for sample in samples if sample.finish_reason is None]:
        clock = Stopwatch()
        proposals, forced = guesses(parts, running)
        draft_seconds = clock.lap()
        scores = parts.engine.forward(
            [p.Work(sample.sequence, proposal) for sample, proposal in zip(running, proposals, strict=True)]
        )
        engine_seconds = clock.lap()
        done = [advance(parts, *each) for each in zip(running, proposals, scores, forced, strict=True)]
        shares = (draft_seconds / len(running), engine_seconds / len(running), clock.total() / len(running))
        done = [replace(r, draft_seconds=shares[0], engine_seconds=shares[1], seconds=shares[2]) for r in done]
        parts.controller.observe(done)
        yield done


def guesses(parts: Parts, running: Sequence[Sample]) -> tuple[list[p.Proposal], list[int]]:
    """One proposal a sample, and how many tokens at its beginning are forced."""
    rooms = [sample.ending.room - 1 for sample in running]
    certain = forced_tokens([sample.law for sample in running], rooms)
    budgets = parts.controller.budget([room - len(tokens) for room, tokens in zip(rooms, certain, strict=True)])
    states, chances = [sample.draft for sample in running], [sample.randomness for sample in running]
    return propose(parts.drafter, states, budgets, chances, certain), [len(tokens) for tokens in certain]


def advance(parts: Parts, sample: Sample, proposal: p.Proposal, scores: p.Scores, forced: int = 0) -> p.Round:
    """Verify one sample's proposal, which begins with `forced` tokens that must come, and commit what was kept."""
    rows = LawRows(sample.law, proposal, scores)
    verdict = parts.verifier(proposal, rows, sample.randomness, len(sample.sequence.tokens))
    if parts.observer is not None:
        parts.observer(sample.index, proposal, rows, verdict)
    kept, sample.finish_reason = sample.ending.cut(verdict.tokens)
    logprobs, sampling_logprobs = rows.logprobs(kept)
    sample.law = rows.law_after(kept)
    sample.sequence.commit(kept)
    sample.draft.commit(kept, scores)
    return p.Round(
        sample=sample.index,
        tokens=kept,
        origins=origins(proposal, verdict, forced)[: len(kept)],
        logprobs=logprobs,
        sampling_logprobs=sampling_logprobs,
        drafted=len(proposal) - forced,
        accepted=max(0, verdict.num_accepted - forced),
        forced=min(len(kept), forced),
        finish_reason=sample.finish_reason,
    )


def origins(proposal: p.Proposal, verdict: p.Verdict, forced: int = 0) -> tuple[p.Origin, ...]:
    """Where each token of a verdict came from; the first `forced` tokens of the proposal had to come."""
    last: p.Origin = "residual" if verdict.rejected else "bonus" if len(proposal) > forced else "plain"
    kept: list[p.Origin] = ["draft"] * verdict.num_accepted
    kept[:forced] = ["forced"] * min(forced, len(kept))
    return (*kept, last)


class Stopwatch:
    """Seconds between laps."""

    def __init__(self) -> None:
        self._start = self._last = perf_counter()

    def lap(self) -> float:
        """Seconds since the last lap."""
        now = perf_counter()
        seconds, self._last = now - self._last, now
        return seconds

    def total(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._start

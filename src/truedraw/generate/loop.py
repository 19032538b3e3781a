"""Speculative sampling, the whole of it: propose, score, transform, verify, commit, until every text has ended.

Plain sampling is the same loop with empty proposals. One target pass serves everyone whose turn it is; who that is, a
schedule says: generate/jobs.py, or all samples together.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from truedraw import protocol as p
from truedraw.draft.site import hear
from truedraw.errors import OutOfPages
from truedraw.generate.guesses import guess
from truedraw.generate.rows import LawRows, Means
from truedraw.generate.sample import Parts, Sample, Schedule, Together, Turn
from truedraw.generate.verdict import believed
from truedraw.sampling.working_time import working_seconds

__all__ = ["Parts", "Sample", "Schedule", "Together", "Turn", "rounds"]


def rounds(engine: p.Engine, controller: p.Controller, schedule: Schedule) -> Generator[list[p.Round]]:
    """Turn by turn, one Round of each sample that was scored; none where the pass computed nothing but prompts."""
    means = Means()
    while (turn := schedule.turn()) is not None:
        if turn.scores is None:
            start = working_seconds()
            own_seconds = guess(controller, schedule, turn)
            guessed = working_seconds()
            turn.scores = score(engine, schedule, turn)
            turn.draft_seconds, turn.engine_seconds = guessed - start - own_seconds, working_seconds() - guessed
        done = verify(schedule, turn, means)
        tell(controller, turn, done)
        yield done


def tell(controller: p.Controller, turn: Turn, done: list[p.Round]) -> None:
    """Of a pass, whether it scored anybody or not."""
    if done:
        controller.observe(done)
    elif turn.rows and (prompts := getattr(controller, "prompts", None)) is not None:  # protocol.HearsPrompts
        prompts(turn.rows)


def score(engine: p.Engine, schedule: Schedule, turn: Turn) -> list[p.Scores]:
    """What the target says of every proposal, in one pass; while it has no room for all, somebody has to wait."""
    while turn.samples or turn.fills:
        works = [p.Work(sample.sequence, sample.proposal or p.NOTHING) for sample in turn.samples]
        turn.rows = sum(work.sequence.num_uncached + len(work.proposal) for work in works)
        turn.rows += sum(fill.count for fill in turn.fills)
        try:
            scores = engine.forward(works, turn.fills)
        except OutOfPages as error:
            schedule.make_room(turn, error)
        else:
            turn.padding = getattr(engine, "padding_rows", 0)  # see protocol.FillsUp, an instance check takes longer
            return scores
    return []


def verify(schedule: Schedule, turn: Turn, means: Means) -> list[p.Round]:
    """Advance every sample by its scores."""
    done = []
    for sample, scores in zip(turn.samples, turn.scores or (), strict=True):
        try:
            done.append(advance(sample, scores, turn, means))
        except Exception as error:  # whatever a plug-in's verifier or observer raises concerns its own job
            schedule.failed(sample, error)
    return done


def advance(sample: Sample, scores: p.Scores, turn: Turn, means: Means) -> p.Round:
    """Verify one sample's proposal and commit what was kept."""
    start, share = working_seconds(), 1 / len(turn.samples)
    draft_seconds, late_seconds = sample.draft_seconds, sample.late_seconds
    sample.draft_seconds, sample.late_seconds = 0.0, None
    proposal, forced = sample.proposal or p.NOTHING, sample.forced
    rows = LawRows(sample.law, proposal, scores, means)
    position = len(sample.sequence.tokens)
    decided = sample.parts.verifier(proposal, rows, sample.randomness, position)
    verdict = rows.reached(believed(decided, proposal, rows.vocab_size))
    if sample.parts.observer is not None:
        seen = replace(verdict, coupled=sample.parts.verifier.coupled)
        sample.parts.observer(sample.number, proposal, rows, seen)
    kept, sample.finish_reason = sample.ending.cut(verdict.tokens)
    logprobs, sampling_logprobs = rows.logprobs(kept)
    top_logprobs = rows.top_logprobs(kept, logprobs, sample.parts.top_logprobs)
    sample.law, sample.proposal, sample.forced = rows.law_after(kept), None, 0
    if sample.trail is not None:
        known = None if turn.rows == 0 else rows.logits(kept)
        sample.trail.follow(kept, known, sampling_logprobs)
    sample.sequence.commit(kept)
    told = p.Scores(scores.logits, scores.hidden, proposal, scores.text)
    hear(sample.draft, kept, told, dozing=sample.rest > 1)
    return p.Round(
        sample=sample.number,
        tokens=kept,
        origins=origins(proposal, verdict, forced)[: len(kept)],
        logprobs=logprobs,
        sampling_logprobs=sampling_logprobs,
        drafted=len(proposal) - forced,
        accepted=max(0, verdict.num_accepted - forced),
        forced=min(len(kept), forced),
        draft_seconds=draft_seconds,
        late_seconds=late_seconds,
        engine_seconds=share * turn.engine_seconds,
        seconds=share * (turn.draft_seconds + turn.engine_seconds) + draft_seconds + working_seconds() - start,
        source=sample.source if len(proposal) > forced else "",
        pass_rows=turn.rows,
        padding_rows=turn.padding,
        finish_reason=sample.finish_reason,
        top_logprobs=top_logprobs,
    )


def origins(proposal: p.Proposal, verdict: p.Verdict, forced: int = 0) -> tuple[p.Origin, ...]:
    """Where each token of a verdict came from; the first `forced` tokens of the proposal had to come."""
    last: p.Origin = "residual" if verdict.rejected else "bonus" if len(proposal) > forced else "plain"
    kept: list[p.Origin] = ["draft"] * verdict.num_accepted
    kept[:forced] = ["forced"] * min(forced, len(kept))
    return (*kept, last)

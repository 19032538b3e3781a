"""Speculative sampling, the whole of it: propose, score, transform, verify, commit, until every text has ended.

Plain sampling is the same loop with empty proposals. One target pass serves everyone whose turn it is; who that is, a
schedule says: generate/jobs.py, or all samples together.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from truedraw import protocol as p
from truedraw.draft.site import hear
from truedraw.errors import EngineError, OutOfPages
from truedraw.generate.at_once.strides import Strides
from truedraw.generate.drawn_plainly import Drawn, drawn_plainly
from truedraw.generate.guesses import guess
from truedraw.generate.judging import Spent, judged, round_of
from truedraw.generate.lent_rows import WatchedRows
from truedraw.generate.logits_sizes import check_sizes
from truedraw.generate.means import Means
from truedraw.generate.sample import Parts, Sample, Schedule, Together, Turn
from truedraw.handlers import is_mistake
from truedraw.sampling.working_time import working_seconds
from truedraw.threads import NOBODY

__all__ = ["Parts", "Sample", "Schedule", "Together", "Turn", "rounds"]


def rounds(engine: p.Engine, controller: p.Controller, schedule: Schedule) -> Generator[list[p.Round]]:
    """Turn by turn, one Round of each sample that was scored, or a few of each.

    None where the pass computed nothing but prompts.
    """
    means = Means(board_of(engine))
    strides = Strides(engine, controller, schedule, means)
    while (turn := strides.turn()) is not None:
        if (several := strides.take(turn)) is not None:
            schedule.hold(several)
            yield several
            continue
        if turn.scores is None:
            start = working_seconds()
            own_seconds = guess(controller, schedule, turn, strides.begins_with)
            if (several := strides.take_decided()) is not None:
                schedule.hold(several)
                yield several
                continue
            guessed = working_seconds()
            turn.scores = score(engine, schedule, turn)
            turn.draft_seconds, turn.engine_seconds = guessed - start - own_seconds, working_seconds() - guessed
        done = verify(schedule, turn, means)
        tell(controller, turn, done)
        schedule.hold(done)
        yield done


def board_of(engine: p.Engine) -> p.Ints:
    """Where its threads look for work, also for what is not the engine's."""
    try:
        crew = getattr(engine, "crew", None)
    except EngineError:  # closed meanwhile, as its next pass says
        crew = None
    return NOBODY if crew is None else crew.board


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
            check_sizes(engine, [work.proposal for work in works], scores)
            return scores
    return []


def verify(schedule: Schedule, turn: Turn, means: Means) -> list[p.Round]:
    """Advance every sample by its scores; whatever a plug-in's verifier or observer raises concerns its own job."""
    done, told = list[p.Round](), drawn_plainly(turn, means)
    for sample, scores in zip(turn.samples, turn.scores or (), strict=True):
        try:
            done.append(advance(sample, scores, turn, means, told.get(sample.number)))
        except BaseException as error:
            if not is_mistake(error):  # what is over is kept
                schedule.rescue(done)
                raise
            schedule.failed(sample, error)
    return done


def advance(sample: Sample, scores: p.Scores, turn: Turn, means: Means, drawn: Drawn | None = None) -> p.Round:
    """Verify one sample's proposal and commit what was kept; drawn: what comes of that, where it is known."""
    start, share = working_seconds(), 1 / len(turn.samples)
    draft_seconds, late_seconds = sample.draft_seconds, sample.late_seconds
    sample.draft_seconds, sample.late_seconds = 0.0, None
    proposal, forced = sample.proposal or p.NOTHING, sample.forced
    rows, found = judged(sample, proposal, scores, means, len(sample.sequence.tokens), drawn and drawn.decided)
    kept = found.tokens
    with rows:
        if sample.parts.observer is not None:
            seen = replace(found.verdict, coupled=sample.parts.verifier.coupled)
            sample.parts.observer(sample.number, proposal, WatchedRows(rows), seen)
        top_logprobs = rows.top_logprobs(kept, found.logprobs, sample.parts.top_logprobs)
        sample.law, sample.proposal, sample.forced = rows.law_after(kept), None, 0
        if sample.trail is not None:
            known = None if turn.rows == 0 else rows.logits(kept)
            sample.trail.follow(kept, known, found.sampling_logprobs)
    sample.sequence.commit(kept)
    sample.finish_reason = found.finish_reason
    told = p.Scores(scores.logits, scores.hidden, proposal, scores.text)
    hear(sample.draft, kept, told, dozing=sample.rest > 1)
    engine, own = share * turn.engine_seconds, draft_seconds + working_seconds() - start
    own += drawn.seconds if drawn else 0.0
    whole = share * (turn.draft_seconds + turn.engine_seconds) + own
    spent = Spent(draft_seconds, late_seconds, engine, whole, turn.rows, turn.padding)
    return round_of(sample, proposal, found, spent, source=sample.source, forced=forced, top_logprobs=top_logprobs)

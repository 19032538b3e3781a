"""What becomes of one sample's proposal, once the target has scored it; and all of that as a Round."""

from __future__ import annotations

from typing import NamedTuple

from truedraw import protocol as p
from truedraw.generate.means import Means
from truedraw.generate.rows import LawRows
from truedraw.generate.sample import Sample
from truedraw.generate.verdict import believed
from truedraw.verify.fused.judge import Decided


class Judged(NamedTuple):
    """By the rule, and by the stop rules."""

    verdict: p.Verdict
    tokens: tuple[int, ...]  # that join the text
    finish_reason: str | None
    logprobs: tuple[float, ...]
    sampling_logprobs: tuple[float, ...]


class Spent(NamedTuple):
    """On one round of one sample: seconds as Round has them, and the rows of its pass."""

    draft: float
    late: float | None
    engine: float
    all: float
    rows: int
    padding: int = 0


def judged(
    sample: Sample, proposal: p.Proposal, scores: p.Scores, means: Means, position: int, told: Decided | None = None
) -> tuple[LawRows, Judged]:
    """Of a text that ends before `position`, and the rows by which. told: what its rule would decide, if known."""
    rows = LawRows(sample.law, proposal, scores, means)
    try:
        verdict = rows.decided(told) if told is not None else _by_rule(sample, proposal, rows, position)
        kept, reason = sample.ending.cut(verdict.tokens)
        return rows, Judged(verdict, kept, reason, *rows.logprobs(kept))
    except BaseException:
        rows.over()
        raise


def _by_rule(sample: Sample, proposal: p.Proposal, rows: LawRows, position: int) -> p.Verdict:
    decided = sample.parts.verifier(proposal, rows, sample.randomness, position)
    return rows.reached(believed(decided, proposal, rows.vocab_size, sample.parts.verifier))


def round_of(
    sample: Sample, proposal: p.Proposal, found: Judged, spent: Spent, *, source: str, forced: int = 0,
    top_logprobs: tuple[p.TopLogprobs, ...] = (),
) -> p.Round:  # fmt: skip
    """The first `forced` tokens of the proposal had to come."""
    kept = found.tokens
    return p.Round(
        sample=sample.number,
        tokens=kept,
        origins=origins(proposal, found.verdict, forced)[: len(kept)],
        logprobs=found.logprobs,
        sampling_logprobs=found.sampling_logprobs,
        drafted=len(proposal) - forced,
        accepted=max(0, found.verdict.num_accepted - forced),
        forced=min(len(kept), forced),
        draft_seconds=spent.draft,
        late_seconds=spent.late,
        engine_seconds=spent.engine,
        seconds=spent.all,
        source=source if len(proposal) > forced else "",
        pass_rows=spent.rows,
        padding_rows=spent.padding,
        finish_reason=found.finish_reason,
        top_logprobs=top_logprobs or ((),) * len(kept),
    )


def origins(proposal: p.Proposal, verdict: p.Verdict, forced: int = 0) -> tuple[p.Origin, ...]:
    """Where each token of a verdict came from; the first `forced` tokens of the proposal had to come."""
    last: p.Origin = "residual" if verdict.rejected else "bonus" if len(proposal) > forced else "plain"
    kept: list[p.Origin] = ["draft"] * verdict.num_accepted
    kept[:forced] = ["forced"] * min(forced, len(kept))
    return (*kept, last)

"""One of several texts whose rounds were run abreast, and what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truedraw import protocol as p
from truedraw.draft.behind import law_after
from truedraw.draft.site import hear
from truedraw.generate.at_once.hearing import Hearers, doze, hearers_of, states_of
from truedraw.generate.at_once.machines import IS_COUPLED
from truedraw.generate.at_once.plan import is_simple
from truedraw.generate.judging import Judged, Spent, round_of
from truedraw.generate.sample import Sample
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.verify.fused.plain_rounds import Asked


class Ran(NamedTuple):
    """What compiled code has left: of each round what it took, its pass alone and all of it, in seconds; what the draws
    tell [rounds, texts, 3]; hidden states of all rounds [rounds, texts, streams, width], where anybody wants them; and
    of the last round logits [texts, vocab] and hidden states."""

    seconds: list[tuple[float, float]]
    told: p.Floats
    shown: NDArray[np.float32]
    logits: p.Logits
    hidden: NDArray[np.float32] | None


@dataclass(slots=True, eq=False)
class Side:
    """One of the texts, and its rounds."""

    sample: Sample
    hearers: Hearers
    found: list[Judged] = field(default_factory=list)
    told: int = 0  # of these, what somebody was told of

    @classmethod
    def of(cls, sample: Sample) -> Side | None:
        """None where compiled code does not know its law, its rule or its noise, or somebody looks on."""
        parts, law = sample.parts, sample.law
        if type(parts.verifier) not in IS_COUPLED or type(sample.randomness) is not PhiloxRandomness:
            return None
        if not is_simple(sample) or law.fused.num_edits:  # type: ignore[attr-defined] # a FusedLaw, as is_simple says
            return None
        hearers = hearers_of(states_of(sample.draft).values())
        return None if hearers is None else cls(sample, hearers)

    def asked(self, logits: p.Logits) -> Asked:
        """Its first draw, from this row."""
        chance, law = self.sample.randomness, self.sample.law
        how, coupled = law.fused.how, IS_COUPLED[type(self.sample.parts.verifier)]  # type: ignore[attr-defined]
        return Asked(logits, how, chance.name, len(self.sample.sequence.tokens), coupled)  # type: ignore[attr-defined]

    @property
    def tokens(self) -> list[int]:
        """That its text does not have yet."""
        return [each.tokens[0] for each in self.found]

    def read(self, told: Sequence[Sequence[float]]) -> None:
        """What the draws tell, round after round, as far as the text goes on."""
        sample = self.sample
        for token, after, before in told:
            verdict = p.Verdict((int(token),), 0, False, False)
            kept, sample.finish_reason = sample.ending.cut(verdict.tokens)
            self.found.append(Judged(verdict, kept, sample.finish_reason, (before,), (after,)))
            if sample.finish_reason is not None:
                break
        sample.law = law_after(sample.law, self.tokens)

    def hear(self, ran: Ran, place: int, *, dozing: bool) -> None:
        """Its drafters hear of all rounds, as if they had been one; of the last alone where they are asked next."""
        rows, tokens = slice(place, place + 1), self.tokens
        last = p.Scores(ran.logits[rows], None if ran.hidden is None else ran.hidden[rows], p.NOTHING)
        for state in self.hearers.dozing:
            if not dozing and tokens[:-1]:
                doze(state, tokens[:-1])
            hear(state, tokens if dozing else tokens[-1:], last, dozing=dozing)
        shown = ran.shown[: len(tokens), place] if ran.shown.shape[1] else None
        for state in self.hearers.listening:
            state.commit(tokens, p.Scores(ran.logits[rows], shown, p.Proposal.chain(tokens[:-1])))

    def round(self, number: int, seconds: tuple[float, float], rows: int) -> p.Round:
        """One of them, as it is told: of a pass over so many rows, and its share of what that and all of it took."""
        (engine, whole), self.told = seconds, number + 1
        return round_of(self.sample, p.NOTHING, self.found[number], Spent(0.0, None, engine, whole, rows), source="")

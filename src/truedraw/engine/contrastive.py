"""Contrastive decoding (Li et al., 2210.15097; O'Brien and Lewis, 2309.09117): an expert held against an amateur.

    V(c) = {x : p_e(x | c) >= alpha max_y p_e(y | c)}
    p(x | c)  proportional to  exp((1 + beta) log p_e(x | c) - beta log p_a(x | c))   on V(c), 0 elsewhere

An engine over two engines whose logits are the contrasted scores, (1 + beta) z_e - beta z_a, -inf outside V: drafting,
verification, seeds and batches work on them as on any model's. V is taken from the expert's own law; temperature,
truncation and penalties come after. log-probabilities "of the model" are those of the contrasted law.

The amateur is any engine over the same vocabulary, and scores every node of every proposal. It may draft as well
(speculative contrastive decoding, Yuan et al., 2311.08981), through `drafting`: then its weights and its cache are
there once, and rows that were computed for a draft are not computed again when the draft is scored (engine/drafted).
n drafts and the token behind them take n + 1 passes of the amateur, one row of a text each.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Seq
from typing import Any

import numpy as np

from truedraw.engine.cache_use import forget_closed
from truedraw.engine.drafted import DraftingEngine, ScoringEngine
from truedraw.engine.texts import FOREIGN, check_fill
from truedraw.errors import BadInput, EngineError, TruedrawError
from truedraw.protocol import Engine, Fill, Logits, Scores, Sequence, Work
from truedraw.sampling.ranges import MASS, Numbers

ALPHA, BETA = 0.1, 0.5
"""Defaults: alpha of both papers; beta of the second one, whose form of the score this is."""

STRENGTH = Numbers(0.0, 1e6, "from 0 to 1,000,000")  # beta: beyond it the rounding of logits is all that speaks


class ContrastiveSequence:
    """protocol.Sequence of one text in both engines."""

    def __init__(self, expert: Sequence, amateur: Sequence) -> None:
        self.expert, self.amateur = expert, amateur

    @property
    def tokens(self) -> Seq[int]:
        """The committed text."""
        return self.expert.tokens

    @property
    def num_uncached(self) -> int:
        """Of the engine that has more to compute."""
        return max(self.expert.num_uncached, self.amateur.num_uncached)

    def commit(self, tokens: Seq[int]) -> None:
        """Append, in both."""
        self.expert.commit(tokens)
        self.amateur.commit(tokens)

    def evict(self) -> None:
        """Give the pages back, in both."""
        self.expert.evict()
        self.amateur.evict()

    def close(self) -> None:
        """Free both."""
        self.expert.close()
        self.amateur.close()


class ContrastiveEngine:
    """protocol.Engine; owns both engines. `hidden` is the expert's.

    Vocabularies may differ in rows that no token uses: the narrower one counts. Raises BadParameter for alpha outside
    (0, 1] and beta below 0, and BadInput where both are one engine: an engine's scores last until its next pass.
    """

    def __init__(self, expert: Engine, amateur: Engine, alpha: float = ALPHA, beta: float = BETA) -> None:
        check_strength(alpha, beta)
        if expert is amateur:
            raise BadInput("the expert and the amateur are one engine; load the amateur a second time")
        self.expert, self.amateur, self.alpha, self.beta = expert, ScoringEngine(amateur), alpha, beta
        self.vocab_size = min(expert.vocab_size, amateur.vocab_size)
        self.context_length = min(expert.context_length, amateur.context_length)

    @property
    def invariance(self) -> Any:
        """The report of the engine whose bits depend on the batch, if one has such a report, else the expert's."""
        reports = [getattr(engine, "invariance", None) for engine in (self.expert, self.amateur)]
        return next((report for report in reports if report is not None and not report.holds), reports[0])

    @property
    def drafting(self) -> DraftingEngine:
        """The amateur for drafters; closed with this engine."""
        return self.amateur.drafting

    @property
    def numerics(self) -> str:
        """The expert's."""
        return str(getattr(self.expert, "numerics", ""))

    def open(self, tokens: Seq[int]) -> ContrastiveSequence:
        """Start a text in both."""
        expert = self.expert.open(tokens)
        try:
            return ContrastiveSequence(expert, self.amateur.open(tokens))
        except TruedrawError:
            expert.close()
            raise

    def fork(self, sequence: Sequence, n: int) -> list[Sequence]:
        """n further texts in both."""
        own = _own(sequence)
        if n > 0 and own.num_uncached > 1:
            self.forward([], [Fill(own, own.num_uncached - 1)])  # so that neither runs out of room after the other
        pairs = zip(self.expert.fork(own.expert, n), self.amateur.fork(own.amateur, n), strict=True)
        return [ContrastiveSequence(*pair) for pair in pairs]

    def fits(self, works: Seq[Work], fills: Seq[Fill] = ()) -> bool:
        """Whether both have room."""
        return all(engine.fits(*passes) for engine, passes in self._passes(works, fills))

    def forward(self, works: Seq[Work], fills: Seq[Fill] = ()) -> list[Scores]:
        """One pass of each engine for all works and fills; none of either where one of them has no room."""
        passes = self._passes(works, fills)
        for engine, (its_works, its_fills) in passes:
            if not engine.fits(its_works, its_fills):
                engine.forward(its_works, its_fills)  # raises, with what it lacks
        experts, amateurs = [engine.forward(its_works, its_fills) for engine, (its_works, its_fills) in passes]
        return [
            Scores(self._contrasted(expert.logits, amateur.logits), expert.hidden)
            for expert, amateur in zip(experts, amateurs, strict=True)
        ]

    def forget_closed(self) -> None:
        """Keep nothing of texts that are closed, in either."""
        forget_closed(self.expert)
        forget_closed(self.amateur)

    def close(self) -> None:
        """Free both."""
        self.expert.close()
        self.amateur.close()

    def _passes(self, works: Seq[Work], fills: Seq[Fill]) -> list[tuple[Engine, tuple[list[Work], list[Fill]]]]:
        """The pass of each engine."""
        owned = [(_own(work.sequence), work.proposal) for work in works]
        filled = [(_own(fill.sequence), fill.count) for fill in fills]
        for fill in fills:
            check_fill(fill)
        experts = [Work(own.expert, proposal) for own, proposal in owned]
        amateurs = [Work(own.amateur, proposal) for own, proposal in owned]
        return [
            (self.expert, (experts, _fills((own.expert, count) for own, count in filled))),
            (self.amateur, (amateurs, _fills((own.amateur, count) for own, count in filled))),
        ]

    def _contrasted(self, expert: Logits, amateur: Logits) -> Logits:
        vocab = self.vocab_size
        return contrasted(expert[:, :vocab], amateur[:, :vocab], self.alpha, self.beta)


def contrasted(expert: Logits, amateur: Logits, alpha: float, beta: float) -> Logits:
    """Scores [rows, vocab] of two models' logits [rows, vocab], in the expert's precision; both stay as they are.

    Infinite where the amateur rules out what the expert finds plausible: an error, but only of a text that comes there,
    which a draft may do and be rejected (generate/rows.py).
    """
    if beta == 0.0:
        amateur = np.zeros((1, 1), dtype=expert.dtype)
    floor = expert.max(axis=1, keepdims=True) + expert.dtype.type(np.log(alpha))
    plausible = expert >= floor
    scores = np.full_like(expert, -np.inf)
    np.multiply(expert, 1.0 + beta, out=scores, where=plausible)
    np.subtract(scores, beta * amateur, out=scores, where=plausible)
    return scores


def check_strength(alpha: object, beta: object) -> None:
    """Raises BadParameter."""
    MASS.check("contrastive_alpha", alpha)
    STRENGTH.check("contrastive_beta", beta)


def _fills(wanted: Iterable[tuple[Sequence, int]]) -> list[Fill]:
    """As much of each as this engine still has to compute: it may have found more of the text than the other one."""
    most = [(sequence, min(count, sequence.num_uncached - 1)) for sequence, count in wanted]
    return [Fill(sequence, count) for sequence, count in most if count > 0]


def _own(sequence: Sequence) -> ContrastiveSequence:
    if not isinstance(sequence, ContrastiveSequence):
        raise EngineError(FOREIGN)
    return sequence

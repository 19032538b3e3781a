"""One engine whose model scores texts and drafts for them: what was computed for a draft is not computed again.

Both sides see an engine of their own. What is drafted is found by the text that it follows, so neither side has to
know of the other, and any drafter that runs a model can be on the one:

* a draft behind a text that is scored, too, reads that text in the cache, and holds no copy of it;
* the rows of a draft are kept until the text has gone on; rows that are kept are handed over when the text is scored,
  bit for bit, and only what is behind the last of them is computed, in one pass for all texts;
* a text that goes on the way that a draft went takes over the draft's keys and values.

What is kept is, for each text that is drafted for, the rows of one round: its vocabulary times one more than it
drafted, 4 bytes each. Where the cache has no room, drafts are forgotten before anybody is told: those behind the texts
of the pass, then all, and texts that drafters hold of their own give their pages back.
"""

from __future__ import annotations

from collections.abc import Sequence as Seq
from functools import partial
from typing import Any

from truedraw.engine.cache_use import forget_closed
from truedraw.engine.drafted.passes import Pass
from truedraw.engine.drafted.reading import DraftText
from truedraw.engine.drafted.texts import ScoredText, Texts
from truedraw.engine.texts import FOREIGN
from truedraw.errors import EngineError
from truedraw.protocol import Engine, Fill, Scores, Sequence, Work


class ScoringEngine:
    """protocol.Engine of those who score; owns the engine. `drafting` is that of the drafters."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.vocab_size, self.context_length = engine.vocab_size, engine.context_length
        self._texts = Texts(engine)
        self.drafting = DraftingEngine(self._texts)

    @property
    def invariance(self) -> Any:
        """The engine's report, None where it makes none."""
        return getattr(self.engine, "invariance", None)

    def open(self, tokens: Seq[int]) -> ScoredText:
        """Start a text."""
        return ScoredText(self._texts, self.engine.open(tokens))

    def fork(self, sequence: Sequence, n: int) -> list[Sequence]:
        """n further texts."""
        return [ScoredText(self._texts, each) for each in self.engine.fork(self._own(sequence).inner, n)]

    def fits(self, works: Seq[Work], fills: Seq[Fill] = ()) -> bool:
        """Whether there is room, drafts forgotten for it if need be."""
        found, own_fills = self._with_room(works, fills)
        return self.engine.fits(found.works, own_fills)

    def forward(self, works: Seq[Work], fills: Seq[Fill] = ()) -> list[Scores]:
        """One pass for what is not known; none where everything is."""
        found, own_fills = self._with_room(works, fills)
        return found.run(self.engine, own_fills)

    def forget_closed(self) -> None:
        """Keep nothing of texts that are closed."""
        forget_closed(self.engine)

    def close(self) -> None:
        """Free everything."""
        self.engine.close()

    def _with_room(self, works: Seq[Work], fills: Seq[Fill]) -> tuple[Pass, list[Fill]]:
        """What the engine has to do; for want of room all of it anew."""
        found, own_fills = self._pass(works), [Fill(self._own(fill.sequence).inner, fill.count) for fill in fills]
        for forget in (partial(self._forget, works), self._texts.forget):
            if self.engine.fits(found.works, own_fills):
                break
            forget()
            found = self._pass(works)
        return found, own_fills

    def _forget(self, works: Seq[Work]) -> None:
        """What drafts have computed behind these texts alone."""
        for work in works:
            self._own(work.sequence).forget()

    def _pass(self, works: Seq[Work]) -> Pass:
        found = Pass()
        for work in works:
            text = self._own(work.sequence)
            behind = self._texts.behind(text.tokens)
            if behind is None or () not in behind.rows:
                found.ask(text.inner, work.proposal)
            else:
                found.ask_behind(text.inner, behind, (), work.proposal)
        return found

    def _own(self, sequence: Sequence) -> ScoredText:
        if not isinstance(sequence, ScoredText) or not sequence.is_of(self._texts):
            raise EngineError(FOREIGN)
        return sequence


class DraftingEngine:
    """protocol.Engine of those who draft, over the texts of a ScoringEngine, with which it is closed."""

    def __init__(self, texts: Texts) -> None:
        self.vocab_size, self.context_length = texts.limits.vocab_size, texts.limits.length
        self._texts = texts

    def open(self, tokens: Seq[int]) -> DraftText:
        """Start a text; nothing is held for one that is scored, too."""
        is_scored = bool(tokens) and self._texts.text(tokens) is not None
        return DraftText(self._texts, tokens, None if is_scored else self._texts.engine.open(tokens))

    def fork(self, sequence: Sequence, n: int) -> list[Sequence]:
        """n further texts; nothing is computed for one that is scored, too."""
        own = self._own(sequence)
        if own.place() is not None:
            return [DraftText(self._texts, own.tokens, None, own) for _ in range(n)]
        forks = self._texts.engine.fork(own.alone(), n)
        return [DraftText(self._texts, own.tokens, each, own) for each in forks]

    def fits(self, works: Seq[Work], fills: Seq[Fill] = ()) -> bool:
        """Whether there is room; for what is known already none is needed."""
        own_fills, found = self._fills(fills), self._pass(works)
        return not (found.works or own_fills) or self._texts.engine.fits(found.works, own_fills)

    def forward(self, works: Seq[Work], fills: Seq[Fill] = ()) -> list[Scores]:
        """One pass for what is not known."""
        own_fills = self._fills(fills)
        return self._pass(works).run(self._texts.engine, own_fills)

    def close(self) -> None:
        """Nothing: the engine belongs to those who score."""

    def _pass(self, works: Seq[Work]) -> Pass:
        found = Pass()
        for work in works:
            own = self._own(work.sequence)
            place = own.place()
            if place is None:
                found.ask(own.alone(), work.proposal)
            else:
                own.enter(place)
                found.ask_behind(place.text.inner, place.behind, place.path, work.proposal)
        return found

    def _fills(self, fills: Seq[Fill]) -> list[Fill]:
        """Texts that are computed bit by bit are texts of their own."""
        return [Fill(self._own(fill.sequence).alone(), fill.count) for fill in fills]

    def _own(self, sequence: Sequence) -> DraftText:
        if not isinstance(sequence, DraftText) or not sequence.is_of(self._texts):
            raise EngineError(FOREIGN)
        sequence.check_open()
        return sequence

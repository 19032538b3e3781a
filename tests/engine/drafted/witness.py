"""A table whose cache is a real engine's, and that remembers what it was asked for and what it computed."""

from __future__ import annotations

from collections import Counter

from truedraw.engine.tabular import TabularEngine, TabularSequence
from truedraw.errors import EngineError, OutOfPages
from truedraw.protocol import ROOT

ENDLESS = 1 << 20


def placed(proposal) -> list[tuple[int, ...]]:
    """The path to each node."""
    found: list[tuple[int, ...]] = []
    for token, parent in zip(proposal.tokens.tolist(), proposal.parents.tolist(), strict=True):
        found.append((*(() if parent == ROOT else found[parent]), token))
    return found


class WitnessText(TabularSequence):
    """Commit by agreement with the chain that was scored last."""

    def __init__(self, tokens, engine, cached=0, drafted=()):
        super().__init__(tokens, cached)
        self.engine, self.drafted = engine, tuple(drafted)
        engine.open_texts.append(self)

    def commit(self, tokens):
        assert self in self.engine.open_texts
        agreed = 0
        if self.cached == len(self._tokens):
            while agreed < min(len(tokens), len(self.drafted)) and tokens[agreed] == self.drafted[agreed]:
                agreed += 1
        self.drafted = self.drafted[agreed:] if agreed == len(tokens) else ()
        self.cached += agreed
        self._tokens.extend(tokens)

    def evict(self):
        self.cached, self.drafted = 0, ()

    def close(self):
        if self in self.engine.open_texts:
            self.engine.open_texts.remove(self)


class Witness(TabularEngine):
    """`slots`: how many tokens all open texts together can have in the cache."""

    def __init__(self, table, slots=ENDLESS, **more):
        super().__init__(table, **more)
        self.slots = slots
        self.open_texts: list[WitnessText] = []
        self.passes: list[int] = []  # tokens computed in each
        self.rows: list[tuple[int, ...]] = []  # the text that each row handed out follows

    @property
    def repeated(self) -> dict[tuple[int, ...], int]:
        return {text: count for text, count in Counter(self.rows).items() if count > 1}

    def open(self, tokens):
        super().open(tokens)
        return WitnessText(tokens, self)

    def fork(self, sequence, n):
        assert sequence in self.open_texts
        if n > 0 and sequence.num_uncached > 1:
            self.passes.append(sequence.num_uncached - 1)
            sequence.cached = len(sequence.tokens) - 1
        return [WitnessText(sequence.tokens, self, sequence.cached, sequence.drafted) for _ in range(n)]

    def fits(self, works, fills=()):
        wanted = {id(text): text.cached for text in self.open_texts}
        for work in works:
            wanted[id(work.sequence)] = len(work.sequence.tokens) + len(work.proposal)
        for fill in fills:
            wanted[id(fill.sequence)] = fill.sequence.cached + fill.count
        return sum(wanted.values()) <= self.slots

    def forward(self, works, fills=()):
        texts = [part.sequence for part in (*works, *fills)]
        assert len(set(map(id, texts))) == len(texts)
        if not all(text in self.open_texts for text in texts):
            raise EngineError("the sequence is closed")
        if not self.fits(works, fills):
            raise OutOfPages("out of slots")
        before = [work.sequence.num_uncached for work in works]
        scores = super().forward(works, fills)
        for work in works:
            text = tuple(work.sequence.tokens)
            work.sequence.drafted = self._chain(work.proposal)
            self.rows += [text, *((*text, *path) for path in placed(work.proposal))]
        computed = zip(works, before, strict=True)
        self.passes.append(sum(uncached + len(work.proposal) for work, uncached in computed)
                           + sum(fill.count for fill in fills))  # fmt: skip
        return scores

    @staticmethod
    def _chain(proposal):
        parents = proposal.parents.tolist()
        length = next((i for i, parent in enumerate(parents) if parent != i - 1), len(parents))
        return tuple(proposal.tokens.tolist()[:length])

"""The engine suite has teeth for caches too: each of these keeps its contract but for one thing."""

from __future__ import annotations

from collections import defaultdict
from types import MethodType

import pytest

from engine.decoder import tiny_engine
from truedraw.engine.cpu import CPUEngine
from truedraw.engine.paged.prefixes import Prefixes
from truedraw.engine.tabular import TabularEngine, TabularSequence
from truedraw.errors import OutOfPages
from truedraw.protocol import Fill, Work
from truedraw.testing import engine_checks, random_table

TABLE = random_table(4, 2, 1)


class Texts(TabularEngine):
    """Opens texts of a kind of its own."""

    kind = TabularSequence

    def open(self, tokens):
        return self.kind(super().open(tokens).tokens)

    def fork(self, sequence, n):
        return [self.kind(each.tokens, each.cached) for each in super().fork(sequence, n)]


class LosesTheEnd(TabularSequence):
    def evict(self):
        super().evict()
        del self._tokens[-1]


class SaysNothingIsLeft(TabularSequence):
    @property
    def num_uncached(self):
        return len(self._tokens) - self.cached


class EvictedTextsLoseTheirEnd(Texts):
    kind = LosesTheEnd


class NothingLeftToCompute(Texts):
    kind = SaysNothingIsLeft


class ScoresFills(TabularEngine):
    def forward(self, works, fills=()):
        works = [*works, *(Work(fill.sequence) for fill in fills)]
        return super().forward(works)


class IgnoresFills(TabularEngine):
    def forward(self, works, fills=()):
        return super().forward(works)


class FillsTooMuch(TabularEngine):
    """A fill may have as many tokens as it likes."""

    def forward(self, works, fills=()):
        most = [Fill(fill.sequence, min(max(1, fill.count), fill.sequence.num_uncached - 1)) for fill in fills]
        return super().forward(works, [fill for fill in most if fill.count > 0])


class FillsMoveTheOthers(TabularEngine):
    def forward(self, works, fills=()):
        scores = super().forward(works, fills)
        return [type(each)(each.logits * (1 + 1e-9 * len(fills))) for each in scores]


class NeverHasRoom(TabularEngine):
    def fits(self, works, fills=()):
        return not works


TOYS = {
    EvictedTextsLoseTheirEnd: "evicted texts come back",
    NothingLeftToCompute: "uncached rows are counted",
    ScoresFills: "fills beside other texts",
    IgnoresFills: "fills beside other texts",
    FillsTooMuch: "bad fills are refused",
    FillsMoveTheOthers: "fills beside other texts",
    NeverHasRoom: "a pass without room",
}


def fails(name: str, make) -> bool:
    check = next(check for check in engine_checks(make) if check.name == name)
    try:
        check()
    except Exception:
        return True
    return False


@pytest.mark.parametrize("kind", TOYS, ids=lambda kind: kind.__name__)
def test_broken_toys(kind) -> None:
    assert not fails(TOYS[kind], lambda: TabularEngine(TABLE, context_length=64))
    assert fails(TOYS[kind], lambda: kind(TABLE, context_length=64))


class WithoutParents(Prefixes):
    """A page of text is known by its tokens and its place, whatever stands before it."""

    def __init__(self, max_idle):
        super().__init__(max_idle)
        self.floors = defaultdict(dict)
        self.root.below = self.floors[0]

    def add(self, above, tokens, page):
        block = super().add(above, tokens, page)
        block.below = self.floors[block.depth]
        return block


class BySum(dict):
    """Finds what has the same sum: a hash that is not followed by a comparison."""

    def get(self, key):
        return super().get(sum(key))

    def __setitem__(self, key, value):
        super().__setitem__(sum(key), value)

    def __delitem__(self, key):
        super().__delitem__(sum(key))


class ByHashAlone(Prefixes):
    def __init__(self, max_idle):
        super().__init__(max_idle)
        self.root.below = BySum()

    def add(self, above, tokens, page):
        block = super().add(above, tokens, page)
        block.below = block.below or BySum()
        return block


def finds_pages_without_parents(engine: CPUEngine) -> None:
    engine._pool.prefixes = WithoutParents(64)


def finds_pages_by_hash_alone(engine: CPUEngine) -> None:
    engine._pool.prefixes = ByHashAlone(64)


def evicts_in_name_only(engine: CPUEngine) -> None:
    def evict(sequence):
        sequence.pool.release(sequence.pages)
        sequence.pages = []

    on_texts(engine, evict=evict)


def evicts_nothing(engine: CPUEngine) -> None:
    on_texts(engine, evict=lambda sequence: None)


def writes_shared_pages(engine: CPUEngine) -> None:
    engine._pool._own = lambda pages, index: index >= len(pages) and pages.append(engine._pool._take())


def promises_any_room(engine: CPUEngine) -> None:
    engine.fits = lambda works, fills=(): True


def does_what_it_can(engine: CPUEngine) -> None:
    """Runs the first works of a pass that has no room, then gives up."""
    forward = engine.forward

    def one_by_one(works, fills=()):
        if engine.fits(works, fills):
            return forward(works, fills)
        for work in works:
            forward([work])
        raise OutOfPages("too many")

    engine.forward = one_by_one


def on_texts(engine: CPUEngine, **methods) -> None:
    opened = engine.open

    def open_broken(tokens, **options):
        sequence = opened(tokens, **options)
        broken(sequence)
        return sequence

    def broken(sequence):
        for name, method in methods.items():
            setattr(sequence, name, MethodType(method, sequence))

    engine.open = open_broken


PAGED = {
    finds_pages_without_parents: "equal beginnings",
    finds_pages_by_hash_alone: "equal beginnings",
    evicts_in_name_only: "evicted texts come back",
    evicts_nothing: "a pass without room",
    writes_shared_pages: "forks go their own ways",
    promises_any_room: "a pass without room",
    does_what_it_can: "a pass without room",
}


@pytest.mark.parametrize("breakage", PAGED, ids=lambda breakage: breakage.__name__)
def test_broken_paged_engines(breakage, tmp_path) -> None:
    def make():
        engine = tiny_engine(tmp_path, cache_bytes=512 << 10)
        breakage(engine)
        return engine

    assert fails(PAGED[breakage], make)

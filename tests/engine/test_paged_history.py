"""Any history of opens, forks, fills, passes, commits, evictions and closes, in caches that hardly hold it.

Every row is compared, bit for bit, with an engine that computes each text alone, and every page is accounted for.
"""

from __future__ import annotations

import numpy as np
import pytest

from engine.decoder import PLAIN
from engine.pages import TEXT, check_pages, exact_engine, random_proposal, recorded, rows, state
from truedraw.errors import OutOfPages
from truedraw.protocol import Fill, Work

STEPS = 60
MOST_TEXTS = 7
LONGEST = 130


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def plain(cache):
    loaded = exact_engine(cache, idle=0)
    yield loaded
    loaded.close()


class History:
    """One engine, the texts that are open on it, and what they should hold."""

    def __init__(self, engine, plain, rng):
        self.engine, self.plain, self.rng = engine, plain, rng
        self.open: dict = {}  # sequence -> its text

    def step(self):
        names = ["start", "fork", "evict", "end", *["run"] * 4]
        getattr(self, names[self.rng.integers(len(names))])()
        check_pages(self.engine, self.open)
        assert all(list(sequence.tokens) == text for sequence, text in self.open.items())

    def any(self):
        return list(self.open)[self.rng.integers(len(self.open))] if self.open else None

    def start(self):
        """Most texts begin like others: one of two beginnings, cut anywhere, then a few tokens of their own."""
        if len(self.open) < MOST_TEXTS:
            start = int(self.rng.integers(0, 2)) * 7
            text = TEXT[start : start + int(self.rng.integers(1, LONGEST - 20))]
            text = [*text, *self.rng.integers(0, PLAIN.vocab_size, self.rng.integers(0, 4)).tolist()]
            self.open[self.engine.open(text)] = text

    def fork(self):
        if (sequence := self.any()) and len(self.open) < MOST_TEXTS:
            try:
                twins = self.engine.fork(sequence, int(self.rng.integers(0, 3)))
            except OutOfPages:
                return
            self.open |= {twin: list(self.open[sequence]) for twin in twins}

    def evict(self):
        if sequence := self.any():
            sequence.evict()
            assert sequence.num_uncached == len(self.open[sequence])

    def end(self):
        if sequence := self.any():
            sequence.close()
            del self.open[sequence]

    def run(self):
        works, fills = [], []
        for sequence in self.open:
            left, choice = sequence.num_uncached - 1, self.rng.random()
            if left and choice < 0.4:
                fills.append(Fill(sequence, int(self.rng.integers(1, left + 1))))
            elif choice < 0.8:
                works.append(Work(sequence, random_proposal(self.rng, int(self.rng.integers(0, 6)))))
        if self.engine.fits(works, fills):
            self.score(works, self.engine.forward(works, fills))
        else:
            self.refuse(works, fills)

    def score(self, works, scores):
        copies = [each.logits.copy() for each in scores]
        assert len(copies) == len(works)
        for work, logits in zip(works, copies, strict=True):
            np.testing.assert_array_equal(logits, rows(self.plain, self.open[work.sequence], work.proposal))
            self.commit(work)

    def commit(self, work):
        """A random path down the tree, and mostly another token; or nothing at all."""
        path, node = [], -1
        while self.rng.random() < 0.8 and len(children := np.flatnonzero(work.proposal.parents == node)):
            node = int(self.rng.choice(children))
            path.append(int(work.proposal.tokens[node]))
        if self.rng.random() < 0.8:
            path.append(int(self.rng.integers(0, PLAIN.vocab_size)))
        text = self.open[work.sequence]
        if len(text) + len(path) <= LONGEST:
            work.sequence.commit(path)
            text += path
        assert 1 <= work.sequence.num_uncached <= len(path) + 1

    def refuse(self, works, fills):
        before = [each.num_uncached for each in self.open], state(self.engine)
        with pytest.raises(OutOfPages):
            self.engine.forward(works, fills)
        assert ([each.num_uncached for each in self.open], state(self.engine)) == before


@pytest.mark.parametrize(("pages", "idle"), [(60, 60), (12, 12), (12, 3), (9, 1), (14, 0)])
@pytest.mark.parametrize("seed", range(3))
def test_any_history(cache, plain, pages, idle, seed):
    engine = exact_engine(cache, pages=pages, idle=idle)
    history = History(engine, plain, np.random.default_rng([pages, idle, seed]))
    for _ in range(STEPS):
        history.step()
    for sequence in history.open:
        sequence.close()
    check_pages(engine, [])
    assert state(engine)[0] + state(engine)[1] == pages
    use = engine.cache_use()
    assert (use.tokens_found > 0) == (idle > 0)
    assert use.tokens_found <= use.tokens_asked
    engine.close()

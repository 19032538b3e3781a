"""A tiny engine in invariant arithmetic, where every bit counts, and ways to look at its pages."""

from __future__ import annotations

import numpy as np
import pytest

from engine.decoder import PLAIN, random_tree, tiny_engine
from truedraw.protocol import NOTHING, Proposal, Work

ROWS = 32  # slots a page
PAGE_BYTES = 2 * 2 * PLAIN.num_kv_heads * ROWS * PLAIN.head_dim * 2  # layers, keys and values, heads, slots, 16 bits
TEXT = np.random.default_rng(1).integers(0, PLAIN.vocab_size, 160).tolist()


def exact_engine(cache, pages=64, idle=64):
    """Room for `pages` pages, `idle` of which may stay with closed texts."""
    engine = tiny_engine(
        cache,
        numerics="runtime",
        cache_bytes=(1 + pages) * PAGE_BYTES,
        prefix_cache_bytes=min(idle, 1 + pages) * PAGE_BYTES,
    )
    if not engine.invariance.holds:
        pytest.skip(f"this processor's kernels are not invariant: {engine.invariance}")
    engine.passes = watched(engine)
    return engine


def watched(engine):
    """Rows of every part of every pass from now on; each pass must have pages for all slots that it writes."""
    found, run = [], engine._passes.run

    def watching(parts):
        found.append([len(part.ids) for part in parts])
        own = [part.lanes[0] for part in parts]
        assert all(lane.end <= len(lane.pages) * ROWS for lane in own)
        written = [page for lane in own for page in lane.pages[lane.past // ROWS : -(-lane.end // ROWS)]]
        assert all(engine._pool._holders[page] == 1 for page in written)
        assert not set(written) & set(engine._pool.prefixes._blocks)
        return run(parts)

    engine._passes.run = watching
    return found


def recorded(folder):
    """A folder in which the result of the self-test is recorded, which takes more pages than some caches here have."""
    tiny_engine(folder, numerics="runtime").close()
    return folder


def rows(engine, text, proposal=NOTHING):
    """The scores of a text that is computed alone."""
    sequence = engine.open(text, alone=True)
    logits = engine.forward([Work(sequence, proposal)])[0].logits.copy()
    sequence.close()
    return logits


def state(engine):
    """Idle, free and held pages."""
    use = engine.cache_use()
    return use.pages_idle, use.pages_free, use.pages_held


def check_pages(engine, sequences):
    """Every page is free, idle or held by as many texts as the pool counts; what can be found is text."""
    pool = engine._pool
    holders = [0] * len(pool._holders)
    for sequence in sequences:
        for page in sequence.pages:
            holders[page] += 1
    assert holders == pool._holders
    idle = set(pool.prefixes._idle)
    held = {page for page, count in enumerate(holders) if count}
    assert len(pool._free) == len(set(pool._free))
    assert len(idle | held | set(pool._free)) == pool.num_pages
    assert len(idle) + len(held) + len(pool._free) == pool.num_pages
    assert state(engine) == (len(idle), len(pool._free), len(held))
    assert len(idle) <= pool.prefixes.max_idle
    assert all(pool.prefixes._blocks[page].page == page for page in pool.prefixes._blocks)
    assert not set(pool.prefixes._blocks) & set(pool._free)


def random_proposal(rng, nodes):
    if rng.random() < 0.5:
        return Proposal.chain(rng.integers(0, PLAIN.vocab_size, nodes))
    return random_tree(rng, nodes, PLAIN.vocab_size)

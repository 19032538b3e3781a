"""The contract of an engine, as checks.

@pytest.mark.parametrize("check", engine_checks(open_my_engine), ids=str)
def test_my_engine(check):
    check()
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from truedraw.protocol import Engine
from truedraw.testing import engine_abreast as abreast
from truedraw.testing import engine_drafts as drafts
from truedraw.testing import engine_fills as fills
from truedraw.testing import engine_hidden as hidden
from truedraw.testing import engine_histories as histories
from truedraw.testing import engine_room as room
from truedraw.testing import engine_rows as rows
from truedraw.testing import engine_strides as strides
from truedraw.testing import engine_texts as texts
from truedraw.testing import engine_trees as trees
from truedraw.testing.bench import Bench
from truedraw.testing.checks import Check, require

LEAST_CONTEXT = 32  # tokens


def engine_checks(make: Callable[[], Engine], tolerance: float = 0.0) -> list[Check]:
    """Every check for the engine that `make` opens anew for each of them.

    tolerance: greatest total variation between the laws of one row computed in two ways; 0 asks for equal bits, which
    seeded texts that do not depend on the drafts need. Make the engine with a small cache: then pages that are not
    given back are noticed, and passes that have no room are tried, but with a context of LEAST_CONTEXT tokens at least
    and room for 8 short texts. Some checks make a second engine beside the first.
    """
    checks: dict[str, Callable[[Bench], None]] = {
        "sizes": rows.sizes,
        "bad texts are refused": rows.bad_texts,
        "a text keeps its tokens": rows.tokens,
        "an empty pass": rows.empty,
        "the same pass twice": rows.twice,
        "chains equal plain decoding": rows.chains,
        "trees equal their paths": rows.trees,
        "wide trees": trees.wide,
        "trees path by path": trees.by_paths,
        "commit by agreement": rows.commits,
        "commits behind trees": trees.commits,
        "hidden states": hidden.check,
        "hidden states of prompts": hidden.prompts,
        "forks go their own ways": texts.forks,
        "forks of forks": trees.forks,
        "ragged batches": texts.ragged,
        "many texts in one pass": texts.crowds,
        "long texts": texts.long,
        "drafts behind long texts": drafts.behind,
        "texts of every length": drafts.every_length,
        "long texts in one pass": drafts.side_by_side,
        "pages come back": texts.pages,
        "the context's end": texts.context,
        "uncached rows are counted": fills.uncached,
        "fills beside other texts": fills.beside,
        "several fills in one pass": fills.several,
        "bad fills are refused": fills.bad,
        "evicted texts come back": room.evictions,
        "equal beginnings": room.beginnings,
        "a pass without room": room.full,
        "rounds at a stride": strides.along,
        "a single round at a stride": strides.single,
        "a stride that is filled": strides.filled,
        "rounds at a stride of compiled code": strides.by_jobs,
        "a stride that is dropped": strides.dropped,
        "rounds abreast": abreast.plain,
        "rounds abreast with drafts": abreast.along,
        "rounds abreast that are dropped": abreast.dropped,
        "any history": histories.check,
        "closing twice": texts.closing,
    }
    return [Check(name, partial(_run, make, tolerance, look)) for name, look in checks.items()]


def _run(make: Callable[[], Engine], tolerance: float, look: Callable[[Bench], None]) -> None:
    engine = make()
    try:
        found = engine.context_length
        require(found >= LEAST_CONTEXT, f"a context of {found} tokens cannot be checked; give {LEAST_CONTEXT} or more")
        look(Bench(engine, tolerance, make))
    finally:
        engine.close()

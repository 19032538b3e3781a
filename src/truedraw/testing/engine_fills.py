"""Checks of an engine: long texts that are computed beside others, a piece a pass."""

from __future__ import annotations

from truedraw.protocol import Fill, Logits, Proposal, Sequence, Work
from truedraw.testing.bench import Bench, refused, woven_tree
from truedraw.testing.checks import require

PIECES = (1, 3, 8, 100)  # tokens a fill
FILLED, AT_ONCE = 20, 4  # tokens of a text that is filled beside others, and such texts


def uncached(bench: Bench) -> None:
    """From 1 to the length of the text; 1 once a pass has been run; no more than what came since."""
    text = bench.text()
    sequence = bench.engine.open(text)
    _require_uncached(sequence.num_uncached, len(text), "of a text that was opened")
    bench.engine.forward([Work(sequence, Proposal.chain([1, 0]))])
    _require_uncached(sequence.num_uncached, 1, "of a text that was run")
    sequence.commit([1, 1, 1])
    _require_uncached(sequence.num_uncached, 3, "after a commit of 3 tokens")
    (twin,) = bench.engine.fork(sequence, 1)
    _require_uncached(twin.num_uncached, 1, "of a fork")
    for each in (sequence, twin):
        each.close()


def _require_uncached(found: int, most: int, what: str) -> None:
    require(1 <= found <= most, f"num_uncached {what} is {found}; expected 1 to {most}")


def beside(bench: Bench) -> None:
    """A text that is filled in pieces is the text, and nothing changes for those that go on meanwhile."""
    others = [bench.text(5), bench.text(20, seed=1)]
    proposals = [Proposal.chain([1, 0]), woven_tree(bench.engine.vocab_size)]
    expected = [bench.rows(*each) for each in zip(others, proposals, strict=True)]
    for piece in PIECES:
        text = bench.text(seed=piece)
        long, *short = (bench.engine.open(each) for each in (text, *others))
        works = [Work(*each) for each in zip(short, proposals, strict=True)]
        while long.num_uncached > 1:
            for found, rows in zip(_filled(bench, works, long, piece), expected, strict=True):
                bench.require_equal(found, rows, f"a text beside a fill of {piece} tokens a pass")
        last = bench.engine.forward([Work(long, proposals[1])])[0].logits.copy()
        for each in (long, *short):
            each.close()
        bench.require_equal(last, bench.rows(text, proposals[1]), f"a text filled {piece} tokens a pass")


def _filled(bench: Bench, works: list[Work], long: Sequence, piece: int) -> list[Logits]:
    """The works' rows of one pass with a fill."""
    before = long.num_uncached
    count = min(piece, before - 1)
    require(
        bench.engine.fits(works, [Fill(long, count)]), f"a fill of {count} tokens beside two short texts has no room"
    )
    scores = bench.engine.forward(works, [Fill(long, count)])
    require(len(scores) == len(works), f"{len(works)} works and a fill gave {len(scores)} scores")
    left = long.num_uncached
    require(1 <= left <= before - count, f"a fill of {count} left {left} of {before} tokens uncached")
    return [each.logits.copy() for each in scores]


def several(bench: Bench) -> None:
    """As many as a crowd of new prompts brings: each text is what it is alone, and so is the one beside them."""
    beside, proposal = bench.text(5), woven_tree(bench.engine.vocab_size)
    texts = [bench.text(FILLED, seed=number) for number in range(AT_ONCE)]
    expected = [bench.rows(each, proposal) for each in (beside, *texts)]
    other, *filled = (bench.engine.open(each) for each in (beside, *texts))
    fills = [Fill(each, each.num_uncached // 2) for each in filled if each.num_uncached > 1]
    if bench.engine.fits([Work(other, proposal)], fills):
        found = bench.engine.forward([Work(other, proposal)], fills)[0].logits.copy()
        bench.require_equal(found, expected[0], f"a text beside {len(fills)} fills")
        for each, rows in zip(filled, expected[1:], strict=True):
            found = bench.engine.forward([Work(each, proposal)])[0].logits.copy()
            bench.require_equal(found, rows, f"one of {len(fills)} texts filled in one pass")
    for each in (other, *filled):
        each.close()


def bad(bench: Bench) -> None:
    """No token, or the last one, whose logits are a work's; then nothing has changed."""
    text = bench.text()
    sequence = bench.engine.open(text)
    before = sequence.num_uncached
    for count in (-1, 0, before, before + 1):
        with refused(f"a fill of {count} of {before} uncached tokens"):
            bench.engine.forward([], [Fill(sequence, count)])
        require(sequence.num_uncached == before, f"a refused fill left {sequence.num_uncached} of {before} uncached")
    require(list(bench.engine.forward([], _all_of(sequence))) == [], "a pass of fills alone has scores")
    logits = bench.engine.forward([Work(sequence)])[0].logits.copy()
    sequence.close()
    bench.require_equal(logits, bench.rows(text), "a text behind refused fills")


def _all_of(sequence: Sequence) -> list[Fill]:
    return [Fill(sequence, sequence.num_uncached - 1)] if sequence.num_uncached > 1 else []

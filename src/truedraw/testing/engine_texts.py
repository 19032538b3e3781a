"""Checks of an engine: many texts, long texts, and their ends."""

from __future__ import annotations

from truedraw.protocol import NOTHING, Proposal, Work
from truedraw.testing.bench import TEXT_TOKENS, Bench, refused, woven_tree
from truedraw.testing.checks import require

LONGEST_FILLED = 4096  # a context up to here is filled to its last token
CROWDS = (64, 16, 8)  # texts in one pass: the largest that there is room for
LENGTHS = (700, 300)  # of a long text, the same
CYCLES = 40  # texts opened and closed, one after the other


def forks(bench: Bench) -> None:
    """Forks share what they had and nothing that comes."""
    text = bench.text()
    parent = bench.engine.open(text)
    children = bench.engine.fork(parent, 2)
    for index, each in enumerate([parent, *children]):
        require(list(each.tokens) == text, "a fork has another text than its parent")
        each.commit([index % bench.engine.vocab_size, 0])
    works = [Work(each) for each in (parent, *children)]
    found = [scores.logits.copy() for scores in bench.engine.forward(works)]
    parent.close()
    again = bench.engine.forward(works[1:])[0].logits.copy()
    for index, logits in enumerate(found):
        expected = bench.rows([*text, index % bench.engine.vocab_size, 0])
        bench.require_equal(logits, expected, f"text {index} of parent and forks")
    bench.require_equal(again, found[1], "a fork whose parent was closed")
    for each in children:
        each.close()


def ragged(bench: Bench) -> None:
    """Texts of other lengths and shapes in the pass change nothing."""
    texts = [bench.text(length, seed=length) for length in (1, TEXT_TOKENS, 4, 20)]
    proposals = [NOTHING, woven_tree(bench.engine.vocab_size), Proposal.chain([1]), Proposal.chain([0, 1, 0, 1])]
    sequences = [bench.engine.open(text) for text in texts]
    works = [Work(sequence, proposal) for sequence, proposal in zip(sequences, proposals, strict=True)]
    together = [scores.logits.copy() for scores in bench.engine.forward(works)]
    for sequence in sequences:
        sequence.close()
    for text, proposal, logits in zip(texts, proposals, together, strict=True):
        bench.require_equal(logits, bench.rows(text, proposal), f"a text of {len(text)} tokens in a ragged batch")


def crowds(bench: Bench) -> None:
    """So many texts are computed side by side."""
    draft = Proposal.chain([1, 0])
    texts = [bench.text(1 + number % 9, seed=number) for number in range(CROWDS[0])]
    texts = texts[: next((count for count in CROWDS if bench.has_room(texts[:count], draft)), 0)]
    require(bool(texts), f"there is no room for {CROWDS[-1]} short texts in a pass; give it a larger cache")
    sequences = [bench.engine.open(text) for text in texts]
    together = [scores.logits.copy() for scores in bench.engine.forward([Work(each, draft) for each in sequences])]
    for sequence in sequences:
        sequence.close()
    for number, (text, logits) in enumerate(zip(texts, together, strict=True)):
        bench.require_equal(logits, bench.rows(text, draft), f"text {number} of {len(texts)} in one pass")


def long(bench: Bench) -> None:
    """A text in pieces is the text."""
    text = next((each for length in LENGTHS if bench.has_room([each := bench.text(length, seed=7)])), bench.text(100))
    sequence = bench.engine.open(text[:1])
    for start in range(1, len(text), 50):
        bench.engine.forward([Work(sequence)])
        sequence.commit(text[start : start + 50])
    found = bench.engine.forward([Work(sequence)])[0].logits.copy()
    sequence.close()
    bench.require_equal(found, bench.rows(text), f"a text of {len(text)} tokens in pieces")


def pages(bench: Bench) -> None:
    """Closed texts leave room for others."""
    text = bench.text()
    before = bench.rows(text)
    for _ in range(CYCLES):
        parent = bench.engine.open(text)
        children = bench.engine.fork(parent, 2)
        bench.engine.forward([Work(each, Proposal.chain([0, 1])) for each in (parent, *children)])
        for each in (parent, *children):
            each.close()
    bench.require_equal(bench.rows(text), before, f"a row after {CYCLES} texts were opened, forked and closed")


def context(bench: Bench) -> None:
    """It can be filled to its last token, and no further."""
    limit = bench.engine.context_length
    if limit > LONGEST_FILLED:
        return
    sequence = bench.engine.open([0] * (limit - 1))
    sequence.commit([1])
    bench.engine.forward([Work(sequence)])
    with refused(f"a text of {limit + 1} tokens in a context of {limit}"):
        sequence.commit([1])
        bench.engine.forward([Work(sequence)])
    sequence.close()


def closing(bench: Bench) -> None:
    """It is harmless."""
    sequence = bench.engine.open(bench.text(3))
    sequence.close()
    sequence.close()
    bench.engine.close()

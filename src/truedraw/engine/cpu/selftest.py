"""Does a row's law depend on what else is in the pass? Asked once a machine, answered bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from truedraw.engine.meaningless import meaningless
from truedraw.engine.record_files import read_record, write_record
from truedraw.protocol import Ints, Logits, Proposal, Work

if TYPE_CHECKING:
    from truedraw.engine.cpu.paged_engine import PagedEngine
    from truedraw.engine.paged.sequence import PagedSequence

TEXT_TOKENS = 96  # three pages deep
DRAFT_TOKENS = 31  # so that the widest pass has 32 rows
DEEP_TOKENS, DEEP_DRAFT = 505, 11  # before the end of a chunk, see native/chunks.py, and beyond it
OTHERS, BESIDE = 7, 5  # texts of a ragged batch, and tokens of the draft beside them: of all ways that of most pages


@dataclass(frozen=True, slots=True)
class InvarianceReport:
    """What the test found; differences are between logits of the same row computed in two ways."""

    holds: bool  # every bit was equal
    largest_difference: float
    largest_tv: float  # total variation between the two laws at temperature 1
    rows: int  # compared
    differing: tuple[str, ...]  # the ways of computing that changed something

    @property
    def says(self) -> str:
        """What it means where it does not hold."""
        return (
            "on this machine a token's probabilities from this model depend on what else is computed with it (total "
            f"variation up to {self.largest_tv:.1g}; {', '.join(self.differing)}): the same seed can give another text "
            "with other drafts or in another batch"
        )


def check_invariance(engine: PagedEngine) -> InvarianceReport | None:
    """Compare a text's rows, computed one a pass, with the same rows in chains, trees, ragged batches and chunks.

    None where the cache has no room for that.
    """
    tokens = meaningless(TEXT_TOKENS + DRAFT_TOKENS, engine.vocab_size)
    length = min(len(tokens), engine.context_length - 1)
    drafts = min(DRAFT_TOKENS, length // 2)
    text, draft = tokens[: length - drafts].tolist(), tokens[length - drafts : length]
    if not _has_room(engine, text, draft):
        return None
    one_by_one = _one_by_one(engine, engine.open(text, alone=True), draft)
    found = [(name, one_by_one[: len(rows)], rows) for name, rows in _ways(engine, text, draft)]
    differences = {name: difference(*rows) for name, *rows in [*found, *_deep_ways(engine)]}
    return InvarianceReport(
        holds=all(largest == 0 for largest, _, _ in differences.values()),
        largest_difference=float(np.max([largest for largest, _, _ in differences.values()])),  # NaN where one is
        largest_tv=float(np.max([tv for _, tv, _ in differences.values()])),
        rows=sum(count for _, _, count in differences.values()),
        differing=tuple(name for name, (largest, _, _) in differences.items() if largest > 0),
    )


def _has_room(engine: PagedEngine, text: list[int], draft: Ints) -> bool:
    with _texts(engine, text, OTHERS) as texts:
        return engine.fits(_works(texts, Proposal.chain(draft[:BESIDE])))


def _one_by_one(engine: PagedEngine, sequence: PagedSequence, draft: Ints) -> Logits:
    """Row i follows a text and the first i draft tokens, [1 + drafts, vocab]: plain decoding, to the text's end."""
    rows = []
    for token in [*draft.tolist(), None]:
        rows.append(engine.forward([Work(sequence)])[0].logits[0].copy())
        if token is not None:
            sequence.commit([token])
    sequence.close()
    return np.stack(rows)


def _ways(engine: PagedEngine, text: list[int], draft: Ints) -> Iterator[tuple[str, Logits]]:
    """Names and rows, in the order of `_one_by_one`, of other ways to compute the same."""
    for length in (1, 3, 7, len(draft)):
        yield f"chain of {length}", _scores(engine, text, Proposal.chain(draft[:length]))
    branching, path = forked_chain(draft[:8], engine.vocab_size)
    yield "tree", _scores(engine, text, branching)[path]
    yield "ragged batch", _scores(engine, text, Proposal.chain(draft[:BESIDE]), OTHERS)
    yield "tree in a ragged batch", _scores(engine, text, branching, others=3)[path]
    for rows in (1, 7, 32):
        yield f"chunks of {rows}", _scores(engine, text, Proposal.chain(draft[:2]), chunk_rows=rows)


def _deep_ways(engine: PagedEngine) -> Iterator[tuple[str, Logits, Logits]]:
    """The fewest that tell whether it matters where a chunk ends, with plain decoding, of one longer text; none where
    there is no room for it."""
    tokens = meaningless(DEEP_TOKENS + DEEP_DRAFT, engine.vocab_size)
    text, draft = tokens[:DEEP_TOKENS].tolist(), tokens[DEEP_TOKENS:]
    if len(tokens) >= engine.context_length or not _has_room(engine, text, draft):
        return
    branching, path = forked_chain(draft, engine.vocab_size)
    base = engine.open(text, alone=True)
    chain = engine.forward([Work(base, Proposal.chain(draft))])[0].logits.copy()
    tree = engine.forward([Work(base, branching)])[0].logits[path].copy()
    one_by_one = _one_by_one(engine, base, draft)
    yield "deep chain", one_by_one, chain
    yield "deep tree", one_by_one, tree


def forked_chain(draft: Ints, vocab_size: int) -> tuple[Proposal, Ints]:
    """A tree in which a second chain of other tokens is woven between the draft; rows of the draft's path."""
    tokens = np.stack([(draft + 1) % vocab_size, draft], axis=1).ravel()
    parents = np.arange(-2, len(tokens) - 2)
    parents[:2] = -1
    return Proposal(tokens, parents, (None,) * len(tokens)), np.arange(0, len(tokens) + 1, 2)


def _scores(engine: PagedEngine, text: list[int], proposal: Proposal, others: int = 0, chunk_rows: int = 0) -> Logits:
    """All rows of the proposal after the text, [1 + nodes, vocab], beside `others` short texts."""
    with _texts(engine, text[: chunk_rows or len(text)], others) as texts:
        for start in range(chunk_rows, len(text), chunk_rows or 1) if chunk_rows else ():
            engine.forward([Work(texts[0])])
            texts[0].commit(text[start : start + chunk_rows])
        return engine.forward(_works(texts, proposal))[-1].logits.copy()


@contextmanager
def _texts(engine: PagedEngine, text: list[int], others: int) -> Iterator[list[PagedSequence]]:
    """The text, and the beginnings of it with up to so many tokens."""
    texts = [engine.open(part, alone=True) for part in (text, *(text[:size] for size in range(1, others + 1)))]
    yield texts
    for each in texts:
        each.close()


def _works(texts: list[PagedSequence], proposal: Proposal) -> list[Work]:
    """The proposal is that of the first text, which stands last."""
    return [*map(Work, texts[1:]), Work(texts[0], proposal)]


def difference(a: Logits, b: Logits) -> tuple[float, float, int]:
    """(largest difference, largest total variation, rows)."""
    with np.errstate(invalid="ignore"):  # damaged weights give infinities, whose differences are NaN
        tv = np.abs(_softmax(a) - _softmax(b)).sum(-1) / 2
        return float(np.abs(a - b).max()), float(tv.max()), len(a)


def _softmax(logits: Logits) -> Logits:
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def check_once(engine: PagedEngine, file: Path) -> InvarianceReport | None:
    """The result recorded in the file, or a fresh one, which is recorded there.

    None, and no record, where the cache has no room for the test, and where rows are no numbers: damaged weights say
    nothing of the machine.
    """
    with suppress(OSError, ValueError, TypeError, KeyError, OverflowError):
        values = read_record(file)
        recorded = InvarianceReport(**{**values, "differing": tuple(values["differing"])})
        if isfinite(recorded.largest_difference):
            return recorded
    report = check_invariance(engine)
    if report is None or not isfinite(report.largest_difference):
        return None
    write_record(file, asdict(report))
    return report

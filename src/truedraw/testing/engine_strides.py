"""Checks of an engine that computes rounds of a lone text at a stride (protocol.Strides); of others nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from truedraw.protocol import NOTHING, KeepsPasses, Logits, Proposal, Sequence, Stride, Work
from truedraw.protocol.able import is_able
from truedraw.testing.bench import Bench, woven_tree
from truedraw.testing.checks import require
from truedraw.testing.engine_abreast import Said, ask, said_by
from truedraw.testing.engine_hidden import require_own

DRAFTS = 3  # in a round at most
ROUNDS = 6
SCORED = 3  # of the rounds of compiled code the one that is none


def along(bench: Bench) -> None:
    """Chains, none, a tree, and a chain behind it: rows as in any pass, and so those behind the last round."""
    for sequence, stride in _begun(bench):
        _along(bench, sequence, stride)


def _along(bench: Bench, sequence: Sequence, stride: Stride) -> None:
    chain, tree = Proposal.chain([1, 0, 1]), woven_tree(bench.engine.vocab_size).only(np.arange(DRAFTS))
    rounds = []
    for number, proposal in enumerate((chain, NOTHING, chain, tree, chain, NOTHING)):
        first = 1 if proposal is tree else 0  # another branch than its first
        kept = [*proposal.tokens[first : first + number % 2].tolist(), number % bench.engine.vocab_size]
        rounds.append((proposal, kept))
    _run(bench, sequence, stride, rounds)


def filled(bench: Bench) -> None:
    """Of no more tokens than its rounds come to, the last of which keeps all of its drafts."""
    chain = Proposal.chain([1, 0, 1])
    for sequence, stride in _begun(bench, 1 + 1 + DRAFTS):
        _run(bench, sequence, stride, [(chain, [0]), (chain, [1, 0, 1, 0])])


def _run(bench: Bench, sequence: Sequence, stride: Stride, rounds: Iterable[tuple[Proposal, list[int]]]) -> None:
    text, said = bench.text(), list[tuple[list[int], Proposal, Logits]]()
    for proposal, kept in rounds:
        said.append((text, proposal, _scored(stride, proposal)))
        stride.keep(kept)
        text = [*text, *kept]
    stride.end()
    require(list(sequence.tokens) == text, "a text does not have what was kept of it at a stride")
    _require_rows(bench, sequence, text, "behind a stride")
    for number, (before, proposal, scored) in enumerate(said):
        bench.require_equal(scored, bench.rows(before, proposal), f"round {number} at a stride")


def single(bench: Bench) -> None:
    """Of one round: what is left of a decision that stood for some."""
    for sequence, stride in _begun(bench, 1 + DRAFTS):
        proposal = Proposal.chain([1, 0])
        scored = _scored(stride, proposal)
        stride.keep([1, 0, 0])
        stride.end()
        _require_rows(bench, sequence, [*bench.text(), 1, 0, 0], "behind a single round at a stride")
        bench.require_equal(scored, bench.rows(bench.text(), proposal), "a single round at a stride")


def by_jobs(bench: Bench) -> None:
    """Of compiled code, where a stride has passes for it (protocol.KeepsPasses), before one of its own and behind."""
    for sequence, stride in _begun(bench):
        if is_able(stride, KeepsPasses):
            _by_jobs(bench, sequence, stride)


def _by_jobs(bench: Bench, sequence: Sequence, stride: Any) -> None:
    text = bench.text()
    said: list[Said] = []
    for number, drafts in enumerate(([1, 0], [], [0, 1, 1], [1], [0, 1, 1])):
        said += _in_one(bench, stride, text, drafts) if number != SCORED else [_as_scored(stride, text, drafts)]
        kept = [*drafts[: number % 2], number % bench.engine.vocab_size]
        stride.keep(kept)
        text = [*text, *kept]
    stride.end()
    require(list(sequence.tokens) == text, "a text does not have what was kept of it at a stride of compiled code")
    for each in said:
        bench.require_equal(each.logits, bench.rows(each.text, each.proposal), "a round at a stride of compiled code")
        if each.hidden is not None:
            require_own(bench, each.text, each.proposal, each.hidden, "a round at a stride of compiled code")


def _in_one(bench: Bench, stride: Any, text: list[int], drafts: list[int]) -> list[Said]:
    job = stride.job(len(drafts))
    if job is None:
        return [_as_scored(stride, text, drafts)]
    ask(job, [text], [drafts])
    return said_by(bench, job, [text], [drafts])


def _as_scored(stride: Stride, text: list[int], drafts: list[int]) -> Said:
    return Said(text, Proposal.chain(drafts), _scored(stride, Proposal.chain(drafts)), None)


def dropped(bench: Bench) -> None:
    """One that nobody ends leaves its text as it was."""
    for sequence, stride in _begun(bench):
        for kept in ([1, 0], [0]):
            stride.score(Proposal.chain(kept))
            stride.keep(kept)
        require(list(sequence.tokens) == bench.text(), "a text changed at a stride that was not ended")
        _require_rows(bench, sequence, bench.text(), "behind a stride that was not ended")


def _scored(stride: Stride, proposal: Proposal) -> Logits:
    logits, rows = stride.score(proposal).logits.copy(), getattr(stride, "rows", None)
    said = f"rows of a stride is {rows!r} behind a pass over a token and {len(proposal)} drafts; a run counts with it"
    require(isinstance(rows, int) and rows > len(proposal), said)
    return logits


def _begun(bench: Bench, tokens: int = ROUNDS * (1 + DRAFTS)) -> Iterator[tuple[Sequence, Stride]]:
    """One, of a text that is computed and closed behind it, where the engine has any."""
    begin = getattr(bench.engine, "stride", None)
    if begin is None:
        return
    sequence = bench.engine.open(bench.text())
    bench.engine.forward([Work(sequence)])
    stride = begin(sequence, tokens, DRAFTS)
    if stride is not None:
        yield sequence, stride
    sequence.close()


def _require_rows(bench: Bench, sequence: Sequence, text: list[int], what: str) -> None:
    proposal = Proposal.chain([0, 1])
    found = bench.engine.forward([Work(sequence, proposal)])[0].logits.copy()
    bench.require_equal(found, bench.rows(text, proposal), f"a text {what}")

"""Checks of an engine whose passes over several texts compiled code can run (protocol.StepsAbreast); of others
nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from truedraw.compiled import compiled
from truedraw.protocol import Abreast, Logits, PassJob, Proposal, Work
from truedraw.protocol import Sequence as Text
from truedraw.testing.bench import Bench
from truedraw.testing.checks import require
from truedraw.testing.engine_hidden import require_own
from truedraw.threads.board import together

LENGTHS = 37, 20, 37  # tokens; the third is a fork of the first
DRAFTS = 2, 0, 3
ROUNDS = 5


class Said(NamedTuple):
    """Of a text, and the drafts behind it, in a pass."""

    text: list[int]
    proposal: Proposal
    logits: Logits
    hidden: Any  # None where none are shown


def plain(bench: Bench) -> None:
    """A token of each in each pass; the first is set up by the engine."""
    _compare(bench, (0,) * len(LENGTHS), is_set_up=True)


def along(bench: Bench) -> None:
    """Chains of some, of which a few drafts are kept: rows as in any pass, and so those behind the last round."""
    _compare(bench, DRAFTS)


def _compare(bench: Bench, drafts: Sequence[int], *, is_set_up: bool = False) -> None:
    for texts, passes in _begun(bench, drafts):
        whole, said = _written(bench), list[Said]()
        for number in range(ROUNDS):
            chains = [[(number + k) % 2 for k in range(count)] for count in drafts]
            if number or not is_set_up:
                ask(passes.job, whole, chains)
            said += said_by(bench, passes.job, whole, chains)
            for place, (text, own) in enumerate(zip(whole, chains, strict=True)):
                text += [*own[: (number + place) % (1 + len(own))], (number + place) % bench.engine.vocab_size]
        passes.end([text[len(own.tokens) :] for own, text in zip(texts, whole, strict=True)])
        _require_as(bench, texts, whole, "behind rounds abreast")
        for each in said:
            what = f"a text of {len(each.text)} tokens abreast of others"
            bench.require_equal(each.logits, bench.rows(each.text, each.proposal), what)
            if each.hidden is not None:
                require_own(bench, each.text, each.proposal, each.hidden, what)


def dropped(bench: Bench) -> None:
    """Passes that nobody ends leave the texts as they were."""
    for texts, passes in _begun(bench, DRAFTS):
        before, chains = _written(bench), [[1] * count for count in DRAFTS]
        ask(passes.job, before, chains)
        said_by(bench, passes.job, before, chains)
        _require_as(bench, texts, before, "behind passes abreast that were not ended")


def _begun(bench: Bench, drafts: Sequence[int]) -> Iterator[tuple[list[Text], Abreast]]:
    """Texts that are computed, and closed behind it, and passes for them, where the engine has any."""
    begin, written = getattr(bench.engine, "abreast", None), _written(bench)
    if begin is None or not bench.has_room(written, Proposal.chain([0] * ROUNDS * (1 + max(drafts)))):
        return
    texts = [bench.engine.open(text) for text in written[:-1]]
    bench.engine.forward([Work(text) for text in texts])
    texts += bench.engine.fork(texts[0], 1)
    passes = begin(texts, [ROUNDS * (1 + some) for some in drafts], drafts)
    if passes is not None:
        yield texts, passes
    for text in texts:
        text.close()


def _written(bench: Bench) -> list[list[int]]:
    first, *more = (bench.text(length, seed) for seed, length in enumerate(LENGTHS[:-1]))
    return [first, *more, [*first]]


def ask(job: PassJob, texts: Sequence[Sequence[int]], drafts: Sequence[Sequence[int]]) -> None:
    """The next pass is about the last token of each, and these behind it."""
    rows = [(token, len(text) - 1 + k)
            for text, own in zip(texts, drafts, strict=True) for k, token in enumerate([text[-1], *own])]  # fmt: skip
    job.ids[:], job.positions[:] = [token for token, _ in rows], [position for _, position in rows]
    job.past[:] = [len(text) - 1 for text in texts]


def said_by(bench: Bench, job: PassJob, texts: Sequence[list[int]], chains: Sequence[list[int]]) -> list[Said]:
    """By a pass, of each chain behind its text: copies, as the next pass writes where they lie."""
    crew: Any = bench.engine.crew  # type: ignore[attr-defined] # who runs jobs: an engine with such passes has one
    job.counters[:] = 0
    crew.wake()
    require(not run(crew.board, *job.job.addresses), "a pass abreast failed")
    found, first = list[Said](), 0
    for text, chain in zip(texts, chains, strict=True):
        rows = slice(first, first + 1 + len(chain))
        hidden = None if job.hidden is None else job.hidden[rows].copy()
        found.append(Said([*text], Proposal.chain(chain), job.logits[rows].copy(), hidden))
        first = rows.stop
    return found


@compiled(nogil=True)
def run(board, code, place):  # type: ignore[no-untyped-def]
    """Whether a job raised, by its addresses."""
    return together(board, code, place)


def _require_as(bench: Bench, texts: Sequence[Text], whole: Sequence[list[int]], when: str) -> None:
    require([[*text.tokens] for text in texts] == [*whole], f"texts do not have what they should {when}")
    proposal = Proposal.chain([0, 1])
    found = [scores.logits.copy() for scores in bench.engine.forward([Work(text, proposal) for text in texts])]
    for rows, text in zip(found, whole, strict=True):
        bench.require_equal(rows, bench.rows(text, proposal), f"a text {when}")

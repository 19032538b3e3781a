"""What a draft state meets in a long life: tokens of others, jumps, closing, questions in any order, others' faults."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np

from truedraw.protocol import Dozes, Drafter, LooksAhead, Proposal, Scores
from truedraw.protocol.able import is_able
from truedraw.testing.bench import woven_tree
from truedraw.testing.checks import Check, require
from truedraw.testing.drafter_company import closed, faults
from truedraw.testing.drafter_texts import BUDGET, Texts, legal, require_same, scores_of, settled, unharmed
from truedraw.testing.drafter_worths import worths

ROUNDS = 4
JUMP = 300  # tokens of one commit: more than a page of any cache, and than most windows
HUGE = 150  # draft tokens: more than any rule would ask for
ORDERS = ((2, 0, 3, 1), (3, 1), (1, 2, 0))

Make = Callable[[], Drafter]


def state_checks(make: Make, vocab_size: int, context_length: int | None = None) -> list[Check]:
    """Checks of states; `context_length`: that of a model of the drafter's own, which texts then outgrow."""
    checks: dict[str, Callable[[Make, int], None]] = {
        "tokens that it did not propose": _foreign,
        "long jumps": _jumps,
        "the first and the last token": _corners,
        "a huge budget": _huge,
        "states in any order": _any_order,
        "asked twice": _twice,
        "looking ahead": _ahead,
        "rounds heard of late": _dozing,
        "scores that are written over": _written_over,
        "closed texts": closed,
        "another text's fault": faults,
        "what drafts are worth": worths,
    }
    found = [Check(name, partial(body, make, vocab_size)) for name, body in checks.items()]
    if context_length is not None:
        found.append(Check("a full context", partial(_full, make, vocab_size, context_length)))
    return found


def _foreign(make: Make, vocab: int) -> None:
    texts, rng = Texts(make(), vocab), np.random.default_rng(7)
    with unharmed("after a round of drafts that were not its own"):
        for number in range(ROUNDS):
            for state, own in zip(texts.states, legal(texts), strict=True):
                scored, kept = _others(own, vocab, rng)[number]
                state.commit([*kept, int(rng.integers(vocab))], scores_of(scored, vocab, rng))
        legal(texts)


def _others(own: Proposal, vocab: int, rng: np.random.Generator) -> list[tuple[Proposal, list[int]]]:
    """(what was scored, what of it was kept): another's chain and tree, half of its own, tokens in front of its own."""
    chain = rng.integers(vocab, size=4).tolist()
    tree = woven_tree(vocab)
    before = np.array([0, vocab - 1])
    parents = np.concatenate([[-1, 0], np.where(own.parents < 0, 1, own.parents + 2)]).astype(np.int64)
    behind = Proposal(np.concatenate([before, own.tokens]), parents, (None, None, *own.laws))
    return [
        (Proposal.chain(chain), chain),
        (tree, tree.tokens[[1, 3]].tolist()),
        (own.only(np.arange(len(own) // 2)), []),
        (behind, before.tolist()),
    ]


def _jumps(make: Make, vocab: int) -> None:
    texts, rng = Texts(make(), vocab), np.random.default_rng(8)
    with unharmed(f"after {JUMP} tokens in one round"):
        for _ in range(2):
            legal(texts)
            for state in texts.states:
                tokens = rng.integers(vocab, size=JUMP).tolist()
                state.commit(tokens, scores_of(Proposal.chain(tokens[:-1]), vocab, rng))
        legal(texts)


def _corners(make: Make, vocab: int) -> None:
    last, rng = vocab - 1, np.random.default_rng(9)
    texts = Texts(make(), vocab, [[0] * 3, [last] * 9, [0, last] * 4])
    with unharmed(f"in texts of the tokens 0 and {last} alone"):
        for tokens in ([last] * 4, [0] * 7, [last, 0, last]):
            legal(texts)
            for state in texts.states:
                state.commit(tokens, scores_of(Proposal.chain(tokens[:-1]), vocab, rng))
        legal(texts)


def _huge(make: Make, vocab: int) -> None:
    texts = Texts(make(), vocab, [[0, 1, 0, 0, 1], list(range(min(vocab, 9)))])
    with unharmed(f"with a budget of {HUGE}"):
        legal(texts, HUGE)


def _any_order(make: Make, vocab: int) -> None:
    texts, others, rng = Texts(make(), vocab), Texts(make(), vocab), np.random.default_rng(11)
    for order in ORDERS:
        found = texts.propose([BUDGET] * 4)
        turned = others.propose([BUDGET] * len(order), order)
        require_same([found[i] for i in order], turned, f"with the states in the order {order}")
        rest = [i for i in range(4) if i not in order]
        others.propose([BUDGET] * len(rest), rest)
        for i, proposal in enumerate(found):
            tokens = rng.integers(vocab, size=2).tolist()
            for each in (texts, others):
                scores = scores_of(proposal, vocab, np.random.default_rng(i))
                each.states[i].commit(tokens[:1], scores)


def _twice(make: Make, vocab: int) -> None:
    texts, rng = Texts(make(), vocab), np.random.default_rng(12)
    with unharmed("of a text that is asked about again, without a round between"):
        for _ in range(ROUNDS):
            legal(texts, 1)
            first = settled(texts)
            require_same(first, legal(texts), "on two questions with the same randomness")
            for state, proposal in zip(texts.states, first, strict=True):
                texts.commit(state, proposal, rng)


def _ahead(make: Make, vocab: int) -> None:
    texts, rng = Texts(make(), vocab), np.random.default_rng(13)
    if not all(is_able(state, LooksAhead) for state in texts.states):
        return
    with unharmed("when looked ahead"):
        for _ in range(ROUNDS):
            before, own, tokens = settled(texts), texts.states, rng.integers(vocab, size=3).tolist()
            for _ in range(2):
                texts.states = [state.ahead(tokens[:2]) for state in texts.states if is_able(state, LooksAhead)]
                legal(texts)
            texts.states = own
            require_same(before, legal(texts), "before and after looking ahead")
            for state in own:
                state.commit(tokens, scores_of(Proposal.chain(tokens[:-1]), vocab, rng))


def _dozing(make: Make, vocab: int) -> None:
    """Only of states that say so: rounds in which nobody was asked, told at once and without their scores."""
    texts, rng = Texts(make(), vocab), np.random.default_rng(16)
    if not all(is_able(state, Dozes) and state.dozes for state in texts.states):
        return
    with unharmed(f"after {ROUNDS} rounds that were told at once"):
        for _ in range(2):
            for state in cast("list[Dozes]", texts.states):
                *slept, last = rng.integers(vocab, size=ROUNDS + 1).tolist()
                state.commit(slept)
                state.commit([last], scores_of(Proposal.chain([]), vocab, rng))
            legal(texts)


def _written_over(make: Make, vocab: int) -> None:
    """The engine's next pass writes where this one's logits are; and others hear of the round from the same array."""
    texts, calm = Texts(make(), vocab), Texts(make(), vocab)
    for number in range(ROUNDS):
        scores = [scores_of(own, vocab, np.random.default_rng(number)) for own in legal(texts)]
        legal(calm)
        for state, other, said in zip(texts.states, calm.states, scores, strict=True):
            given = said.logits.copy()
            other.commit([number % vocab], Scores(given.copy(), proposal=said.proposal))
            state.commit([number % vocab], said)
            require(np.array_equal(given, said.logits), "commit writes into the target's logits; copy what is changed")
            said.logits[:] = said.logits[:, ::-1] - number
        require_same(legal(calm), legal(texts), "after the logits of a round were written over, and when they were not")


def _full(make: Make, vocab: int, context_length: int) -> None:
    rng = np.random.default_rng(15)
    lengths = [max(context_length + more, 1) for more in (-BUDGET, -2, -1, 0, 1)]
    texts = Texts(make(), vocab, [rng.integers(vocab, size=length).tolist() for length in lengths])
    with unharmed(f"in a text about as long as the context of {context_length}"):
        for _ in range(ROUNDS):
            for state, proposal in zip(texts.states, legal(texts), strict=True):
                texts.commit(state, proposal, rng)
        legal(texts)

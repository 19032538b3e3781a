"""Rounds of one text, one behind the other, with nobody asked: draft, pass, rule, and what became of it written down.

All that surrounds a pass is met anew behind each, since weights have taken its place in the caches. Of what Python
would do there, a millisecond in a round that drafts, nothing is left between two passes.
"""

from __future__ import annotations

from truedraw.compiled import compiled, inner
from truedraw.engine.native.together import copy
from truedraw.protocol.slate import COUNT, DRAFTED, POSITION
from truedraw.sampling.kernels.edited import join
from truedraw.threads.atomics import APART, taken
from truedraw.threads.board import AWAKE, COMING, is_attended, together
from truedraw.threads.borrowing import borrowed
from truedraw.threads.clock import nanoseconds
from truedraw.threads.jobs import call

BEGUN, PROPOSED, SCORED, ENDED = range(4)
"""Moments of a round."""


@compiled(nogil=True, error_model="numpy")
def run(board, given):  # type: ignore[no-untyped-def]
    """(rounds that came, whether none was begun behind them).

    given: numbers, last, tokens, sure and edited of a Slate; the job that drafts, any where nothing is drafted; of the
    pass its job, counters, ids, positions and past; the rule's job, and where it tells; (rounds at most; nanoseconds
    behind which none begins; the tokens that end a text; how long it may be); of each round memory for what the rule
    tells [rounds, 4, 1 + n], numbers of the slate [rounds, SIZE], drafts and confidence [rounds, n], moments
    [rounds, 4]; the pass's hidden states [1 + n, streams, width], and memory for those of each round. Jobs are
    addresses, see threads/kept.py.
    """
    slate, draft, target, rule, limits, kept, shown = borrowed(given)
    numbers, last, tokens, _, edited = slate
    most, patience, ends, longest = limits
    began, number = nanoseconds(), 0
    while number < most and numbers[POSITION] + len(tokens) < longest and goes_on(board, number, began + patience):
        moments = kept[4][number]
        moments[BEGUN] = nanoseconds()
        if len(tokens) > 0 and (call(draft[0], draft[1]) or numbers[DRAFTED] < len(tokens)):
            return number, False
        moments[PROPOSED] = nanoseconds()
        ask(target, last[numbers[COUNT] - 1], tokens, numbers[POSITION] - 1)
        if together(board, target[0][0], target[0][1]):
            return number, False
        moments[SCORED] = nanoseconds()
        if call(rule[0][0], rule[0][1]) or numbers[COUNT] == 0:
            return number, False
        write(slate, rule[1], kept, number)
        join(edited, last, numbers[COUNT])
        show(shown[0], numbers[COUNT], shown[1][number])
        moments[ENDED] = nanoseconds()
        number += 1
        if has_ended(last, numbers[COUNT], ends):
            break
    return number, True


@inner(error_model="numpy")
def goes_on(board, number, end):  # type: ignore[no-untyped-def]
    """Whether there is time for a round, and a helper, if there are any; those that sleep have to be woken."""
    taken(board, COMING)
    if number == 0:
        return True
    return nanoseconds() < end and (is_attended(board) or board.shape[0] <= AWAKE + APART)


@inner(error_model="numpy")
def ask(target, token, drafts, past):  # type: ignore[no-untyped-def]
    """The pass is about a token and drafts behind it, that follow so many."""
    _, counters, ids, positions, before = target
    counters[:] = 0
    before[0], ids[0], positions[0] = past, token, past
    for k in range(len(drafts)):
        ids[1 + k], positions[1 + k] = drafts[k], past + 1 + k


@inner(error_model="numpy")
def write(slate, told, kept, number):  # type: ignore[no-untyped-def]
    """What became of a round, and where the next one begins."""
    numbers, last, tokens, sure, _ = slate
    rules, counts, drafts, confidence, _ = kept
    for k in range(numbers[COUNT]):
        last[k] = int(told[0, k])
        for line in range(told.shape[0]):
            rules[number, line, k] = told[line, k]
    for k in range(len(numbers)):
        counts[number, k] = numbers[k]
    for k in range(len(tokens)):
        drafts[number, k], confidence[number, k] = tokens[k], sure[k]
    numbers[POSITION] += numbers[COUNT]


@inner(error_model="numpy")
def show(hidden, count, kept):  # type: ignore[no-untyped-def]
    """The hidden states that so many tokens were drawn from; there may be none."""
    for row in range(min(count, len(hidden))):
        for stream in range(hidden.shape[1]):
            copy(hidden[row, stream], kept[row, stream])


@inner(error_model="numpy")
def has_ended(tokens, count, ends):  # type: ignore[no-untyped-def]
    """Whether one of these tokens ends a text."""
    for k in range(count):
        for end in ends:
            if tokens[k] == end:
                return True
    return False

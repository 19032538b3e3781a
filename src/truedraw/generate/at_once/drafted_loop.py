"""Rounds of several texts, one behind the other, some of which draft: chains, pass, rules, and what became of them
written down. As loop.py, whose parts are those of a text that is alone."""

from __future__ import annotations

from truedraw.compiled import compiled, inner
from truedraw.generate.at_once.loop import goes_on, has_ended, show
from truedraw.protocol.slate import COUNT, DRAFTED, POSITION
from truedraw.sampling.kernels.edited import join
from truedraw.threads.board import share, together
from truedraw.threads.borrowing import borrowed
from truedraw.threads.clock import nanoseconds
from truedraw.threads.each import each_done
from truedraw.threads.jobs import call, this_call

SCORED, ENDED, BEGUN = range(3)
"""Moments of a round; from BEGUN on also when each job has drafted."""
LINES = 4  # that a rule tells


@compiled(nogil=True, error_model="numpy")
def run(board, given):  # type: ignore[no-untyped-def]
    """(rounds that came, whether none was begun behind them).

    given: the slates of all texts, in which rows and drafts stand one text behind the other: numbers [texts, SIZE],
    last [rows], tokens and sure [drafts], and where the rows of each begin [texts + 1]; the jobs that draft [jobs, 2],
    for all texts that have room for drafts; of the pass its job, counters, ids, positions and past; the rules, as
    threads/each.py has them, the jobs that count tokens [texts, 2], 0 where nobody does, and what each rule tells, one
    behind the other [LINES rows]; (rounds at most; nanoseconds behind which none begins; tokens that end a text
    [texts, some]; how long each may be [texts]); of each round memory for what the rules tell, numbers, tokens and
    sure, and moments [rounds, BEGUN + 1 + jobs]; the pass's hidden states [rows, streams, width], none where nobody
    wants them, and memory for those of each round. Jobs are addresses, see threads/kept.py.
    """
    slates, drafts, target, rules, limits, kept, shown = borrowed(given)
    numbers, _, _, _, begins = slates
    most, patience, ends, longest = limits
    began, number = nanoseconds(), 0
    while number < most and all_fit(numbers, begins, longest) and goes_on(board, number, began + patience):
        moments = kept[4][number]
        moments[BEGUN] = nanoseconds()
        for job in range(len(drafts)):
            if call(drafts[job, 0], drafts[job, 1]):
                return number, False
            moments[BEGUN + 1 + job] = nanoseconds()
        if not all_drafted(numbers, begins):
            return number, False
        ask(target, slates)
        if together(board, target[0][0], target[0][1]):
            return number, False
        moments[SCORED] = nanoseconds()
        if each_done(board, rules[0]) or not all_decided(numbers):
            return number, False
        some_end = write(slates, rules[2], kept, number, ends)
        for text in range(len(numbers)):
            if rules[1][text, 0] != 0 and call(rules[1][text, 0], rules[1][text, 1]):
                return number, False
        for text in range(len(numbers)):
            rows = slice(begins[text], begins[text + 1])
            show(shown[0][rows], numbers[text, COUNT], shown[1][number, rows])
        moments[ENDED] = nanoseconds()
        number += 1
        if some_end:
            break
    return number, True


@compiled(nogil=True, error_model="numpy")
def join_tallies(board, given, takes_part):  # type: ignore[no-untyped-def]
    """What the last round of a text brought is counted; a job as threads/board.py has them. given: numbers, last and
    edited of its slate."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    numbers, last, edited = borrowed(given)
    join(edited, last, numbers[COUNT])


@inner(error_model="numpy")
def all_fit(numbers, begins, longest):  # type: ignore[no-untyped-def]
    """Whether no text can become too long by a round."""
    fit = True
    for text in range(len(numbers)):
        fit &= numbers[text, POSITION] + begins[text + 1] - begins[text] <= longest[text]
    return fit


@inner(error_model="numpy")
def all_drafted(numbers, begins):  # type: ignore[no-untyped-def]
    """Whether every text has as many drafts as there is room for."""
    drafted = True
    for text in range(len(numbers)):
        few = begins[text + 1] - begins[text] - 1
        drafted &= few == 0 or numbers[text, DRAFTED] >= few
    return drafted


@inner(error_model="numpy")
def all_decided(numbers):  # type: ignore[no-untyped-def]
    """Whether every text has a token."""
    found = True
    for text in range(len(numbers)):
        found &= numbers[text, COUNT] > 0
    return found


@inner(error_model="numpy")
def ask(target, slates):  # type: ignore[no-untyped-def]
    """The pass is about the last token of each text and the drafts behind it."""
    _, counters, ids, positions, past = target
    numbers, last, tokens, _, begins = slates
    counters[:] = 0
    for text in range(len(numbers)):
        first, behind = begins[text], numbers[text, POSITION] - 1
        past[text], ids[first], positions[first] = behind, last[first + numbers[text, COUNT] - 1], behind
        for k in range(1, begins[text + 1] - first):
            ids[first + k], positions[first + k] = tokens[first - text + k - 1], behind + k


@inner(error_model="numpy")
def write(slates, told, kept, number, ends):  # type: ignore[no-untyped-def]
    """What became of a round, and where the next one begins; whether a text has ended."""
    numbers, last, tokens, sure, begins = slates
    kept[0][number], kept[2][number], kept[3][number] = told, tokens, sure
    some_end = False
    for text in range(len(numbers)):
        first = begins[text]
        for k in range(numbers[text, COUNT]):
            last[first + k] = int(told[LINES * first + k])
        for k in range(numbers.shape[1]):
            kept[1][number, text, k] = numbers[text, k]
        numbers[text, POSITION] += numbers[text, COUNT]
        some_end |= has_ended(last[first:], numbers[text, COUNT], ends[text])
    return some_end

"""The loop that compiled code runs rounds of several texts in, with parts that a test knows."""

from __future__ import annotations

from itertools import pairwise

import numba
import numpy as np
import pytest

from generate.at_once.known_parts import draft, rule
from truedraw.generate.at_once.drafted_loop import BEGUN, ENDED, LINES, SCORED, run
from truedraw.generate.at_once.plainly_loop import PLACE
from truedraw.generate.at_once.plainly_loop import run as run_plainly
from truedraw.protocol.slate import COUNT, POSITION, SIZE
from truedraw.threads.board import board, share
from truedraw.threads.each import Each
from truedraw.threads.jobs import this_call
from truedraw.threads.kept import Kept
from truedraw.verify.fused.plainly import POSITION as NAMED_AT

ROUNDS = 5
LATER = 10**12  # nanoseconds
LONG = (1000,) * 3  # tokens
DRAFTS = [2, 0, 1]  # of each text
BEGINS = np.array([0, 3, 4, 6])
STARTS = [10, 20, 30]  # tokens of each


@numba.njit(nogil=True)
def score(board, given, takes_part):
    """What it is about, written down, and into the hidden states; in a round that is said there is no memory."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    ids, positions, past, counters, hidden, (asked, (poor, done)) = given
    for k in range(len(ids)):
        asked[done[0], 0, k], asked[done[0], 1, k] = ids[k] + 1000 * counters.sum(), positions[k]
        hidden[k, 0, 0] = ids[k]
    for text in range(len(past)):
        asked[done[0], 2, text] = past[text]
    counters[0] = 1  # which somebody has to make 0 again
    if done[0] == poor:
        done[0] = len(np.empty(1 << 60))
    done[0] += 1


@numba.njit(nogil=True)
def draw(board, given, takes_part):
    """Each goes on by 100 from the row's token; text 1 has no token in a round that is said."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    ids, counters, names, told, (seen, undrawn, done) = given
    for text in range(len(ids)):
        told[text, 0], told[text, 1], told[text, 2] = ids[text] + 100, -0.5, -1.5
        seen[done[0], text] = names[text, 0] + 1000 * counters.sum()
    if done[0] == undrawn:
        told[1, 0] = -1.0
    counters[0] = 1
    done[0] += 1


class Setting:
    """Three texts, whose last tokens are 100, 200 and 300; each part may fail in a round that is said."""

    def __init__(self, silent: int = -1, hushed: int = -1, poor: int = -1, lawless: int = -1) -> None:
        texts, rows = len(DRAFTS), int(BEGINS[-1])
        self.numbers, self.last = np.zeros((texts, SIZE), int), np.zeros(rows, int)
        tokens, sure = np.zeros(rows - texts, int), np.zeros(rows - texts)
        ids, positions, past, counters = (
            np.zeros(rows, int),
            np.zeros(rows, int),
            np.zeros(texts, int),
            np.zeros(3, int),
        )
        hidden = np.zeros((rows, 1, 1), np.float32)
        self.asked, told = np.zeros((ROUNDS, 3, rows), int), np.zeros(LINES * rows)
        drafts, rules = list[tuple[int, int]](), list[Kept]()
        self._held = [Kept(score, (ids, positions, past, counters, hidden, (self.asked, (poor, np.zeros(1, int)))))]
        target = self._held[0].addresses, counters, ids, positions, past
        for text, (first, end) in enumerate(pairwise(BEGINS)):
            self.numbers[text, [POSITION, COUNT]], self.last[first] = (STARTS[text], 1), 100 * (1 + text)
            own, mine = slice(first - text, end - text - 1), told[LINES * first : LINES * end].reshape(LINES, -1)
            if DRAFTS[text]:
                mark = silent if text == 2 else hushed, np.zeros(1, int)
                self._held.append(Kept(draft, (self.numbers[text], self.last[first:end], tokens[own], sure[own], mark)))
                drafts.append(self._held[-1].addresses)
            mark = lawless if text == 1 else -1, np.zeros(1, int)
            self._held.append(Kept(rule, (ids[first:end], self.numbers[text], mine, mark)))
            rules.append(self._held[-1])
        self._each = Each([rules])
        drawn, moments = (ROUNDS, rows - texts), np.zeros((ROUNDS, BEGUN + 1 + len(drafts)), int)
        kept, numbers = np.zeros((ROUNDS, LINES * rows)), np.zeros((ROUNDS, texts, SIZE), int)
        self.kept = kept, numbers, np.zeros(drawn, int), np.zeros(drawn), moments
        self.shown = hidden, np.full((ROUNDS, rows, 1, 1), -1, np.float32)
        slates = self.numbers, self.last, tokens, sure, BEGINS
        self._given = slates, np.array(drafts), target, (self._each.asked, np.zeros((texts, 2), int), told)

    def run(self, rounds: int = ROUNDS, patience: int = LATER, ends=((-1,),) * 3, longest=LONG) -> tuple[int, bool]:
        limits = rounds, patience, np.array(ends, np.int64), np.array(longest)
        return run(board(0), (*self._given, limits, self.kept, self.shown))

    def tokens(self, count: int) -> list[list[list[int]]]:
        """Of the rounds that came, by text."""
        found = []
        for k in range(count):
            told = [self.kept[0][k, LINES * first : LINES * first + n] for first, n in
                    zip(BEGINS[:-1], self.kept[1][k, :, COUNT], strict=True)]  # fmt: skip
            found.append([each.astype(int).tolist() for each in told])
        return found


def test_rounds_follow_one_another() -> None:
    one = Setting()
    assert one.run(rounds=3) == (3, True)
    assert one.tokens(3) == [[[101, 200], [300], [301, 400]], [[201, 300], [400], [401, 500]],
                             [[301, 400], [500], [501, 600]]]  # fmt: skip
    assert one.asked[:2, 0].tolist() == [[100, 101, 102, 200, 300, 301], [200, 201, 202, 300, 400, 401]]
    assert one.asked[:2, 1].tolist() == [[9, 10, 11, 19, 29, 30], [11, 12, 13, 20, 31, 32]]
    assert one.asked[:2, 2, :3].tolist() == [[9, 19, 29], [11, 20, 31]]
    assert one.kept[1][:3, :, POSITION].tolist() == [STARTS, [12, 21, 32], [14, 22, 34]]
    assert one.numbers[:, POSITION].tolist() == [16, 23, 36]
    assert one.kept[2][:2].tolist() == [[101, 102, 301], [201, 202, 401]]
    assert one.kept[3][:2].tolist() == [[0.5] * 3] * 2
    assert one.shown[1][:2, :, 0, 0].tolist() == [[100, 101, -1, 200, 300, 301], [200, 201, -1, 300, 400, 401]]


@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize("fault", ["silent", "hushed", "poor", "lawless"])
def test_where_a_part_of_any_text_fails_the_round_is_left_alone(fault, number) -> None:
    one = Setting(**{fault: number})
    assert one.run() == (number, False)
    assert one.numbers[:, POSITION].tolist() == [start + (1 + (k != 1)) * number for k, start in enumerate(STARTS)]


@pytest.mark.parametrize(("text", "end", "count"), [(0, 101, 1), (0, 102, ROUNDS), (1, 500, 3), (2, 401, 2)])
def test_a_token_that_ends_a_text(text, end, count) -> None:
    """A draft that was kept, or the token behind it, but none that was not, and none of another text."""
    ends = np.full((3, 2), -1)
    ends[text, 1] = end
    assert Setting().run(ends=ends) == (count, True)


def test_no_round_begins_when_time_is_up() -> None:
    assert Setting().run(patience=0) == (1, True)


@pytest.mark.parametrize(("text", "more", "count"), [(0, 3, 1), (0, 4, 1), (0, 5, 2), (1, 2, 2), (2, 3, 1), (2, 4, 2)])
def test_no_round_begins_that_could_make_a_text_too_long(text, more, count) -> None:
    longest = [*LONG]
    longest[text] = STARTS[text] + more
    assert Setting().run(longest=longest) == (count, True)


def test_moments_rise() -> None:
    one = Setting()
    one.run()
    moments = one.kept[4]
    order = [*range(BEGUN, BEGUN + 1 + sum(map(bool, DRAFTS))), SCORED, ENDED]
    assert (np.diff(moments[:, order]) >= 0).all()
    assert (moments[1:, BEGUN] >= moments[:-1, ENDED]).all()


class Plain:
    """The same texts without drafts, and draws for all of them."""

    def __init__(self, poor: int = -1, undrawn: int = -1) -> None:
        texts = len(STARTS)
        ids, past = np.array([100, 200, 300]), np.array(STARTS) - 1
        positions, counters, taken = past.copy(), np.zeros(3, int), np.zeros(2, int)
        hidden, self.asked = np.zeros((texts, 1, 1), np.float32), np.zeros((ROUNDS, 3, texts), int)
        names, told = np.zeros((texts, 5), int), np.zeros((texts, 3))
        names[:, 0], self.seen = STARTS, np.zeros((ROUNDS, texts), int)
        self._held = (
            Kept(score, (ids, positions, past, counters, hidden, (self.asked, (poor, np.zeros(1, int))))),
            Kept(draw, (ids, taken, names, told, (self.seen, undrawn, np.zeros(1, int)))),
        )
        passes, draws = (job.addresses for job in self._held)
        self.told, self.moments = np.zeros((ROUNDS, texts, 3)), np.zeros((ROUNDS, 3), int)
        self.shown = hidden, np.zeros((ROUNDS, texts, 1, 1), np.float32)
        self._given = (passes, counters, ids, positions, past), (draws, taken, names, told)

    def run(self, rounds: int = ROUNDS, patience: int = LATER, ends=((-1,),) * 3) -> int:
        limits = rounds, patience, np.array(ends, np.int64)
        return run_plainly(board(0), (*self._given, limits, (self.told, self.moments), self.shown))


def test_plain_rounds_follow_one_another() -> None:
    assert PLACE == NAMED_AT
    one = Plain()
    assert one.run(rounds=3) == 3
    assert one.told[:3, :, 0].tolist() == [[200, 300, 400], [300, 400, 500], [400, 500, 600]]
    assert one.told[:3, :, 1:].tolist() == [[[-0.5, -1.5]] * 3] * 3
    assert one.asked[:2].tolist() == [[[100, 200, 300], [9, 19, 29], [9, 19, 29]],
                                      [[200, 300, 400], [10, 20, 30], [10, 20, 30]]]  # fmt: skip
    assert one.seen[:3].tolist() == [STARTS, [11, 21, 31], [12, 22, 32]]
    assert one.shown[1][:2, :, 0, 0].tolist() == [[100, 200, 300], [200, 300, 400]]


@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize("fault", ["poor", "undrawn"])
def test_where_a_pass_or_a_draw_fails_plain_rounds_end(fault, number) -> None:
    assert Plain(**{fault: number}).run() == number


@pytest.mark.parametrize(("text", "end", "count"), [(0, 200, 1), (0, 400, 3), (2, 400, 1), (1, 200, ROUNDS)])
def test_a_token_that_ends_a_text_that_nobody_drafts_for(text, end, count) -> None:
    ends = np.full((3, 2), -1)
    ends[text, 1] = end
    assert Plain().run(ends=ends) == count


def test_no_plain_round_begins_when_time_is_up() -> None:
    assert Plain().run(patience=0) == 1

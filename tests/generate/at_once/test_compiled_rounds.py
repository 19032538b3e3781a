"""The loop that compiled code runs rounds in, with parts that a test knows."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from generate.at_once.known_parts import draft, rule
from truedraw.generate.at_once.loop import BEGUN, ENDED, PROPOSED, SCORED, run
from truedraw.protocol.slate import COUNT, POSITION, SIZE, Slate
from truedraw.threads.board import board, share
from truedraw.threads.jobs import this_call
from truedraw.threads.kept import Kept

DRAFTS, START, LAST = 2, 10, 99
ROUNDS = 6
LATER = 10**12  # nanoseconds
LONG = 1000  # tokens


@numba.njit(nogil=True)
def score(board, given, takes_part):
    """What it is about, written down; in a round that is said there is no memory."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    ids, positions, past, counters, asked, (poor, done) = given
    asked[done[0], 0, 0], asked[done[0], 1, 0] = past[0] + 1000 * counters.sum(), len(ids)
    counters[0] = 1  # which somebody has to make 0 again
    for k in range(len(ids)):
        asked[done[0], 0, 1 + k], asked[done[0], 1, 1 + k] = ids[k], positions[k]
    if done[0] == poor:
        done[0] = len(np.empty(1 << 60))
    done[0] += 1


class Setting:
    """A text at START, whose last token is LAST; each part may fail in a round that is said."""

    def __init__(self, drafts: int = DRAFTS, silent: int = -1, poor: int = -1, lawless: int = -1) -> None:
        self.slate, rows = Slate.of(drafts), 1 + drafts
        self.slate.numbers[[POSITION, COUNT]], self.slate.last[0] = (START, 1), LAST
        numbers, last, tokens, _, _, sure, edited = self.slate
        ids, positions, past, counters = np.zeros(rows, int), np.zeros(rows, int), np.zeros(1, int), np.zeros(3, int)
        self.asked, self.done, told = np.zeros((ROUNDS, 2, 1 + rows), int), np.zeros((3, 1), int), np.zeros((4, rows))
        self.jobs = (
            Kept(draft, (numbers, last, tokens, sure, (silent, self.done[0]))),
            Kept(score, (ids, positions, past, counters, self.asked, (poor, self.done[1]))),
            Kept(rule, (ids, numbers, told, (lawless, self.done[2]))),
        )
        first, second, third = (job.addresses for job in self.jobs)
        self.kept = (
            np.zeros((ROUNDS, 4, rows)), np.zeros((ROUNDS, SIZE), int), np.zeros((ROUNDS, drafts), int),
            np.zeros((ROUNDS, drafts)), np.zeros((ROUNDS, 4), int),
        )  # fmt: skip
        self.shown = np.zeros((rows, 2, 3), np.float32), np.zeros((ROUNDS, rows, 2, 3), np.float32)
        self._given = (
            (numbers, last, tokens, sure, edited),
            first,
            (second, counters, ids, positions, past),
            (third, told),
        )

    def run(self, rounds: int = ROUNDS, patience: int = LATER, ends=(), longest: int = LONG) -> tuple[int, bool]:
        limits = rounds, patience, np.array(ends, np.int64), longest
        return run(board(0), (*self._given, limits, self.kept, self.shown))

    def tokens(self, count: int) -> list[list[int]]:
        """Of the rounds that came."""
        return [self.kept[0][k, 0, : self.kept[1][k, COUNT]].astype(int).tolist() for k in range(count)]


def test_rounds_follow_one_another() -> None:
    one = Setting()
    assert one.run(rounds=3) == (3, True)
    assert one.tokens(3) == [[100, 199], [200, 299], [300, 399]]
    assert one.kept[2][:3].tolist() == [[100, 101], [200, 201], [300, 301]]
    assert one.kept[3][:3].tolist() == [[0.5, 0.5]] * 3
    asked = [(START + 2 * k - 1, token) for k, token in enumerate((LAST, 199, 299))]
    wanted = [[[at, t, t + 1, t + 2], [3, at, at + 1, at + 2]] for at, t in asked]
    assert one.asked[:3].tolist() == wanted
    assert one.slate.numbers[POSITION] == START + 6
    assert one.kept[1][:3, POSITION].tolist() == [START, START + 2, START + 4]
    assert one.slate.last.tolist()[:2] == [300, 399]


def test_without_drafts() -> None:
    one = Setting(drafts=0)
    assert one.run(rounds=2) == (2, True)
    assert one.tokens(2) == [[199], [299]]
    assert one.done[0, 0] == 0
    assert one.asked[1].tolist() == [[START, 199], [1, START]]


@pytest.mark.parametrize("number", [0, 2])
def test_where_there_is_no_draft_the_round_is_left_alone(number) -> None:
    one = Setting(silent=number)
    assert one.run() == (number, False)
    assert one.done[1, 0] == number
    assert len(one.tokens(number)) == number


@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize("fault", ["poor", "lawless"])
def test_where_a_pass_or_a_rule_fails_what_was_scored_is_lost(fault, number) -> None:
    one = Setting(**{fault: number})
    assert one.run() == (number, False)
    assert one.slate.numbers[POSITION] == START + 2 * number


@pytest.mark.parametrize(("end", "count"), [(100, 1), (299, 2), (101, ROUNDS)])
def test_a_token_that_ends_the_text(end, count) -> None:
    """A draft that was kept, or the token behind it, but none that was not."""
    assert Setting().run(ends=[5, end]) == (count, True)


def test_no_round_begins_when_time_is_up() -> None:
    assert Setting().run(patience=0) == (1, True)


@pytest.mark.parametrize(("more", "count"), [(2, 0), (3, 1), (4, 1), (5, 2), (6, 2)])
def test_no_round_begins_that_could_make_the_text_too_long(more, count) -> None:
    """It would be by three tokens, though these rounds bring two."""
    assert Setting().run(longest=START + more) == (count, True)


def test_moments_rise() -> None:
    one = Setting()
    one.run()
    moments = one.kept[4]
    assert (np.diff(moments[:, [BEGUN, PROPOSED, SCORED, ENDED]]) >= 0).all()
    assert (moments[1:, BEGUN] >= moments[:-1, ENDED]).all()


def test_where_no_helper_looks_it_has_to_be_woken() -> None:
    """A crew's board with one who sleeps; the caller's own round comes in any case."""
    one = Setting()
    given = (*one._given, (ROUNDS, LATER, np.zeros(0, np.int64), LONG), one.kept, one.shown)
    assert run(board(1), given) == (1, True)

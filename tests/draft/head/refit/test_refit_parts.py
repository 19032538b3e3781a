"""The parts of online learning one by one: slopes, the ring, the time it takes, and when it is believed."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from draft.head.refit.learning_heads import Eager, ShowingCell, ample, learner
from draft.head.seeing import TableCell
from truedraw.draft.head.cell import Chosen, shown
from truedraw.draft.head.refit import learning
from truedraw.draft.head.refit.allowance import MOST, Allowance
from truedraw.draft.head.refit.correction import Correction
from truedraw.draft.head.refit.descent import Adam, overlaps, pull, softmax, step
from truedraw.draft.head.refit.learning import Refit
from truedraw.draft.head.refit.ring import Place, Places, Ring
from truedraw.draft.head.refit.round import COLDEST, Met, Seen, met
from truedraw.protocol import NOTHING, ROOT, Proposal, Scores
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.step import Opening

WIDTH, KNOWN = 6, 11


def some(rows: int, seed: int = 0) -> Places:
    rng = np.random.default_rng(seed)
    z, drafted, said = (rng.normal(size=(rows, size)).astype(np.float32) for size in (WIDTH, KNOWN, KNOWN))
    return Places(z, drafted, said, np.full((rows, 1), 0.7, np.float32), rng.uniform(1, 4, (rows, 1)))


def learnt(seed: int = 1) -> Correction:
    rng = np.random.default_rng(seed)
    shapes = ((WIDTH, 3), (3, KNOWN), (KNOWN,))
    return Correction(*(rng.normal(size=shape).astype(np.float32) * 0.4 for shape in shapes))


def loss(correction: Correction, places: Places) -> float:
    """-log of the acceptance, in float64."""
    found = 0.0
    for z, drafted, said, (temperature,), (weight,) in zip(*(part.astype(np.float64) for part in places), strict=True):
        n = z / np.sqrt((z**2).mean() + 1e-5)
        logits = drafted + n @ correction.read @ correction.say + correction.bias
        p, q = (softmax(each[None] / temperature)[0] for each in (said, logits))
        found -= weight * np.log(np.minimum(p, q).sum())
    return found / float(places.weight.sum())


# --------------------------------------------------------------------------------------------------------- the step


class Written:
    """An Adam that keeps the slopes and changes nothing."""

    def after(self, correction, slopes):
        self.slopes = slopes
        return correction


@pytest.mark.parametrize("part", range(3))
def test_slopes_are_those_of_the_loss(part: int) -> None:
    correction, places, written = learnt(), some(5), Written()
    step(correction, places, written)
    wide = [each.astype(np.float64) for each in correction]
    for at in list(np.ndindex(wide[part].shape))[::4]:
        ends = []
        for off in (-1e-6, 1e-6):
            moved = [each.copy() for each in wide]
            moved[part][at] += off
            ends.append(loss(Correction(*moved), places))
        assert written.slopes[part][at] == pytest.approx((ends[1] - ends[0]) / 2e-6, abs=2e-4)


def test_a_hopeless_place_does_not_outweigh_the_others() -> None:
    p, q = np.array([[1.0, 0.0]]), np.array([[1e-9, 1.0 - 1e-9]])
    slope, accepted = pull(p, q)
    assert accepted[0] == pytest.approx(1e-9)
    assert np.abs(slope).max() < 1


def test_steps_raise_what_is_kept() -> None:
    correction, places = Correction.nothing(WIDTH, KNOWN), some(8)
    adam, before = Adam(correction), overlaps(correction, places)
    assert np.allclose(before, np.minimum(*(softmax(each / 0.7) for each in (places.drafted, places.said))).sum(1))
    for _ in range(300):
        correction, accepted = step(correction, places, adam)
    assert accepted.mean() > before.mean() + 0.2


def test_nothing_adds_nothing() -> None:
    logits = some(3).drafted
    for width in (0, WIDTH):
        correction = Correction.nothing(width, KNOWN)
        assert np.array_equal(correction.of(np.ones((3, width), np.float32), logits), logits)
        assert correction.of(np.ones((3, width), np.float32), logits) is not logits


# --------------------------------------------------------------------------------------------------------- the ring


def place(number: float, **changes) -> Place:
    drafted = np.zeros(KNOWN, np.float32)
    drafted[1] = number
    usual = Place(np.full(WIDTH, number, np.float32), drafted, drafted * 2, 0.5, 4.0)
    return usual._replace(**changes)


@pytest.mark.parametrize("size_bytes", [1, 500, 5000])
def test_a_ring_takes_no_more_than_its_bytes(size_bytes: int) -> None:
    ring = Ring(WIDTH, KNOWN, size_bytes)
    assert ring.size_bytes <= max(size_bytes, 64 + 2 * 2 * KNOWN)
    for number in range(300):
        ring.put(place(number + 1))
    assert (ring.count, len(ring)) == (300, ring.room)
    newest = ring.at(ring.newest(3))
    assert newest.drafted.max(1).tolist() == [0.0] * len(newest.z)  # a softmax does not mind
    assert (-newest.drafted.min(1)).tolist() == [298.0, 299.0, 300.0][-len(newest.z):]  # fmt: skip
    assert newest.temperature.shape == newest.weight.shape == (len(newest.z), 1)
    assert newest.weight[0, 0] == 4.0


def test_what_is_kept_is_what_was_said() -> None:
    ring, said = Ring(WIDTH, KNOWN), some(4)
    for row in range(4):
        ring.put(Place(said.z[row] * 1e6, said.drafted[row] + 3, said.said[row] - 7, 0.7, 1.0))
    kept = ring.at(ring.newest(4))
    assert np.allclose(softmax(kept.drafted), softmax(said.drafted), atol=2e-3)
    assert np.allclose(overlaps(learnt(), kept._replace(weight=said.weight)), overlaps(learnt(), said), atol=5e-3)


@pytest.mark.parametrize("changes", [
    {"z": np.full(WIDTH, np.nan, np.float32)}, {"said": np.full(KNOWN, np.nan, np.float32)},
    {"drafted": np.full(KNOWN, np.inf, np.float32)}, {"said": np.full(KNOWN, -np.inf, np.float32)},
], ids=["z", "nan", "inf", "nothing"])  # fmt: skip
def test_what_is_no_number_is_left_out(changes) -> None:
    ring = Ring(WIDTH, KNOWN)
    ring.put(place(1, **changes))
    assert ring.count == 0


def test_what_a_target_rules_out_has_no_chance() -> None:
    ring, said = Ring(WIDTH, KNOWN), np.zeros(KNOWN, np.float32)
    said[2:] = -np.inf
    ring.put(place(1, said=said))
    assert softmax(ring.at([0]).said)[0].tolist() == [0.5, 0.5] + [0.0] * (KNOWN - 2)


# --------------------------------------------------------------------------------------------------------- the time


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_takes_a_small_share_of_the_time() -> None:
    clock = Clock()
    allowance, taken = Allowance(clock=clock), 0
    for _ in range(5000):  # rounds of 10 ms
        clock.now += 0.01
        allowance.passed()
        if allowance.is_left:
            with allowance:
                clock.now += 0.003
            taken += 1
    assert allowance.seconds == pytest.approx(0.003 * taken)
    assert 0.015 < allowance.seconds / clock.now < 0.021


def test_nothing_is_saved_up_while_nobody_writes() -> None:
    clock = Clock()
    allowance = Allowance(clock=clock)
    clock.now += 1e6
    allowance.passed()
    assert allowance.is_left
    with allowance:
        clock.now += 3 * MOST
    assert allowance.is_spent


# -------------------------------------------------------------------------------------------------------- the places


def law(**params) -> SamplingLaw:
    return SamplingLaw(sampling_params(params), Opening((0,), 3))


TREE = Proposal(np.array([4, 5, 6, 7]), np.array([ROOT, ROOT, 0, 1]), (None,) * 4)  # 4 6 | 5 7


@pytest.mark.parametrize(("tokens", "found"), [
    ([4, 6, 9], [Met(-1, 0, False), Met(0, 1, False), Met(2, 3, False)]),
    ([5, 9], [Met(-1, 0, False), Met(1, 2, True)]),
    ([9], [Met(-1, 0, True)]),
    ([4], [Met(-1, 0, False)]),
])  # fmt: skip
def test_places_along_the_text(tokens, found) -> None:
    assert list(met(tokens, TREE, Scores(np.zeros((5, 3)), proposal=TREE))) == found


def test_places_where_something_else_was_scored() -> None:
    """Rows are those of what was scored, from the text on as far as both go."""
    other = Proposal.chain([5, 7, 8])
    scores = Scores(np.zeros((4, 3)), proposal=other)
    assert list(met([5, 7, 8, 9], TREE, scores)) == [Met(-1, 0, False), Met(1, 1, False), Met(3, 2, False)]
    assert list(met([4, 6], TREE, scores)) == [Met(-1, 0, False)]
    assert list(met([9], TREE, replace(scores, proposal=NOTHING))) == [Met(-1, 0, True)]


class Told:
    listens = True

    def __init__(self) -> None:
        self.heard = []

    def saw(self, said, target, temperature, *, is_rejected) -> None:
        self.heard.append((*(float(each[0]) for each in said), float(target[0]), temperature, is_rejected))


@pytest.mark.parametrize(("params", "temperature"), [({}, 1.0), ({"temperature": 0.7}, 0.7),
                                                     ({"temperature": 0}, COLDEST)])  # fmt: skip
def test_a_round_is_told_once_it_has_ended(params, temperature) -> None:
    told = Told()
    seen, z, logits = Seen(told, law(**params)), np.array([1.0, 2.0]), np.array([3.0])
    seen.note(ROOT, z, logits)
    seen.note(1, z * 2, logits * 2)
    z[:] = logits[:] = 9  # a cell may overwrite what it returned
    assert not told.heard
    scores = Scores(np.arange(5.0)[:, None], proposal=TREE)
    seen.ended([5, 9], TREE, scores)
    assert told.heard == [(1.0, 3.0, 0.0, temperature, False), (2.0, 6.0, 2.0, temperature, True)]
    seen.ended([5, 9], TREE, scores)
    assert len(told.heard) == 2


def test_a_new_round_forgets_the_one_that_was_given_up() -> None:
    told = Told()
    seen = Seen(told, law())
    seen.note(ROOT, np.ones(1), np.ones(1))
    seen.note(0, np.ones(1), np.ones(1))
    seen.note(ROOT, np.full(1, 2.0), np.ones(1))
    seen.ended([4, 9], TREE, Scores(np.zeros((5, 1)), proposal=TREE))
    assert [heard[0] for heard in told.heard] == [2.0]


def test_one_of_some_that_were_kept_stands_for_all() -> None:
    refit = learner()
    said = np.ones(3, np.float32), np.zeros(2, np.float32)
    for _ in range(40):
        refit.saw(said, np.zeros(3, np.float32), 1.0, is_rejected=False)
    assert refit._ring.count == 40 // learning.OTHERS
    refit.saw(said, np.zeros(3, np.float32), 1.0, is_rejected=True)
    assert refit._ring.at(refit._ring.newest(2)).weight[:, 0].tolist() == [learning.OTHERS, 1.0]


# --------------------------------------------------------------------------------------------- whether it is believed


def fed(refit: Refit, rounds: int, target) -> None:
    said = np.ones(3, np.float32), np.log(np.array([0.5, 0.5], np.float32))
    chance = np.random.default_rng(3)
    for number in range(rounds):
        logits = np.log(np.array(target(number), np.float32)) + chance.normal(size=3).astype(np.float32) / 10
        refit.saw(said, logits, 1.0, is_rejected=True)
        refit.between_rounds()


def test_what_helps_is_drafted_with() -> None:
    refit = Refit(ShowingCell(), 3, allowance=ample())
    fed(refit, 15, lambda _: (0.8, 0.1, 0.1))
    assert not refit.helps
    assert refit.correction is refit._start
    fed(refit, 600, lambda _: (0.8, 0.1, 0.1))
    assert refit.helps
    before, after = refit.learnt.acceptance
    assert after > before + 0.1
    assert refit.learnt.places > 500
    assert refit.correction.is_sound


def test_what_does_not_help_is_not() -> None:
    """The head is right on the whole, and every place is another: there is nothing to learn."""
    refit = Refit(ShowingCell(), 3, allowance=ample())
    fed(refit, 400, lambda number: (0.5, 1e-3, 0.5))
    assert not refit.helps
    assert refit.learnt.places > 300


def test_a_number_that_is_none_ends_it() -> None:
    refit = Eager(ShowingCell(), 3)
    fed(refit, 40, lambda _: (0.8, 0.1, 0.1))
    assert refit.helps
    refit._learnt = refit._learnt._replace(bias=np.full(2, np.nan, np.float32))
    with np.errstate(invalid="ignore"):
        fed(refit, 8, lambda _: (0.8, 0.1, 0.1))
    assert not refit.is_on
    assert not refit.listens
    assert refit.correction.is_sound
    steps = len(refit.steps)
    fed(refit, 40, lambda _: (0.8, 0.1, 0.1))
    assert len(refit.steps) == steps


def test_without_time_nothing_is_learnt() -> None:
    refit = Refit(ShowingCell(), 3, allowance=Allowance(1e-9, count().__next__))
    fed(refit, 100, lambda _: (0.8, 0.1, 0.1))
    assert refit.learnt.places == 0
    assert not refit.listens


def test_places_of_many_texts_leave_time_for_steps() -> None:
    """Of which there are more in a round than may be kept in its share of the time."""
    ticks = count(0, 1e-4)
    refit = Refit(ShowingCell(), 3, allowance=Allowance(clock=ticks.__next__))
    logits = np.zeros(2, np.float32)
    for _ in range(3000):
        for _ in range(50):
            if refit.listens:
                refit.saw((np.ones(3, np.float32), logits), np.zeros(3, np.float32), 1.0, is_rejected=True)
        for _ in range(100):
            next(ticks)  # a pass of the target
        refit.between_rounds()
    assert refit.learnt.places > 500


# ------------------------------------------------------------------------------------------------- what a cell shows


def test_what_a_cell_shows() -> None:
    states = np.eye(3, dtype=np.float32)
    assert shown(TableCell(), states).shape == (3, 0)
    assert shown(Chosen(TableCell(), np.array([0])), states).shape == (3, 0)
    for cell in (ShowingCell(), Chosen(ShowingCell(), np.array([0, 1])), learner().cell()):
        assert np.array_equal(shown(cell, states), states)

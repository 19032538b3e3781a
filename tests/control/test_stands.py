"""What a controller says beforehand is what it decides then."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from control.worlds import Source, World, table
from truedraw.control.fixed import FixedController
from truedraw.control.payoff import PayoffController
from truedraw.protocol import Asker, Choice, Stand, Stands

ROUNDS = 600
PASS = 0.003  # seconds
SHORT = 1e-4  # so few that to ask is dear


def drafter(kept: float, passes: float) -> Source:
    return Source(lambda *_: kept, seconds=passes * PASS, is_certain=False)


def world(seconds: float = PASS, **sources: Source) -> World:
    return World(sources, cost=lambda rows: seconds * table(rows))


def stand_of(controller: Stands, sample: int) -> Stand | None:
    """Of a text that is alone."""
    found = controller.stands([sample])
    return None if found is None else found[0]


class HeldToIt:
    """Asks a controller before each round, and compares what it decides in all rounds that it spoke of."""

    def __init__(self, controller) -> None:
        self.controller = controller
        self.said: list[Stand] = []
        self._left, self._stand = 0, Stand(0)

    def rest(self, samples: Sequence[int]) -> Sequence[int]:
        (sample,) = samples
        now = stand_of(self.controller, sample)
        assert now == stand_of(self.controller, sample)  # it changes nothing
        if self._left:  # as it was said before, a round less
            assert now is not None
            assert (now.source, now.tokens, now.rounds) == (self._stand.source, self._stand.tokens, self._left)
        if now is not None:
            self.said.append(now)
            self._stand, self._left = now, now.rounds - 1
        self._now = now
        found = self.controller.rest(samples)
        if now is not None:
            assert (found[0] > 0) == (now.rest > 0) == (not now.tokens)
            assert found[0] == now.rest or now.rest == 1
        return found

    def budget(self, askers: Sequence[Asker]) -> list[dict[str, int]]:
        found = self.controller.budget(askers)
        if self._now is not None:
            assert found == [{}]
        return found

    def choose(self, askers, offers, seconds) -> list[Choice]:
        found = self.controller.choose(askers, offers, seconds)
        if self._now is not None:
            assert found == [Choice(self._now.source, tokens=self._now.tokens)]
        return found

    def observe(self, rounds) -> None:
        self.controller.observe(rounds)


@pytest.mark.parametrize(
    ("kept", "passes", "drafts"), [(0.7, 0.1, True), (0.02, 0.5, False)], ids=["it pays", "it does not"]
)
@pytest.mark.parametrize("beside", [False, True])
def test_one_that_weighs_payoffs(kept, passes, drafts, beside) -> None:
    """A drafter of drawn tokens, alone and beside one whose offers have to be looked at now and then."""
    more = {"suffix": Source(lambda *_: 0.1, found=0.2, seconds=0.001 * PASS)} if beside else {}
    controller = HeldToIt(PayoffController())
    world(PASS if drafts else SHORT, head=drafter(kept, passes), **more).run(controller, ROUNDS)
    assert isinstance(controller.controller, Stands)
    asked = [stand for stand in controller.said if stand.tokens]
    plain = [stand for stand in controller.said if stand.rest]
    assert len(controller.said) > ROUNDS / 2
    assert (len(asked) > len(plain)) == drafts
    assert max(stand.rounds for stand in (asked if drafts else plain)) >= 8


def test_for_another_text_nothing_stands() -> None:
    controller = PayoffController()
    world(head=drafter(0.7, 0.1)).run(controller, ROUNDS)
    known = {sample: stand_of(controller, sample) for sample in (0, 1)}
    assert known[1] is None or not known[1].tokens
    for _ in range(40):
        if (stand := stand_of(controller, 0)) is not None and stand.tokens:
            assert stand_of(controller, 1) is None
            return
        world(head=drafter(0.7, 0.1)).run(controller, 1)
    pytest.fail("nothing ever stood")


@pytest.mark.parametrize("tokens", [0, 3])
def test_one_number_for_ever(tokens) -> None:
    stand = stand_of(FixedController(tokens), 0)
    assert stand.tokens == tokens
    assert stand.rounds > 1_000_000
    assert (stand.rest > 0) == (tokens == 0)

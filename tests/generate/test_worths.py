"""What drafters say their trees are worth: who hears it, and what is believed."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw import load
from truedraw.control.experience import Experience
from truedraw.control.payoff import PayoffController
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.ngram_lm import NgramLMDrafter
from truedraw.draft.siblings import Siblings
from truedraw.draft.site import told
from truedraw.generate.guarded_drafter import GuardedDrafter
from truedraw.protocol import Asker, Choice, Proposal, Round, Shapes
from truedraw.registry import BUILT_IN
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.step import Opening

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(("worths", "believed"), [
    (None, None), ((), []), (((0.5, 1), (0.3, 2), (0.1, 2)), [(0.5, 1), (0.3, 2), (0.1, 2)]),
    ([(0.5, 1), (0.6, 1)], [(0.5, 1), (0.5, 1)]), ([(2.0, 1), (0.5, 1)], []), ([(-0.1, 1)], []), ([(INF, 1)], []),
    ([(0.5, 1), (NAN, 1), (0.1, 1)], [(0.5, 1)]), ([(0.5, 1), (0.0, 1), (0.1, 1)], [(0.5, 1)]),
    ([(0.5, 1), (0.4, 0)], [(0.5, 1)]), (np.array([[0.5, 1.0], [0.2, 2.0]]), [(0.5, 1), (0.2, 2)]),
    (tuple((0.9 - n / 10, 1 + n) for n in range(6)), [(0.9 - n / 10, 1 + n) for n in range(4)]),
], ids=str)  # fmt: skip
def test_what_is_believed(worths, believed) -> None:
    assert told(worths, 4) == believed


@pytest.mark.parametrize(
    ("levels", "believed"), [((1, 2, 1, 3), 4), ((1, 3), 1), ((0, 1), 0), ((2,), 0), ((1, 2, 2), 3)]
)
def test_levels_that_are_believed(levels, believed) -> None:
    pairs = [(0.5, level) for level in levels]
    assert told(pairs, 9) == pairs[:believed]


class Boasts(NgramDrafter):
    """Its states tell their worth, as its class says."""

    says = staticmethod(lambda nodes: ((0.4, 1),) * nodes)

    def open(self, tokens, law):
        state = super().open(tokens, law)
        state.worths = self.says
        return state


def told_by(drafter, nodes, fault=None):
    """What a guard hears of a text's state."""
    guard = GuardedDrafter(drafter, 9)
    state = guard.open([0, 1], SamplingLaw(sampling_params({}), Opening((0,), 9)))
    guard.fault = fault
    return state.worths(nodes)


def test_a_guard_passes_it_on() -> None:
    assert told_by(Boasts(), 2) == [(0.4, 1), (0.4, 1)]
    assert told_by(NgramDrafter(), 2) is None
    assert told_by(Boasts(), 2, "a fault") is None
    trees = NgramLMDrafter(9, trees=True, siblings=Siblings)
    state = trees.open([0, 1], SamplingLaw(sampling_params({}), Opening((0,), 9)))
    assert isinstance(state, Shapes)
    assert told_by(trees, 3) == list(state.worths(3))
    assert told_by(NgramLMDrafter(9), 3) is None  # chains are told by position


FAULTS = {
    "raises": lambda nodes: 1 / 0,
    "no numbers": lambda nodes: [("a", 1)],
    "no levels": lambda nodes: [0.5],
    "no sequence": lambda nodes: 0.5,
}


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_drafter_that_fails_to_tell_ends_drafting_and_not_the_text(monkeypatch, fault, shared) -> None:
    monkeypatch.setitem(BUILT_IN["drafters"], "boasts", f"{__name__}:Boasts")
    monkeypatch.setattr(Boasts, "says", staticmethod(FAULTS[fault]))
    monkeypatch.setattr("truedraw.control.experience.CHEAP", 0.0)  # nobody asks what certain drafts are worth
    settings = {"speculative": {"method": "boasts"}, "seed": 3, "max_tokens": 20, "ignore_eos": True}
    with load("tabular") as toy:
        plain = toy.generate("the cat sat", **{**settings, "speculative": False})
        if shared:
            with toy.batch() as batch:
                run = batch.add("the cat sat", **settings)
                while batch.step():
                    pass
            result = run.result()
        else:
            result = toy.generate("the cat sat", **settings)
    assert result.fallback.startswith("boasts" if "boasts" in result.fallback else "worths: ")
    assert result.text == plain.text


# ------------------------------------------------------------------------------------------------- the controller


def settled(controller: PayoffController, asker: Asker, rounds: int = 60) -> Choice:
    """What it takes of a costly drafter after so many rounds in which half of each draft was kept."""
    choice = Choice()
    for _ in range(rounds):
        offers = [{name: Proposal.chain([0] * n, [np.ones(1)] * n) for name, n in wish.items()}
                  for wish in controller.budget([asker])]  # fmt: skip
        (choice,) = controller.choose([asker], offers, dict.fromkeys(offers[0], 0.01))
        drafted = choice.tokens
        controller.observe([Round(0, (0,), (), (), (), drafted, drafted // 2, seconds=1.0 + 0.01 * drafted,
                                  draft_seconds=0.0, pass_rows=1 + drafted,
                                  source=choice.source if drafted else "")])  # fmt: skip
    return choice


def side_by_side(*worths: float) -> tuple[tuple[float, int], ...]:
    """Candidates at one place."""
    return tuple((worth, 1) for worth in worths)


def test_a_source_that_knows_is_given_as_much_as_its_trees_are_worth() -> None:
    little, much = side_by_side(0.3, 0.005, 0.004), side_by_side(0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15)
    taken = [settled(PayoffController(Experience()), Asker(0, 7, ("it",), {"it": worths})).tokens
             for worths in (little, much)]  # fmt: skip
    assert taken[0] < taken[1]
    assert taken[0] <= 1
    assert taken[1] >= 5


def test_each_text_is_told_its_own_worth_and_rooms_are_kept() -> None:
    controller, most = PayoffController(Experience()), 0
    worths = side_by_side(0.6, 0.5, 0.4, 0.3, 0.25)
    askers = [Asker(0, 5, ("it",), {"it": worths}), Asker(1, 2, ("it",), {"it": worths[:2]}), Asker(2, 0, ("it",), {})]
    for _ in range(60):
        offers = [{name: Proposal.chain([0] * n, [np.ones(1)] * n) for name, n in wish.items()}
                  for wish in controller.budget(askers)]  # fmt: skip
        choices = controller.choose(askers, offers, dict.fromkeys({n for o in offers for n in o}, 0.01))
        rows = 3 + sum(choice.tokens for choice in choices)
        controller.observe([Round(i, (0,), (), (), (), c.tokens, 0, seconds=rows / 30, pass_rows=rows,
                                  source=c.source if c.tokens else "") for i, c in enumerate(choices)])  # fmt: skip
        assert [choice.tokens <= asker.room for choice, asker in zip(choices, askers, strict=True)] == [True] * 3
        most = max(most, choices[0].tokens)
    assert most > 2

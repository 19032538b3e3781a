"""The law of a text when a controller chooses among drafters: on every branch, with drafts unlike the target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from enumeration import law_of, total_variation
from known_laws import Scenario, TableDrafter, text_law
from truedraw.control.costs import KNOWN, PassCosts
from truedraw.control.experience import Experience
from truedraw.control.fixed import FixedController
from truedraw.control.offers import Offer
from truedraw.control.payoff import PayoffController
from truedraw.control.texts import Texts
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.several import SeveralDrafters, Source
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadProposal
from truedraw.generate.loop import rounds
from truedraw.generate.sample import Parts, Together
from truedraw.protocol import Choice, Proposal, Purpose
from truedraw.registry import find
from truedraw.testing.runs import PROMPT, started

ROUNDING = 1e-12
LIKELY, UNLIKELY = {(): [0.3, 0.7]}, {(): [0.6, 0.4]}
CASE = Scenario("two drafts", {(0,): [0.5, 0.5], (1,): [0.2, 0.8], (): [0.5, 0.5]}, LIKELY, max_tokens=3)
SECONDS = 0.01  # of a call
STEEP = {rows: 0.75 + 0.25 * rows for rows in (1, 2, 4, 8, 16)}
STEPPED = {1: 1.0, 2: 2.1, 4: 2.2, 8: 2.3, 16: 2.6}


class Stopping(TableDrafter):
    """Draws until it has drawn a 0, which it keeps: a legal rule, under which the length of a draft is chance."""

    def chain(self, state, budget, randomness):
        tokens, laws = [], []
        while len(tokens) < budget and 0 not in tokens:
            laws.append(self.law_after(state, [*state.text, *tokens]))
            tokens.append(randomness.choose(laws[-1], Purpose.DRAFT, len(state.text), len(tokens)))
        return Proposal.chain(tokens, laws)


class Certain(TableDrafter):
    """Draws a token, and hands it over as a certain one, or nothing at all."""

    def chain(self, state, budget, randomness):
        token = randomness.choose(self.law_after(state, state.text), Purpose.DRAFT, len(state.text), 0)
        return Proposal.chain([token] if token else [])


def scripted(done):
    """A round that took what every round takes."""
    late = None if done.late_seconds is None else SECONDS
    return replace(done, engine_seconds=1.0, seconds=1 + SECONDS, draft_seconds=SECONDS, late_seconds=late)


class Timed(PayoffController):
    """With scripted times, so that a branch can be walked again."""

    def choose(self, askers, offers, seconds):
        return super().choose(askers, offers, dict.fromkeys(seconds, SECONDS))

    def observe(self, done):
        super().observe([scripted(each) for each in done])


class Cutting(FixedController):
    """Takes the first token of every offer."""

    def choose(self, askers, offers, seconds):
        return [
            next((Choice(name, np.array([0])) for name, made in offer.items() if len(made)), Choice())
            for offer in offers
        ]


SOURCES = {
    "two that draw": {"a": TableDrafter(LIKELY), "b": TableDrafter(UNLIKELY)},
    "lookup and two that draw": {"n": NgramDrafter(1, 2), "a": TableDrafter(LIKELY), "b": TableDrafter(UNLIKELY)},
    "lengths by chance": {"a": Stopping(LIKELY), "b": TableDrafter(UNLIKELY)},
    "certain or nothing, then a law": {"s": Certain(UNLIKELY), "b": TableDrafter(LIKELY)},
}


def known(table, plain: int = KNOWN + 1, certain: tuple[str, ...] = ()) -> Experience:
    """`plain` passes measured, and what is said about drafters, rightly or not."""
    found = Experience(PassCosts(table))
    for _ in range(plain):
        found.costs.add(1, table[1])
    for name in certain:
        for _ in range(3):
            found.of(name).pace.add(1e-4, 1)
    return found


def law(sources, make, rule="traversal", case=CASE):
    engine, verifier = TabularEngine(case.target), find("verifiers", rule)()
    drafter = SeveralDrafters.of({name: Source(each, each) for name, each in sources.items()})

    def run(walker):
        sample = started(Parts(drafter, verifier), case, walker, 0, engine)
        return tuple(token for step in rounds(engine, make(), Together([sample])) for r in step for token in r.tokens)

    return law_of(run)


CONTROLLERS = {
    "fixed": lambda: FixedController(2),
    "fresh": lambda: Timed(known(STEEP)),
    "nothing measured": lambda: Timed(known(STEEP, plain=0)),
    "believes that they are certain": lambda: Timed(known(STEEP, certain=("a", "b", "s"))),
    "the same with stepped costs": lambda: Timed(known(STEPPED, certain=("a", "b", "s"))),
}


@pytest.mark.parametrize("controller", CONTROLLERS)
@pytest.mark.parametrize("sources", SOURCES)
def test_the_law_is_the_targets(sources: str, controller: str) -> None:
    for rule in ("traversal", "token"):
        found = law(SOURCES[sources], CONTROLLERS[controller], rule)
        assert total_variation(found, text_law(CASE, PROMPT)) < ROUNDING


@pytest.mark.parametrize("rule", ["traversal", "token"])
def test_sources_that_are_asked_in_turn_keep_the_law(rule: str) -> None:
    silent = {"n": NgramDrafter(2, 2), "s": Certain(UNLIKELY)}
    sources = {**silent, "b": TableDrafter(LIKELY), "a": TableDrafter(UNLIKELY)}
    assert total_variation(law(sources, CONTROLLERS["fixed"], rule), text_law(CASE, PROMPT)) < ROUNDING


def test_a_controller_may_not_cut_what_was_drawn() -> None:
    """It would decide by what came how much of it is submitted."""
    with pytest.raises(BadProposal, match="taken whole"):
        law({"a": Stopping(LIKELY)}, lambda: Cutting(3))


class AllWeighed(Texts):
    """Drawn offers like others."""

    def _offer(self, text, source, proposal):
        return Offer(source, [1.0] * len(proposal), True)


class Weighing(Timed):
    """A bug this one had: drawn offers were weighed like others, and cut to the rows there were."""

    def __init__(self, experience):
        super().__init__(experience)
        self._texts = self._weighing._texts = AllWeighed(experience)


def test_weighing_what_was_drawn_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def settle(each, choice):
        taken = each.offers.get(choice.source, Proposal.chain(()))
        taken = taken.only(choice.nodes) if choice.nodes is not None else taken
        each.sample.proposal, each.sample.forced, each.sample.source = taken, 0, choice.source

    monkeypatch.setattr("truedraw.generate.guesses.settle", settle)
    longer = replace(CASE, max_tokens=4)
    biased = [
        total_variation(
            law({"a": Stopping(LIKELY)}, lambda table=table: Weighing(known(table, certain=("a",))), case=longer),
            text_law(longer, PROMPT),
        )
        for table in (STEEP, STEPPED)
    ]
    assert max(biased) > 0.01

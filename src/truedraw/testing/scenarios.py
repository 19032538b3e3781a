"""Scenarios whose law is known: tables of a target and a draft, a drafter over a table, and the law by definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from truedraw.engine.tabular import TabularEngine
from truedraw.errors import BadParameter
from truedraw.protocol import DraftState, Floats, Law, Proposal, Purpose, Randomness, Scores, Work
from truedraw.sampling.params import SamplingParams, sampling_params
from truedraw.sampling.step import Step
from truedraw.testing.tables import Table, lookup, random_table, transformed


@dataclass(frozen=True)
class Scenario:
    """A target, a draft that differs from it, and how to sample. `oracle` says p of a row by definition."""

    name: str
    target: Table
    draft: Table
    params: Mapping[str, Any] = field(default_factory=dict)
    draft_tokens: int = 3
    max_tokens: int = 4
    end_ids: tuple[int, ...] = ()
    masks: tuple[Step, ...] = ()  # further steps of the law, a grammar's for instance

    @cached_property
    def sampling(self) -> SamplingParams:
        """Its parameters: a law is enumerated in thousands of runs."""
        return sampling_params(self.params)

    @cached_property
    def engine(self) -> TabularEngine:
        """Of the target; it holds no state."""
        return TabularEngine(self.target)

    def __str__(self) -> str:
        return self.name


def text_law(scenario: Scenario, prompt: Sequence[int]) -> dict[tuple[int, ...], float]:
    """The law of the emitted text by definition: draw from the target until an end token or the limit."""
    law: dict[tuple[int, ...], float] = {}
    open_texts: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while open_texts:
        text, weight = open_texts.pop()
        if len(text) == scenario.max_tokens or (text and text[-1] in scenario.end_ids):
            law[text] = law.get(text, 0.0) + weight
            continue
        p = transformed(lookup(scenario.target, [*prompt, *text]), **scenario.params)
        open_texts += [((*text, token), weight * w) for token, w in enumerate(p) if w > 0]
    return law


class TableState:
    """protocol.DraftState over a table."""

    def __init__(self, tokens: Sequence[int], law: Law) -> None:
        self.text, self.law = list(tokens), law

    def commit(self, tokens: Sequence[int], scores: Scores) -> None:
        """Append, and move the law on."""
        self.text.extend(tokens)
        for token in tokens:
            self.law = self.law.after(token)

    def ahead(self, tokens: Sequence[int]) -> TableState:
        """protocol.LooksAhead: a table needs no scores."""
        state = TableState([*self.text, *tokens], self.law)
        for token in tokens:
            state.law = state.law.after(token)
        return state


class TableDrafter:
    """A drafter that samples a chain from its own table, under the same transforms as the target."""

    def __init__(self, table: Table) -> None:
        self.engine = TabularEngine(table)

    def open(self, tokens: Sequence[int], law: Law) -> TableState:
        """The text and the target's law after it."""
        return TableState(tokens, law)

    def propose(
        self, states: Sequence[DraftState], budgets: Sequence[int], randomness: Sequence[Randomness]
    ) -> list[Proposal]:
        """A chain of `budget` tokens a state, fewer where the law leaves nothing of the table."""
        return [self.chain(*each) for each in zip(states, budgets, randomness, strict=True)]

    def chain(self, state: Any, budget: int, randomness: Randomness) -> Proposal:
        """Each token drawn from the table's row after the one before."""
        tokens: list[int] = []
        laws: list[Floats] = []
        for node in range(budget):
            try:
                q = self.law_after(state, [*state.text, *tokens])
            except BadParameter:
                break
            tokens.append(randomness.choose(q, Purpose.DRAFT, len(state.text), node))
            laws.append(q)
        return Proposal.chain(tokens, laws)

    def law_after(self, state: Any, text: list[int]) -> Floats:
        """q [vocab] after `text`, which begins with the state's own."""
        logits = self.engine.forward([Work(self.engine.open(text))])[0].logits[0]
        law: Law = state.law
        for token in text[len(state.text) :]:
            law = law.after(token)
        return law(logits)


DISJOINT = Scenario("disjoint supports", {(): [0.5, 0.5, 0, 0]}, {(): [0, 0, 0.5, 0.5]})
ZEROS = Scenario("zeros in p", random_table(3, 1, 3, zeros=0.5), random_table(3, 1, 4))
SCENARIOS = [
    Scenario("two tokens, draft of four", random_table(2, 2, 1), random_table(2, 1, 2), draft_tokens=4, max_tokens=5),
    Scenario("three tokens, cold", random_table(3, 1, 5), random_table(3, 1, 6), {"temperature": 0.6}),
    Scenario("three tokens, hot, end of text", random_table(3, 1, 7), random_table(3, 1, 8), {"temperature": 1.7},
             end_ids=(1,)),
    Scenario("four tokens, top_k", random_table(4, 1, 9), random_table(4, 0, 10), {"top_k": 2}),
    Scenario("three tokens, top_p", random_table(3, 1, 11), random_table(3, 1, 12), {"top_p": 0.8}),
    Scenario("four tokens, min_p, short draft", random_table(4, 1, 13), random_table(4, 1, 14), {"min_p": 0.3},
             draft_tokens=1, max_tokens=3),
    Scenario("three tokens, typical_p", random_table(3, 1, 15), random_table(3, 1, 16), {"typical_p": 0.7}),
    Scenario("greedy", random_table(3, 1, 17), random_table(3, 1, 18), {"temperature": 0.0}),
    Scenario("limit inside a draft", random_table(3, 1, 19), random_table(3, 1, 20), draft_tokens=4, max_tokens=2),
    Scenario("draft equal to target", random_table(3, 1, 21), random_table(3, 1, 21)),
    Scenario("certain target", {(): [0, 1, 0]}, {(): [0.2, 0.5, 0.3]}),
    DISJOINT,
    ZEROS,
]  # fmt: skip

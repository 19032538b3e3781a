"""The exact law of texts drafted by heads of each kind, over tables, and the contract of a drafter."""

from __future__ import annotations

import numpy as np
import pytest

from draft.given_trees import Given, size
from draft.head.seeing import KNOWN, ROUNDING, TARGET, VISIBLE, Fed, case, law_of_rounds, law_of_text
from enumeration import total_variation
from known_laws import Scenario, lookup, random_table, text_law
from truedraw.draft.head.drafter import HeadDrafter
from truedraw.draft.head.kinds.at_once import AtOnce
from truedraw.draft.siblings import Settled
from truedraw.draft.trees import Trees
from truedraw.protocol import Proposal
from truedraw.testing import drafter_checks

LEVELS = 3
SAYS = [random_table(3, 2, 60 + level) for level in range(LEVELS)]
CHAIN = (((0, 1),), ((0, 1),), ((0, 1),))
TREE = (((0, 2),), ((0, 1), (1, 1)))


def logs(table, texts, tokens):
    return np.log([[lookup(table, text)[known] for known in tokens] for text in texts])


class MedusaTable(AtOnce):
    """Each level knows the last two tokens of the row that was scored, and no token behind it."""

    def __init__(self, tokens, vocab=3) -> None:
        super().__init__(np.array(tokens, np.int64), self._levels)
        self._tables = SAYS if vocab == 3 else [random_table(vocab, 1, 60 + level) for level in range(LEVELS)]

    def _texts(self, features, last):
        return list(zip(features[:, 1].argmax(1).tolist(), features[:, 0].argmax(1).tolist(), strict=True))

    def _levels(self, features, last):
        texts = self._texts(features, last)
        return np.stack([logs(table, texts, self.tokens.tolist()) for table in self._tables], 1)


class ParallelTable(MedusaTable):
    """Each level knows the last token that the target drew, and the one before."""

    def _texts(self, features, last):
        return list(zip(features[:, 0].argmax(1).tolist(), last.tolist(), strict=True))


class HydraTable:
    """Each level has a table of its own and knows all tokens so far: a state is these, one-hot, wider at each level."""

    def __init__(self, tokens, vocab=3) -> None:
        self.tokens, self._vocab = np.array(tokens, np.int64), vocab
        self._tables = [random_table(vocab, 2 if vocab == 3 else 1, 70 + level) for level in range(LEVELS)]

    def begin(self, features, last):
        return self.step(features[:, 0].astype(np.float32), last)

    def step(self, states, tokens):
        after = np.concatenate([states, np.eye(self._vocab, dtype=np.float32)[tokens]], 1)
        texts = after.reshape(len(after), -1, self._vocab).argmax(2).tolist()
        level = after.shape[1] // self._vocab - 2
        return after, logs(self._tables[level], texts, self.tokens.tolist())


KINDS = {"medusa": MedusaTable, "parallel": ParallelTable, "hydra": HydraTable}


def head(kind, shape, tokens, drafter=HeadDrafter):
    return drafter.over(KINDS[kind](tokens), Given(shape), 3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", ["token", "block", "traversal", "coupled", "multipath"])
def test_chains_keep_the_law(rule, kind) -> None:
    make = lambda: head(kind, CHAIN, KNOWN["two of three"])  # noqa: E731
    assert total_variation(*law_of_rounds(case(CHAIN), make, rule)) < ROUNDING


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", ["traversal", "recursive", "coupled"])
@pytest.mark.parametrize("known", KNOWN)
def test_trees_keep_the_law(known, rule, kind) -> None:
    if rule == "coupled" and known == "all":
        return  # every order of arrivals of three tokens at each place is too many texts
    make = lambda: head(kind, TREE, KNOWN[known])  # noqa: E731
    assert total_variation(*law_of_rounds(case(TREE, {"temperature": 0.7}), make, rule)) < ROUNDING


@pytest.mark.parametrize("kind", KINDS)
def test_whole_texts_keep_the_law(kind) -> None:
    """With trees of any size that the end of a text leaves room for."""
    scenario = Scenario("whole", TARGET, {}, draft_tokens=2, max_tokens=4)

    def make():
        return HeadDrafter.over(KINDS[kind]((0, 2)), Trees(Settled((0.5, 0.3)), LEVELS), 3)

    assert total_variation(law_of_text(scenario, make), text_law(scenario, (0, 1, 0))) < ROUNDING


class Level(HeadDrafter):
    """Hands over the law of the level before for tokens of the next one."""

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        return [Proposal(p.tokens, p.parents, p.laws[:1] + p.laws[:-1], p.confidence) for p in found]


@pytest.mark.parametrize("kind", KINDS)
def test_a_law_of_another_level_is_caught(kind) -> None:
    make = lambda: head(kind, CHAIN, KNOWN["all"], Level)  # noqa: E731
    assert total_variation(*law_of_rounds(case(CHAIN), make, "traversal")) > VISIBLE


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trees", ["best", "chains", "given"])
def test_they_keep_the_contract_of_a_drafter(trees, kind) -> None:
    shapes = {
        "best": lambda: Trees(Settled((0.5, 0.4, 0.3)), LEVELS),
        "chains": lambda: Trees(Settled((0.5,)), LEVELS, chains=True),
        "given": lambda: Given(TREE),
    }
    for check in drafter_checks(lambda: Fed.over(KINDS[kind]((0, 2)), shapes[trees](), 3), 3):
        check()


@pytest.mark.parametrize("kind", KINDS)
def test_over_many_tokens_and_coupled_too(kind) -> None:
    cell = KINDS[kind](range(0, 50, 2), 50)
    for check in drafter_checks(lambda: Fed.over(cell, Trees(Settled((0.5, 0.4)), LEVELS), 50, coupled=True), 50):
        check()


def test_shapes_of_these_tests_are_as_deep_as_the_tables() -> None:
    assert size(CHAIN) == len(CHAIN) == LEVELS

"""The exact law of texts drafted by an EAGLE draft over tables: every branch of whole rounds and runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from draft.given_trees import Given
from draft.head.seeing import (
    KNOWN,
    PROMPT,
    ROUNDING,
    SAYS,
    TARGET,
    VISIBLE,
    SeeingEngine,
    case,
    features,
    law_of_rounds,
    law_of_text,
)
from enumeration import total_variation
from generate.coupled_noise import CoupledWalker
from known_laws import Scenario, lookup, random_table, text_law
from truedraw.draft.eagle.drafter import EagleDrafter
from truedraw.draft.eagle.network import Asked
from truedraw.draft.knobs import Knobs
from truedraw.draft.siblings import Settled, Siblings
from truedraw.draft.trees import Trees
from truedraw.protocol import Drafter, DraftState, Proposal, Scores, Shapes
from truedraw.registry import find
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening
from truedraw.testing import drafter_checks, run

CHAIN = (((0, 1),), ((0, 1),), ((0, 1),))
TREES = {
    "two": (((0, 2),),),
    "caterpillar": (((0, 2),), ((0, 1),)),
    "behind the second": (((0, 2),), ((1, 2),)),
    "two levels": (((0, 2),), ((0, 2), (1, 1))),
    "three levels": (((0, 1),), ((0, 2),), ((0, 1), (1, 1))),
}


class TableNetwork:
    """log q(token | the last two tokens), and a little of how often each token stood in the rows that it attends to."""

    kv_heads, head_dim, pull = 1, 3, 0.4

    def __init__(self, tokens=KNOWN["two of three"], table=SAYS) -> None:
        self.tokens, self.table = np.array(tokens, np.int64), table
        self.rows: list[int] = []

    def start(self, hidden):
        return hidden[:, 0].copy()  # the row's own token, one-hot

    def before(self, states, tokens, positions):
        assert len(states) == len(tokens) == len(positions)
        self.rows.append(len(tokens))
        token = np.eye(3, dtype=np.float32)[tokens]
        return Asked(np.concatenate([states, token], 1), np.zeros((len(tokens), 1, 3), np.float32),
                     np.zeros((len(tokens), 1, 3), np.float32), token[:, None])  # fmt: skip

    def after(self, mixed, residual):
        pairs = zip(residual[:, :3].argmax(1).tolist(), residual[:, 3:].argmax(1).tolist(), strict=True)
        said = np.log([[lookup(self.table, pair)[known] for known in self.tokens] for pair in pairs])
        return residual[:, 3:], (said + self.pull * mixed[:, self.tokens]).astype(np.float32)


def eagle(shape, tokens=KNOWN["two of three"], kind=EagleDrafter, **more) -> EagleDrafter:
    return kind.over(TableNetwork(tokens), Given(shape), 3, **more)


def distance(*args, **more) -> float:
    return total_variation(*law_of_rounds(*args, **more))


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "recursive", "kseq", "multipath", "coupled"])
@pytest.mark.parametrize("known", KNOWN)
def test_chains_keep_the_law(known, rule) -> None:
    assert distance(case(CHAIN), lambda: eagle(CHAIN, KNOWN[known]), rule) < ROUNDING


@pytest.mark.parametrize("rule", ["traversal", "recursive", "coupled"])
@pytest.mark.parametrize("shape", TREES)
def test_trees_keep_the_law(shape, rule) -> None:
    assert distance(case(TREES[shape]), lambda: eagle(TREES[shape]), rule) < ROUNDING


@pytest.mark.parametrize("params", [{"temperature": 0.6}, {"top_k": 2}, {"top_p": 0.8}], ids=str)
@pytest.mark.parametrize("shape", ["two", "caterpillar"])
def test_other_laws_are_kept(shape, params) -> None:
    assert distance(case(TREES[shape], params), lambda: eagle(TREES[shape], KNOWN["all"])) < ROUNDING


@pytest.mark.parametrize("settings", [
    {"draft_temperature": 1.6}, {"draft_top_k": 1}, {"draft_sample_method": "greedy"}, {"draft_stop_below": 0.6},
], ids=str)  # fmt: skip
def test_laws_of_its_own_keep_the_law(settings) -> None:
    shape = TREES["two levels"]
    assert distance(case(shape, {"temperature": 0.8}), lambda: eagle(shape, knobs=Knobs(**settings))) < ROUNDING


QUARTERS = {(): [0.5, 0.25, 0.25], (0,): [0.25, 0.25, 0.5], (1,): [0.25, 0.5, 0.25], (2,): [0.75, 0.0, 0.25]}


@pytest.mark.parametrize("rule", ["coupled", "traversal"])
def test_drafts_with_the_targets_noise_keep_the_law(rule) -> None:
    shape = TREES["two"]
    found = distance(case(shape, target=QUARTERS), lambda: eagle(shape, coupled=True), rule, kind=CoupledWalker)
    assert found < ROUNDING


SHORT = Scenario("short", TARGET, {}, draft_tokens=3, max_tokens=5)


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
def test_the_law_is_kept_over_many_rounds_whose_shapes_are_learnt(monkeypatch, rule) -> None:
    for name, value in (("EVERY", 1), ("PRIOR_TRIES", 0.7), ("MEMORY", 2)):
        monkeypatch.setattr(f"truedraw.draft.siblings.{name}", value)
    made = lambda: EagleDrafter.over(TableNetwork(), Trees(Siblings((0.5, 0.2)), 3), 3)  # noqa: E731
    assert total_variation(law_of_text(SHORT, made, rule), text_law(SHORT, PROMPT)) < ROUNDING


def test_two_texts_in_one_call_stay_independent() -> None:
    scenario = Scenario("two", random_table(3, 1, 41), {}, draft_tokens=2, max_tokens=2)
    shape = TREES["two"]
    found = law_of_text(scenario, lambda: eagle(shape), n=2)
    one = text_law(scenario, PROMPT)
    both = {(a, b): p * q for a, p in one.items() for b, q in one.items()}
    assert total_variation(found, both) < ROUNDING


# ---------------------------------------------------------------------------------------------------------- mutants


def test_a_law_that_was_not_drawn_from_is_seen() -> None:
    class Flat(EagleDrafter):
        def propose(self, states, budgets, randomness):
            found = super().propose(states, budgets, randomness)
            laws = [tuple(np.full(3, 1 / 3) for _ in each.laws) for each in found]
            return [Proposal(each.tokens, each.parents, law) for each, law in zip(found, laws, strict=True)]

    assert distance(case(CHAIN), lambda: eagle(CHAIN, KNOWN["all"], Flat)) > VISIBLE


def test_nodes_chosen_by_what_was_drawn_are_seen() -> None:
    """As EAGLE-2 does: the likeliest of the drawn tokens stay."""

    class Pruned(EagleDrafter):
        def propose(self, states, budgets, randomness):
            return [each.only(np.array([best(each)])) if len(each) else each
                    for each in super().propose(states, budgets, randomness)]  # fmt: skip

    def best(proposal):
        q = proposal.laws[0]
        return max(range(len(proposal)), key=lambda node: q[int(proposal.tokens[node])])

    shape = TREES["two"]
    assert distance(case(shape), lambda: eagle(shape, KNOWN["all"], Pruned)) > VISIBLE


# --------------------------------------------------------------------------------------------------------- contract


class Fed(EagleDrafter):
    """Its states are shown what the target would show, whoever writes the text."""

    def open(self, tokens, law):
        state, text = super().open(tokens, law), list(tokens)
        commit, vocab = state.commit, self._reading.vocab_size

        def shown(fresh, scores=None):
            text.extend(fresh)
            hidden = np.stack([features(text[: len(text) - len(fresh) + row], vocab) for row in range(len(fresh))])
            chain = Proposal.chain(fresh)
            commit(fresh, Scores(np.zeros((1, vocab)) if scores is None else scores.logits, hidden, chain))

        state.commit = shown
        return state


@pytest.mark.parametrize(
    "check", drafter_checks(lambda: Fed.over(TableNetwork(), Trees(Settled((0.5, 0.3)), 4), 3), 3), ids=str
)
def test_it_keeps_the_contract_of_a_drafter(check) -> None:
    check()


def test_what_it_is() -> None:
    drafter = eagle(CHAIN)
    law = SamplingLaw(sampling_params({}), Opening((0,), 3))
    assert isinstance(drafter, Drafter)
    assert isinstance(drafter.open([0, 1], law), DraftState)
    learning = EagleDrafter.over(TableNetwork(), Trees(Settled((0.5, 0.4)), 4), 3).open([0, 1], law)
    assert isinstance(learning, Shapes)
    assert learning.worths(3) == ((0.5, 1), (0.25, 2), (0.2, 1))


def test_it_drafts_from_the_second_round_on_and_reads_each_row_once() -> None:
    drafter = eagle(CHAIN)
    scenario = Scenario("long", TARGET, {}, draft_tokens=3, max_tokens=12)
    chances = SimpleNamespace(sample=lambda index: PhiloxRandomness(3, index))
    run(scenario, chances, find("verifiers", "traversal")(), drafter, SeeingEngine(TARGET), 1, PROMPT)
    rows = drafter._network.rows
    assert rows[0] == 1
    assert sum(rows) <= 12 + 2 * 12


@pytest.mark.parametrize("given", [0, -1, 2.0, True])
def test_nonsense_for_a_depth_is_refused(given) -> None:
    with pytest.raises(ValueError, match="eagle_depth"):
        EagleDrafter(3, models=None, eagle_depth=given)

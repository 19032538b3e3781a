"""The law of texts drafted by several sources, enumerated; and known ways to lose it, which must be noticed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from draft.mixing import QUARTERS, VOCAB, inner, mix
from enumeration import KeyReused, law_of, total_variation
from generate.coupled_noise import CoupledWalker
from known_laws import Scenario, random_table, text_law
from truedraw.draft import chances
from truedraw.draft.mix import MixDrafter
from truedraw.protocol import ROOT, Proposal
from truedraw.registry import find
from truedraw.testing import drafter_checks
from truedraw.testing.checks import require_exact_round
from truedraw.testing.runs import PROMPT, run
from truedraw.verify.traversal import TraversalVerifier
from verify.tree_mutants import SampledFirst, Traversing

ALL_CERTAIN = {"lookups": ("suffix", "ngram"), "trees": ("every", "likeliest", "ngram")}
KINDS = {
    **ALL_CERTAIN,
    "a chain and lookups": ("q", "ngram", "suffix"),
    "lookups first": ("ngram", "likeliest", "q"),
    "two chains": ("q", "r"),
    "a chain of its own length": ("hesitating", "every"),
    "lookups with draws below": ("looked up, then drawn", "q"),
    "siblings": ("siblings", "likeliest"),
    "a mix in the mix": ({"method": "mix", "sources": ("q", "likeliest")}, "r"),
    "alone": ("q",),
}
CHECKS = [
    pytest.param(check, id=f"{kind}: {check}")
    for kind, sources in KINDS.items()
    for check in drafter_checks(partial(mix, *sources), VOCAB)
]
WIDE = {
    "a chain and what is certain": ("q", "every"),
    "a chain and two chains that are certain": ("q", "likeliest", "other"),
    "two chains and what is certain": ("q", "r", "every"),
    "siblings with replacement, and without": ("paths", "siblings"),
    "samples with certain ones among them": ("both", "q", "likeliest"),
    "its own length": ("hesitating", "r", "other"),
    "its own length below what is certain": ("looked up, then drawn", "r"),
}
CASE = Scenario("mixed", random_table(VOCAB, 1, 60), {}, draft_tokens=4, max_tokens=9)
SHORT = replace(CASE, draft_tokens=3)
ROUNDING = 1e-12


DRAWING = ("q", "r", "hesitating", "looked up, then drawn", "siblings", "paths", "both")


class Knowing(MixDrafter):
    """A mix that knows from the first round on which sources draw, or thinks that all do or none; notes its sizes."""

    def __init__(self, sources, draws: bool | None = None) -> None:
        super().__init__(inner, sources=sources, mix_certain_share=0.5)
        self._known = [source in DRAWING if draws is None else draws for source in sources]
        self.sizes: set[int] = set()

    def open(self, tokens, law):
        state = super().open(tokens, law)
        state.draws[:] = self._known
        return state

    def propose(self, states, budgets, randomness):
        found = super().propose(states, budgets, randomness)
        self.sizes |= {len(proposal) for proposal in found}
        return found


def round_bias(drafter) -> float:
    """How far one round, followed by fresh samples, is from the target's law; in total variation."""
    try:
        require_exact_round(SHORT, TraversalVerifier(), drafter)
    except AssertionError as error:
        return float(str(error).split(" is ")[-1].split()[0])
    return 0.0


@pytest.mark.parametrize("check", CHECKS)
def test_every_mix_keeps_the_contract(check) -> None:
    check()


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
@pytest.mark.parametrize("draws", [None, True], ids=["as it turns out", "as if all drew"])
@pytest.mark.parametrize("kind", WIDE)
def test_wide_trees_keep_the_law(kind: str, draws: bool | None, rule: str) -> None:
    drafter = Knowing(WIDE[kind], draws)
    require_exact_round(CASE, find("verifiers", rule)(), drafter)
    assert max(drafter.sizes) == CASE.draft_tokens


@pytest.mark.parametrize("rule", ["coupled", "traversal", "recursive"])
@pytest.mark.parametrize("sources", [("noisy", "likeliest"), ("every", "noisy"), ("noisy", "ngram", "noisy too")])
def test_drafts_with_the_targets_noise_keep_the_law(sources, rule: str) -> None:
    """They are certain tokens, and the noise is the position's, whichever source asks for it."""
    law = law_of(lambda walker: run(QUARTERS, walker, find("verifiers", rule)(), mix(*sources))[0], CoupledWalker)
    assert total_variation(law, text_law(QUARTERS, PROMPT)) < ROUNDING


def test_sources_that_could_name_one_draw_twice_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chances.OwnChance, "_own", lambda self, purpose, node: node)
    with pytest.raises(KeyReused):
        require_exact_round(CASE, TraversalVerifier(), Knowing(("q", "r")))


def test_sampled_siblings_before_certain_ones_would_be_noticed() -> None:
    drafter = Knowing(WIDE["its own length below what is certain"], draws=False)
    require_exact_round(CASE, TraversalVerifier(), drafter)
    with pytest.raises(AssertionError, match=r"is 0\.0"):
        require_exact_round(CASE, Traversing(SampledFirst), drafter)


class Changed(Knowing):
    """A mix whose trees are put in order afterwards, by what was sampled."""

    def __init__(self, sources, change) -> None:
        super().__init__(sources)
        self._change = change

    def propose(self, states, budgets, randomness):
        return [self._change(proposal) for proposal in super().propose(states, budgets, randomness)]


def without(proposal: Proposal, gone: set[int]) -> Proposal:
    """Less some nodes and all below them."""
    kept: list[int] = []
    for node, parent in enumerate(proposal.parents.tolist()):
        if node not in gone and (parent == ROOT or parent in kept):
            kept.append(node)
    return proposal.only(np.array(kept, np.int64))


def roots(proposal: Proposal) -> list[tuple[int, int, bool]]:
    """(node, token, sampled) of what follows the text."""
    nodes = zip(proposal.tokens.tolist(), proposal.parents.tolist(), proposal.laws, strict=True)
    return [(node, token, law is not None) for node, (token, parent, law) in enumerate(nodes) if parent == ROOT]


def nothing_is_said_twice(proposal: Proposal) -> Proposal:
    """Of two equal samples the second goes."""
    found = roots(proposal)
    return without(proposal, {node for node, token, _ in found if token in [t for n, t, _ in found if n < node]})


def certain_ones_first(proposal: Proposal) -> Proposal:
    """A sample goes where it says what is certain anyway."""
    favourite = 0
    return without(proposal, {node for node, token, sampled in roots(proposal) if sampled and token == favourite})


def law_of_the_first(proposal: Proposal) -> Proposal:
    """Two sources with the law of one."""
    first = next((law for law in proposal.laws if law is not None), None)
    return Proposal(proposal.tokens, proposal.parents, tuple(None if q is None else first for q in proposal.laws))


WRONG = {
    "nothing is said twice": (("hesitating", "hesitating too"), nothing_is_said_twice),
    "certain ones first": (("q", "likeliest"), certain_ones_first),
    "the law of another source": (("q", "r"), law_of_the_first),
}
LEAST_SEEN = 1e-3


@pytest.mark.parametrize("name", WRONG)
def test_known_ways_to_lose_the_law_are_noticed(name: str) -> None:
    sources, change = WRONG[name]

    def bias(altered) -> float:
        return round_bias(Changed(sources, altered))

    assert bias(change) > LEAST_SEEN
    assert bias(lambda proposal: proposal) < ROUNDING


def test_a_certain_draft_may_depend_on_what_was_sampled() -> None:
    """Such a rule looks at a token, but not at the one it decides about."""

    def after_zero_only(proposal: Proposal) -> Proposal:
        found = roots(proposal)
        if any(sampled and token == 0 for _, token, sampled in found):
            return proposal
        return without(proposal, {node for node, _, sampled in found if not sampled})

    assert round_bias(Changed(("q", "every"), after_zero_only)) < ROUNDING

"""The law of a contrast whose amateur drafts, enumerated; its bits; the contracts of both engines."""

from __future__ import annotations

import numpy as np
import pytest

from draft.drafting import law as any_law
from engine.decoder import tiny_engine
from engine.drafted.witness import Witness
from engine.test_contrastive import contrasted_table
from enumeration import law_of, total_variation
from generate.coupled_noise import CoupledWalker
from generate.runs import PROMPT, run
from known_laws import Scenario, lookup, normalised, random_table, text_law
from truedraw.draft.knobs import Knobs
from truedraw.draft.model import ModelDrafter
from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.staged import StagedDrafter
from truedraw.engine.contrastive import ContrastiveEngine
from truedraw.engine.drafted import ScoringEngine
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import EngineError
from truedraw.protocol import Proposal, Work
from truedraw.registry import find
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing import engine_checks
from truedraw.testing.bench import woven_tree

EXPERT, AMATEUR = random_table(3, 1, 70), random_table(3, 2, 71)
TABLE = contrasted_table(EXPERT, AMATEUR, 0.2, 0.7)
DRAFTERS = {
    "model": lambda engine, coupled: ModelDrafter(engine, coupled=coupled),
    "siblings": lambda engine, coupled: ModelDrafter(engine, knobs=Knobs(draft_siblings=2), coupled=coupled),
    "greedy": lambda engine, coupled: ModelDrafter(engine, knobs=Knobs(draft_sample_method="greedy"), coupled=coupled),
    "staged": lambda engine, coupled: StagedDrafter(engine, lambda config: NgramDrafter(1, 2), coupled=coupled),
}


@pytest.mark.parametrize("rule", ["token", "block", "traversal"])
@pytest.mark.parametrize("name", DRAFTERS)
@pytest.mark.parametrize("n", [1, 2])
def test_the_law_of_the_text_is_the_contrast_by_definition(name: str, rule: str, n: int) -> None:
    if name == "siblings" and rule != "traversal":
        pytest.skip("the rule takes chains")
    case = Scenario("contrast", TABLE, AMATEUR, {"temperature": 1.3}, draft_tokens=2, max_tokens=4 - n)

    def texts(walker):
        engine = ContrastiveEngine(TabularEngine(EXPERT), Witness(AMATEUR), 0.2, 0.7)
        return run(case, walker, find("verifiers", rule)(), DRAFTERS[name](engine.drafting, False), engine, n)[-1]

    assert total_variation(law_of(texts), text_law(case, PROMPT)) < 1e-12


QUARTERS = {(): [0.5, 0.25, 0.25], (0,): [0.25, 0.25, 0.5], (1,): [0.25, 0.5, 0.25], (2,): [0.5, 0.25, 0.25]}


@pytest.mark.parametrize("rule", ["coupled", "traversal"])
@pytest.mark.parametrize("name", DRAFTERS)
def test_it_is_under_the_noise_of_the_target_too(name: str, rule: str) -> None:
    """The amateur is such that (expert squared over amateur) is a law in quarters, as the oracle of shared noise is."""
    expert = random_table(3, 1, 72)
    amateur = {context: normalised(np.square(lookup(expert, context)) / row) for context, row in QUARTERS.items()}
    case = Scenario("contrast in quarters", QUARTERS, amateur, draft_tokens=2, max_tokens=3)

    def texts(walker):
        engine = ContrastiveEngine(TabularEngine(expert), Witness(amateur), 1e-9, 1.0)
        return run(case, walker, find("verifiers", rule)(), DRAFTERS[name](engine.drafting, True), engine)[0]

    assert total_variation(law_of(texts, CoupledWalker), text_law(case, PROMPT)) < 1e-12


@pytest.mark.parametrize("side", ["scoring", "drafting"])
def test_each_side_keeps_the_contract_of_an_engine(side: str) -> None:
    for check in engine_checks(lambda: side_of(ScoringEngine(TabularEngine(EXPERT, 64)), side)):
        check()


class Lasting(ScoringEngine):
    """Over an engine that many of these share."""

    def close(self) -> None:
        pass


@pytest.mark.parametrize("side", ["scoring", "drafting"])
def test_each_side_of_a_paged_engine_keeps_it(tmp_path, side: str) -> None:
    inner = tiny_engine(tmp_path, cache_bytes=1 << 20)
    for check in engine_checks(lambda: side_of(Lasting(inner), side), tolerance=1e-5):
        if check.name != "a pass without room":  # which fills a cache: the tables' turn, and that of a table with slots
            check()
    assert inner.cache_use().pages_held == 0
    inner.close()


def side_of(engine: ScoringEngine, side: str):
    return engine if side == "scoring" else engine.drafting


@pytest.fixture(scope="module")
def paged(tmp_path_factory):
    engine = tiny_engine(tmp_path_factory.mktemp("amateur"), numerics="runtime")
    if engine.invariance is None or not engine.invariance.holds:
        pytest.skip(f"this processor's kernels are not invariant: {engine.invariance}")
    yield engine
    engine.close()


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_those_of_the_text_alone_whatever_was_drafted(paged, seed: int) -> None:
    """Drafts that come and go, are scored whole, in part or not at all, by texts that begin alike: bit for bit."""
    engine, free, rng = ScoringEngine(paged), paged._pool.num_free, np.random.default_rng(seed)
    drafter = ModelDrafter(engine.drafting)
    prompt = rng.integers(0, 96, int(rng.integers(1, 40))).tolist()
    texts = [engine.open(prompt)]
    texts += engine.fork(texts[0], 2)
    states = [drafter.open(prompt, any_law()) for _ in texts]
    for step in range(8):
        budgets = rng.integers(0, 5, 3).tolist()
        chance = [PhiloxRandomness(seed, 3 * step + i) for i in range(3)]
        proposals = drafter.propose(states, budgets, chance)
        proposals = [other(each, rng) for each in proposals]
        if rng.random() < 0.2:
            texts[int(rng.integers(3))].evict()
        works = [Work(*each) for each in zip(texts, proposals, strict=True)]
        found = [each.logits.copy() for each in engine.forward(works)]
        for work, rows in zip(works, found, strict=True):
            alone = paged.open(list(work.sequence.tokens), alone=True)
            assert np.array_equal(rows, paged.forward([Work(alone, work.proposal)])[0].logits)
            alone.close()
        for work, state in zip(works, states, strict=True):
            kept = int(rng.integers(0, len(work.proposal) + 1))
            chain = work.proposal.tokens.tolist()[:kept] if is_chain(work.proposal) else []
            kept_tokens = [*chain, int(rng.integers(0, 96))]
            work.sequence.commit(kept_tokens)
            state.commit(kept_tokens)
    for each in texts:
        each.close()
    drafter.close()
    assert paged._pool.num_free == free


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_texts_alike_in_one_pass_may_be_scored_in_other_ways(depth: int) -> None:
    """What goes on from a drafted place must find it as it was, whoever else goes on from there in the pass."""
    table = random_table(5, 4, 73)
    amateur, plain = Witness(table), TabularEngine(table)
    engine, prompt = ScoringEngine(amateur), [0, 1, 2]
    first, draft = engine.open(prompt), engine.drafting.open(prompt)
    engine.drafting.forward([Work(draft)])
    fork = engine.drafting.fork(draft, 1)[0]
    for token in [3, 1, 4, 2][:depth]:
        fork.commit([token])
        engine.drafting.forward([Work(fork)])
    tails = ([3, 2], [3, 1, 4, 2], [3, 1, 4, 2, 0], [3, 1, 4, 2, 0, 1], [3, 2, 1], [3, 1, 0, 0], [4], [3, 1, 4, 2])
    texts = [first, *engine.fork(first, len(tails) - 1)]
    works = [Work(text, Proposal.chain(tail)) for text, tail in zip(texts, tails, strict=True)]
    found = engine.forward(works)
    for work, scores in zip(works, found, strict=True):
        expected = plain.forward([Work(plain.open(prompt), work.proposal)])[0].logits
        assert np.array_equal(scores.logits, expected)
    assert amateur.repeated == {}


def test_a_draft_of_a_text_that_has_gone_on_is_a_text_of_its_own() -> None:
    table = random_table(4, 4, 74)
    engine, plain = ScoringEngine(Witness(table)), TabularEngine(table)
    text, draft = engine.open([0, 1]), engine.drafting.open([0, 1])
    engine.drafting.forward([Work(draft)])
    fork = engine.drafting.fork(draft, 1)[0]
    fork.commit([2, 2, 3])
    for each in (text, draft):
        each.commit([1, 0])
    engine.drafting.forward([Work(draft)])
    found = engine.drafting.forward([Work(fork, Proposal.chain([1]))])[0].logits
    assert np.array_equal(found, plain.forward([Work(plain.open([0, 1, 2, 2, 3]), Proposal.chain([1]))])[0].logits)
    fork.commit([1])
    found = engine.drafting.forward([Work(fork)])[0].logits
    assert np.array_equal(found, plain.forward([Work(plain.open([0, 1, 2, 2, 3, 1]))])[0].logits)


def is_chain(proposal: Proposal) -> bool:
    return proposal.parents.tolist() == list(range(-1, len(proposal) - 1))


def other(proposal: Proposal, rng) -> Proposal:
    """What is scored need not be what was drafted."""
    choice = rng.random()
    if choice < 0.5:
        return proposal
    tokens = proposal.tokens.tolist()
    if choice < 0.65:
        return Proposal.chain([*tokens, 7, 8])
    if choice < 0.8:
        return Proposal.chain(tokens[:1])
    return woven_tree(96) if choice < 0.9 else Proposal.chain([9, *tokens])


def test_texts_of_another_engine_and_closed_ones_are_refused() -> None:
    engine, stranger = ScoringEngine(TabularEngine(EXPERT)), ScoringEngine(TabularEngine(EXPERT))
    for mine, theirs in ((engine, stranger), (engine.drafting, stranger.drafting), (engine, engine.drafting)):
        with pytest.raises(EngineError, match="opened it"):
            mine.forward([Work(theirs.open([0]))])
    text = engine.drafting.open([0, 1])
    text.close()
    for use in (lambda: text.commit([0]), text.evict, lambda: engine.drafting.forward([Work(text)])):
        with pytest.raises(EngineError, match="closed"):
            use()

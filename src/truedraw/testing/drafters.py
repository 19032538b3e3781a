"""The contract of a drafter, as checks.

@pytest.mark.parametrize("check", drafter_checks(MyDrafter), ids=str)
def test_my_drafter(check):
    check()
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import cycle, islice

import numpy as np

from truedraw.errors import BadParameter
from truedraw.protocol import Drafter, Proposal
from truedraw.sampling.values import plain_number, shown
from truedraw.testing.checks import Check, require, require_exact, require_exact_round
from truedraw.testing.drafter_depths import depth_checks
from truedraw.testing.drafter_laws import law_checks
from truedraw.testing.drafter_states import state_checks
from truedraw.testing.drafter_statistics import statistics_checks
from truedraw.testing.drafter_texts import Seeded, Texts, require_same
from truedraw.testing.named import NamedOnce
from truedraw.testing.runs import run
from truedraw.testing.scenarios import Scenario
from truedraw.testing.tables import random_table
from truedraw.verify.coupled import CoupledVerifier
from truedraw.verify.traversal import TraversalVerifier

BUDGETS = (0, 1, 4, 7)
LENGTHS = (12, 30, 4, 17, 1, 40, 9, 23, 6)  # of texts in a larger batch
STEPS = 4  # rounds that a text is followed
LEAST_VOCABULARY = 2
LARGEST_ENUMERATED = 5  # vocabulary, above which the branches are too many
ROUND_DRAFTS = {2: 4, 3: 4, 4: 3, 5: 2}  # by vocabulary: at most 81 chains of drafts, as each has many branches
LONGER = {2: (2, 5), 3: (2, 5), 4: (2, 4), 5: (1, 4)}  # by vocabulary: drafts, and tokens of text, as above
REPEATING = (0, 1, 0, 0, 1)
TARGETS = range(71, 79)  # seeds: a wrong law of a second sibling bends what comes out over two of these eight
TELLING = TARGETS[1:2]  # one of the two: enough for every setting but the first
SETTINGS: dict[str, dict[str, float]] = {
    "plain": {},
    "hot": {"temperature": 1.7},
    "cold": {"temperature": 0.5},
    "greedy": {"temperature": 0.0},
    "top_k": {"top_k": 2},
    "top_p": {"top_p": 0.7},
}


def drafter_checks(make: Callable[[], Drafter], vocab_size: int = 3, context_length: int | None = None) -> list[Check]:
    """Every check for the drafter that `make` returns, which must draft for a target of `vocab_size` tokens.

    The exact law is enumerated up to a vocabulary of 5: of whole texts of four or five tokens, and of rounds of up to
    four drafts over several targets, behind a prompt that holds every token, of two samples, and behind forced tokens;
    of up to ten drafts, without a rule that judges them.
    Over more tokens the draws of the drafter, and what comes out, are compared with their laws by statistics. A drafter
    with a model of its own is made over a model of so many tokens here, a tabular one for instance; `context_length` is
    how long its texts can be, None where there is no limit. Raises BadParameter for a vocabulary of fewer than two
    tokens, over which there is nothing to draw.
    """
    vocab_size = _at_least_two(vocab_size)
    checks = [
        Check("budgets", partial(_budgets, make, vocab_size)),
        Check("legal proposals along a text", partial(_along_a_text, make, vocab_size)),
        Check("ragged batches", partial(_batches, make, vocab_size)),
        Check("chance is injected", partial(_repeatable, make, vocab_size)),
        Check("states are apart", partial(_apart, make, vocab_size)),
        Check("a text of one token", partial(_short_text, make, vocab_size)),
    ]
    checks += [Check(f"one seed, one text, {n} drafts", partial(_one_text, make, vocab_size, n)) for n in (1, 3, 8)]
    checks.append(Check("no draw twice", partial(_no_draw_twice, make, vocab_size)))
    checks += state_checks(make, vocab_size, context_length)
    if vocab_size > LARGEST_ENUMERATED:
        return checks + statistics_checks(make, vocab_size)
    checks += [Check(f"exact law, {name}", partial(_exact, make, vocab_size, name)) for name in SETTINGS]
    checks.append(Check("exact law, round behind round", partial(_exact_behind, make, vocab_size)))
    checks += [*law_checks(make, vocab_size), *depth_checks(make, vocab_size)]
    return checks + [
        Check(f"exact rounds, {name}", partial(_exact_rounds, make, vocab_size, name)) for name in SETTINGS
    ]


def _at_least_two(vocab_size: int) -> int:
    given = plain_number(vocab_size)
    if isinstance(given, bool) or not isinstance(given, int) or given < LEAST_VOCABULARY:
        raise BadParameter("vocab_size", f"got {shown(given)}; give a whole number, {LEAST_VOCABULARY} or more")
    return given


def _budgets(make: Callable[[], Drafter], vocab_size: int) -> None:
    for budget in range(1 + max(BUDGETS)):
        texts = Texts(make(), vocab_size)
        for proposal in texts.propose([budget] * len(texts.states)):
            texts.legal(proposal, budget)


def _along_a_text(make: Callable[[], Drafter], vocab_size: int) -> None:
    texts, rng = Texts(make(), vocab_size), np.random.default_rng(4)
    for _ in range(STEPS):
        for state, proposal in zip(texts.states, texts.propose([5] * len(texts.states)), strict=True):
            texts.legal(proposal, 5)
            texts.commit(state, proposal, rng)


def _batches(make: Callable[[], Drafter], vocab_size: int) -> None:
    """Of four texts and of more, each with a budget of its own."""
    rng = np.random.default_rng(2)
    many = [rng.integers(0, vocab_size, length).tolist() for length in LENGTHS]
    for given in ([], many):
        together = Texts(make(), vocab_size, given)
        budgets = list(islice(cycle(BUDGETS), len(together.states)))
        for index, (budget, proposal) in enumerate(zip(budgets, together.propose(budgets), strict=True)):
            texts = Texts(make(), vocab_size, given)
            texts.legal(proposal, budget)
            require_same([proposal], texts.propose([budget], [index]), "in a batch and alone")


def _repeatable(make: Callable[[], Drafter], vocab_size: int) -> None:
    first, second = (Texts(make(), vocab_size).propose([5] * 4) for _ in range(2))
    require_same(first, second, "on two runs with the same text and the same randomness")


def _apart(make: Callable[[], Drafter], vocab_size: int) -> None:
    alone, beside = Texts(make(), vocab_size), Texts(make(), vocab_size)
    _, other = beside.states[0], beside.states[1]
    beside.commit(other, Proposal.chain(()), np.random.default_rng(6))
    require_same(alone.propose([5], [0]), beside.propose([5], [0]), "before and after another text went on")


def _short_text(make: Callable[[], Drafter], vocab_size: int) -> None:
    texts = Texts(make(), vocab_size, [[0], [vocab_size - 1]])
    for proposal in texts.propose([4, 4]):
        texts.legal(proposal, 4)


def _one_text(make: Callable[[], Drafter], vocab_size: int, length: int) -> None:
    scenario = Scenario("seeded", random_table(vocab_size, 1, 70), {}, draft_tokens=length, max_tokens=80)
    plain = run(replace(scenario, draft_tokens=0), Seeded(11), CoupledVerifier(), make(), n=3)
    drafted = run(scenario, Seeded(11), CoupledVerifier(), make(), n=3)
    require(plain == drafted, f"with {length} draft tokens a seed gives another text than without")


def _no_draw_twice(make: Callable[[], Drafter], vocab_size: int) -> None:
    """Where a state does not know how long its text is, two rounds draw with one name."""
    for seed in TARGETS:
        scenario = Scenario("named", random_table(vocab_size, 1, seed), {}, draft_tokens=8, max_tokens=60)
        run(scenario, NamedOnce(seed), TraversalVerifier(), make())


def _exact_behind(make: Callable[[], Drafter], vocab_size: int) -> None:
    """Rounds whose texts went on by several tokens in the one before."""
    drafts, most = LONGER.get(vocab_size, (1, 4))
    scenario = Scenario("behind", random_table(vocab_size, 1, 71), {}, draft_tokens=drafts, max_tokens=most)
    require_exact(scenario, REPEATING, TraversalVerifier(), make())


def _exact(make: Callable[[], Drafter], vocab_size: int, name: str) -> None:
    table = random_table(vocab_size, 1, 71)
    scenario = Scenario(name, table, {}, SETTINGS[name], draft_tokens=2, max_tokens=3)
    require_exact(scenario, REPEATING, TraversalVerifier(), make())


def _exact_rounds(make: Callable[[], Drafter], vocab_size: int, name: str) -> None:
    """A wrong law shows where it decides: not where one token is all that is left behind a rejected draft."""
    budget = ROUND_DRAFTS.get(vocab_size, 1)
    for seed in TARGETS if name == "plain" else TELLING:
        target = random_table(vocab_size, 1, seed)
        scenario = Scenario(f"{name}, target {seed}", target, {}, SETTINGS[name], budget, max_tokens=budget + 1)
        require_exact_round(scenario, TraversalVerifier(), make(), (*range(vocab_size), 0, 1))

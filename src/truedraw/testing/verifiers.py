"""The contract of a verifier, as checks.

@pytest.mark.parametrize("check", verifier_checks(MyVerifier), ids=str)
def test_my_verifier(check):
    check()
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import ClassVar

import numpy as np

from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.none import NoDrafter
from truedraw.engine.trees import is_chain
from truedraw.protocol import ROOT, Drafter, DraftLaw, Floats, Proposal, Randomness, Rows, SparseLaw, Verdict, Verifier
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.checks import Check, require, require_exact, require_exact_round, require_independent, same_law
from truedraw.testing.enumeration import Walker, law_of
from truedraw.testing.runs import first_round, run
from truedraw.testing.scenarios import SCENARIOS, Scenario, TableDrafter, random_table
from truedraw.testing.short import shortened
from truedraw.testing.sparse import Sparsely
from truedraw.testing.trees import SHAPES, TREES, Shape, TreeDrafter

REPEATING = (0, 1, 0, 0, 1)  # a prompt in which lookup finds something
PAIR = Scenario("pair", random_table(2, 1, 30), random_table(2, 1, 31), draft_tokens=2, max_tokens=2)
MANY = Scenario("many", random_table(5, 1, 32), random_table(5, 1, 33), draft_tokens=7, max_tokens=60)
BAD_LAWS = {
    "a law that sums to 1.5": [0.5, 0.5, 0.5],
    "a law with a negative entry": [1.5, -0.5, 0.0],
    "a law with NaN": [0.5, float("nan"), 0.5],
    "a law that excludes its own token": [0.0, 0.5, 0.5],
    "a law over another vocabulary": [0.5, 0.5],
}
BAD_SPARSE_LAWS: dict[str, tuple[list[int], list[float], int]] = {  # tokens, weights, vocabulary
    "a sparse law that sums to 1.5": ([0, 2], [0.5, 1.0], 3),
    "a sparse law with a negative entry": ([0, 1, 2], [0.5, -0.5, 1.0], 3),
    "a sparse law with NaN": ([0, 1], [0.5, float("nan")], 3),
    "a sparse law that excludes its own token": ([1, 2], [0.5, 0.5], 3),
    "a sparse law over another vocabulary": ([0, 1], [0.5, 0.5], 4),
    "a sparse law with a token that does not exist": ([0, 3], [0.5, 0.5], 3),
    "a sparse law that names a token twice": ([0, 0], [0.5, 0.5], 3),
}


def verifier_checks(make: Callable[[], Verifier]) -> list[Check]:
    """Every check for the rule that `make` returns. A rule may refuse trees other than chains with a ValueError.

    A rule that says `exact` is enumerated over chains, certain drafts, no drafts and trees; one that says `coupled`
    must emit the same text whatever is drafted; every other one must refuse a draft whose law is no law.
    """
    rule = make()
    checks = [Check("declares what it is", partial(_declares, rule)), Check("verdicts", partial(_verdicts, make))]
    if rule.exact:
        checks += _exactness(make)
    if rule.coupled:
        return [*checks, Check("one seed, one text", partial(_one_text, make))]
    bad: dict[str, DraftLaw] = {name: np.array(law) for name, law in BAD_LAWS.items()}
    for name, (tokens, weights, vocab) in BAD_SPARSE_LAWS.items():
        bad[name] = SparseLaw(np.array(tokens, np.int64), np.array(weights), vocab)
    return checks + [Check(f"refuses {name}", partial(_refuses, make, law)) for name, law in bad.items()]


def _exactness(make: Callable[[], Verifier]) -> list[Check]:
    deepest, *others = SCENARIOS
    short = [deepest, *map(shortened, others)]
    chains = [
        Check(f"{kind}, {scenario}", partial(_exact, make, scenario, drafter))
        for scenario in short
        for kind, drafter in _drafters(scenario).items()
    ]
    trees = [
        Check(f"{shape}, {scenario}", partial(_exact_or_refused, make, scenario, shape))
        for scenario, shape in itertools.product(TREES, SHAPES)
    ]
    trees += [
        Check(f"{shape} with sparse laws", partial(_exact_or_refused, make, TREES[-1], shape, said=Sparsely))
        for shape in SHAPES
    ]
    return [*chains, *trees, Check("samples are independent", partial(_independent, make))]


def _declares(rule: Verifier) -> None:
    for name in ("exact", "coupled"):
        require(isinstance(getattr(rule, name, None), bool), f"a verifier has a class attribute {name}, True or False")


def _drafters(scenario: Scenario) -> dict[str, Drafter]:
    return {
        "sampled chains": TableDrafter(scenario.draft),
        "sampled chains with sparse laws": Sparsely(TableDrafter(scenario.draft)),
        "certain chains": NgramDrafter(1, 2),
        "no drafts": NoDrafter(),
    }


def _exact(make: Callable[[], Verifier], scenario: Scenario, drafter: Drafter) -> None:
    require_exact(scenario, REPEATING, make(), drafter)


def _exact_or_refused(
    make: Callable[[], Verifier], scenario: Scenario, shape: Shape, said: Callable[[Drafter], Drafter] = lambda own: own
) -> None:
    with suppress(ValueError):  # the rule says that it does not take this shape
        require_exact_round(scenario, make(), said(TreeDrafter(scenario.draft, shape)))


def _independent(make: Callable[[], Verifier]) -> None:
    require_independent(PAIR, make(), lambda: None)


class _Watched:
    """A rule whose verdicts are looked at."""

    exact: ClassVar[bool] = False
    coupled: ClassVar[bool] = False

    def __init__(self, rule: Verifier) -> None:
        self._rule = rule

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        before, watched = deepcopy(proposal.laws), _WatchedRows(rows)
        verdict = self._rule(proposal, watched, randomness, position)
        for node, (law, old) in enumerate(zip(proposal.laws, before, strict=True)):
            require(same_law(law, old), f"the verifier wrote into the law of draft node {node}")
        watched.require_unchanged()
        _require_verdict(proposal, rows, verdict)
        return verdict


class _WatchedRows:
    """The target's rows, of which a rule may look at any and change none."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self._seen = rows, dict[int, tuple[Floats, Floats]]()

    def __getitem__(self, row: int) -> Floats:
        p = self._rows[row]
        self._seen.setdefault(row, (p, p.copy()))
        return p

    def require_unchanged(self) -> None:
        """Raises AssertionError."""
        for row, (p, before) in self._seen.items():
            require(np.array_equal(p, before), f"the verifier wrote into row {row} of the target")


def _require_verdict(proposal: Proposal, rows: Rows, verdict: Verdict) -> None:
    tokens, kept = verdict.tokens, verdict.num_accepted
    kinds = type(tokens), {type(kept), *map(type, tokens)}, type(verdict.rejected)
    plain = kinds == (tuple, {int}, bool)
    require(plain, f"the verdict {verdict} has other things than a tuple of ints, an int and a bool; numpy's are none")
    require(len(tokens) == kept + 1, f"{kept} accepted drafts came with {len(tokens)} tokens; there is one more")
    here = np.array([ROOT])
    for token in tokens[:kept]:
        here = np.flatnonzero(np.isin(proposal.parents, here) & (proposal.tokens == token))
        require(here.size > 0, f"the accepted tokens {tokens[:kept]} are no path of the proposal")
    if is_chain(proposal):
        said = kept < len(proposal)
        require(verdict.rejected == said, f"rejected is {verdict.rejected} with {kept} of {len(proposal)} drafts kept")
    chance = float(rows[1 + int(here[0])][tokens[-1]])
    require(chance > 0, f"the last token {tokens[-1]} has probability 0 under the target")


def _verdicts(make: Callable[[], Verifier]) -> None:
    rule = _Watched(make())
    for shape in SHAPES:
        for drafter in (TreeDrafter(TREES[0].draft, shape), Sparsely(TreeDrafter(TREES[0].draft, shape))):
            with suppress(ValueError):
                law_of(partial(_first_round, rule=rule, drafter=drafter))
    law_of(lambda walker: run(shortened(TREES[0]), walker, rule)[0])


def _first_round(walker: Walker, rule: Verifier, drafter: Drafter) -> tuple[int, ...]:
    return first_round(TREES[0], walker, rule, drafter)


def _one_text(make: Callable[[], Verifier]) -> None:
    drafter = TableDrafter(MANY.draft)
    texts = {length: run(shortened(MANY, length, 60), _Seeded(), make(), drafter, n=2) for length in (0, 1, 3, 7)}
    for length, text in texts.items():
        require(text == texts[0], f"with {length} draft tokens the same noise gives another text than without drafts")


class _Seeded:
    """Real randomness, where an enumeration has its walker."""

    def sample(self, index: int) -> PhiloxRandomness:
        """By seed."""
        return PhiloxRandomness(7, index)


def _refuses(make: Callable[[], Verifier], law: DraftLaw) -> None:
    proposal, rows = Proposal.chain([0], [law]), [np.array([0.2, 0.3, 0.5])] * 2
    try:
        make()(proposal, rows, PhiloxRandomness(0), 3)
    except ValueError:
        return
    raise AssertionError(f"the law {law} of a draft token 0 was accepted; raise BadProposal before anything is drawn")

"""The contract of a verifier, as checks.

@pytest.mark.parametrize("check", verifier_checks(MyVerifier), ids=str)
def test_my_verifier(check):
    check()
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from truedraw.draft.ngram import NgramDrafter
from truedraw.draft.none import NoDrafter
from truedraw.protocol import Drafter, Verifier
from truedraw.testing.checks import Check, require, require_exact, require_exact_round, require_independent
from truedraw.testing.drafter_texts import Seeded
from truedraw.testing.enumeration import Walker, law_of
from truedraw.testing.named import NamedOnce
from truedraw.testing.runs import first_round, run
from truedraw.testing.scenarios import SCENARIOS, Scenario, TableDrafter
from truedraw.testing.short import shortened
from truedraw.testing.sparse import Sparsely
from truedraw.testing.tables import random_table
from truedraw.testing.trees import SHAPES, TREES, Shape, TreeDrafter
from truedraw.testing.verifier_refusals import refusals
from truedraw.testing.verifier_rounds import lone_checks, memory, one_text
from truedraw.testing.verifier_watch import Watched

REPEATING = (0, 1, 0, 0, 1)  # a prompt in which lookup finds something
PAIR = Scenario("pair", random_table(2, 1, 30), random_table(2, 1, 31), draft_tokens=2, max_tokens=2)
MANY = Scenario("many", random_table(5, 1, 32), random_table(5, 1, 33), draft_tokens=7, max_tokens=60)


def verifier_checks(make: Callable[[], Verifier]) -> list[Check]:
    """Every check for the rule that `make` returns. A rule may refuse trees other than chains with a ValueError.

    A rule that says `exact` is enumerated over chains, certain drafts, no drafts and trees, in the production loop and
    without it, where drafts are longer, trees wider and vocabularies larger; one that says `coupled` must emit the same
    text whatever is drafted; every other one must refuse a draft whose law is no law.
    """
    rule = make()
    checks = [Check("declares what it is", partial(_declares, rule)), Check("verdicts", partial(_verdicts, make))]
    checks.append(Check("remembers nothing", partial(memory, make)))
    if rule.exact:
        checks += [*_exactness(make), *lone_checks(make), Check("no draw twice", partial(_no_draw_twice, make))]
    if rule.coupled:
        checks.append(Check("one seed, one text", partial(_one_text, make)))
        return [*checks, Check("one seed, one text, alone", partial(one_text, make))]
    return checks + refusals(make)


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
        said = getattr(type(rule), name, None)
        require(isinstance(said, bool), f"a verifier has a class attribute {name}, True or False")
        require(getattr(rule, name) is said, f"a verifier's {name} is that of its class")


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


def _verdicts(make: Callable[[], Verifier]) -> None:
    rule = Watched(make())
    for shape in SHAPES:
        for drafter in (TreeDrafter(TREES[0].draft, shape), Sparsely(TreeDrafter(TREES[0].draft, shape))):
            with suppress(ValueError):
                law_of(partial(_first_round, rule=rule, drafter=drafter))
    law_of(lambda walker: run(shortened(TREES[0]), walker, rule)[0])


def _first_round(walker: Walker, rule: Verifier, drafter: Drafter) -> tuple[int, ...]:
    return first_round(TREES[0], walker, rule, drafter)


def _no_draw_twice(make: Callable[[], Verifier]) -> None:
    """In long texts, of long chains and of trees."""
    run(MANY, NamedOnce(7), make(), TableDrafter(MANY.draft))
    for seed, shape in enumerate(SHAPES):
        with suppress(ValueError):
            run(MANY, NamedOnce(seed), make(), TreeDrafter(MANY.draft, shape))


def _one_text(make: Callable[[], Verifier]) -> None:
    drafter = TableDrafter(MANY.draft)
    texts = {length: run(shortened(MANY, length, 60), Seeded(7), make(), drafter, n=2) for length in (0, 1, 3, 7)}
    for length, text in texts.items():
        require(text == texts[0], f"with {length} draft tokens the same noise gives another text than without drafts")

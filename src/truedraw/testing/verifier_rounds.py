"""Checks of a rule that is shown rounds by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial

from truedraw.protocol import NOTHING, Proposal, Verdict, Verifier
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.testing.checks import Check, require
from truedraw.testing.lone_laws import require_draws, require_exact_alone
from truedraw.testing.lone_rounds import FORMS, Form, LoneRound, RoundRows, Text
from truedraw.testing.lone_shapes import CHAINS, LARGE, TREES
from truedraw.testing.verifier_watch import Watched

Make = Callable[[], Verifier]
MIXED = ("a chain of eight", "four siblings", "three floors")  # whose laws also come in both forms at once
SEEDS = 20
POSITION = 17  # of all rounds in which a rule could take one for another
EMPTY = 2  # rounds of each shape with drafts, behind which there is one without
COMING = 24  # certain drafts, all of which come


def lone_checks(make: Make) -> list[Check]:
    """Of the law of one round, for rules that are exact."""
    checks = [
        Check(f"alone: {known}, {name}", partial(_exact, make, known, form))
        for known in (*CHAINS, *TREES)
        for name, form in FORMS.items()
        if name in list(FORMS)[:2] or str(known) in MIXED
    ]
    return checks + [
        Check(f"alone: {known}, {name}", partial(_draws, make, known, form))
        for known in LARGE
        for name, form in list(FORMS.items())[:2]
    ]


def _exact(make: Make, known: LoneRound, form: Form) -> None:
    with _refusable(known):
        require_exact_alone(known, Watched(make()), form)


def _draws(make: Make, known: LoneRound, form: Form) -> None:
    with _refusable(known):
        require_draws(known, make(), form)


def _refusable(known: LoneRound) -> suppress | nullcontext[None]:
    """A rule may refuse any tree but a chain, with a ValueError."""
    is_chain = all(parent == node - 1 for node, (parent, _) in enumerate(known.nodes))
    return nullcontext() if is_chain else suppress(ValueError)


def memory(make: Make) -> None:
    """A rule has no state: a verdict is the same whatever was judged before it."""
    asked, rule = list(_asked()), make()
    expected = [_verdict(make(), *each) for each in asked]
    for order in (range(len(asked)), reversed(range(len(asked))), [i for i in range(len(asked)) for _ in (0, 1)]):
        for place in order:
            known, _, number = asked[place]
            found = _verdict(rule, *asked[place])
            require(
                found == expected[place],
                f"{known}, seed {number}: the verdict is {found} behind other calls and {expected[place]} without any; "
                "a verifier remembers nothing",
            )


def _asked() -> Iterator[tuple[LoneRound, Form, int]]:
    forms = list(FORMS.values())
    for number in range(1 + EMPTY):
        for place, known in enumerate((*CHAINS, *TREES)):
            yield replace(known, position=POSITION), forms[(place + number) % len(forms)], number


def _verdict(rule: Verifier, known: LoneRound, form: Form, number: int) -> Verdict | None:
    """None: it takes no such trees."""
    proposal = NOTHING if number == EMPTY else known.draw(PhiloxRandomness(50, number), form)
    with _refusable(known):
        return rule(proposal, RoundRows(known, proposal), PhiloxRandomness(51, number), known.position)
    return None


def one_text(make: Make) -> None:
    """Of a coupled rule: each token is the one that comes without drafts, at its own position."""
    rule = make()
    for known in (*CHAINS, *TREES):
        for number in range(SEEDS):
            plain = _plainly(rule, known, number)
            form = list(FORMS.values())[number % len(FORMS)]
            with _refusable(known):
                _require_plain(rule, known, known.draw(PhiloxRandomness(50, number), form), number, plain)
            _require_plain(rule, known, Proposal.chain(plain[:-1]), number, plain)


def _plainly(rule: Verifier, known: LoneRound, number: int) -> Text:
    text: Text = ()
    for place in range(COMING):
        rows, chance = RoundRows(known, NOTHING, text), PhiloxRandomness(51, number)
        text += rule(NOTHING, rows, chance, known.position + place).tokens
    return text


def _require_plain(rule: Verifier, known: LoneRound, proposal: Proposal, number: int, plain: Text) -> None:
    rows = RoundRows(known, proposal)
    found = rule(proposal, rows, PhiloxRandomness(51, number), known.position).tokens
    require(
        found == plain[: len(found)],
        f"{known}: the drafts {proposal.tokens.tolist()} behind {proposal.parents.tolist()} lead to {list(found)}, and "
        f"without drafts the same noise gives {list(plain[: len(found)])}",
    )

"""A drafter that breaks its contract behind some of its tokens: what the guard keeps of it leaves the law as it is.

The production guard, the production rules, every branch of drafting and judging; three bugs beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from draft.mixing import SOURCES, mix
from enumeration import law_of, total_variation
from known_laws import Scenario, TableDrafter, lookup, random_table, text_law
from sibling_drafts import Drawing, Shape, Tables, chain, flat
from truedraw.generate.calls import Calls
from truedraw.generate.foreign_drafter import ForeignDrafter, ForeignState
from truedraw.generate.guarded_drafter import GuardedDrafter, GuardedState
from truedraw.protocol import NOTHING, ROOT, Proposal, SparseLaw
from truedraw.registry import find
from truedraw.testing import total_variation as distance_of
from truedraw.testing.checks import completed_round
from truedraw.testing.runs import PROMPT, run
from verify.cases import INDEPENDENT, PATHS, TABLES, TAKES, TREE_OF_PAIRS
from verify.one_round import distance, emitted

ROUNDING = 1e-12
SEEN = 1e-3  # a bias that is one
FEW = [TABLES[1], TABLES[2]]
MOST_DRAWS = 81  # drafts of one shape
CASE = Scenario("broken", random_table(3, 1, 50), random_table(3, 1, 51), draft_tokens=2, max_tokens=3)
TREES = ("traversal", "recursive", "coupled")  # rules that ask for the law given all that was drawn before
When = Callable[[list[int], list[int], int], bool]


def path(tokens, parents, node) -> list[int]:
    above = parents[node]
    return [] if above == ROOT else [*path(tokens, parents, above), tokens[above]]


def on_the_path(tokens, parents, node) -> bool:
    return 1 in path(tokens, parents, node)


def anywhere_before(tokens, parents, node) -> bool:
    return 1 in tokens[:node]


def of_its_own(tokens, parents, node) -> bool:
    return tokens[node] == 1


def broken(proposal: Proposal, when: When, law=np.nan) -> Proposal:
    tokens, parents = proposal.tokens.tolist(), proposal.parents.tolist()
    laws = tuple(q if q is None or not when(tokens, parents, node) else law for node, q in enumerate(proposal.laws))
    return Proposal(proposal.tokens, proposal.parents, laws)


def kept(proposal: Proposal, vocab: int, budget: int | None = None) -> tuple[Proposal, str | None]:
    guard = GuardedDrafter(None, vocab)
    found = guard.checked(proposal, len(proposal) if budget is None else budget)
    return found, guard.fault


def guarded(drawing: Drawing, when: When) -> Proposal:
    return kept(broken(drawing.proposal(), when), drawing.tables.vocab)[0]


def dropped_whole(drawing: Drawing, when: When) -> Proposal:
    found, fault = kept(broken(drawing.proposal(), when), drawing.tables.vocab)
    return found if fault is None else NOTHING


def affordable(shape: Shape, most: int = MOST_DRAWS) -> list[Tables]:
    sampled = sum(source[0] not in "tcn" for _, source in shape.nodes)
    return [tables for tables in FEW if tables.vocab**sampled <= most]


def farthest(rule: str, shape: Shape, draft) -> float:
    """From the target's law, over the tables."""
    judge = find("verifiers", rule)()
    return max((distance(each, emitted(each, shape, judge, draft)) for each in affordable(shape)), default=0.0)


@pytest.mark.parametrize("rule", TAKES)
def test_a_law_that_breaks_behind_some_tokens_leaves_the_round_exact(rule: str) -> None:
    for shape in TAKES[rule]:
        assert farthest(rule, shape, partial(guarded, when=on_the_path)) < ROUNDING, shape


@pytest.mark.parametrize("rule", [*TREES, "token", "block"])
def test_it_may_depend_on_everything_that_was_drawn_before(rule: str) -> None:
    for shape in TAKES[rule]:
        assert farthest(rule, shape, partial(guarded, when=anywhere_before)) < ROUNDING, shape


@pytest.mark.parametrize("rule", [rule for rule in TAKES if rule != "coupled"])
def test_to_drop_the_whole_is_seen(rule: str) -> None:
    assert farthest(rule, chain("q", "q"), partial(dropped_whole, when=on_the_path)) > SEEN


def parent_dropped_too(drawing: Drawing) -> Proposal:
    proposal = broken(drawing.proposal(), on_the_path)
    found, fault = kept(proposal, drawing.tables.vocab)
    return found if fault is None else found.only(np.arange(max(len(found) - 1, 0)))


def last_nodes_kept(drawing: Drawing) -> Proposal:
    """Of a proposal that is too long the likelier half."""
    proposal = drawing.proposal()
    chances = [law[token] for law, token in zip(proposal.laws, proposal.tokens, strict=True)]
    return proposal.only(np.array([int(np.argmax(chances))]))


@pytest.mark.parametrize(("draft", "shape"), [(parent_dropped_too, chain("q", "q")), (last_nodes_kept, flat("q", "q"))])
def test_to_drop_more_or_by_value_is_seen(draft, shape: Shape) -> None:
    assert farthest("traversal", shape, draft) > SEEN


@pytest.mark.parametrize(("rule", "shape"), [("kseq", INDEPENDENT[0]), ("multipath", INDEPENDENT[0])])
def test_rules_for_independent_candidates_ask_that_none_decides_whether_another_is_there(rule, shape) -> None:
    """What docs/exactness.md says of them: their drafters owe them this as it is."""
    assert farthest(rule, shape, partial(guarded, when=anywhere_before)) > SEEN


def longer(shape: Shape, only_if) -> Shape:
    return Shape(f"{shape}, longer", shape.nodes, only_if)


LONG = [
    longer(chain(*"qqqq"), lambda drawing, node, above: node < 2 or drawing.tokens[0] == 1),
    longer(chain("q", "t0", "q", "c1"), lambda drawing, node, above: node < 2 or drawing.tokens[0] == 1),
]


@pytest.mark.parametrize("rule", TAKES)
def test_what_is_too_long_is_cut_and_the_round_exact(rule: str) -> None:
    independent = {"kseq": [*PATHS, TREE_OF_PAIRS], "multipath": INDEPENDENT[:2]}.get(rule, [])
    for shape in [*LONG, *(TAKES[rule] if rule in TREES else independent)]:
        for budget in range(len(shape.nodes)):
            assert farthest(rule, shape, partial(cut, budget=budget)) < ROUNDING, (shape, budget)


def cut(drawing: Drawing, budget: int) -> Proposal:
    found, _ = kept(drawing.proposal(), drawing.tables.vocab, budget)
    assert len(found) <= budget
    return found


def misplaced(drawing: Drawing, where: int) -> Proposal:
    """Behind token 1 a node stands where none can."""
    proposal = drawing.proposal()
    tokens, parents = proposal.tokens.tolist(), proposal.parents.copy()
    parents[[node for node in range(len(tokens)) if 1 in tokens[:node]]] = where
    return kept(Proposal(proposal.tokens, parents, proposal.laws), drawing.tables.vocab)[0]


@pytest.mark.parametrize("where", [-2, 99])
@pytest.mark.parametrize("rule", [*TREES, "token", "block"])
def test_behind_a_node_that_has_no_place_all_is_dropped(rule: str, where: int) -> None:
    for shape in TAKES[rule]:
        assert farthest(rule, shape, partial(misplaced, where=where)) < ROUNDING, shape


def drawn_before_truncation(drawing: Drawing) -> Proposal:
    """Each law lacks the token it gave least, which may have been drawn."""
    proposal = drawing.proposal()
    laws = tuple(None if q is None else truncated(q) for q in proposal.laws)
    return kept(Proposal(proposal.tokens, proposal.parents, laws), drawing.tables.vocab)[0]


def truncated(q):
    left = np.where(q == q.min(), 0.0, q)
    return left / left.sum()


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "recursive"])
def test_a_token_outside_its_law_is_dropped_and_those_inside_were_drawn_from_it(rule: str) -> None:
    for shape in [chain(*"qqq"), *(PATHS if rule in TREES else [])]:
        assert farthest(rule, shape, drawn_before_truncation) < ROUNDING, shape


@pytest.mark.parametrize("rule", [rule for rule in TAKES if rule != "coupled"])
def test_a_law_that_its_own_token_decides_bends_the_round_by_no_more_than_what_is_dropped(rule: str) -> None:
    table = TABLES[2]
    far = farthest(rule, chain("q"), partial(guarded, when=of_its_own))
    assert SEEN < far <= max(lookup(each.q, (0, 1))[1] for each in (*FEW, table))


Q = np.array([0.5, 0.3, 0.2])
BAD_LAWS = {
    "NaN": Q * np.nan,
    "below zero": np.array([1.2, -0.4, 0.2]),
    "another sum": Q * 1.01,
    "another vocabulary": np.full(4, 0.25),
    "its own token excluded": np.array([0.0, 0.5, 0.5]),
    "no array": [0.5, 0.3, 0.2],
    "a word": "uniform",
    "a sparse law without a token": SparseLaw(np.array([], np.int64), np.array([]), 3),
    "a sparse law of another sum": SparseLaw(np.array([0, 2]), np.array([0.5, 0.6]), 3),
}
#        0 (1 (3) 2 (4 (5))) 6 (7)
PARENTS = np.array([ROOT, 0, 0, 1, 2, 4, ROOT, 6])


@pytest.mark.parametrize(
    ("where", "left"),
    [(0, []), (1, [0, 6, 7]), (2, [0, 1, 3, 6, 7]), (4, [0, 1, 2, 3, 6, 7]), (6, [0, 1, 2, 3, 4, 5]),
     (7, [0, 1, 2, 3, 4, 5, 6])],
)  # fmt: skip
@pytest.mark.parametrize("name", BAD_LAWS)
def test_what_was_drawn_given_a_broken_law_goes_with_it(name: str, where: int, left: list[int]) -> None:
    laws = [Q] * len(PARENTS)
    laws[where] = BAD_LAWS[name]
    whole = Proposal(np.zeros(len(PARENTS), np.int64), PARENTS, tuple(laws), np.linspace(0.1, 0.8, 8))
    found, fault = kept(whole, 3)
    assert fault is not None
    assert not left or (found.confidence == whole.confidence[left]).all()
    assert found.tokens.tolist() == [0] * len(left)
    assert [left[p] if p != ROOT else ROOT for p in found.parents.tolist()] == PARENTS[left].tolist()
    assert all(law is Q for law in found.laws)
    assert found.checked == 3 or not left


@pytest.mark.parametrize(
    ("parents", "laws"), [(PARENTS[:5], 8), (PARENTS, 5), (np.array([ROOT, 0, 0, 1, 2, 5, ROOT, 6]), 8)]
)
def test_nodes_without_a_place_or_a_law_are_left_out(parents, laws: int) -> None:
    found, fault = kept(Proposal(np.zeros(8, np.int64), parents, (Q,) * laws), 3)
    assert fault is not None
    assert found.parents.tolist() == PARENTS[:5].tolist()


OPINIONS = [np.full(3, np.nan), np.full(2, 0.5), np.full(3, 1.5), np.array([0.5, 0.5, -0.1]), [0.5] * 3, "sure"]


@pytest.mark.parametrize("opinion", OPINIONS, ids=str)
def test_an_opinion_that_is_none_is_left_out_and_said(opinion) -> None:
    found, fault = kept(Proposal.chain([0, 1, 2], [Q] * 3, opinion), 3)
    assert found.tokens.tolist() == [0, 1, 2]
    assert found.confidence is None
    assert "confidence is" in fault


class BreaksBehindOne(TableDrafter):
    """Its law is none behind token 1."""

    def chain(self, state, budget, randomness):
        return broken(super().chain(state, budget, randomness), on_the_path, np.full(3, np.nan))


@pytest.mark.parametrize("rule", ["token", "block", "traversal", "coupled"])
def test_whole_texts_keep_their_law_and_say_the_fault(rule: str) -> None:
    faults = set()

    def text(walker):
        drafter = GuardedDrafter(BreaksBehindOne(CASE.draft), 3)
        found = run(CASE, walker, find("verifiers", rule)(), drafter)[0]
        faults.add(drafter.fault)
        return found

    assert total_variation(law_of(text), text_law(CASE, PROMPT)) < ROUNDING
    assert faults == {None, "propose: BadProposal: the law of draft node 1 sums to nan and its least entry is nan; "
                            "give probabilities, not below 0 and with a sum of 1 to within 1e-06"}  # fmt: skip


def test_samples_of_one_request_stay_independent() -> None:
    pair = Scenario("pair", CASE.target, CASE.draft, draft_tokens=2, max_tokens=2)
    rule = find("verifiers", "traversal")()
    joint = law_of(lambda walker: run(pair, walker, rule, GuardedDrafter(BreaksBehindOne(pair.draft), 3), n=2))
    one = text_law(pair, PROMPT)
    assert total_variation(joint, {(a, b): one[a] * one[b] for a in one for b in one}) < ROUNDING


class TooMuch(TableDrafter):
    """Behind token 1 it drafts more than it was asked for."""

    def chain(self, state, budget, randomness):
        found = super().chain(state, budget + 1, randomness)
        return found if 1 in found.tokens[:1] else found.only(np.arange(budget))


class Misplaces(TableDrafter):
    """Behind token 1 it names a parent that is none."""

    def chain(self, state, budget, randomness):
        found = super().chain(state, budget, randomness)
        parents = [-2 if 1 in found.tokens[:node] else node - 1 for node in range(len(found))]
        return Proposal(found.tokens, np.array(parents, np.int64), found.laws)


@pytest.mark.parametrize("kind", [TooMuch, Misplaces, BreaksBehindOne])
@pytest.mark.parametrize("rule", ["traversal", "recursive"])
def test_a_source_of_a_mix_bends_nothing_either(rule: str, kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "broken", lambda: kind(random_table(3, 1, 63)))
    case = Scenario("mixed", random_table(3, 1, 60), {}, draft_tokens=4, max_tokens=5)
    for names in (("broken", "q"), ("q", "broken", "likeliest")):
        drafter = mix(*names)
        laws = completed_round(case, find("verifiers", rule)(), Anew(lambda drafter=drafter: drafter))
        assert distance_of(*laws) < ROUNDING


class Anew:
    """protocol.Drafter: a new guard for each text."""

    def __init__(self, make) -> None:
        self.make = make

    def open(self, tokens, law):
        self.guard = GuardedDrafter(self.make(), 3)
        return self.guard.open(tokens, law)

    def propose(self, states, budgets, randomness):
        return self.guard.propose(states, budgets, randomness)


class Kept:
    """A drafter that goes on writing into what it gave."""

    def __init__(self, vocab: int) -> None:
        q = np.full(vocab, 1.0 / vocab)
        laws = (q, SparseLaw(np.arange(vocab), q.copy(), vocab), None)
        self.given = Proposal(np.array([1, 2, 0]), np.array([ROOT, 0, 1]), laws, np.full(3, 0.5))

    def arrays(self) -> list[np.ndarray]:
        dense, sparse, _ = self.given.laws
        return [self.given.tokens, self.given.parents, self.given.confidence, dense, sparse.tokens, sparse.weights]

    def propose(self, states, budgets, randomness):
        return [self.given]


def given_to_a_run(drafter: Kept) -> Proposal:
    guard = GuardedDrafter(drafter, 3, Calls(beside=True))
    (found,) = guard.propose([GuardedState(guard, object())], [3], [None])
    assert guard.fault is None
    return found


def given_to_a_mix(drafter: Kept) -> Proposal:
    foreign = ForeignDrafter(drafter, Calls(beside=True))
    (found,) = foreign.propose([ForeignState(foreign.calls, object())], [3], [None])
    return found


@pytest.mark.parametrize("given", [given_to_a_run, given_to_a_mix])
def test_what_somebody_elses_code_gave_is_copied_before_it_is_believed(given) -> None:
    drafter = Kept(3)
    found = given(drafter)
    told, sparse = found.laws[0].copy(), found.laws[1]
    for array in drafter.arrays():
        array[...] = 0
    assert found.tokens.tolist() == [1, 2, 0]
    assert found.parents.tolist() == [ROOT, 0, 1]
    assert (found.confidence == 0.5).all()
    assert (found.laws[0] == told).all()
    assert sparse.tokens.tolist() == [0, 1, 2]
    assert (sparse.weights == told).all()


@pytest.mark.parametrize("given", [None, Proposal(None, None, None), Proposal([1], [ROOT], [None], "sure")])
def test_what_is_no_proposal_is_a_fault_and_no_error(given) -> None:
    drafter = Kept(3)
    drafter.given = given
    guard = GuardedDrafter(drafter, 3, Calls(beside=True))
    assert not len(guard.propose([GuardedState(guard, object())], [3], [None])[0])
    assert guard.fault is not None

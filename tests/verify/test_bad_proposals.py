"""What no rule may accept: every illegal law or tree raises, with a message that names the node, before a draw."""

from __future__ import annotations

import numpy as np
import pytest

from truedraw.errors import BadInput, BadProposal
from truedraw.protocol import ROOT, Proposal, SparseLaw
from truedraw.registry import find, names

VOCAB = 4
P = np.array([0.1, 0.2, 0.3, 0.4])
GOOD = np.array([0.25, 0.25, 0.5, 0.0])
RULES = [name for name in names("verifiers") if name != "coupled"]
LAWS = {
    "sums to": [
        np.array([0.5, 0.5, 0.5, 0.0]),
        np.array([0.25, 0.25, 0.4, 0.0]),
        np.array([0.5, 0.5, 2e-6, 0.0]),
        np.array([0.25, -0.25, 1.0, 0.0]),
        np.array([0.5, np.nan, 0.5, 0.0]),
        np.array([0.5, np.inf, 0.5, 0.0]),
        np.array([0.5, np.inf, -np.inf, 0.5]),
        np.zeros(VOCAB),
    ],
    "its own token 0 probability 0": [np.array([0.0, 0.5, 0.5, 0.0])],
    "has shape": [np.array([0.5, 0.5]), np.full(VOCAB + 1, 0.2), np.full((1, VOCAB), 0.25), np.array(1.0)],
}


class NoDraws:
    def choose(self, *args):
        raise AssertionError("a token was drawn")

    accept = choose


def verify(name: str, proposal: Proposal) -> None:
    find("verifiers", name)()(proposal, [P] * (1 + len(proposal)), NoDraws(), 3)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("message", "law"), [(message, law) for message, laws in LAWS.items() for law in laws])
def test_an_illegal_law_is_refused_before_anything_is_drawn(rule: str, message: str, law) -> None:
    with pytest.raises(BadProposal, match=f"draft node 1.*{message}"):
        verify(rule, Proposal.chain([0, 0], [GOOD, law]))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("token", [-1, VOCAB])
def test_a_token_outside_the_vocabulary_is_refused(rule: str, token: int) -> None:
    with pytest.raises(BadProposal, match="draft node 1 is token"):
        verify(rule, Proposal.chain([0, token]))


@pytest.mark.parametrize("rule", ["traversal", "recursive", "kseq", "multipath", "coupled"])
@pytest.mark.parametrize("parents", [[0, ROOT], [ROOT, 1], [ROOT, -2], [ROOT]])
def test_a_tree_out_of_order_is_refused(rule: str, parents: list[int]) -> None:
    with pytest.raises(BadProposal, match="parent"):
        verify(rule, Proposal(np.array([0, 1]), np.array(parents), (None, None)))


IDS = np.array([0, 1])
LISTS = {
    "tokens are a list and their parents int64": Proposal([0, 1], IDS - 1, (None, None)),
    "tokens are int64 and their parents a tuple": Proposal(IDS, (ROOT, 0), (None, None)),
    "tokens are a list and their parents a list": Proposal([], [], ()),
    "tokens are float64 and their parents int64": Proposal(np.array([0.0, 1.0]), IDS - 1, (None, None)),
    "tokens are int64 and their parents float64": Proposal(IDS, np.array([-1.0, 0.0]), (None, None)),
    r"tokens are int64 of shape \(1, 2\)": Proposal(IDS[None], IDS[None], (None,)),
    "law of draft node 1 is a list": Proposal.chain([0, 0], [GOOD, GOOD.tolist()]),
    "law of draft node 1 is a float": Proposal.chain([0, 0], [GOOD, 0.5]),
    "law of draft node 1 are a list and its weights a list": Proposal.chain([0, 0], [GOOD, SparseLaw([0], [1.0], 4)]),
}


@pytest.mark.parametrize("rule", ["traversal", "recursive"])
@pytest.mark.parametrize("message", LISTS)
def test_what_is_no_array_is_refused_in_words(rule: str, message: str) -> None:
    with pytest.raises(BadProposal, match=f"{message}.*give"):
        verify(rule, LISTS[message])


def test_every_illegal_proposal_is_a_value_error() -> None:
    assert issubclass(BadProposal, ValueError)
    assert issubclass(BadInput, ValueError)


def test_a_law_in_single_precision_is_taken_as_it_is() -> None:
    logits = np.random.default_rng(1).normal(size=50_000).astype(np.float32)
    law = np.exp(logits) / np.exp(logits).sum()
    assert law.dtype == np.float32
    rows = [np.full(50_000, 1 / 50_000)] * 2
    with pytest.raises(AssertionError, match="drawn"):
        find("verifiers", "traversal")()(Proposal.chain([7], [law]), rows, NoDraws(), 3)


SIBLINGS = Proposal(np.array([0, 1]), np.array([ROOT, ROOT]), (GOOD, P))
SAME_PREFIX = Proposal(np.array([0, 0, 1, 1]), np.array([ROOT, ROOT, 0, 1]), (GOOD, GOOD, GOOD, P))


@pytest.mark.parametrize(
    ("rule", "proposal", "message"),
    [
        ("token", SIBLINGS, "chains"),
        ("block", SIBLINGS, "chains"),
        ("kseq", SIBLINGS, "nodes 0 and 1 differ"),
        ("kseq", Proposal(np.array([0, 1]), np.array([ROOT, ROOT]), (None, None)), "nodes 0 and 1 differ"),
        ("multipath", SIBLINGS, r"after \[\] draft node 1"),
        ("multipath", SAME_PREFIX, r"after \[0\] draft node 3"),
        (
            "multipath",
            Proposal(np.array([0, 0, 1]), np.array([ROOT, ROOT, 0]), (GOOD,) * 3),
            r"after \[0\] one path ends",
        ),
        ("multipath", Proposal(np.array([0, 1, 2]), np.array([ROOT, 0, 0]), (GOOD,) * 3), "chains from the root"),
    ],
)
def test_a_shape_that_a_rule_does_not_take_is_refused_with_the_rule_that_does(rule, proposal, message) -> None:
    with pytest.raises(BadInput, match=f"(?s){message}.*traversal"):
        verify(rule, proposal)

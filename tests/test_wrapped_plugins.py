"""A wrapper that hands on by `__getattr__` whatever the other has is taken for what that is."""

import pytest

from truedraw import protocol
from truedraw.control.costs import PassCosts
from truedraw.draft.behind import look_ahead
from truedraw.generate.foreign_rule import ForeignLossyRule, foreign_rule
from truedraw.protocol import KnowsCosts, LooksAhead, Loss, PassTable, Verifier
from truedraw.protocol.able import is_able


class Wrapper:
    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)


class Engine:
    def pass_costs(self):
        return PassTable({1: 0.5, 2: 0.6}, {1: 0.5}, {1: 0.0})

    def doubt_costs(self):
        """Nothing."""


class State:
    def commit(self, tokens, scores=None):
        """Nothing."""

    def propose(self):
        """Nothing."""

    def close(self):
        """Nothing."""

    def ahead(self, tokens):
        return tuple(tokens)


class Rule:
    exact, coupled = False, False

    def __call__(self, proposal, rows, randomness, position):
        """Nothing."""

    def loss(self):
        return Loss("rule", {}, 0, None, "nothing")


class WrappedRule(Wrapper):
    exact = False

    def __init__(self):
        super().__init__(Rule())

    def __call__(self, *args):
        return self._inner(*args)


def test_an_engine_that_tells_what_passes_take():
    assert PassCosts.of(Wrapper(Engine())).is_timed
    assert not PassCosts.of(Wrapper(object())).is_timed


def test_a_state_that_looks_ahead():
    assert look_ahead(Wrapper(State()), [1, 2]) == (1, 2)
    assert look_ahead(Wrapper(object()), [1, 2]) is None


def test_a_rule_that_says_what_it_loses():
    assert isinstance(foreign_rule("mine", WrappedRule, {}), ForeignLossyRule)


@pytest.mark.parametrize("found", [Engine(), State(), Rule(), object(), Engine])
@pytest.mark.parametrize("contract", [KnowsCosts, LooksAhead, Verifier, protocol.KeepsDraftCosts, protocol.Dozes])
def test_it_is_what_isinstance_says_of_all_others(found, contract):
    assert is_able(found, contract) == isinstance(found, contract)

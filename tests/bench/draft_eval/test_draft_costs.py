import numpy as np
import pytest

from bench.draft_eval.tables import TableCell, toy_with_head
from truedraw import load
from truedraw.bench.draft_eval.costs import as_shares, call_seconds, draft_seconds, pass_seconds, predicted
from truedraw.bench.draft_eval.texts import write
from truedraw.bench.pairs import Task
from truedraw.control.costs import PassCosts
from truedraw.draft.head.kinds.at_once import AtOnce
from truedraw.draft.head.opening import Head
from truedraw.generate.speculation import Speculation
from truedraw.protocol import PassTable
from truedraw.sampling.params import SamplingParams

PASSES = PassCosts({1: 2.0, 2: 2.2, 4: 2.6, 8: 3.0}, {})


def test_a_round_is_paid_for_by_its_tokens():
    found = predicted({1: 1.5, 3: 1.9, 5: None}, {1: 0.1, 3: 0.3, 5: 0.5}, PASSES)
    assert found == {1: pytest.approx(1.5 * 2.0 / (2.2 + 0.1)), 3: pytest.approx(1.9 * 2.0 / (2.6 + 0.3)), 5: None}
    assert predicted({1: 1.5}, {1: 0.1}, None) == {1: None}


def test_calls_are_timed_by_rows_and_drafts_by_tokens():
    calls = call_seconds(Head(TableCell(), (0.5,)), 2, 3)
    assert {name: [*each] for name, each in calls.items()} == {"begin": [2, 4, 8], "step": [2, 4, 8]}
    assert all(seconds > 0 for each in calls.values() for seconds in each.values())
    assert as_shares({"begin": {2: 0.5}}, 2.0) == {"begin": {2: 0.25}}
    model = toy_with_head()
    (text,) = write(model, [Task("a", (0, 1))], SamplingParams(seed=1, max_tokens=9), lambda: None)
    for trees in (False, True):
        assert [*draft_seconds(model, text, Speculation("head"), (1, 4), trees=trees)] == [1, 4]


def test_a_head_of_one_position_takes_no_further_step():
    cell = AtOnce(np.arange(3), lambda features, _last: np.zeros((len(features), 1, 3), np.float32))
    assert {name: [*each] for name, each in call_seconds(Head(cell, (0.5,), 1), 2, 3).items()} == {"begin": [2, 4, 8]}


def test_only_an_engine_that_knows_tells():
    engine = load("tabular").engine
    assert pass_seconds(engine) is None
    engine.pass_costs = lambda: PassTable({1: 1.0, 4: 1.5}, {})
    engine.doubt_costs = lambda: None
    assert pass_seconds(engine).seconds(4) == 1.5
    engine.pass_costs = lambda anew=False: PassTable({1: 1.0, 4: 1.25 if anew else 1.5}, {})
    assert pass_seconds(engine).seconds(4) == 1.25

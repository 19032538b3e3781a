"""What a checkpoint says of where its training was: read as it was written, and refused where no training wrote it."""

from dataclasses import asdict

import pytest

from truedraw.distill.state import State, state_of
from truedraw.errors import BadFile

POINT = {"tokens": 9, "loss": -0.5, "acceptance": [0.5, 0.25]}
LOOK = {"tokens": 9, "step": 3, "rows": 7, "acceptance": [0.5, 0.25, 0.1], "tokens_a_round": 1.5}
FACTS = asdict(State(step=3, tokens=9, loss=-0.5, kept=[0.5, 0], best=1.5, best_step=3, curve=[POINT], looks=[LOOK],
                     held_out="0123abcd"))  # fmt: skip


NEW = ("held_out", "lately", "since", "of_steps", "of_seconds", "gave_up")
"""What checkpoints of earlier versions lack."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lk.checkpoint"


@pytest.mark.parametrize(
    "state", [State(), State(**FACTS), State(looked=0, looks=[LOOK, LOOK]), State(of_steps=10**20)]
)
def test_it_is_read_as_it_was_written(path, state):
    assert state_of(asdict(state), path) == state


@pytest.mark.parametrize(("name", "value"), [
    ("step", "x"), ("step", -1), ("step", 1.5), ("step", True), ("step", None), ("tokens", 1 << 70), ("looked", -2),
    ("seconds", "3"), ("seconds", -1.0), ("seconds", float("nan")), ("best", float("inf")), ("loss", [1.0]),
    ("kept", []), ("kept", 0.5), ("kept", [0.5, "x"]), ("curve", {}), ("curve", [3]),
    ("curve", [{**POINT, "loss": None}]), ("curve", [POINT, {**POINT, "acceptance": [0.5]}]),
    ("looks", [{}]), ("looks", [{**LOOK, "tokens_a_round": "x"}]), ("looks", [{**LOOK, "acceptance": 3}]),
    ("held_out", 3), ("lately", None), ("since", -1), ("of_steps", "x"), ("of_seconds", float("nan")), ("gave_up", 1),
    ("of_steps", -1),
])  # fmt: skip
def test_a_fact_that_no_training_writes(path, name, value):
    with pytest.raises(BadFile, match=rf"lk\.checkpoint is cut or damaged \({name} is .*remove it to train anew"):
        state_of({**FACTS, name: value}, path)


@pytest.mark.parametrize("facts", [
    7, None, [], {}, {"step": 3}, {**FACTS, "colour": "red"}, {name: FACTS[name] for name in FACTS if name != "kept"},
])  # fmt: skip
def test_other_facts(path, facts):
    with pytest.raises(BadFile, match=r"it does not say where its training was\); remove it to train anew"):
        state_of(facts, path)


def test_facts_of_a_version_that_did_not_name_held_out_rows(path):
    older = {name: value for name, value in FACTS.items() if name not in NEW}
    assert state_of(older, path) == State(**{**FACTS, "held_out": "", "lately": FACTS["best"]})


def test_steps_without_a_look(path):
    with pytest.raises(BadFile, match="it has steps and no looks at held-out text"):
        state_of({**FACTS, "looks": []}, path)

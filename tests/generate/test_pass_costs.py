"""A model learns from its engine what passes take, and tells it when they took otherwise."""

from __future__ import annotations

import pytest

from truedraw import Model, load
from truedraw.control.costs import ENOUGH, PassCosts
from truedraw.control.experience import Experience
from truedraw.control.table import USUAL
from truedraw.engine.tabular import TabularEngine
from truedraw.models.toy import TOY_TABLE, toy_text
from truedraw.protocol import PassTable
from truedraw.text import Tokenizer

TABLE = PassTable({1: 0.5, 2: 0.75, 64: 9.0}, {})


class Timed(TabularEngine):
    """The toy with a table of costs."""

    asked = doubted = closed = 0

    def pass_costs(self) -> PassTable:
        self.asked += 1
        return TABLE

    def doubt_costs(self) -> None:
        assert not self.closed
        self.doubted += 1

    def close(self) -> None:
        self.closed += 1


def toy(engine: TabularEngine) -> Model:
    text = toy_text()
    return Model("toy", engine, Tokenizer(text.load_tokenizer(), eos_ids=text.eos_ids))


def test_a_loaded_model_knows_what_its_engine_has_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Timed(TOY_TABLE)
    monkeypatch.setattr("truedraw.generate.loading.open_model", lambda name, **options: toy(engine))
    with load("tabular") as model:
        assert [model.experience.costs.seconds(rows) for rows in TABLE.rows] == list(TABLE.rows.values())
    assert engine.asked == 1


def test_an_engine_that_does_not_know_is_not_asked() -> None:
    with load("tabular") as model:
        assert model.experience.costs.seconds(8) == USUAL[8]


def test_an_engine_whose_measurement_fails_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Timed(TOY_TABLE)

    def stop() -> PassTable:
        raise KeyboardInterrupt

    engine.pass_costs = stop  # type: ignore[method-assign]
    monkeypatch.setattr("truedraw.generate.loading.open_model", lambda name, **options: toy(engine))
    with pytest.raises(KeyboardInterrupt):
        load("tabular")
    assert engine.closed == 1


@pytest.mark.parametrize(("factor", "doubted"), [(1.0, 0), (4.0, 1)])
def test_the_engine_is_told_when_its_table_was_wrong(factor: float, doubted: int) -> None:
    engine = Timed(TOY_TABLE)
    with toy(engine) as model:
        model.experience = Experience(costs := PassCosts.of(engine))
        for rows in (1, 64) * 2 * ENOUGH:
            for _ in range(2):
                costs.add(rows, costs.table(rows) * (1.0 if rows == 1 else factor))
    assert (engine.doubted, engine.closed) == (doubted, 1)


def test_drift_is_no_matter_to_an_engine_without_a_table() -> None:
    with toy(TabularEngine(TOY_TABLE)) as model:
        for rows, seconds in ((1, 1.0), (8, 9.0)) * ENOUGH:
            for _ in range(2):
                model.experience.costs.add(rows, seconds)
        assert model.experience.costs.drifted()

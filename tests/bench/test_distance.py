"""The distance of the computed law from its reference."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from known_laws import lookup, random_table
from truedraw.bench.distance import ROWS, ROWS_AT_ONCE, distances, logits, softmax
from truedraw.cli.models import app
from truedraw.engine.tabular import TabularEngine
from truedraw.errors import EngineError


def test_the_rows_of_a_long_text_are_those_of_its_prefixes() -> None:
    table = random_table(3, 2, 8)
    text = np.random.default_rng(0).integers(0, 3, 2 * ROWS_AT_ONCE + 7).tolist()
    rows = softmax(np.concatenate(list(logits(TabularEngine(table), text))))
    assert len(rows) == len(text) - 1
    for place, row in enumerate(rows):
        assert row == pytest.approx(lookup(table, text[: place + 1]))


class Failing(TabularEngine):
    """Fails in its second pass."""

    def __init__(self) -> None:
        super().__init__(random_table(3, 2, 8))
        self.passes, self.is_closed = 0, False

    def forward(self, works):
        self.passes += 1
        if self.passes > 1:
            raise EngineError("no more")
        return super().forward(works)

    def close(self) -> None:
        self.is_closed = True
        super().close()


def test_an_engine_whose_pass_fails_is_closed(monkeypatch) -> None:
    engine, text = Failing(), [0, 1] * ROWS_AT_ONCE
    monkeypatch.setattr("truedraw.engine.cpu.CPUEngine.load", lambda *_, **__: engine)
    monkeypatch.setattr("truedraw.text.Tokenizer.of", lambda _: None)
    monkeypatch.setattr("truedraw.bench.distance.sample_text", lambda _: text)
    with pytest.raises(EngineError, match="no more"):
        distances(SimpleNamespace(weights=()))
    assert engine.is_closed


def test_a_model_of_a_short_context_is_measured_over_as_many_rows_as_it_has(monkeypatch) -> None:
    context, text = ROWS_AT_ONCE + 3, [0, 1] * ROWS_AT_ONCE
    load = lambda *_, **__: TabularEngine(random_table(3, 2, 8), context_length=context)  # noqa: E731
    monkeypatch.setattr("truedraw.engine.cpu.CPUEngine.load", load)
    monkeypatch.setattr("truedraw.text.Tokenizer.of", lambda _: None)
    monkeypatch.setattr("truedraw.bench.distance.sample_text", lambda _: text)
    found = distances(SimpleNamespace(weights=()))
    assert [(row["rows"], row["largest_tv"]) for row in found] == [(context - 1, 0.0)] * 3


@pytest.mark.slow
@pytest.mark.model
def test_show_measures_every_form_of_the_weights_and_the_passes() -> None:
    result = CliRunner().invoke(app, ["show", "--measure", "--json"])
    facts = json.loads(result.stdout)
    assert {"1", "2", "8", "16"} <= facts["pass_seconds"]["rows"].keys()
    found = {row["weights"]: row for row in facts["distance_from_reference"]}
    assert {row["rows"] for row in found.values()} == {ROWS}
    assert 0 < found["stored"]["mean_tv"] < found["int8"]["mean_tv"] < 0.1
    assert all(row["mean_tv"] <= row["largest_tv"] < 0.3 for row in found.values())

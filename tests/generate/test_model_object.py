"""A model, a run and a batch as Python objects: once closed, shown, copied."""

from __future__ import annotations

import pytest

from truedraw import load
from truedraw.errors import EngineError


@pytest.mark.parametrize("name", ["tabular", "smollm2-135m"])
def test_a_closed_model_says_so_at_once(name: str) -> None:
    with load(name) as model:
        batch = model.batch()
    for ask in (model.generate, model.start, model.stream, batch.add, model.batch().add):
        with pytest.raises(EngineError, match=r"^the engine is closed; load the model again$"):
            ask("the cat")
    assert not batch.step()
    model.close()

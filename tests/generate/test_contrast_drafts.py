"""The amateur of a contrast as its own drafter."""

import pytest

from truedraw import load


@pytest.fixture
def model():
    with load("tabular", amateur="tabular", contrastive_beta=0.3) as loaded:
        yield loaded


def test_the_amateur_that_drafts_is_opened_once(model) -> None:
    assert model.drafts.engine("tabular") is model.engine.amateur


@pytest.mark.parametrize("settings", [{"seed": 3}, {"seed": 3, "temperature": 0.7, "n": 3}])
def test_the_text_is_the_one_without_drafts(model, settings) -> None:
    drafts = {"method": "model", "model": "tabular", "num_speculative_tokens": 3, "adaptive": False}
    fast = model.generate("the cat", speculative=drafts, max_tokens=40, ignore_eos=True, **settings)
    plain = model.generate("the cat", speculative=False, max_tokens=40, ignore_eos=True, **settings)
    assert fast.fallback is None
    assert fast.stats.accepted > 10
    assert [choice.tokens for choice in fast.choices] == [choice.tokens for choice in plain.choices]


def test_who_lends_a_model_closes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    def close(self):
        closed.append(self)

    with load("tabular", amateur="tabular") as model:
        lent = model.drafts.engine("tabular")
        monkeypatch.setattr(type(lent), "close", close)
        model.drafts.close()
        assert closed == []
    assert closed == [model.engine.expert, lent]

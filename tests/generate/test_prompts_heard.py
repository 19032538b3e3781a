"""A controller is told of passes that computed prompts and scored nobody, where it wants to know."""

from __future__ import annotations

from truedraw import load
from truedraw.control.payoff import PayoffController
from truedraw.models.toy import TOY_MODEL
from truedraw.protocol import HearsPrompts

PROMPT = "the cat sat on the mat and the dog " * 4


def test_it_hears_of_the_prompt_that_samples_share_and_of_none_that_was_scored(monkeypatch) -> None:
    heard: list[int] = []
    monkeypatch.setattr(PayoffController, "prompts", lambda _, rows: heard.append(rows))
    assert isinstance(PayoffController(), HearsPrompts)
    with load(TOY_MODEL) as model:
        model.generate(PROMPT, n=1, seed=1, max_tokens=4)
        assert not heard
        model.generate(PROMPT, n=3, seed=2, max_tokens=4)
        assert heard == [len(model.tokenizer.encode(PROMPT)) - 1]

"""Plain texts of the target, and what it says at each of their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from truedraw.bench.pairs import Task
from truedraw.engine.cache_use import forget_closed
from truedraw.generate.derived_seeds import seed_after
from truedraw.generate.model import Model
from truedraw.generate.preparing import prepare
from truedraw.protocol import Engine, Law, Logits, Proposal, Randomness, Scores, TextRows, Work
from truedraw.sampling.params import SamplingParams

MOST_ROWS = 256  # of a pass: more are no faster, and their logits take memory


@dataclass(frozen=True, slots=True)
class Text:
    """What was written to one prompt, and the law and noise that it was drawn by."""

    category: str
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    law: Law  # of its first token
    randomness: Randomness


@dataclass(frozen=True, slots=True)
class Said:
    """What the target says of each token of a text, given those before it."""

    logits: Logits  # [tokens, vocab]
    hidden: NDArray[np.float32] | None  # [tokens, streams, width]
    text: tuple[TextRows, ...] = ()  # of the prompt

    def scores(self, place: int) -> Scores:
        """As the pass of a plain round would have given them."""
        hidden = None if self.hidden is None else self.hidden[place : place + 1]
        text = self.text if place == 0 else ()
        return Scores(self.logits[place : place + 1], hidden, Proposal.chain(()), text)


def write(model: Model, todo: Sequence[Task], params: SamplingParams, done: Callable[[], None]) -> list[Text]:
    """One text a prompt, all together; `params` has a seed, from which prompts count on. `done` hears of each text."""
    first = params.seed or 0
    with model.batch() as batch:
        own = [replace(params, seed=seed_after(first, number)) for number in range(len(todo))]
        runs = [batch.add(task.tokens, each, speculative=False) for task, each in zip(todo, own, strict=True)]
        for _ in batch.completed():
            done()
        results = [run.result() for run in runs]
    written = [tuple(result.choices[0].tokens) for result in results]
    return [text_of(model, *each) for each in zip(todo, written, own, strict=True)]


def text_of(model: Model, task: Task, tokens: tuple[int, ...], params: SamplingParams) -> Text:
    """With its law and noise."""
    job, _ = prepare(model.wish(task.tokens, params, speculative=False), model.engine, model.tokenizer, model.drafts)
    law, randomness, _ = job.starts[0]
    return Text(task.category, task.tokens, tokens, law, randomness)


def said(engine: Engine, text: Text) -> Said:
    """A chain pass over the text, in parts, as if nothing of it had been computed: else its prompt has no states."""
    forget_closed(engine)
    sequence = engine.open(text.prompt)
    parts: list[Scores] = []
    try:
        for start in range(0, len(text.tokens), MOST_ROWS):
            part = text.tokens[start : start + MOST_ROWS]
            (found,) = engine.forward([Work(sequence, Proposal.chain(part[:-1]))])
            hidden = None if found.hidden is None else found.hidden.copy()
            parts.append(Scores(found.logits.copy(), hidden, text=found.text))
            sequence.commit(part)
    finally:
        sequence.close()
    streams = [part.hidden for part in parts if part.hidden is not None]
    hidden_of_all = np.concatenate(streams) if streams else None
    return Said(np.concatenate([part.logits for part in parts]), hidden_of_all, parts[0].text)

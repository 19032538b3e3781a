"""The interleaved measurement: every prompt plainly and speculatively, one right after the other, through one loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, zip_longest

from truedraw.bench.lengths import short
from truedraw.bench.prompts import Prompt
from truedraw.control.explanation import Explanation
from truedraw.engine.cache_use import forget_closed
from truedraw.errors import BadPrompt
from truedraw.generate.derived_seeds import seed_after
from truedraw.generate.model import Model
from truedraw.generate.result import Result
from truedraw.generate.speculation import Speculation
from truedraw.sampling.params import SamplingParams
from truedraw.stats.summary import Stats

PLAIN = Speculation(method="none")


@dataclass(frozen=True, slots=True)
class Task:
    """A prompt as the model gets it."""

    category: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """One prompt, sampled in both ways."""

    task: int  # which prompt, from 0
    category: str
    plain: Stats
    speculative: Stats
    identical: bool | None  # token for token; None: nobody asked for it by a seed
    explanation: Explanation | None = None  # of the speculative run


@dataclass(frozen=True, slots=True)
class Arms:
    """What is compared: `speculation` with plain sampling, both by `params`."""

    model: Model
    params: SamplingParams
    speculation: Speculation

    def pair(self, tokens: str | Sequence[int], plain_first: bool) -> tuple[Result, Result]:
        """(plain, speculative), run in the order asked for."""
        order = (PLAIN, self.speculation) if plain_first else (self.speculation, PLAIN)
        first, second = (self._run(tokens, arm) for arm in order)
        return (first, second) if plain_first else (second, first)

    def _run(self, tokens: str | Sequence[int], speculation: Speculation) -> Result:
        """Each computes its prompt, whatever the one before has left of it."""
        forget(self.model)
        return self.model.generate(tokens, self.params, speculative=speculation)

    def warm_up(self, tokens: str | Sequence[int]) -> None:
        """Run both once, unmeasured."""
        replace(self, params=short(self.params)).pair(tokens, plain_first=True)


def tasks(model: Model, prompts: Sequence[Prompt], raw: bool = False) -> list[Task]:
    """Prompts as token ids, in the model's chat template where it has one; raises BadPrompt naming the line."""
    chat = model.tokenizer.has_chat_template and not raw
    return [Task(prompt.category, _tokens(model, prompt, chat)) for prompt in prompts]


def by_turns(tasks: Sequence[Task]) -> list[Task]:
    """One of each category, then the next of each, so that a short time sees all of them."""
    kinds = dict.fromkeys(task.category for task in tasks)
    columns = [[task for task in tasks if task.category == kind] for kind in kinds]
    return [task for row in zip_longest(*columns) for task in row if task is not None]


def pairs(arms: Arms, todo: Sequence[Task], repeats: int = 1) -> Iterator[Pair]:
    """A B, B A, A B and so on, so that a machine that slows down favours nobody. Of a seed every repeat has its own."""
    arms.warm_up(todo[0].tokens)
    for count, (repeat, (index, task)) in enumerate(product(range(repeats), enumerate(todo))):
        turn = replace(arms, params=repeated(arms.params, repeat))
        plain, speculative = turn.pair(task.tokens, plain_first=count % 2 == 0)
        yield pair_of(index, task, plain, speculative, is_seeded=arms.params.seed is not None)


def repeated(params: SamplingParams, repeat: int) -> SamplingParams:
    """For one repetition of all prompts: the next seed, where there is one."""
    return params if params.seed is None else replace(params, seed=seed_after(params.seed, repeat))


def pair_of(index: int, task: Task, plain: Result, speculative: Result, *, is_seeded: bool) -> Pair:
    """What is kept of two runs of task number `index`."""
    same = same_tokens(plain, speculative) if is_seeded else None
    return Pair(index, task.category, plain.stats, speculative.stats, same, speculative.explanation)


def same_tokens(one: Result, other: Result) -> bool:
    """Whether two results hold the same texts, token for token."""
    return [choice.tokens for choice in one.choices] == [choice.tokens for choice in other.choices]


def forget(model: Model) -> None:
    """Let no run find what another one has left in a cache, the target's or a draft model's."""
    forget_closed(model.engine)
    model.drafts.forget_closed()


def _tokens(model: Model, prompt: Prompt, chat: bool) -> tuple[int, ...]:
    message = {"role": "user", "content": prompt.text}
    ids = model.chat_prompt([message]) if chat else model.tokenizer.encode(prompt.text)
    if not 0 < len(ids) < model.engine.context_length:
        where = f" of {prompt.source}" if prompt.source else ""
        raise BadPrompt(
            f"the prompt in line {prompt.line}{where} has {len(ids)} tokens; "
            f"this model takes 1 to {model.engine.context_length - 1}"
        )
    return tuple(ids)


def apart(model: Model) -> Model:
    """The same, engine and drafts, with an experience of its own."""
    found = Model(model.name, model.engine, model.tokenizer, model.defaults)
    found.drafts, found.turns = model.drafts, model.turns
    return found

"""Text to train on: the model writes prompts for itself, in the user's place of its chat template, and answers them.
Or it answers given prompts, again and again.

Rounds of prompts follow one another, each with seeds of its own, so that a run that was stopped goes on where it was:
the text of a seed is the same in any batch, and what is there already is not drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import TYPE_CHECKING, NamedTuple

from truedraw.distill.asking import answered, opening
from truedraw.distill.texts import WATCH, Record
from truedraw.errors import BadParameter
from truedraw.generate.derived_seeds import seed_after
from truedraw.generate.planning import LIMITS
from truedraw.generate.prompt_ids import Prompt
from truedraw.generate.request import Request

if TYPE_CHECKING:
    from truedraw.distill.watching import Watch
    from truedraw.generate.model import Model

PLACE = "\x00"  # stands for the user's words while the template is looked at
PROMPT_TOKENS = 100
PROMPTS = 256  # of a round
LEAST = LIMITS.max_running  # answers of a round: its prompts took their time, and so many come side by side
SHORTEST, LONGEST = 8, 600  # characters of a prompt
LEAST_ANSWER = 8  # tokens; shorter answers teach nothing
MOST_BARREN = 3  # rounds in a row without a text, at each temperature, after which there will be none
INSTEAD = "a file of prompts, or --documents"
PURPOSES = 1 << 32  # seeds of prompts and answers are this far apart
OPENERS = (
    "Write", "Write a", "Write a story", "Write a poem", "Write a letter", "Tell me", "Tell me a story", "Give me",
    "Give me ideas", "Come up with", "Name", "List", "Explain", "Describe", "Describe a", "Imagine", "Suggest",
    "Create a", "Compare", "Summarize", "Compose", "Choose", "Make", "What", "What is", "How", "How do", "Why", "Who",
    "Where", "Which", "Is", "If", "Should", "I", "My", "The", "Continue this", "Rewrite", "Translate",
    "Translate into German:", "Solve", "Calculate", "Find", "Recommend", "Pick", "Rank", "Which is better",
    "Tell me about", "Generate", "Design", "Invent", "Outline", "Answer this question:", "Can you", "Could you",
    "Please", "Help me", "Do", "Does", "Are", "When", "In", "You are", "Given", "Write a Python", "Fix",
    "Here is a text:", "Read this:",
)  # fmt: skip
"""How most of the prompts begin. Left alone a model asks itself what it was taught to answer, and nearly always in the
same words; a word or two in front make it ask for the rest of what people ask for."""
FREE = 0.25  # of the prompts, which begin as the model likes
MOST_OPENERS = 1 << 10  # seeds of a round's prompts are this far from the next one's


@dataclass(frozen=True, slots=True)
class Plan:
    """How texts are drawn. The same plan and model give the same texts."""

    seed: int = 0
    prompts: int = PROMPTS  # drawn a round; those that do not end, or are too short or long, are left out
    top_p: float = 0.95  # of prompts: what a model believes of users has a long tail of noise
    temperatures: tuple[float, ...] = (1.0, 0.7, 1.0)  # of answers, in turn
    answer_tokens: int = 300
    asked: tuple[str, ...] | None = None  # prompts that are given
    least_begun: int = LEAST  # answers of a round, whatever the time
    openers: tuple[str, ...] = OPENERS  # of all but the free prompts, in equal parts; () where all are free

    @property
    def ends(self) -> bool:
        """Whether a round is all there is: further answers would be the same."""
        return self.asked is not None and not any(self.temperatures)

    @property
    def most_barren(self) -> int:
        """Rounds in a row without a text: a given prompt has another temperature in each of so many."""
        return MOST_BARREN * (1 if self.asked is None else len(self.temperatures))

    def temperature(self, number: int, i: int) -> float:
        """Of the answer to prompt i of a round."""
        return self.temperatures[(i + number) % len(self.temperatures)]


class There(NamedTuple):
    """Texts that are there, by their keys, and prompts that were asked at temperature 0."""

    keys: set[tuple[int, int]]
    greedy: set[tuple[int, ...]]

    @classmethod
    def of(cls, done: Iterable[Record]) -> There:
        """Of what earlier runs wrote."""
        found = cls(set(), set())
        for record in done:
            found.keys.add((record["key"][0], record["key"][1]))
            if record["temperature"] == 0:
                found.greedy.add(tuple(record["prompt"]))
        return found

    def is_new(self, prompt: Prompt, temperature: float) -> bool:
        """Whether the answer may be another one than those before; a prompt of temperature 0 is noted."""
        if temperature:
            return True
        asked = tuple(map(int, prompt))
        is_new = asked not in self.greedy
        self.greedy.add(asked)
        return is_new


def own_texts(
    model: Model, plan: Plan, done: Iterable[Record] = (), watched: Callable[[], Watch | None] | None = None,
    goes_on: Callable[[], bool] = lambda: True,
) -> Iterator[Record]:  # fmt: skip
    """Texts in order of completion; those in `done` are left out. They end where given prompts are answered at
    temperature 0 alone: the same prompt is never answered there twice.

    `watched`: makes a watch for each answer. `goes_on`: whether further texts are to be begun, beyond
    `plan.least_begun`; those that were begun are written to their end. Raises BadParameter where no text comes for
    several rounds.
    """
    there = There.of(done)
    first = max((number for number, _ in there.keys), default=0)  # may have been left unfinished, those before were not
    barren = 0
    for r in range(1) if plan.ends else takewhile(lambda r: r == first or goes_on(), count(first)):
        barren = 0 if any(key[0] == r for key in there.keys) else barren + 1
        for record in _answers(model, plan, r, there, watched, goes_on):
            barren = 0
            yield record
        if barren == plan.most_barren:
            raise BadParameter("--prompts", f"{model.name} wrote no text in {barren} rounds; give {INSTEAD}")


def _prompts(model: Model, plan: Plan, number: int) -> list[str]:
    """What users might say, by the model's own guess; each once in its round."""
    if not model.tokenizer.has_chat_template:
        raise BadParameter("--prompts", f"{model.name} has no chat template to write prompts in; give {INSTEAD}")
    head = model.tokenizer.chat([{"role": "user", "content": PLACE}]).partition(PLACE)[0]
    requests = [_asking(model, plan, number, i, (head, words)) for i, words in enumerate(("", *plan.openers))]
    texts: dict[str, list[str]] = {}
    for request, result in model.generate_many(requests, logits_cache_bytes=0):
        if isinstance(result, Exception):
            raise result
        texts[request.key] = [f"{request.key}{each.text}" for each in result.choices if each.finish_reason == "stop"]
    drawn = (text.strip() for words in ("", *plan.openers) for text in texts[words])
    return list(dict.fromkeys(text for text in drawn if SHORTEST < len(text) < LONGEST))


def _asking(model: Model, plan: Plan, number: int, i: int, begins: tuple[str, str]) -> Request:
    head, words = begins
    free = round(plan.prompts * FREE) if plan.openers else plan.prompts
    many = max(1, (plan.prompts - free) // len(plan.openers)) if words else free
    params = {"temperature": 1.0, "top_p": plan.top_p, "max_tokens": PROMPT_TOKENS, "n": many,
              "seed": seed_after(plan.seed, MOST_OPENERS * number + i)}  # fmt: skip
    return Request(model.tokenizer.encode(head + words, add_special=False), params, False, words)


def _answers(
    model: Model, plan: Plan, number: int, there: There, watched: Callable[[], Watch | None] | None,
    goes_on: Callable[[], bool],
) -> Iterator[Record]:  # fmt: skip
    asked = list(plan.asked) if plan.asked is not None else _prompts(model, plan, number)
    left = ((i, text) for i, text in enumerate(asked) if (number, i) not in there.keys)
    new = (
        request
        for request in _requests(model, plan, number, left)
        if there.is_new(request.prompt, request.params["temperature"])
    )
    requests = (
        replace(request, observer=watched() if watched else None) for request in _begun(new, plan.least_begun, goes_on)
    )  # made as they are pulled: what a watch holds goes with its text
    for request, record in answered(model, requests):
        if record is not None and len(record["answer"]) >= LEAST_ANSWER:
            yield {**record, WATCH: request.observer}


def _begun(requests: Iterable[Request], least: int, goes_on: Callable[[], bool]) -> Iterator[Request]:
    for begun, request in enumerate(requests):
        if begun >= least and not goes_on():
            return
        yield request


def _requests(model: Model, plan: Plan, number: int, texts: Iterable[tuple[int, str]]) -> Iterator[Request]:
    for i, text in texts:
        seed = seed_after(plan.seed, PURPOSES * (number + 1) + i)
        params = {"temperature": plan.temperature(number, i), "max_tokens": plan.answer_tokens, "seed": seed}
        prompt = opening(model, text)
        if prompt is not None:
            yield Request(prompt, params, False, (number, i))

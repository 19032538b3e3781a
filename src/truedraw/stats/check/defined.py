"""(a) The law that is sampled, on the model's own rows, against its definitions in plain Python.

Whatever replays a text takes the law as the code has it; this looks at the code of the law.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np

from truedraw.generate.preparing import held_back
from truedraw.generate.rows import LawRows
from truedraw.protocol import Floats, Logits, Proposal, Work
from truedraw.sampling.params import SamplingParams
from truedraw.stats.check.drawing import draw_plainly, forks
from truedraw.stats.check.records import Finding
from truedraw.stats.check.settings import Settings, spread
from truedraw.stats.check.subject import Subject
from truedraw.testing.definitions import Definition, Given, next_mu

NAME = "law of the parameters"
PLACES = 8  # of each text
CLOSE = 1e-9  # of total variation; and of a threshold, both sides of which are right where a token lies upon it
NUDGES = (0.0, -CLOSE, CLOSE)
UNDEFINED = "not looked at: the definitions have no {what}"


def defined_law(subject: Subject, settings: Settings) -> Finding:
    """Whether p is what the parameters mean, at the first places of some texts."""
    missing = undefined(subject)
    if missing is not None:
        return Finding(NAME, None, UNDEFINED.format(what=missing))
    prompts = spread(subject.prompts, settings.equality_prompts)
    gaps = [gap for prompt in prompts for gap in distances(subject, prompt, settings.seed)]
    largest = max(gaps)
    says = f"p of {len(gaps)} places is that of the definitions, to {largest:.1e} in total variation"
    if not largest <= CLOSE:
        says = f"p is another than the parameters mean, {largest:.2g} in total variation at one of {len(gaps)} places"
    return Finding(NAME, bool(largest <= CLOSE), says, {"places": len(gaps), "total_variation": largest})


def undefined(subject: Subject) -> str | None:
    """What of the parameters is left to the code: it takes a tokenizer."""
    if subject.guided:
        return "grammars"
    by_text = any(isinstance(word, str) for word in subject.params.bad_words)
    return "bad words that are given as text" if by_text else None


def distances(subject: Subject, prompt: Sequence[int], seed: int) -> Iterator[float]:
    """Of the law of code and definitions at each place of one text."""
    given, mu = given_of(subject.params), None
    ends = held_back(subject.params, subject.model.tokenizer)
    for (output, token), logits, p in places(subject, prompt, seed):
        ways = product(leans(subject.params), NUDGES, coins(subject.params))
        yield least(
            np.abs(p - Definition(given, prompt, output, ends, mu, coin, nudge, lean).p(logits.tolist())).sum() / 2
            for lean, nudge, coin in ways
        )
        mu = next_mu(given, Definition(given, mu=mu).mu, float(p[token]))


def least(gaps: Iterator[float]) -> float:
    """The first that is next to nothing, so that no more are made, or the least of all."""
    found = []
    for gap in gaps:
        found.append(float(gap))
        if found[-1] <= CLOSE:
            break
    return min(found)


def places(
    subject: Subject, prompt: Sequence[int], seed: int
) -> Iterator[tuple[tuple[Sequence[int], int], Logits, Floats]]:
    """((the text so far, its next token), logits, p) of a text drawn plainly."""
    engine = subject.model.engine
    length = min(PLACES, engine.context_length - len(prompt))
    drawn = draw_plainly(subject, prompt, seed, 1, length)
    (text,), (law,) = drawn.texts, drawn.laws
    proposal = Proposal.chain(text[:-1])
    with forks(engine, prompt, 1) as (sequence,):
        (scores,) = engine.forward([Work(sequence, proposal)])
        rows = LawRows(law, proposal, scores)
        for place, token in enumerate(text):
            yield (text[:place], token), scores.logits[place], rows[place]


def given_of(params: SamplingParams) -> Given:
    """What is not at its default."""
    given: dict[str, Any] = {each.name: getattr(params, each.name) for each in fields(params)}
    plain = SamplingParams()
    return {name: value for name, value in given.items() if value != getattr(plain, name)}


def leans(params: SamplingParams) -> tuple[float | None, ...]:
    """How typical_p's ties between both sides of the entropy, which rounding decides, may have gone."""
    return (*NUDGES, None) if "typical_p" in params.schedule or params.typical_p < 1 else NUDGES[:1]


def coins(params: SamplingParams) -> tuple[bool, ...]:
    """What XTC's may have shown."""
    return tuple(
        coin for coin, chance in ((False, 1 - params.xtc_probability), (True, params.xtc_probability)) if chance
    )

"""Texts of fixed length from the production loop, with what was drafted at each place.

Nothing ends a text but its length: were tokens selected by what a round did, or texts by how they ended, they would not
follow p even under exact sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from truedraw.control.fixed import FixedController
from truedraw.draft.none import NoDrafter
from truedraw.draft.site import close
from truedraw.generate.ending import Ending
from truedraw.generate.loop import rounds
from truedraw.generate.sample import Parts, Sample, Together
from truedraw.generate.speculation import OFF, Speculation
from truedraw.protocol import Drafter, Engine, Law, Proposal, Randomness, Round, Rows, Verdict, Verifier
from truedraw.protocol import Sequence as Text
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.stats.check.subject import Subject
from truedraw.stats.leaning import Draft, may_be_seen, places
from truedraw.verify.proposals import written_out

PLAIN = Speculation(method=OFF)
Chance = Callable[[int, int], Randomness]  # (seed, sample)
Begun = tuple[Law, Randomness]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How texts are drawn."""

    law: Callable[[Sequence[int], Randomness], Law]  # (prompt, the sample's randomness)
    drafter: Callable[[], Drafter]
    verifier: Verifier
    draft_tokens: int
    length: int  # tokens of each text
    chance: Chance = PhiloxRandomness

    def begun(self, prompt: Sequence[int], seed: int, samples: int) -> list[Begun]:
        """Of each sample the law at its start, and its randomness."""
        chances = [self.chance(seed, index) for index in range(samples)]
        return [(self.law(prompt, chance), chance) for chance in chances]


@dataclass(frozen=True, slots=True)
class Note:
    """The draft at one place. log_q [vocab] in half precision: that changes the event looked at, not its chance."""

    token: int
    log_q: NDArray[np.float16] | None  # None = certain
    others: tuple[int, ...] = ()  # see leaning.Draft

    @classmethod
    def of(cls, draft: Draft) -> Note:
        """Keep a draft."""
        q = written_out(draft.law)
        with np.errstate(divide="ignore", over="ignore"):
            log_q = None if q is None else np.log(q).astype(np.float16)
        return cls(draft.token, log_q, draft.others)


@dataclass(slots=True)
class Drawn:
    """Some texts of one prompt, and protocol.Observer of their making."""

    prompt: Sequence[int]
    laws: list[Law]  # at the start of each text
    texts: list[list[int]]
    notes: dict[tuple[int, int], Note] = field(default_factory=dict)  # by (text, token of it)
    fault: str | None = None  # why the drafter was given up

    def __call__(self, sample: int, proposal: Proposal, rows: Rows, verdict: Verdict) -> None:
        """Note what had been drafted at the places that the verdict fills, where a statistic may look at it."""
        text = self.texts[sample]
        for _, token, draft in places(proposal, verdict.tokens):
            if draft is not None and may_be_seen(draft, verdict):
                self.notes[sample, len(text)] = Note.of(draft)
            text.append(token)


def draw(engine: Engine, recipe: Recipe, prompt: Sequence[int], seed: int, samples: int) -> Drawn:
    """`samples` texts of one prompt, computed together."""
    begun = recipe.begun(prompt, seed, samples)
    drawn = Drawn(prompt, [law for law, _ in begun], [[] for _ in begun])
    parts = Parts(recipe.drafter(), recipe.verifier, drawn)
    with np.errstate(divide="ignore"):  # log 0, where a planted bug emits what p excludes
        for _ in turns(engine, recipe, parts, prompt, begun):
            pass
    drawn.fault = getattr(parts.drafter, "fault", None)
    drawn.texts = [text[: recipe.length] for text in drawn.texts]
    return drawn


def draw_plainly(subject: Subject, prompt: Sequence[int], seed: int, samples: int, length: int) -> Drawn:
    """The same without drafts, as a request with this seed draws."""
    recipe = Recipe(subject.law, NoDrafter, PLAIN.verifier(seed), 0, length)
    return draw(subject.model.engine, recipe, prompt, seed, samples)


def turns(
    engine: Engine, recipe: Recipe, parts: Parts, prompt: Sequence[int], begun: Sequence[Begun]
) -> Iterator[list[Round]]:
    """The rounds of texts that begin so, computed together; the drafter is closed behind them."""
    with forks(engine, prompt, len(begun)) as sequences:
        started = [
            Sample(index, parts, law, chance, Ending((), recipe.length), text, parts.drafter.open(list(prompt), law))
            for index, ((law, chance), text) in enumerate(zip(begun, sequences, strict=True))
        ]
        yield from rounds(engine, FixedController(recipe.draft_tokens), Together(started))
        close(parts.drafter)


@contextmanager
def forks(engine: Engine, prompt: Sequence[int], count: int) -> Iterator[list[Text]]:
    """`count` equal texts, closed in the end."""
    first = engine.open(prompt)
    sequences = [first, *engine.fork(first, count - 1)]
    try:
        yield sequences
    finally:
        for sequence in sequences:
            sequence.close()

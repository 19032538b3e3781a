"""One request on its way through a scheduler: samples of one prompt, waiting, running or ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from truedraw import protocol as p
from truedraw.draft.site import close
from truedraw.engine.logits_cache import LogitsCache
from truedraw.errors import TruedrawError, in_words, place_of
from truedraw.generate.ending import Ending
from truedraw.generate.sample import Parts, Sample
from truedraw.generate.trail import Trail
from truedraw.handlers import pass_on
from truedraw.sampling.working_time import working_seconds


class Start(NamedTuple):
    """What a sample brings along."""

    law: p.Law
    randomness: p.Randomness
    ending: Ending


@dataclass(slots=True, eq=False)
class Job:
    """Moved by a scheduler, in the thread that drives it; others may read it."""

    prompt: tuple[int, ...]
    parts: Parts
    starts: Sequence[Start]  # one for each sample
    seed: int | None = None  # that was given, or what took its place: see seeds.py

    first: int = -1  # number of the first sample; the others follow
    root: p.Sequence | None = None  # the prompt, which samples are forked from while some have not begun
    fresh: p.Sequence | None = None  # the next sample's text, while that is being made
    begun: int = 0
    live: list[Sample] = field(default_factory=list)  # begun and not ended
    rounds: list[p.Round] = field(default_factory=list)
    fill_seconds: float = 0.0  # of the engine, for passes that computed nothing but prompts
    opened_at: float | None = None  # working_seconds
    ended_at: float | None = None
    error: TruedrawError | None = None
    is_read: bool = False  # while it is written

    @property
    def remaining(self) -> int:
        """Samples that have not begun."""
        return len(self.starts) - self.begun

    @property
    def most_tokens(self) -> int:
        """That one of its texts may come to, its prompt included."""
        begun = [len(sample.sequence.tokens) + sample.ending.room for sample in self.live]
        return max(begun + [len(self.prompt) + start.ending.room for start in self.starts[self.begun :]], default=0)

    @property
    def seconds(self) -> float:
        """From its beginning, the time in the queue not counted, to its end or now."""
        opened = self.opened_at  # once: who drives it may put it back into the queue meanwhile
        return 0.0 if opened is None else (self.ended_at or working_seconds()) - opened

    def open(self, engine: p.Engine, computed: p.Sequence | None) -> p.Sequence:
        """Its turn has come: the prompt as a text of the engine, a fork where somebody has `computed` the same."""
        self.opened_at = working_seconds()
        self.root = engine.open(self.prompt) if computed is None else engine.fork(computed, 1)[0]
        return self.root

    def postpone(self) -> None:
        """It has to wait after all."""
        if self.root is not None:
            self.root.close()
        self.root = self.opened_at = None

    def is_ready(self, shared: bool) -> bool:
        """Whether a sample can begin: what several share, of this job or of others, is computed before."""
        return self.root is not None and (self.root.num_uncached == 1 or (self.remaining == 1 and not shared))

    def begin(self, engine: p.Engine, cache: LogitsCache | None) -> Sample:
        """The next sample; the last one takes the prompt's own text, the others forks of it."""
        assert self.root is not None
        law, randomness, ending = self.starts[self.begun]
        draft = self.parts.drafter.open(self.prompt, law)
        self.fresh = self.root if self.remaining == 1 else engine.fork(self.root, 1)[0]
        sample = Sample(
            number=self.first + self.begun,
            parts=self.parts,
            law=law,
            randomness=randomness,
            ending=ending,
            sequence=self.fresh,
            draft=draft,
            trail=None if cache is None else Trail(cache, self.prompt),
        )
        self.live.append(sample)
        self.root = None if self.remaining == 1 else self.root
        self.fresh = None
        self.begun += 1
        return sample

    def end(self, sample: Sample) -> None:
        """A sample will grow no longer. May be repeated."""
        if sample.finish_reason is None or self.error is not None:
            sample.ending.break_off(self.tokens_of(sample))
        else:
            sample.ending.finish()
        self.let_go(sample.draft)
        if sample in self.live:
            self.live.remove(sample)

    def tokens_of(self, sample: Sample) -> list[int]:
        """That its rounds have brought."""
        return [token for each in self.rounds if each.sample == sample.number for token in each.tokens]

    def drop(self) -> None:
        """Nothing more will begin. May be repeated."""
        for text in (self.root, self.fresh):
            if text is not None:
                text.close()
        self.root = self.fresh = None
        self.let_go(self.parts.drafter)

    def let_go(self, part: object) -> None:
        """Close its drafter or a draft state; what goes wrong in that is the job's error."""
        try:
            close(part)
        except Exception as error:  # a drafter may raise anything
            pass_on(error)
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Keep the first error; a foreign one becomes the cause of one of ours."""
        if self.error is not None:
            return
        if isinstance(error, TruedrawError):
            self.error = error
        else:
            self.error = TruedrawError(f"a part of the run raised {in_words(error)} ({place_of(error)})")
            self.error.__cause__ = error


def taken(queue: deque[Job]) -> list[Job]:
    """All that was in a queue, while others may put more in."""
    found: list[Job] = []
    if not queue:  # nearly always: to find that out by the error takes longer
        return found
    with suppress(IndexError):
        while True:
            found.append(queue.popleft())
    return found


def moved(queue: deque[Job], place: dict[Job, None]) -> list[Job]:
    """The same, from there to a place: no interruption leaves one in neither. Who puts one in may take it out again."""
    found: list[Job] = []
    for job in list(queue):
        place[job] = None
        try:
            queue.remove(job)
        except ValueError:  # it was taken out
            del place[job]
        else:
            found.append(job)
    return found

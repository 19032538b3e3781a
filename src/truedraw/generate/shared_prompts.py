"""Prompts that several jobs have in common, as those of a sweep: the first computes it, the others take forks of it.

The engine finds equal beginnings too, but only whole pages of them; a fork repeats the last token alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from truedraw.generate.job import Job
from truedraw.generate.planning import NEAR
from truedraw.protocol import Engine, Sequence

ALIKE = 32  # tokens, about a page of the cache: fewer are not shared by texts that go on differently
KEPT = 8  # prompts at a time: jobs with the same prompt mostly come one after the other


class SharedPrompts:
    """Computed prompts, for as long as a job that waits has the same."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: Counter[tuple[int, ...]] = Counter()  # jobs by their prompts
        self._kept: dict[tuple[int, ...], Sequence] = {}  # the longest kept first

    def expect(self, job: Job) -> None:
        """The job waits from now on."""
        self._waiting[job.prompt] += 1

    def forget(self, job: Job) -> None:
        """The job waits no longer."""
        self._waiting[job.prompt] -= 1
        if not self._waiting[job.prompt]:
            del self._waiting[job.prompt]
            self._close(job.prompt)

    def is_wanted(self, job: Job) -> bool:
        """Whether one that waits has the same prompt, and it is worth a pass of its own."""
        return len(job.prompt) > NEAR and job.prompt in self._waiting

    def text(self, job: Job) -> Sequence | None:
        """Its prompt, computed but for the last token, if it is kept."""
        return self._kept.get(job.prompt)

    def keep(self, job: Job) -> None:
        """Keep a fork of what the job has computed, if others want it."""
        if job.root is None or job.root.num_uncached > 1 or not self.is_wanted(job) or job.prompt in self._kept:
            return
        if len(self._kept) == KEPT:
            self._close(next(iter(self._kept)))
        self._kept[job.prompt] = self._engine.fork(job.root, 1)[0]

    def clear(self) -> bool:
        """Give the pages back, and compute anew when it is time; False where there was nothing."""
        prompts = tuple(self._kept)
        for prompt in prompts:
            self._close(prompt)
        return bool(prompts)

    def _close(self, prompt: tuple[int, ...]) -> None:
        text = self._kept.pop(prompt, None)
        if text is not None:
            text.close()


def begins_alike(prompt: tuple[int, ...], texts: Iterable[Sequence]) -> bool:
    """Whether the beginning of the prompt is that of a text most of which is not computed yet."""
    return any(text.num_uncached > ALIKE and tuple(text.tokens[:ALIKE]) == prompt[:ALIKE] for text in texts)

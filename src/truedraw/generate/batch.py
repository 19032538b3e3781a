"""Many requests at once, in and out in any order; which others there are changes no text."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import finalize

from truedraw.control.payoff import PayoffController
from truedraw.draft.site import close
from truedraw.engine.logits_cache import LogitsCache, LogitsCacheUse
from truedraw.errors import BadInput
from truedraw.generate.generation import Generation
from truedraw.generate.job import Job
from truedraw.generate.one_place import OnePlace
from truedraw.generate.planning import Limits
from truedraw.generate.scheduler import Scheduler
from truedraw.generate.shared_drafters import SharedDrafters
from truedraw.generate.taking_turns import TakingTurns
from truedraw.protocol import Observer
from truedraw.sampling.params import SamplingParams
from truedraw.sampling.values import shown

if TYPE_CHECKING:
    from truedraw.generate.model import Model, Spec
    from truedraw.generate.prompt_ids import Prompt


class Batch(OnePlace):
    """Add requests, then take what is `completed()`. Use it in a `with` block, or call close().

    One that nobody holds any more is closed, too; runs of it that somebody holds keep what they have.

    One thread drives it; others may add and cancel meanwhile. `logits_cache_bytes`: memory for rows of logits that
    other samples may meet again; 0 turns that off.
    """

    instead = "open another one with model.batch()"

    def __init__(self, model: Model, limits: Limits, logits_cache_bytes: int) -> None:
        self._model = model
        self._cache = LogitsCache(logits_cache_bytes)
        cache = self._cache if logits_cache_bytes else None
        self._scheduler = Scheduler(model.engine, PayoffController(model.experience), limits, cache, model.turns)
        self._drafters = SharedDrafters()
        self._open: dict[Job, Generation] = {}
        self._left = finalize(self, abandon, self._scheduler, self._drafters, model.turns)
        self._left.atexit = False

    def add(self, prompt: Prompt, params: SamplingParams | None = None, *, speculative: Spec = None,
            observer: Observer | None = None, **sampling: Any) -> Generation:  # fmt: skip
        """Put a request, as for Model.generate, at the end of the queue; raises BadInput naming what is wrong."""
        self._scheduler.check_open()
        wish = self._model.wish(prompt, params, speculative=speculative, observer=observer, **sampling)
        with self._model.turns:
            run, job = self._model.run(wish, self._scheduler, self._drafters)
        self._open[job] = run
        try:
            self._scheduler.add(job)
        except BadInput:
            del self._open[job]
            with self._model.turns:
                close(job.parts.drafter)
            raise
        return run

    def step(self) -> bool:
        """Move everybody by one pass, or by what needs none; False where nothing is left to do."""
        more = self._scheduler.step()
        if self._scheduler.is_closed:  # in the midst of that pass, or by another thread
            self.close()
        return more

    def completed(self) -> Iterator[Generation]:
        """Each request once, when it has ended, failed or been cancelled, until none is left; more may be added."""
        while True:
            yield from self.finished()
            if not self.step() and not self._scheduler.jobs.ended:
                return

    def finished(self) -> Iterator[Generation]:
        """Those that have ended since the last look; moves nobody."""
        while self._scheduler.jobs.ended:
            yield self._open.pop(self._scheduler.jobs.ended.popleft())

    @property
    def num_unfinished(self) -> int:
        """Samples that run or wait."""
        return self._scheduler.jobs.num_unfinished

    @property
    def num_tokens(self) -> int:
        """Written so far, by all requests; another thread may look."""
        return self._scheduler.jobs.num_tokens

    @property
    def is_hungry(self) -> bool:
        """Whether another request would begin soon."""
        return self._scheduler.jobs.is_hungry

    @property
    def logits_cache_use(self) -> LogitsCacheUse:
        """How often a row needed no pass; zeros where the cache is off."""
        return self._cache.use

    def close(self) -> None:
        """Cancel what is left; its texts keep what they have. After an interruption, call it once more."""
        with self._model.turns:
            self._scheduler.close()
            self._drafters.close()
        self._left.detach()

    def __repr__(self) -> str:
        name, requests = shown(self._model.name), len(self._open)
        state = "closed" if self._scheduler.is_closed else f"samples unfinished: {self.num_unfinished}"
        return f"<truedraw.Batch of {name}, requests: {requests}, {state}, tokens: {self.num_tokens}>"

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def abandon(scheduler: Scheduler, drafters: SharedDrafters, turns: TakingTurns) -> None:
    """What a batch holds that the garbage collector has found."""
    scheduler.abandon()
    turns.soon(drafters.close)
